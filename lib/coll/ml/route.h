#ifndef CTN_COLL_ML_ROUTE_H
#define CTN_COLL_ML_ROUTE_H

#include "coll/ml/cover.h"
#include "coll/ml/ml.h"

/* The route of blocks through the levels of a hierarchy: up to the leaders
 * (gather), down from them (scatter). On each level the blocks are moved by one
 * basic gather or scatter in each subgroup: a hop.
 *
 * A gather or scatter with a root moves each block once on each level. In a
 * subgroup in which no member represents the root, the root of the hop is the
 * leader. In the others it is the member that represents the root. If that
 * member is not the leader, the blocks of ranks that no member represents enter
 * the subgroup through the leader, and go on to that member together with the
 * leader's own. So no block goes up to a leader and down again to the root.
 *
 * Between levels a rank stores blocks in the order of ranks, contiguously: its
 * cover (cover.h). In most hierarchies the blocks of a subgroup are contiguous
 * in the cover, member after member, and are sent and received there. Otherwise
 * (ranks assigned to nodes round-robin) they are packed: copied to or from
 * other memory in the order of members. */

/** One level of a route. */
typedef struct ctn_hop {
    ctn_packing_t packing; /* the order of the blocks, by members: cover.h */
    uint32_t root; /* a member: gathers from or scatters to the others */
    bool crosses;  /* blocks of ranks that no member represents go through the
                      leader, which is not the root */
    bool holds;    /* this rank has the blocks of all members in this hop: it is
                      the root, or all members get all blocks */
    size_t *at;    /* if it holds them: byte offsets in `place` of the blocks of
                      each member, and their end; [size of the subgroup + 1] */
    size_t bytes;  /* of this rank's blocks */
    unsigned char *place; /* of the blocks of all members if it holds them, else
                             of this rank's */
    bool packed;          /* `place` is not in the cover */
    size_t room;          /* bytes of the memory that it then is */
    unsigned char *other; /* that memory; NULL: none */
} ctn_hop_t;

/** A route. First member of a composition's state in ml->table. */
typedef struct ctn_route {
    ctn_cover_t cover;
    ctn_range_t all;                /* all ranks of the group */
    uint32_t ranks;                 /* number of ranks in the cover */
    uint32_t own;                   /* this rank's index in the cover */
    bool keeps;                     /* this rank stores blocks of other ranks */
    ctn_hop_t hop[CTN_MOST_LEVELS]; /* [levels] */
} ctn_route_t;

/** Where the blocks go, or come from. */
typedef enum ctn_route_kind {
    CTN_ROUTE_ROOTED, /* call.root (gather, scatter) */
    CTN_ROUTE_ALL,    /* all members of the top get all blocks (allgather) */
    CTN_ROUTE_LEADERS /* each member of the top has the blocks of the ranks that
                         it represents (reduce_scatter) */
} ctn_route_kind_t;

/** Whether a single level joins all ranks. The same on all ranks. */
static inline bool ctn_route_is_single_level(const ctn_ml_t *ml)
{
    return ctn_ml_levels(ml) == 1 &&
           ctn_ml_sbgp(ml, 0)->size == ctn_ml_size(ml);
}

/** Make the route: everything but the lengths of blocks and what follows from
 * them. Sets the ranges of the cover.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_find(ctn_ml_t *ml, ctn_route_t *route,
                               ctn_route_kind_t kind);

/** Bytes of all blocks of the cover. */
static inline size_t ctn_route_bytes(const ctn_route_t *route)
{
    return ctn_cover_at(&route->cover, route->ranks);
}

/** Set the memory of the cover: scratch memory, unless one of these serves.
 * @param[in] own this rank's block; serves if this rank stores no other blocks;
 * or NULL
 * @param[in] user_buffer the user's buffer of all blocks; serves if this rank
 * stores other blocks; or NULL
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_set_memory(ctn_ml_t *ml, ctn_route_t *route,
                                     const ctn_span_t *own,
                                     unsigned char *user_buffer);

/** Compute where the blocks of each hop lie, from the cover's lengths and
 * memory.
 * @return ERR_NO_MEMORY */
catena_status_t ctn_route_layout(ctn_ml_t *ml, ctn_route_t *route);

/** Add the tasks that gather to the root (CTN_ROUTE_ROOTED), or to the leaders
 * of all levels below the top; or the tasks that scatter from there. */
void ctn_route_gather(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_route_kind_t kind);
void ctn_route_scatter(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_route_kind_t kind);
/** Add the task in which all members of a level get all blocks. */
void ctn_route_allgather(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level);

/* ---- user buffers ---- */

/** Where the blocks of the call's buffer that are in a cover begin in it.
 * @return [ranks of the cover + 1]; NULL: no memory */
size_t *ctn_route_offsets(ctn_ml_t *ml, const ctn_cover_t *cover);

/** The memory of all blocks of a call's buffer, if they are contiguous there in
 * the order of ranks; else NULL.
 * @param[in] at where they begin in a cover of all ranks; NULL: uniform */
unsigned char *ctn_route_user_buffer(const ctn_call_t *call, const size_t *at);

/** The same for an inline call. The offsets lie in config->block_offsets.
 * @return [ranks + 1], valid until the next call; NULL: no memory */
const size_t *ctn_route_cached_offsets(const ctn_call_t *call,
                                       ctn_ml_config_t *config);

/** For an inline call on a single level: set `bytes` and, if significant, `at`
 * of its basic collective.
 * @param[in]  own this rank's block
 * @param[out] all memory of all blocks, if significant; else NULL
 * @return false: the call needs packing or copying, or is too long */
bool ctn_route_single_level(const ctn_call_t *call, ctn_ml_config_t *config,
                            const ctn_span_t *own, unsigned char **all,
                            ctn_basic_coll_t *basic);

/** The function `single_level_basic` (ml.h) of gather and allgather. */
bool ctn_route_gather_single_level(const ctn_call_t *call,
                                   ctn_ml_config_t *config,
                                   ctn_basic_coll_t *basic);

/** Copy the blocks of all ranks from a buffer to a cover that has all (`into`),
 * or back. If a block's lengths differ, the shorter one counts. */
void ctn_route_copy_blocks(ctn_ml_t *ml, const ctn_blocks_t *blocks,
                           const ctn_cover_t *cover, bool into);

/** Copy this rank's block to the cover (`into`), or back, unless it lies
 * there. */
void ctn_route_copy_own(ctn_ml_t *ml, const ctn_route_t *route,
                        const ctn_span_t *own, bool into);

#endif
