#ifndef CTN_NEIGHBOR_CREATE_SPARSE_EXCHANGE_H
#define CTN_NEIGHBOR_CREATE_SPARSE_EXCHANGE_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/** Exchanges records between any ranks of a group, in the ceil(log2 p) rounds
 * of a double scan of its chain. A rank whose status is an error must call it,
 * too: then no rank receives anything, and all ranks get an error. Collective;
 * blocks.
 * @param      status  this rank's so far
 * @param      records each begins with the uint32_t rank of its target; dropped
 * @param      bytes   of a record
 * @param[out] came    the received records, ordered by origin, then as the
 *                     origin listed them; each begins with the uint32_t rank of
 *                     its origin. The caller drops them
 * @return this rank's status; the ranks still have to agree on it. If a rank
 *         runs out of memory during the exchange, at least the ranks that miss
 *         records because of it get ERR_NO_MEMORY */
catena_status_t ctn_sparse_exchange(catena_group_t *group,
                                    catena_status_t status,
                                    ctn_vector_t *records, size_t bytes,
                                    ctn_vector_t *came);

#endif
