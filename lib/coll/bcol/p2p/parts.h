#ifndef CTN_COLL_BCOL_P2P_PARTS_H
#define CTN_COLL_BCOL_P2P_PARTS_H

#include "coll/bcol/p2p/p2p.h"

/* For allgather and reduce_scatter, in which all members know the lengths of
 * all blocks. */

static inline size_t ctn_p2p_block_bytes(const ctn_basic_coll_t *basic,
                                         uint32_t member)
{
    return basic->at[member + 1] - basic->at[member];
}

/** The place of a member's block in the receive buffer of an allgather. */
static inline unsigned char *ctn_p2p_block_at(const ctn_basic_coll_t *basic,
                                              uint32_t member)
{
    return (unsigned char *)basic->out + basic->at[member];
}

static inline size_t ctn_p2p_blocks_total(const ctn_basic_coll_t *basic,
                                          uint32_t size)
{
    return basic->at[size] - basic->at[0];
}

/** Digest of all lengths; not 0. Each length affects all bits. Every call of a
 * collective computes this, so it takes one multiplication for each length,
 * fewer than ctn_hash_add. */
static inline uint64_t ctn_p2p_blocks_digest(const ctn_basic_coll_t *basic,
                                             uint32_t size)
{
    const uint64_t factor = UINT64_C(0x5851f42d4c957f2d); /* odd, arbitrary */
    uint64_t digest = 1;
    for (uint32_t i = 0; i < size; i++) {
        digest = digest * factor + ctn_p2p_block_bytes(basic, i);
    }
    digest = (digest ^ digest >> 32) * factor;
    digest ^= digest >> 32;
    return digest != 0 ? digest : 1;
}

/** Select the algorithm. */
const ctn_algorithm_t *ctn_p2p_allgather(ctn_p2p_t *p2p,
                                         const ctn_basic_coll_t *basic);
const ctn_algorithm_t *ctn_p2p_reduce_scatter(ctn_p2p_t *p2p,
                                              const ctn_basic_coll_t *basic);

#endif
