#ifndef CTN_GROUP_SCAN_ROUNDS_H
#define CTN_GROUP_SCAN_ROUNDS_H

#include "exec/message.h"
#include "group/chain_place.h"

/* The double scan on a chain, for any values. In round d a member exchanges
 * messages with the members 2^d to its left and to its right. A message has the
 * address of the sender's partner on the other side, and the values from there.
 * After ceil(log2 N) rounds both ends are reached and all values have arrived.
 * Synchronizing. */

enum { CTN_LEFT, CTN_RIGHT };

/** Header before a value, for the address that travels with it. */
#define CTN_DOUBLE_SCAN_HEAD_BYTES sizeof(uint64_t)

typedef struct ctn_double_scan_values {
    /** Return the value to forward that came from `side`: memory that begins
     * with CTN_DOUBLE_SCAN_HEAD_BYTES free bytes, and the length of what
     * follows. NULL: nothing is scanned from there. */
    unsigned char *(*outgoing)(ctn_op_t *op, unsigned side, size_t *bytes);
    /** Consume the value of `side` and beyond. */
    catena_status_t (*incoming)(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes);
} ctn_double_scan_values_t;

/** First in the state of an operation that uses it. */
typedef struct ctn_double_scan {
    /* arguments */
    const ctn_chain_place_t *place;
    const ctn_double_scan_values_t *values;
    /* working */
    ctn_address_t partner[2];
    ctn_address_t beyond[2];
    bool here[2];
    bool sent;
    unsigned round;
    ctn_send_handle_t send_handle[2];
    ctn_receive_handle_t receive_handle[2];
} ctn_double_scan_t;

/** Start again. */
void ctn_double_scan_begin(ctn_double_scan_t *double_scan);
/** The phase that runs the scan. */
ctn_step_t ctn_double_scan_rounds(ctn_op_t *op);
/** Release its handles, in finish. */
void ctn_double_scan_drop(ctn_op_t *op);

#endif
