#include "neighbor/create/vector.h"

#include <stdlib.h>
#include <string.h>

void *ctn_vector_add(ctn_vector_t *vector, size_t bytes)
{
    if (vector->count == vector->capacity) {
        uint32_t capacity = vector->capacity > 0 ? 2 * vector->capacity : 16;
        void *item = realloc(vector->item, capacity * bytes);
        if (item == NULL) {
            return NULL;
        }
        vector->item = item;
        vector->capacity = capacity;
    }
    return memset((unsigned char *)vector->item + vector->count++ * bytes, 0,
                  bytes);
}

void ctn_vector_drop(ctn_vector_t *vector)
{
    free(vector->item);
    *vector = (ctn_vector_t){0};
}

void ctn_vector_sparse_exchange(catena_group_t *group, catena_status_t *status,
                                ctn_vector_t *vector, size_t bytes,
                                ctn_vector_t *came)
{
    bool good = *status == CATENA_OK;
    size_t count = 0;
    *came = (ctn_vector_t){0};
    /* NULL instead of records tells all ranks that they are missing. */
    catena_status_t ran =
        ctn_sparse_exchange(group, bytes, good ? vector->count : 1,
                            good ? vector->item : NULL, &came->item, &count);
    if (ran == CATENA_OK) {
        came->count = came->capacity = (uint32_t)count;
    }
    if (good) {
        *status = ran;
    }
    ctn_vector_drop(vector);
}
