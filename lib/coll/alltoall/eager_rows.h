#ifndef CTN_COLL_ALLTOALL_EAGER_ROWS_H
#define CTN_COLL_ALLTOALL_EAGER_ROWS_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Small blocks of one length among all members of a node; see eager_rows.c.
 * Which are small, topo/topo.h says. */

typedef struct ctn_eager_rows {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    uint64_t seq; /* of the operation */
    bool in_place;
    /* working */
    uint8_t class;
    uint64_t open;          /* members who are missing */
    uint32_t peer_checks;   /* exec's, when it began */
    catena_status_t status; /* to end with */
} ctn_eager_rows_t;

/** Write the own row. */
void ctn_eager_rows_begin(ctn_exec_t *exec, ctn_eager_rows_t *rows);
/** Take what has come. True: that was all. */
bool ctn_eager_rows_advance(ctn_exec_t *exec, ctn_eager_rows_t *rows);
/** Group rank of one who is missing. */
uint32_t ctn_eager_rows_missing(const ctn_eager_rows_t *rows);

/** Whether member i has written a row for operation `seq`, of blocks of any
 * length: that length. */
bool ctn_eager_rows_find(const ctn_topo_t *topo, uint64_t seq, uint32_t i,
                         uint64_t *bytes);

#endif
