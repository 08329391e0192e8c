#ifndef CTN_COLL_ML_ROUTE_H
#define CTN_COLL_ML_ROUTE_H

#include "coll/ml/cover.h"
#include "coll/ml/ml.h"

/* The way of blocks through the levels of a hierarchy: upwards to leaders
 * (gather), downwards from them (scatter).
 *
 * A rooted collective passes each block once on each level. Subgroups that do
 * not have the root under them gather at their leader, or scatter from it.
 * Those that do gather at the member that stands for the root; when that is not
 * the leader, what comes from outside comes through the leader, with its own
 * part. So no block goes up to a leader and down again to the root.
 *
 * Between levels a rank keeps blocks in the order of ranks, in one piece of
 * memory: its cover. Of most hierarchies the parts of a subgroup lie together
 * there, one after the other, and go from there and to there. Where they do not
 * (ranks dealt to nodes in turn), they are packed. */

/** One level of a route. */
typedef struct ctn_hop {
    ctn_packing_t packing;
    uint32_t root;
    bool crosses; /* blocks from outside come through the leader, who is not
                     the root */
    bool holds;   /* this rank gets, or gives, all parts */
    size_t *at;   /* then: [size + 1] */
    size_t bytes; /* of this rank's part */
    unsigned char *place; /* of all parts, or of this rank's */
    bool packed;          /* it is not the cover's */
} ctn_hop_t;

/** First of what a composition keeps in ml->table. */
typedef struct ctn_route {
    ctn_cover_t cover;
    ctn_range_t all; /* ranks of the group */
    uint32_t ranks;  /* in the cover */
    uint32_t own;    /* of them: this rank */
    bool keeps;      /* it has blocks of others */
    ctn_hop_t hop[CTN_MOST_LEVELS];
} ctn_route_t;

typedef enum ctn_route_kind {
    CTN_ROUTE_ROOTED, /* to or from call.root */
    CTN_ROUTE_ALL,    /* at the top all members get all */
    CTN_ROUTE_LEADERS /* at the top each has its own part */
} ctn_route_kind_t;

/** Whether a single level joins all: as all ranks see. */
static inline bool ctn_route_is_single_level(const ctn_ml_t *ml)
{
    return ctn_ml_levels(ml) == 1 &&
           ctn_ml_sbgp(ml, 0)->size == ctn_ml_size(ml);
}

/** Find the way. Sets all but lengths and places; the cover has its ranges.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_find(ctn_ml_t *ml, ctn_route_t *route,
                               ctn_route_kind_t kind);

/** Bytes of all blocks of the cover. */
static inline size_t ctn_route_bytes(const ctn_route_t *route)
{
    return ctn_cover_at(&route->cover, route->ranks);
}

/** Memory for the cover.
 * @param[in] own   this rank's block, which serves if no others are kept; NULL:
 *                  it may not
 * @param[in] users memory that serves if others are kept; NULL: none
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_set_memory(ctn_ml_t *ml, ctn_route_t *route,
                                     const ctn_span_t *own,
                                     unsigned char *user_buffer);

/** Find where parts lie: the cover has its lengths and memory.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_layout(ctn_ml_t *ml, ctn_route_t *route);
/** There is no memory for blocks: nothing is moved, on any level. */
void ctn_route_layout_nothing(ctn_ml_t *ml, ctn_route_t *route);

/** Add the stages that gather to the root, or to the leaders of all levels
 * below the top; scatter: likewise from them. */
void ctn_route_gather(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_route_kind_t kind);
void ctn_route_scatter(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_route_kind_t kind);
/** Add the stage in which all members of a level get all. */
void ctn_route_allgather(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level);

/* ---- users' blocks ---- */

/** Where the blocks of all ranks begin, with lengths of their own, end to end.
 * @return [ranks + 1]; NULL: no memory */
size_t *ctn_route_offsets(ctn_ml_t *ml);

/** The memory of all blocks of a call's buffer, if they lie end to end in the
 * order of ranks; else NULL.
 * @param[in] at as ctn_route_offsets has it; NULL: all are alike */
unsigned char *ctn_route_user_buffer(const ctn_call_t *call, const size_t *at);

/** Where the blocks of all ranks begin, for a call that is alone.
 * @return [ranks + 1], until the next call; NULL: no memory */
const size_t *ctn_route_cached_offsets(const ctn_call_t *call,
                                       ctn_ml_config_t *config);

/** Of a call that is alone, on a single level: set `bytes` and `at` of its
 * basic collective.
 * @param[in]  own this rank's block
 * @param[out] all memory of all blocks, where they matter; else NULL
 * @return false: something has to be packed, or copied, or is long */
bool ctn_route_single_level(const ctn_call_t *call, ctn_ml_config_t *config,
                            const ctn_span_t *own, unsigned char **all,
                            ctn_basic_coll_t *basic);

/** The same for gather and allgather: all that ctn_composition_t asks for. */
bool ctn_route_gather_single_level(const ctn_call_t *call,
                                   ctn_ml_config_t *config,
                                   ctn_basic_coll_t *basic);

/** Copy the blocks of all ranks between a buffer and a cover that has all: into
 * the cover, or out of it. Of blocks of different lengths what both have. */
void ctn_route_copy_blocks(ctn_ml_t *ml, const ctn_blocks_t *blocks,
                           const ctn_cover_t *cover, bool into);

/** Copy this rank's block into the cover, or out of it, unless it is there. */
void ctn_route_copy_own(ctn_ml_t *ml, const ctn_route_t *route,
                        const ctn_span_t *own, bool into);

#endif
