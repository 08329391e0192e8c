#ifndef CTN_CORE_POOL_H
#define CTN_CORE_POOL_H

#include <stddef.h>

/** Objects of one size, carved from slabs; zeroed: an empty pool. All calls for
 * one pool give the same `bytes`, the size of an object, at least that of a
 * pointer. A free object begins with a pointer to the next one; the rest keeps
 * what it held. Slabs are freed with the pool only. */
typedef struct ctn_pool {
    void *free;
    struct ctn_pool_slab *slabs;
} ctn_pool_t;

/** Allocate a slab of `count` objects, zeroed and aligned to cache lines if
 * `bytes` is a multiple of one; take the first.
 * @return NULL: no memory */
void *ctn_pool_grow(ctn_pool_t *pool, size_t bytes, size_t count);

/** Add free objects that lie in memory of the caller. The caller frees it. */
void ctn_pool_add(ctn_pool_t *pool, void *memory, size_t bytes, size_t count);

/** Take a free object; NULL: there is none. */
static inline void *ctn_pool_take(ctn_pool_t *pool)
{
    void **object = pool->free;
    if (object != NULL) {
        pool->free = *object;
    }
    return object;
}

/** The same; if there is none, allocate a slab of `count` objects.
 * @return NULL: no memory */
static inline void *ctn_pool_get(ctn_pool_t *pool, size_t bytes, size_t count)
{
    void *object = ctn_pool_take(pool);
    return object != NULL ? object : ctn_pool_grow(pool, bytes, count);
}

/** Return an object, which is the next one taken. */
static inline void ctn_pool_put(ctn_pool_t *pool, void *object)
{
    *(void **)object = pool->free;
    pool->free = object;
}

/** Call `visit` for all objects of the pool's slabs, free or not. */
void ctn_pool_visit(const ctn_pool_t *pool,
                    void (*visit)(void *object, void *argument),
                    void *argument);

/** Free the slabs, with all objects; the pool is empty then. */
void ctn_pool_drop(ctn_pool_t *pool);

#endif
