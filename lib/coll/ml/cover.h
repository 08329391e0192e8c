#ifndef CTN_COLL_ML_COVER_H
#define CTN_COLL_ML_COVER_H

#include "coll/hierarchy/hierarchy.h"

/* Packed blocks of ranks: those that a rank stores (a cover), and those that
 * travel in a subgroup (a packing). */

/** Ranks of the group whose blocks lie in this rank's memory, in the order of
 * ranks. */
typedef struct ctn_cover {
    const ctn_range_t *range; /* ascending */
    uint32_t ranges;
    size_t bytes; /* of each block, unless `at` is set */
    /** [n + 1]: where the blocks of the n ranks begin; NULL: uniform. */
    const size_t *at;
    unsigned char *memory;
} ctn_cover_t;

/** The order of blocks that travel in a subgroup: member after member, the
 * blocks of the ranks that it represents. Blocks of ranks that no member
 * represents follow those of member 0. */
typedef struct ctn_packing {
    const ctn_sbgp_t *sbgp;
    ctn_range_t *rest; /* ascending ranges that no member represents; or NULL */
    uint32_t rests;
} ctn_packing_t;

static inline size_t ctn_cover_at(const ctn_cover_t *cover, uint32_t i)
{
    return cover->at != NULL ? cover->at[i] : i * cover->bytes;
}

/** The number of ranks in ranges. */
uint32_t ctn_cover_count(const ctn_range_t *range, uint32_t ranges);

/** The index of a rank in a cover that contains it. */
uint32_t ctn_cover_find(const ctn_cover_t *cover, uint32_t rank);

/** Find the ranks of a group of `size` that no member of a subgroup represents.
 * @param[out] rest [members' ranges + 1] */
void ctn_packing_find_rest(ctn_packing_t *packing, uint32_t size,
                           ctn_range_t *rest);

/** Compute the lengths of all members' blocks from a cover.
 * @param[out] at   [size + 1] of the subgroup
 * @param[out] from offset in the cover, if the blocks are contiguous there
 * @return whether they are contiguous in the cover, in this order */
bool ctn_packing_layout(const ctn_cover_t *cover, const ctn_packing_t *packing,
                        size_t *at, size_t *from);

/** The same for the blocks of one member. */
bool ctn_packing_layout_member(const ctn_cover_t *cover,
                               const ctn_packing_t *packing, uint32_t member,
                               size_t *bytes, size_t *from);

/** Copy a member's blocks from the cover to `packed`, or back. */
void ctn_packing_copy_member(ctn_exec_t *exec, const ctn_cover_t *cover,
                             const ctn_packing_t *packing, uint32_t member,
                             unsigned char *packed, bool out);

#endif
