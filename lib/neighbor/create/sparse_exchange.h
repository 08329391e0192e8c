#ifndef CTN_NEIGHBOR_CREATE_SPARSE_EXCHANGE_H
#define CTN_NEIGHBOR_CREATE_SPARSE_EXCHANGE_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/** Exchanges records between any ranks of a group, in
 * ceil(log2 p) rounds of its log-chain: records for members 2^d or more away go
 * a step of 2^d. Collective; blocks.
 * @param[in]  bytes      of a record
 * @param[in]  record     [count][bytes]; each begins with the uint32_t rank of
 *                        its target. NULL with count > 0: this rank had no
 *                        memory for its records
 * @param[out] came       [came_count][bytes]: the received records, ordered by
 *                        origin, then as the origin listed them; each begins
 *                        with the uint32_t rank of its origin. The caller frees
 *                        it
 * @return this rank's status; the ranks still have to agree on it.
 *         ERR_NO_MEMORY on all ranks if a rank passes NULL. If a rank runs out
 *         of memory later, at least the ranks that miss records because of it
 *         get ERR_NO_MEMORY */
catena_status_t ctn_sparse_exchange(catena_group_t *group, size_t bytes,
                                    size_t count, const void *record,
                                    void **came, size_t *came_count);

/** The same for a vector of records, which is dropped. A rank whose status is
 * an error must call it, too: then no rank receives anything, and all ranks get
 * an error.
 * @param[in,out] status  this rank's
 * @param[in]     bytes   of a record
 * @param[out]    came    received records; the caller drops them */
void ctn_sparse_exchange_vector(catena_group_t *group, catena_status_t *status,
                                ctn_vector_t *records, size_t bytes,
                                ctn_vector_t *came);

#endif
