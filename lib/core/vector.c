/* Arrays that grow. */

#include "core/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

void *ctn_vector_grow(void *item, size_t *capacity, size_t least, size_t bytes)
{
    size_t larger = *capacity > 0 ? *capacity : FIRST_CAPACITY / 2;
    if (larger > SIZE_MAX / 2 / bytes || least > SIZE_MAX / bytes) {
        return NULL;
    }
    larger = 2 * larger > least ? 2 * larger : least;
    void *grown = realloc(item, larger * bytes);
    if (grown != NULL) {
        *capacity = larger;
    }
    return grown;
}

bool ctn_vector_reserve(ctn_vector_t *vector, size_t more, size_t bytes)
{
    if (more <= vector->capacity - vector->count) {
        return true;
    }
    if (more > SIZE_MAX - vector->count) {
        return false;
    }
    void *item = ctn_vector_grow(vector->item, &vector->capacity,
                                 vector->count + more, bytes);
    if (item == NULL) {
        return false;
    }
    vector->item = item;
    return true;
}

void *ctn_vector_add(ctn_vector_t *vector, size_t bytes)
{
    if (!ctn_vector_reserve(vector, 1, bytes)) {
        return NULL;
    }
    return memset((unsigned char *)vector->item + vector->count++ * bytes, 0,
                  bytes);
}

void ctn_vector_put(ctn_vector_t *vector, const void *item, size_t bytes,
                    catena_status_t *status)
{
    void *added = ctn_vector_add(vector, bytes);
    if (added == NULL) {
        *status = CATENA_ERR_NO_MEMORY;
    } else {
        memcpy(added, item, bytes);
    }
}

void ctn_vector_sort(ctn_vector_t *vector, size_t bytes,
                     int (*compare)(const void *, const void *))
{
    if (vector->count > 1) {
        qsort(vector->item, vector->count, bytes, compare);
    }
}

void ctn_vector_drop(ctn_vector_t *vector)
{
    free(vector->item);
    *vector = (ctn_vector_t){0};
}
