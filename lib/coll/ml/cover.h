#ifndef CTN_COLL_ML_COVER_H
#define CTN_COLL_ML_COVER_H

#include "coll/hierarchy/hierarchy.h"

/* Blocks of ranks, packed: what a rank keeps of them, and what travels in a
 * subgroup. */

/** Ranks of the group whose blocks lie in memory of this rank, in the order of
 * ranks. */
typedef struct ctn_cover {
    const ctn_range_t *range; /* ascending */
    uint32_t ranges;
    size_t bytes; /* of each block, or, */
    /** [n + 1] where those of the n ranks begin; then `bytes` is not looked at.
     */
    const size_t *at;
    unsigned char *memory;
} ctn_cover_t;

/** The parts that travel in a subgroup: member after member, of each the blocks
 * of the ranks it stands for; with that of member 0, behind it, blocks of ranks
 * that no member stands for. */
typedef struct ctn_packing {
    const ctn_sbgp_t *sbgp;
    ctn_range_t *rest; /* ascending; or NULL */
    uint32_t rests;
} ctn_packing_t;

static inline size_t ctn_cover_at(const ctn_cover_t *cover, uint32_t i)
{
    return cover->at != NULL ? cover->at[i] : i * cover->bytes;
}

/** Ranks in ranges. */
uint32_t ctn_cover_count(const ctn_range_t *range, uint32_t ranges);

/** Where a rank comes among those of a cover that has it. */
uint32_t ctn_cover_find(const ctn_cover_t *cover, uint32_t rank);

/** Ranks of a group of `size` that no member of a subgroup stands for.
 * @param[out] rest as many as the members' ranges, and one */
void ctn_packing_find_rest(ctn_packing_t *packing, uint32_t size,
                           ctn_range_t *rest);

/** Lengths of all parts, whose blocks a cover has.
 * @param[out] at   [size + 1] of the subgroup
 * @param[out] from where in the cover they begin, if they lie together there,
 *                  in their order
 * @return whether they do */
bool ctn_packing_layout(const ctn_cover_t *cover, const ctn_packing_t *packing,
                        size_t *at, size_t *from);

/** The same for one part. */
bool ctn_packing_layout_member(const ctn_cover_t *cover,
                               const ctn_packing_t *packing, uint32_t member,
                               size_t *bytes, size_t *from);

/** Copy a part out of the cover to `packed`, or back. */
void ctn_packing_copy_member(ctn_exec_t *exec, const ctn_cover_t *cover,
                             const ctn_packing_t *packing, uint32_t member,
                             unsigned char *packed, bool out);

#endif
