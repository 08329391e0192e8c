#ifndef CTN_NEIGHBOR_CREATE_VECTOR_H
#define CTN_NEIGHBOR_CREATE_VECTOR_H

#include "neighbor/neighborhood.h"

/** An array that grows. */
typedef struct ctn_vector {
    void *item;
    uint32_t count;
    uint32_t capacity;
} ctn_vector_t;

/** Appends an item of `bytes`, zeroed. NULL: no memory. */
void *ctn_vector_add(ctn_vector_t *vector, size_t bytes);
void ctn_vector_drop(ctn_vector_t *vector);

/** Sends records by ctn_sparse_exchange and drops `vector`. A rank with an
 * error status must call it, too: then no rank receives anything, and all ranks
 * learn of an error, though not all at once.
 * @param[in,out] status this rank's
 * @param[out]    came   received records; the caller drops them */
void ctn_vector_sparse_exchange(catena_group_t *group, catena_status_t *status,
                                ctn_vector_t *vector, size_t bytes,
                                ctn_vector_t *came);

#endif
