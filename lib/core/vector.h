#ifndef CTN_CORE_VECTOR_H
#define CTN_CORE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/** An array that grows; zeroed: an empty one. All calls for one vector give the
 * same `bytes`, the size of an item. A pointer to an item is valid until the
 * next item is added. */
typedef struct ctn_vector {
    void *item;
    size_t count;
    size_t capacity;
} ctn_vector_t;

/** Append an item, zeroed. NULL: no memory, and the vector is unchanged. */
void *ctn_vector_add(ctn_vector_t *vector, size_t bytes);

/** Make room for `more` items behind the last.
 * @return false: no memory, and the vector is unchanged */
bool ctn_vector_reserve(ctn_vector_t *vector, size_t more, size_t bytes);

/** Free the items. */
void ctn_vector_drop(ctn_vector_t *vector);

/** For arrays with a type of their own: double the capacity, at least to 16
 * items and to `least`.
 * @param[in,out] capacity in items; unchanged without memory
 * @return the array, maybe moved; NULL: no memory, and `item` is still valid */
void *ctn_vector_grow(void *item, size_t *capacity, size_t least, size_t bytes);

#endif
