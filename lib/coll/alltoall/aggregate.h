#ifndef CTN_COLL_ALLTOALL_AGGREGATE_H
#define CTN_COLL_ALLTOALL_AGGREGATE_H

#include "coll/blocks.h"
#include "topo/topo.h"

/* Blocks of one length between nodes: those from one member to all members of
 * another node are one message, if that is not too long; see aggregate.c. */

/* When the blocks for a node are more, each travels by itself. */

/* What its word counts: this, and the length of a block. */
#define CTN_AGGREGATE_FLAG (UINT32_C(1) << 31)

/** A message that lands at a member: whose. */
typedef struct ctn_aggregate_cursor {
    uint32_t node; /* as many as there are: none */
    uint32_t member;
} ctn_aggregate_cursor_t;

typedef struct ctn_aggregate {
    /* arguments */
    ctn_topo_t *topo;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    bool in_place;
    /* working */
    bool packed;     /* the network may have data from bounce memory */
    uint32_t first;  /* slot of these messages */
    uint32_t span;   /* slots of each: the wide payloads follow each other */
    uint32_t stride; /* of messages from one node and the next to one member */
    uint32_t sent;   /* nodes that were sent theirs */
    ctn_aggregate_cursor_t awaited; /* the next to land here */
    uint64_t open; /* members of the node at which messages land that have not
                      been looked through */
    uint32_t peer_checks;   /* exec's, when it began or looked */
    catena_status_t status; /* to end with */
} ctn_aggregate_t;

/** Whether blocks of so many bytes go this way: the same for all members. */
bool ctn_aggregate_suits(const ctn_topo_t *topo, size_t bytes);

/** Set up the working part. */
void ctn_aggregate_begin(ctn_aggregate_t *aggregate);

/** After a long wait: whether a message of this kind is here, of blocks of
 * another length than `bytes` (0: none is expected). Then members go ways that
 * do not meet, and all ends. */
bool ctn_aggregate_check_mismatch(const ctn_op_t *op, uint64_t bytes);

/** Send, and take what has come. NEXT: all was, and nothing is left with the
 * network but by the operation's `pending`. */
ctn_step_t ctn_aggregate_advance(ctn_op_t *op, ctn_aggregate_t *aggregate);

/** For an algorithm's finish. */
void ctn_aggregate_finish(const ctn_op_t *op, ctn_aggregate_t *aggregate);

#endif
