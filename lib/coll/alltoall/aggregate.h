#ifndef CTN_COLL_ALLTOALL_AGGREGATE_H
#define CTN_COLL_ALLTOALL_AGGREGATE_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Aggregates of the direct alltoall: if all blocks have one length, a member
 * sends its blocks for all members of another node as one message, provided
 * that it is not too long; see aggregate.c. Longer blocks are sent one by one.
 */

/* The count in the sequence flag of an aggregate: this bit, and the length of
 * one block. */
#define CTN_AGGREGATE_FLAG (UINT32_C(1) << 31)

/** State of the aggregates of one operation. */
typedef struct ctn_aggregate {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    bool in_place;
    /* working */
    uint32_t first;   /* first slot that aggregates use */
    uint32_t span;    /* number of consecutive slots that each aggregate takes;
                         their eager buffers are contiguous */
    uint32_t each;    /* aggregates of one node that one member receives */
    uint32_t sent;    /* nodes to which this member has sent its aggregate */
    uint32_t awaited; /* number of the aggregate that this member waits for */
    uint64_t open; /* bit i: the aggregates that member i of this node receives
                      have not been read yet */
    uint32_t peer_checks;   /* exec->peer_checks at the start or last check */
    catena_status_t status; /* the final status */
} ctn_aggregate_t;

/** Whether blocks of `bytes` are aggregated: the same on all members. */
bool ctn_aggregate_suits(const ctn_topo_t *topo, size_t bytes);

/** Initialize the working part.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_aggregate_begin(ctn_aggregate_t *aggregate);

/** For long waits: check whether an aggregate has arrived whose blocks do not
 * have the length `bytes` (0: this operation expects no aggregates). Then the
 * members run algorithms that cannot complete together, so abort the job.
 * @return whether that is so */
bool ctn_aggregate_check_mismatch(const ctn_op_t *op, uint64_t bytes);

/** Send and receive what is possible. NEXT: all is sent and received; the
 * network may still read sources that the operation's `pending` counts. */
ctn_step_t ctn_aggregate_advance(ctn_op_t *op, ctn_aggregate_t *aggregate);

#endif
