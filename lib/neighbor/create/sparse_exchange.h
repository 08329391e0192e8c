#ifndef CTN_NEIGHBOR_CREATE_SPARSE_EXCHANGE_H
#define CTN_NEIGHBOR_CREATE_SPARSE_EXCHANGE_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/** Exchanges records between any ranks of a group, in the ceil(log2 p) rounds
 * of a double scan of its chain. A record begins with two uint32_t, `to` and
 * `from`: the ranks of its target and its origin. A rank whose status is an
 * error must call it, too: then no rank receives anything, and all ranks get an
 * error. Collective; blocks.
 * @param         status  this rank's so far
 * @param[in,out] records those to be sent, with `to` set; then those received,
 *                        with `from` set, ordered by origin, then as the origin
 *                        listed them; none after an error. The caller drops
 *                        them
 * @param         bytes   of a record
 * @return this rank's status; the ranks still have to agree on it. If a rank
 *         runs out of memory during the exchange, at least the ranks that miss
 *         records because of it get ERR_NO_MEMORY */
catena_status_t ctn_sparse_exchange(catena_group_t *group,
                                    catena_status_t status,
                                    ctn_vector_t *records, size_t bytes);

#endif
