#ifndef CTN_NEIGHBOR_CREATE_VECTOR_H
#define CTN_NEIGHBOR_CREATE_VECTOR_H

#include "neighbor/neighborhood.h"

/** Something of which there will be more. */
typedef struct ctn_vector {
    void *item;
    uint32_t count;
    uint32_t capacity;
} ctn_vector_t;

/** Room for one more of `bytes`, zeroed; NULL: no memory. */
void *ctn_vector_add(ctn_vector_t *vector, size_t bytes);
void ctn_vector_drop(ctn_vector_t *vector);

/** Deliver records, as ctn_sparse_exchange does; `pile` is dropped. Whose
 * status is bad already still calls it: then nothing comes to anybody, and all
 * learn that something is wrong, though not all at once.
 * @param[in,out] status this rank's
 * @param[out]    came   to be dropped */
void ctn_vector_sparse_exchange(catena_group_t *group, catena_status_t *status,
                                ctn_vector_t *vector, size_t bytes,
                                ctn_vector_t *came);

#endif
