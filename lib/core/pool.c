/* Pools of objects of one size. */

#include "core/pool.h"

#include <stdlib.h>

#include "core/cache_line.h"

/** One allocation of a pool. */
typedef struct ctn_pool_slab {
    struct ctn_pool_slab *next;
    size_t bytes;                              /* of an object */
    size_t count;                              /* of objects */
    _Alignas(CTN_LINE) unsigned char object[]; /* [count][bytes] */
} ctn_pool_slab_t;

void *ctn_pool_grow(ctn_pool_t *pool, size_t bytes, size_t count)
{
    ctn_pool_slab_t *slab = ctn_lines_alloc(sizeof(*slab) + count * bytes);
    if (slab == NULL) {
        return NULL;
    }
    slab->next = pool->slabs;
    slab->bytes = bytes;
    slab->count = count;
    pool->slabs = slab;
    while (count-- > 0) { /* backwards: the first object is taken first */
        ctn_pool_put(pool, slab->object + count * bytes);
    }
    return ctn_pool_take(pool);
}

void ctn_pool_visit(const ctn_pool_t *pool,
                    void (*visit)(void *object, void *argument), void *argument)
{
    for (ctn_pool_slab_t *slab = pool->slabs; slab != NULL; slab = slab->next) {
        for (size_t i = 0; i < slab->count; i++) {
            visit(slab->object + i * slab->bytes, argument);
        }
    }
}

void ctn_pool_drop(ctn_pool_t *pool)
{
    while (pool->slabs != NULL) {
        ctn_pool_slab_t *slab = pool->slabs;
        pool->slabs = slab->next;
        free(slab);
    }
    pool->free = NULL;
}
