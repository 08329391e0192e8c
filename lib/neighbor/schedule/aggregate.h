#ifndef CTN_NEIGHBOR_SCHEDULE_AGGREGATE_H
#define CTN_NEIGHBOR_SCHEDULE_AGGREGATE_H

#include "core/vector.h"
#include "neighbor/call/executor.h"
#include "neighbor/schedule/aggregated.h"

/* NBR-4 for uniform blocks. Everything from one node to another is one
 * aggregate. It is composed in memory of the leader, which all ranks of the
 * node can write. The rank that contributes the last block sends it to the
 * leader on the other node. There the consumers read their blocks where the
 * aggregate has arrived. So leaders only have to poll the network; no message
 * waits for a leader to run.
 *
 *   node A                                     node B
 *   block block block                          block block block
 *      \    |    /                                /\   |   /\
 *    area at A's leader for B  == network ==>  area at B's leader for A
 *
 * An area has CTN_NEIGHBOR_AGGREGATE_GENERATIONS slots; aggregate number `use`
 * has slot use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS. No message is needed to
 * say that a slot is free. At most two operations are under way at a rank, so a
 * contributor of number `use` has completed number use - 2 and has read the
 * aggregate in the other direction. All ranks there had contributed to that
 * one, so had completed number use - 4, and read the aggregate from here. This
 * requires that the contributors of an aggregate consume the one in the other
 * direction, and the other way round; other graphs have no aggregates. A rank
 * that cannot read one, for lack of memory, aborts (call/execute.c). The ranks
 * must number operations in the same order, even if two begin at once. */

#define CTN_NEIGHBOR_AGGREGATE_GENERATIONS 4u

/** A block that a rank contributes to an aggregate, or consumes. */
typedef struct ctn_neighbor_aggregate_block {
    uint32_t position; /* of the block, in the aggregate */
    uint32_t index;    /* in the send buffer; of a source */
} ctn_neighbor_aggregate_block_t;

/** An area: the slots of the aggregates between two nodes. */
typedef struct ctn_neighbor_aggregate_area {
    unsigned char *base; /* as mapped here */
    uint32_t blocks;
    uint32_t contributors; /* ranks; 0 where the aggregate arrives */
} ctn_neighbor_aggregate_area_t;

typedef struct ctn_neighbor_aggregate_out {
    ctn_neighbor_aggregate_area_t area;
    uint32_t node;        /* the other node, as in ctn_edge_t */
    uint32_t contributor; /* index of this rank among them */
    uint32_t first, blocks;
    ctn_endpoint_t *there; /* the leader on that node */
    uint64_t offset;       /* of the area in its arena */
} ctn_neighbor_aggregate_out_t;

typedef struct ctn_neighbor_aggregate_in {
    ctn_neighbor_aggregate_area_t area;
    uint32_t node;
    uint32_t leader; /* rank whose area it is */
    uint32_t first, blocks;
} ctn_neighbor_aggregate_in_t;

/** The aggregates of a schedule, as one rank sees them. */
typedef struct ctn_neighbor_aggregates {
    size_t most_bytes;        /* of a block */
    uint64_t begun;           /* operations of the schedule */
    uint32_t led;             /* aggregates that are composed at this rank */
    bool leads;               /* some arrive at this rank */
    ctn_vector_t out;         /* ctn_neighbor_aggregate_out_t */
    ctn_vector_t in;          /* ctn_neighbor_aggregate_in_t */
    ctn_vector_t contributed; /* ctn_neighbor_aggregate_block_t, of all that
                                 it contributes to */
    ctn_vector_t consumed;    /* the same for all that it consumes */
    void *memory; /* areas of this rank as a leader, in the heap, or NULL */
} ctn_neighbor_aggregates_t;

/* ---- schedule/aggregate_create.c ---- */

/** The schedule for uniform blocks: as the general one, but with aggregates to
 * other nodes. NULL: not possible, or a rank has no memory for it. Collective;
 * all ranks agree on the status. */
catena_status_t ctn_schedule_aggregated_uniform(ctn_leading_t *leading,
                                                ctn_pattern_t pattern,
                                                ctn_schedule_t **schedule);

/** Frees them, except for their memory in the heap. NULL: nothing. */
void ctn_neighbor_aggregates_free(ctn_neighbor_aggregates_t *aggregates);

/* ---- schedule/aggregate.c ---- */

/** Takes the number of an operation. False: not yet, an earlier operation has
 * not begun. */
bool ctn_neighbor_aggregates_begin(const ctn_op_t *op);
/** Contributes this rank's blocks, and sends the aggregates that are complete.
 */
catena_status_t ctn_neighbor_aggregates_send(ctn_op_t *op);
/** Takes the blocks of aggregates that have arrived. MOVED: some have. */
ctn_step_t ctn_neighbor_aggregates_receive(ctn_op_t *op);

/** Bytes of an area for blocks of at most `most_bytes`. */
size_t
ctn_neighbor_aggregate_area_bytes(const ctn_neighbor_aggregate_area_t *area,
                                  size_t most_bytes);
/** Bytes at its start that must be zero before the first use. */
size_t
ctn_neighbor_aggregate_area_zero(const ctn_neighbor_aggregate_area_t *area);

#endif
