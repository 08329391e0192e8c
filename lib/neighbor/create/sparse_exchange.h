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

/** The head of a record of any length; it is also the unit of lengths. */
typedef struct ctn_long_record {
    uint32_t to, from;
    uint64_t items; /* of the record, each as long as this head, which is the
                       first one */
} ctn_long_record_t;

/** The same for records of any length, as an operation of the user sequence.
 * They are received in any order, but those of one origin in the order of its
 * list. If a rank runs out of memory in the exchange, its group fails on all
 * ranks, or the context ends.
 * @param[in,out] records ctn_long_record_t, with `to`, `from` and `items` set
 * @param[in,out] flag    whether it was set on any rank; only without an error
 * @return OK on all ranks, or an error on all */
catena_status_t ctn_sparse_exchange_long(catena_group_t *group,
                                         catena_status_t status,
                                         ctn_vector_t *records, bool *flag);

#endif
