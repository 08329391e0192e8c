#ifndef CTN_COLL_ALLTOALL_AGGREGATE_H
#define CTN_COLL_ALLTOALL_AGGREGATE_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Aggregation of blocks of one length between nodes: a member's blocks for all
 * members of another node are one message, if that is not too long; see
 * aggregate.c. Longer blocks travel one by one. */

/* Count in the word of a message: this flag and the length of a block. */
#define CTN_AGGREGATE_FLAG (UINT32_C(1) << 31)

/** The sender of a message that this member is to receive. */
typedef struct ctn_aggregate_cursor {
    uint32_t node; /* the number of nodes if there is none */
    uint32_t member;
} ctn_aggregate_cursor_t;

typedef struct ctn_aggregate {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    bool in_place;
    /* working */
    bool packed;    /* the network may hold data in staging buffers */
    uint32_t first; /* first slot of the messages */
    uint32_t span;  /* slots of a message: their eager buffers are contiguous */
    uint32_t stride; /* slots from one node's messages to the next node's */
    uint32_t sent;   /* nodes whose message has been sent */
    ctn_aggregate_cursor_t awaited; /* next message to this member */
    uint64_t open; /* mask of the members of the awaited node whose messages
                      have not been read */
    uint32_t peer_checks;   /* exec's, at the start or the last check */
    catena_status_t status; /* the final status */
} ctn_aggregate_t;

/** Whether blocks of `bytes` are aggregated: the same on all members. */
bool ctn_aggregate_suits(const ctn_topo_t *topo, size_t bytes);

/** Initialize the working part. */
void ctn_aggregate_begin(ctn_aggregate_t *aggregate);

/** For long waits: whether an aggregate has arrived whose blocks do not have
 * the length `bytes` (0: none is expected). Then the members run algorithms
 * that cannot complete together, and the job is aborted. */
bool ctn_aggregate_check_mismatch(const ctn_op_t *op, uint64_t bytes);

/** Send and receive what is possible. NEXT: all is sent and received, and the
 * network holds nothing except what the operation's `pending` counts. */
ctn_step_t ctn_aggregate_advance(ctn_op_t *op, ctn_aggregate_t *aggregate);

/** For the finish function of an algorithm. */
void ctn_aggregate_finish(const ctn_op_t *op, ctn_aggregate_t *aggregate);

#endif
