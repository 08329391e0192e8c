#ifndef CTN_COLL_ALLTOALL_EAGER_ROWS_H
#define CTN_COLL_ALLTOALL_EAGER_ROWS_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Exchange of small blocks of one length among all members of a node; see
 * eager_rows.c. topo/topo.h defines which blocks are small. */

/** State of one exchange on this member. */
typedef struct ctn_eager_rows {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    uint64_t seq; /* of the operation */
    bool in_place;
    /* working */
    uint8_t class;          /* of row lengths, see topo/topo.h */
    uint64_t open;          /* mask of the members whose row is missing */
    uint32_t peer_checks;   /* exec->peer_checks at the start or last check */
    catena_status_t status; /* the final status */
} ctn_eager_rows_t;

/** Write and publish this member's row. */
void ctn_eager_rows_begin(ctn_exec_t *exec, ctn_eager_rows_t *rows);
/** Receive the blocks that have arrived. True: all have. */
bool ctn_eager_rows_advance(ctn_exec_t *exec, ctn_eager_rows_t *rows);
/** Group rank of a member whose row is missing. */
uint32_t ctn_eager_rows_missing(const ctn_eager_rows_t *rows);

/** Whether member i has written a row for operation `seq`, of blocks of any
 * length.
 * @param[out] bytes that length */
bool ctn_eager_rows_find(const ctn_topo_t *topo, uint64_t seq, uint32_t i,
                         uint64_t *bytes);

#endif
