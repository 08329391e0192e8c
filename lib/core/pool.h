#ifndef CTN_CORE_POOL_H
#define CTN_CORE_POOL_H

#include <stddef.h>

/** A pool of objects of one size; empty when it is zeroed. Objects are parts of
 * slabs, which are freed with the pool only. `bytes` is the size of an object,
 * at least that of a pointer; all calls for one pool pass the same value. A
 * free object begins with a pointer to the next free one; its other bytes keep
 * their values. */
typedef struct ctn_pool {
    void *free; /* the first free object */
    struct ctn_pool_slab *slabs;
} ctn_pool_t;

/** Allocate a slab of `count` zeroed objects, and take the first. The objects
 * are aligned to cache lines if `bytes` is a multiple of a cache line.
 * @return NULL: no memory */
void *ctn_pool_grow(ctn_pool_t *pool, size_t bytes, size_t count);

/** Take a free object; NULL: there is none. */
static inline void *ctn_pool_take(ctn_pool_t *pool)
{
    void **object = pool->free;
    if (object != NULL) {
        pool->free = *object;
    }
    return object;
}

/** Take a free object; if there is none, allocate a slab of `count` objects.
 * @return NULL: no memory */
static inline void *ctn_pool_get(ctn_pool_t *pool, size_t bytes, size_t count)
{
    void *object = ctn_pool_take(pool);
    return object != NULL ? object : ctn_pool_grow(pool, bytes, count);
}

/** Give an object back. The next call takes this object. */
static inline void ctn_pool_put(ctn_pool_t *pool, void *object)
{
    *(void **)object = pool->free;
    pool->free = object;
}

/** Like ctn_pool_put, but in builds with assertions up to 64 objects that are
 * free are taken before, so that a freed handle is not reused at once. */
static inline void ctn_pool_return(ctn_pool_t *pool, void *object)
{
#ifdef NDEBUG
    ctn_pool_put(pool, object);
#else
    enum { BEFORE = 64 };
    void **at = (void **)&pool->free;
    for (int i = 0; i < BEFORE && *at != NULL; i++) {
        at = *at;
    }
    *(void **)object = *at;
    *at = object;
#endif
}

/** Call `visit` for all objects of the pool's slabs, free or not. */
void ctn_pool_visit(const ctn_pool_t *pool,
                    void (*visit)(void *object, void *argument),
                    void *argument);

/** Free the slabs, with all objects; the pool is empty then. */
void ctn_pool_drop(ctn_pool_t *pool);

#endif
