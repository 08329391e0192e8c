#ifndef CTN_GROUP_SCAN_ROUNDS_H
#define CTN_GROUP_SCAN_ROUNDS_H

#include "exec/message.h"
#include "group/chain.h"

/* The double scan on a chain, whatever is scanned: in round d a member
 * exchanges messages with those 2^d to its left and to its right; each tells
 * who is next on its far side, and carries what has come from there. After
 * ceil(log2 N) rounds there is nobody further on either side, and everything
 * has come from everybody. Synchronizing. */

enum { CTN_LEFT, CTN_RIGHT };

/** Room before a value, for what travels with it. */
#define CTN_DOUBLE_SCAN_HEAD_BYTES sizeof(uint64_t)

typedef struct ctn_double_scan_values {
    /** What has come from `side` and is here, to be sent on: memory that begins
     * with CTN_DOUBLE_SCAN_HEAD_BYTES bytes of room, and how much follows.
     * NULL: nothing is scanned from there. */
    unsigned char *(*outgoing)(ctn_op_t *op, unsigned side, size_t *bytes);
    /** What has come from `side` and further away, if anything does. */
    catena_status_t (*incoming)(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes);
} ctn_double_scan_values_t;

/** First in the state of an operation that is made of it. */
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

/** Begin anew. */
void ctn_double_scan_begin(ctn_double_scan_t *double_scan);
/** The phase that does it. */
ctn_step_t ctn_double_scan_rounds(ctn_op_t *op);
/** For finish. */
void ctn_double_scan_drop(ctn_op_t *op);

#endif
