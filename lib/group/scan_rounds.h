#ifndef CTN_GROUP_SCAN_ROUNDS_H
#define CTN_GROUP_SCAN_ROUNDS_H

#include "exec/schedule.h"
#include "group/chain_place.h"

/* The rounds of a double scan on a chain, for values of any length. In round d
 * a member exchanges messages with its partners, the members 2^d to its left
 * and to its right. A message has the address of the sender's partner on the
 * other side, and the values that the sender has from there. After ceil(log2 N)
 * rounds no member has a partner, and all values have arrived. Operations that
 * run these rounds on a chain are synchronizing. */

/** Head of a message before its value: the packed address. */
#define CTN_DOUBLE_SCAN_HEAD_BYTES sizeof(uint64_t)

/** Callbacks for the values of the messages. */
typedef struct ctn_double_scan_values {
    /** Set a message with this member's value and the values from `side`, for
     * the partner on the other side: CTN_DOUBLE_SCAN_HEAD_BYTES free bytes,
     * then a value of `*bytes`. Both are NULL and 0 on entry; if they stay so,
     * no values are scanned from there. The message must not change before
     * `incoming` is called, and lie in this rank's heap if it does not fit a
     * slot. NULL: no values are scanned at all. */
    catena_status_t (*outgoing)(ctn_op_t *op, unsigned side,
                                unsigned char **message, size_t *bytes);
    /** Consume the value of the message from the partner on `side`. All
     * messages of the round have arrived, and its own ones were read. */
    catena_status_t (*incoming)(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes);
} ctn_double_scan_values_t;

/** First in the state of an operation that runs the rounds. Arrays have an
 * entry for each side. */
typedef struct ctn_double_scan {
    /* arguments */
    const ctn_chain_place_t *place;
    const ctn_double_scan_values_t *values;
    unsigned ring; /* not 0: the place is on a ring, whose first member is the
                      right neighbor of the last one; the number of rounds */
    /* NULL, or in simulations of costs only: messages have a length but no
     * content. In place of that the members, which share this list, leave the
     * addresses here, by rank in the chain. */
    ctn_address_t *addresses;
    bool of_group; /* reports name the members of the chain by their ranks in
                      it */
    /* working */
    ctn_address_t partner[2]; /* of this round */
    ctn_rounds_t rounds;      /* message i is that to, or from, side i */
    uint64_t address[2];      /* messages without values */
} ctn_double_scan_t;

/** Initialize the working part; called by the first phase. */
void ctn_double_scan_begin(ctn_double_scan_t *double_scan);
/** The phase that runs the rounds. */
ctn_step_t ctn_double_scan_rounds(ctn_op_t *op);
/** Release the handles; called by `finish`. Not needed if no message is longer
 * than a slot. */
void ctn_double_scan_drop(ctn_op_t *op);

#endif
