#ifndef CTN_COLL_ML_ROUTE_H
#define CTN_COLL_ML_ROUTE_H

#include "coll/ml/cover.h"
#include "coll/ml/ml.h"

/* The route of blocks through the levels of a hierarchy: up to the leaders
 * (gather), down from them (scatter).
 *
 * A rooted collective sends each block once on each level. Subgroups that do
 * not contain the root, or a leader of it, gather at their leader, or scatter
 * from it. The others gather at the member that represents the root. If that is
 * not the leader, blocks from outside enter through the leader, together with
 * its own. So no block goes up to a leader and down again to the root.
 *
 * Between levels a rank stores blocks in the order of ranks, contiguously: its
 * cover. In most hierarchies the blocks of a subgroup are contiguous in the
 * cover, member after member, and are sent and received there. Otherwise (ranks
 * assigned to nodes round-robin) they are packed. */

/** One level of a route. */
typedef struct ctn_hop {
    ctn_packing_t packing;
    uint32_t root;
    bool crosses; /* blocks from outside enter through the leader, which is not
                     the root */
    bool holds;   /* this rank gets, or sends, all blocks */
    size_t *at;   /* if it holds all: [size + 1] */
    size_t bytes; /* of this rank's blocks */
    unsigned char *place; /* of all blocks, or of this rank's */
    bool packed;          /* `place` is not in the cover */
} ctn_hop_t;

/** First member of what a composition keeps in ml->table. */
typedef struct ctn_route {
    ctn_cover_t cover;
    ctn_range_t all; /* ranks of the group */
    uint32_t ranks;  /* in the cover */
    uint32_t own;    /* this rank's index in the cover */
    bool keeps;      /* it stores blocks of other ranks */
    ctn_hop_t hop[CTN_MOST_LEVELS];
} ctn_route_t;

typedef enum ctn_route_kind {
    CTN_ROUTE_ROOTED, /* to or from call.root */
    CTN_ROUTE_ALL,    /* all members of the top get all blocks */
    CTN_ROUTE_LEADERS /* each member of the top has its own blocks */
} ctn_route_kind_t;

/** Whether a single level joins all ranks. The same on all ranks. */
static inline bool ctn_route_is_single_level(const ctn_ml_t *ml)
{
    return ctn_ml_levels(ml) == 1 &&
           ctn_ml_sbgp(ml, 0)->size == ctn_ml_size(ml);
}

/** Make the route: everything but lengths and places. The cover has its ranges.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_find(ctn_ml_t *ml, ctn_route_t *route,
                               ctn_route_kind_t kind);

/** Bytes of all blocks of the cover. */
static inline size_t ctn_route_bytes(const ctn_route_t *route)
{
    return ctn_cover_at(&route->cover, route->ranks);
}

/** Set the memory of the cover.
 * @param[in] own   this rank's block, to be used if no others are stored; or
 * NULL
 * @param[in] user_buffer memory to be used if others are stored; or NULL
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_set_memory(ctn_ml_t *ml, ctn_route_t *route,
                                     const ctn_span_t *own,
                                     unsigned char *user_buffer);

/** Compute where blocks lie, from the cover's lengths and memory.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_layout(ctn_ml_t *ml, ctn_route_t *route);
/** Without memory for blocks: move nothing, on any level. */
void ctn_route_layout_nothing(ctn_ml_t *ml, ctn_route_t *route);

/** Add the tasks that gather to the root, or to the leaders of all levels below
 * the top; or that scatter from them. */
void ctn_route_gather(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_route_kind_t kind);
void ctn_route_scatter(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_route_kind_t kind);
/** Add the task in which all members of a level get all blocks. */
void ctn_route_allgather(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level);

/* ---- user buffers ---- */

/** Where the blocks of all ranks begin if they are contiguous, with lengths of
 * their own.
 * @return [ranks + 1]; NULL: no memory */
size_t *ctn_route_offsets(ctn_ml_t *ml);

/** The memory of all blocks of a call's buffer, if they are contiguous there in
 * the order of ranks; else NULL.
 * @param[in] at as ctn_route_offsets returns it; NULL: uniform */
unsigned char *ctn_route_user_buffer(const ctn_call_t *call, const size_t *at);

/** Where the blocks of all ranks begin, for an inline call.
 * @return [ranks + 1], valid until the next call; NULL: no memory */
const size_t *ctn_route_cached_offsets(const ctn_call_t *call,
                                       ctn_ml_config_t *config);

/** For an inline call on a single level: set `bytes` and `at` of its basic
 * collective.
 * @param[in]  own this rank's block
 * @param[out] all memory of all blocks, if significant; else NULL
 * @return false: the call needs packing or copying, or is too long */
bool ctn_route_single_level(const ctn_call_t *call, ctn_ml_config_t *config,
                            const ctn_span_t *own, unsigned char **all,
                            ctn_basic_coll_t *basic);

/** The same for gather and allgather; see ctn_composition_t. */
bool ctn_route_gather_single_level(const ctn_call_t *call,
                                   ctn_ml_config_t *config,
                                   ctn_basic_coll_t *basic);

/** Copy the blocks of all ranks from a buffer to a cover that has all, or back.
 * Where lengths differ, the shorter one counts. */
void ctn_route_copy_blocks(ctn_ml_t *ml, const ctn_blocks_t *blocks,
                           const ctn_cover_t *cover, bool into);

/** Copy this rank's block to the cover, or back, unless it lies there. */
void ctn_route_copy_own(ctn_ml_t *ml, const ctn_route_t *route,
                        const ctn_span_t *own, bool into);

#endif
