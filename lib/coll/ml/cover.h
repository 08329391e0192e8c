#ifndef CTN_COLL_ML_COVER_H
#define CTN_COLL_ML_COVER_H

#include "coll/hierarchy/hierarchy.h"

/* Two orders of the blocks of ranks: a *cover* is the blocks that a rank
 * stores, in the order of ranks. A *packing* is the blocks that a basic gather,
 * scatter or allgather of a subgroup moves, in the order of members. */

/** The blocks that this rank stores, contiguously. */
typedef struct ctn_cover {
    const ctn_range_t *range; /* [ranges] of ranks of the group, ascending */
    uint32_t ranges;
    size_t bytes; /* of each block, unless `at` is set */
    /** [n + 1]: where the blocks of the n ranks begin; NULL: uniform. */
    const size_t *at;
    unsigned char *memory; /* of the blocks */
} ctn_cover_t;

/** The order of blocks in a subgroup: member after member, the blocks of the
 * ranks that the member represents. Blocks of ranks that no member represents
 * (the rest) follow those of member 0. */
typedef struct ctn_packing {
    const ctn_sbgp_t *sbgp;
    ctn_range_t *rest; /* [rests] ascending ranges of ranks that no member
                          represents; or NULL */
    uint32_t rests;
} ctn_packing_t;

/** Where block i of a cover begins. */
static inline size_t ctn_cover_at(const ctn_cover_t *cover, uint32_t i)
{
    return cover->at != NULL ? cover->at[i] : i * cover->bytes;
}

/** The number of ranks in ranges. */
uint32_t ctn_cover_count(const ctn_range_t *range, uint32_t ranges);

/** The index of a rank in a cover that contains it. */
uint32_t ctn_cover_find(const ctn_cover_t *cover, uint32_t rank);

/** Find the ranks of a group of `size` that no member of a subgroup represents.
 * @param[out] rest memory for as many ranges as all members have, and one
 * more */
void ctn_packing_find_rest(ctn_packing_t *packing, uint32_t size,
                           ctn_range_t *rest);

/** Compute the lengths of all members' blocks, which are in a cover.
 * @param[out] at   [size of the subgroup + 1]: where each member's blocks begin
 * in the packing
 * @param[out] from offset in the cover, if the blocks are contiguous there
 * @return whether they are contiguous in the cover, in this order */
bool ctn_packing_layout(const ctn_cover_t *cover, const ctn_packing_t *packing,
                        size_t *at, size_t *from);

/** The same for the blocks of one member. */
bool ctn_packing_layout_member(const ctn_cover_t *cover,
                               const ctn_packing_t *packing, uint32_t member,
                               size_t *bytes, size_t *from);

/** Copy a member's blocks from the cover to `packed` (`out`), or back. */
void ctn_packing_copy_member(ctn_exec_t *exec, const ctn_cover_t *cover,
                             const ctn_packing_t *packing, uint32_t member,
                             unsigned char *packed, bool out);

#endif
