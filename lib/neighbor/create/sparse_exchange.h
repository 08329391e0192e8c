#ifndef CTN_NEIGHBOR_CREATE_SPARSE_EXCHANGE_H
#define CTN_NEIGHBOR_CREATE_SPARSE_EXCHANGE_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/** Exchanges records between any ranks of a group, in
 * ceil(log2 p) rounds of its log-chain: records for members 2^d or more away go
 * a step of 2^d. Collective; blocks.
 * @param[in]  count   of records of `bytes`; each begins with the uint32_t rank
 *                     of its target
 * @param[in]  record  [count][bytes]; NULL for some records: this rank has no
 *                     memory
 * @param[out] came    malloc'd; the caller frees it. Ordered by origin, then as
 *                     the origin listed them; each begins with the uint32_t
 *                     rank of its origin
 * @return this rank's status; the ranks still have to agree on it.
 *         ERR_NO_MEMORY on all ranks if a rank has it from the beginning. A
 *         rank that runs out of memory later tells the ranks that miss records
 *         because of it, and maybe others */
catena_status_t ctn_sparse_exchange(catena_group_t *group, size_t bytes,
                                    size_t count, const void *record,
                                    void **came, size_t *came_count);

/** The same of a vector, which is dropped. A rank with an error status must
 * call it, too: then no rank receives anything, and all ranks learn of an
 * error, though not all at once.
 * @param[in,out] status this rank's
 * @param[out]    came   received records; the caller drops them */
void ctn_sparse_exchange_vector(catena_group_t *group, catena_status_t *status,
                                ctn_vector_t *records, size_t bytes,
                                ctn_vector_t *came);

#endif
