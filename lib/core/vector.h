#ifndef CTN_CORE_VECTOR_H
#define CTN_CORE_VECTOR_H

#include <catena/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An array that grows; empty when it is zeroed. `bytes` is the size of an
 * item; all calls for one vector pass the same value. A pointer to an item is
 * valid until the next item is added. */
typedef struct ctn_vector {
    void *item;      /* the first item; NULL: no memory was allocated yet */
    size_t count;    /* of items */
    size_t capacity; /* in items */
} ctn_vector_t;

/** Append a zeroed item. @return the item; NULL: no memory, and the vector is
 * unchanged */
void *ctn_vector_add(ctn_vector_t *vector, size_t bytes);

/** Append a copy of an item. Without memory *status becomes ERR_NO_MEMORY, and
 * the vector is unchanged. */
void ctn_vector_put(ctn_vector_t *vector, const void *item, size_t bytes,
                    catena_status_t *status);

/** Compare `count` words in order, for the comparison function of a sort. */
static inline int ctn_compare_words(const uint32_t *a, const uint32_t *b,
                                    size_t count)
{
    size_t i = 0;
    while (i + 1 < count && a[i] == b[i]) {
        i++;
    }
    return (a[i] > b[i]) - (a[i] < b[i]);
}

/** Sort the items as qsort does. */
void ctn_vector_sort(ctn_vector_t *vector, size_t bytes,
                     int (*compare)(const void *, const void *));

/** Reserve memory for `more` items behind the last.
 * @return false: no memory, and the vector is unchanged */
bool ctn_vector_reserve(ctn_vector_t *vector, size_t more, size_t bytes);

/** Free the items; the vector is empty then. */
void ctn_vector_drop(ctn_vector_t *vector);

/** Grow an array that is not a ctn_vector_t: double its capacity, at least to
 * 16 items and to `least` items.
 * @param item the array, from malloc
 * @param[in,out] capacity in items; unchanged if there is no memory
 * @return the array, which may have moved; NULL: no memory, and `item` is still
 *         valid */
void *ctn_vector_grow(void *item, size_t *capacity, size_t least, size_t bytes);

#endif
