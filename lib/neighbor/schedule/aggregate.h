#ifndef CTN_NEIGHBOR_SCHEDULE_AGGREGATE_H
#define CTN_NEIGHBOR_SCHEDULE_AGGREGATE_H

#include "core/vector.h"
#include "exec/aggregate.h"
#include "neighbor/call/executor.h"
#include "neighbor/schedule/aggregated.h"

/* NBR-4 for uniform blocks. Everything from one node to another is one
 * aggregate (exec/aggregate.h). It is composed in an area of the leader and
 * arrives in an area of the leader on the other node. So a leader only has to
 * poll the network; besides, nothing waits until it runs.
 *
 * The operations of a schedule with aggregates are numbered by `use`. An area
 * has CTN_NEIGHBOR_AGGREGATE_GENERATIONS generations; aggregate number `use`
 * has generation use % CTN_NEIGHBOR_AGGREGATE_GENERATIONS. No message is needed
 * to say that a generation is free. At most two operations are under way at a
 * rank, so a contributor to aggregate `use` has completed operation use - 2,
 * and has read the aggregate use - 2 that came the other way. All contributors
 * to that one had completed operation use - 4, and read the aggregate use - 4
 * that came from here. This requires that the contributors to an aggregate are
 * the consumers of the one that comes the other way; other graphs have no
 * aggregates. A rank that cannot read an aggregate, for lack of memory, aborts
 * (call/execute.c). All ranks number operations in the same order, even if two
 * begin at once (ctn_neighbor_aggregates_begin). */

#define CTN_NEIGHBOR_AGGREGATE_GENERATIONS 4u

/** A block that a rank contributes to an aggregate, or consumes. */
typedef struct ctn_neighbor_aggregate_block {
    uint32_t position; /* of the block, in the aggregate */
    uint32_t index;    /* contributed: in the send buffer; consumed: in the
                          receive buffer */
} ctn_neighbor_aggregate_block_t;

/** An area: the generations of the aggregates from one node to another, at one
 * of the two leaders. */
typedef struct ctn_neighbor_aggregate_area {
    unsigned char *base; /* as mapped here */
    uint32_t blocks;     /* of an aggregate */
} ctn_neighbor_aggregate_area_t;

/** An aggregate that this rank contributes to, or consumes. Its blocks of this
 * rank are contributed[first] to contributed[first + blocks - 1], or those of
 * `consumed`. */
typedef struct ctn_neighbor_aggregate {
    ctn_neighbor_aggregate_area_t area;
    uint32_t node;   /* the other node, as in ctn_edge_t */
    uint32_t leader; /* rank whose area it is */
    uint32_t first, blocks;
    /* Only of one that this rank contributes to. */
    uint32_t contributors; /* their number */
    ctn_endpoint_t *there; /* the leader on the other node */
    uint64_t offset;       /* of that leader's area in its arena */
} ctn_neighbor_aggregate_t;

/** The aggregates of a schedule, as one rank sees them. */
typedef struct ctn_neighbor_aggregates {
    size_t most_bytes;        /* longest block that the areas can hold */
    uint64_t begun;           /* operations of the schedule begun so far */
    bool leads;               /* aggregates arrive in its areas */
    uint32_t led;             /* number of aggregates composed in its areas */
    ctn_vector_t out;         /* ctn_neighbor_aggregate_t: contributed to */
    ctn_vector_t in;          /* ctn_neighbor_aggregate_t: consumed */
    ctn_vector_t contributed; /* ctn_neighbor_aggregate_block_t of all in
                                 `out` */
    ctn_vector_t consumed; /* ctn_neighbor_aggregate_block_t of all in `in` */
    void *memory; /* areas of this rank as a leader, in the heap, or NULL */
} ctn_neighbor_aggregates_t;

/* ---- schedule/aggregate_create.c ---- */

/** The schedule for uniform blocks: as the general one, but with aggregates to
 * other nodes. NULL: not possible, or a rank has no memory for it. Collective;
 * all ranks agree on the status. */
catena_status_t ctn_schedule_aggregated_uniform(ctn_leading_t *leading,
                                                ctn_pattern_t pattern,
                                                ctn_schedule_t **schedule);

/** Frees the aggregates of a schedule, except for `memory`. NULL: nothing. */
void ctn_neighbor_aggregates_free(ctn_neighbor_aggregates_t *aggregates);

/* ---- schedule/aggregate.c ---- */

/** Takes `use` for an operation. False: an earlier operation of the
 * neighborhood has not begun yet; try again. */
bool ctn_neighbor_aggregates_begin(const ctn_op_t *op);
/** Adds this rank's blocks to the aggregates, and sends each aggregate to which
 * this rank is the last contributor. */
catena_status_t ctn_neighbor_aggregates_send(ctn_op_t *op);
/** Consumes the aggregates that have arrived. MOVED: there were some. */
ctn_step_t ctn_neighbor_aggregates_receive(ctn_op_t *op);

/** Bytes at the start of an area that must be zero before the first use. */
#define CTN_NEIGHBOR_AGGREGATE_ZERO ((size_t)8 << 10)
/** Bytes of an area for aggregates of so many blocks of at most `most_bytes`.
 */
size_t ctn_neighbor_aggregate_area_bytes(uint32_t blocks, size_t most_bytes);

#endif
