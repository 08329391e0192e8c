#ifndef CTN_NEIGHBOR_SCHEDULE_AGGREGATE_H
#define CTN_NEIGHBOR_SCHEDULE_AGGREGATE_H

#include "neighbor/call/executor.h"
#include "neighbor/schedule/aggregated.h"

/* NBR-4 for blocks that are all alike. What goes from one node to another is a
 * bundle: it is put together in memory of the leader there, which all of the
 * node can write; who adds the last block sends it, to the leader on the other
 * node; and there all read their blocks where they have arrived. So no leader
 * has to run between two others, but to look at the network.
 *
 *   node A                                     node B
 *   block block block                          block block block
 *      \    |    /                                /\   |   /\
 *    area at A's leader for B  == network ==>  area at B's leader for A
 *
 * An area has CTN_NEIGHBOR_AGGREGATE_GENERATIONS places, bundle number `use`
 * has place use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS. Nobody has to say that it
 * is free. At most two operations are under way at a rank, so who adds to
 * number `use` has completed number use - 2 and has read the bundle that came
 * the other way: all there had added to it, so had completed number use - 4,
 * and read what came from here. That needs ranks that add to a bundle to read
 * the one that comes the other way, and the other way round; other graphs have
 * no bundles. Who cannot read one, for want of memory, ends everything
 * (call/execute.c). And ranks have to number operations alike, also when two
 * begin at once. */

#define CTN_NEIGHBOR_AGGREGATE_GENERATIONS 4u

/** What a rank adds to a bundle, or reads of one. */
typedef struct ctn_neighbor_aggregate_block {
    uint32_t position; /* of the block, in the bundle */
    uint32_t index;    /* in the send buffer; of a source */
} ctn_neighbor_aggregate_block_t;

/** An area. */
typedef struct ctn_neighbor_aggregate_area {
    unsigned char *base; /* as this rank sees it */
    uint32_t blocks;
    uint32_t contributors; /* ranks that add to it; where it arrives: 0 */
} ctn_neighbor_aggregate_area_t;

typedef struct ctn_neighbor_aggregate_out {
    ctn_neighbor_aggregate_area_t area;
    uint32_t node;        /* the other one, as in ctn_edge_t */
    uint32_t contributor; /* which of those this rank is */
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

/** What a rank has to do with bundles, in a plan. */
typedef struct ctn_neighbor_aggregates {
    size_t most_bytes;        /* of a block */
    uint64_t begun;           /* operations of the plan */
    uint32_t led;             /* bundles that are put together at this rank */
    bool leads;               /* some come to this rank */
    ctn_vector_t out;         /* ctn_neighbor_aggregate_out_t */
    ctn_vector_t in;          /* ctn_neighbor_aggregate_in_t */
    ctn_vector_t contributed; /* ctn_neighbor_aggregate_block_t, of all that it
                                 adds to */
    ctn_vector_t consumed;    /* the same of those that it reads */
    void *memory; /* areas that it leads for, in the heap, or NULL */
} ctn_neighbor_aggregates_t;

/* ---- schedule/aggregate_create.c ---- */

/** The plan for blocks that are all alike: as that of all blocks, but what goes
 * to other nodes goes in bundles. NULL: there is none, or a rank has no memory
 * for it. Collective; all agree on the status. */
catena_status_t ctn_schedule_aggregated_uniform(ctn_leading_t *leading,
                                                ctn_pattern_t pattern,
                                                ctn_schedule_t **schedule);

/** Free them, but for the memory in the heap. NULL: nothing. */
void ctn_neighbor_aggregates_free(ctn_neighbor_aggregates_t *aggregates);

/* ---- schedule/aggregate.c ---- */

/** Number an operation. False: not yet, one before it has not begun. */
bool ctn_neighbor_aggregates_begin(const ctn_op_t *op);
/** Add this rank's blocks, and send what is complete. */
catena_status_t ctn_neighbor_aggregates_send(ctn_op_t *op);
/** Take blocks of bundles that have come. MOVED: some have. */
ctn_step_t ctn_neighbor_aggregates_receive(ctn_op_t *op);

/** Bytes of an area for blocks of at most so many bytes. */
size_t
ctn_neighbor_aggregate_area_bytes(const ctn_neighbor_aggregate_area_t *area,
                                  size_t most_bytes);
/** So many of them, from its start, are to be zero before the first use. */
size_t
ctn_neighbor_aggregate_area_zero(const ctn_neighbor_aggregate_area_t *area);

#endif
