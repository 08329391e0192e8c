#ifndef CTN_COLL_ALLTOALL_AGGREGATED_H
#define CTN_COLL_ALLTOALL_AGGREGATED_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* The blocks of a direct alltoall for other nodes: if all blocks have one
 * length and are not too long, the members of a node send them as aggregates;
 * see aggregated.c. Longer blocks are sent one by one. */

/** State of the aggregates of one operation. */
typedef struct ctn_aggregated {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    bool in_place;
    /* layout */
    uint32_t team;  /* contributors of an aggregate, at most */
    uint32_t each;  /* aggregates from one node to another one, at most */
    uint32_t words; /* first slot for words, and for data that fit it */
    uint32_t first; /* first slot whose eager buffer holds longer data */
    uint32_t span;  /* number of consecutive eager buffers for each */
    bool eager;     /* some aggregates do not fit a slot */
    /* working */
    uint32_t sent;    /* nodes for which this member has contributed */
    uint32_t awaited; /* the aggregate that this member waits for, counted
                         among those that it receives */
    uint64_t open; /* bit i: the aggregates that member i of this node receives
                      have not been read yet */
    uint32_t peer_checks;   /* exec->peer_checks at the start or last check */
    catena_status_t status; /* the final status */
} ctn_aggregated_t;

/** Set the layout. False: blocks of this length are not aggregated. The same on
 * all members. */
bool ctn_aggregated_set(ctn_aggregated_t *aggregated);

/** Initialize the working part.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_aggregated_begin(const ctn_op_t *op,
                                     ctn_aggregated_t *aggregated);

/** For long waits: check whether a member of this node contributes to or
 * receives an aggregate whose blocks do not have the length `bytes` (0: this
 * operation expects no aggregates). Then the members run algorithms that cannot
 * complete together: see ctn_op_give_up. */
void ctn_aggregated_check_mismatch(ctn_op_t *op, const ctn_topo_t *topo,
                                   uint64_t bytes);

/** Send and receive what is possible. NEXT: all is sent and received; the
 * network may still read sources that the operation's `pending` counts. */
ctn_step_t ctn_aggregated_advance(ctn_op_t *op, ctn_aggregated_t *aggregated);

/** For an operation that has found blocks of another length, when it has sent
 * and received all: wait until the aggregates to which this member has
 * contributed are complete. Members of its node with other lengths may form
 * other teams. Then a rank of another node waits for an aggregate that is never
 * complete, and no member of this node notices. So after a long wait abort the
 * job. NEXT: all are complete. */
ctn_step_t ctn_aggregated_end_mismatch(ctn_op_t *op,
                                       ctn_aggregated_t *aggregated);

#endif
