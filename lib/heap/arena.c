#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "heap/arena.h"

/* The functions of the allocator, and the caches' part in small blocks. The
 * fast paths are alloc_small and free_small: they enter this thread's cache,
 * pop or push a block, and leave. All other paths take the mutex. */

/* End the process: `what` says why the block cannot be freed. */
static __attribute__((noreturn, cold, noinline)) void
die(const ctn_arena_t *arena, const void *block, const char *what)
{
    ctn_log_write(arena->params.log, CATENA_LOG_FATAL,
                  "heap: %p cannot be freed or resized: %s", block, what);
    abort();
}

/* An adaptive mutex spins a little before it sleeps, because critical sections
 * are short. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define MUTEX_INITIALIZER PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#else
#define MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#endif

catena_status_t ctn_arena_init(ctn_arena_t *arena,
                               const ctn_arena_params_t *params)
{
    assert((uintptr_t)params->base % CTN_ALIGN_MAX == 0);
    assert(params->bytes % CTN_PAGE_BYTES == 0 && params->bytes > 0);
    assert(params->huge_off > 0 && params->huge_off <= params->bytes);
    if (params->bytes >> CTN_PAGE_SHIFT > UINT32_MAX) {
        return CATENA_ERR_ARG;
    }
    *arena = (ctn_arena_t){.params = *params,
                           .base = params->base,
                           .bytes = params->bytes,
                           .mutex = MUTEX_INITIALIZER};
    if (!ctn_caches_init(arena) || !ctn_runs_init(arena)) {
        ctn_arena_release(arena);
        return CATENA_ERR_NO_MEMORY;
    }
    return CATENA_OK;
}

/* Free the maps of a zone's slabs, also of those with blocks in use. */
static void free_slabs(ctn_arena_t *arena, const ctn_zone_t *zone)
{
    for (uint32_t page = zone->first; page < zone->end;) {
        ctn_run_t *run = ctn_map_get(arena, page);
        page += run->pages;
        free(run->free_map);
        ctn_unpoison(ctn_run_start(arena, run),
                     run->kind == CTN_RUN_FRESH ? 0 : ctn_run_bytes(run));
    }
}

void ctn_arena_release(ctn_arena_t *arena)
{
    for (unsigned z = 0; z < 2; z++) {
        if (arena->zone[z] != NULL) {
            free_slabs(arena, arena->zone[z]);
        }
    }
    ctn_caches_release(arena);
    ctn_runs_release(arena);
    pthread_mutex_destroy(&arena->mutex);
}

/* --- statistics; the mutex is held --- */

void ctn_arena_count(ctn_arena_t *arena, int64_t bytes)
{
    arena->in_use += bytes;
    if (arena->in_use > arena->peak) {
        arena->peak = arena->in_use;
    }
}

void ctn_arena_count_block(ctn_arena_t *arena, ctn_cache_t *cache,
                           int64_t bytes)
{
    if (cache == NULL) {
        *(bytes > 0 ? &arena->allocations : &arena->frees) += 1;
        ctn_arena_count(arena, bytes);
        return;
    }
    if (bytes > 0) {
        ctn_cache_count_alloc(cache, (size_t)bytes);
    } else {
        ctn_cache_count_free(cache, (size_t)-bytes);
    }
    ctn_cache_publish(arena, cache);
}

void ctn_arena_trim_locked(ctn_arena_t *arena)
{
    ctn_caches_empty(arena);
    ctn_slabs_trim(arena);
    ctn_runs_give_back(arena, 0);
}

__attribute__((cold)) void ctn_arena_log_full(ctn_arena_t *arena, size_t bytes)
{
    char why[200];
    arena->params.source.describe(arena->params.source.argument, why,
                                  sizeof(why));
    if (!arena->full_logged) {
        arena->full_logged = true;
        ctn_warn(arena->params.log,
                 "heap: exhausted at a block of %zu bytes; %s (logged only "
                 "once" CTN_OF_RANK "; this rank has taken %zu bytes of it and "
                 "uses %lld of them)",
                 bytes, why,
                 (arena->taken_pages << CTN_PAGE_SHIFT) +
                     __atomic_load_n(&arena->besides, __ATOMIC_RELAXED),
                 (long long)arena->in_use);
    }
    ctn_error(ctn_log_kept(), "heap: exhausted at a block of %zu bytes; %s",
              bytes, why);
}

void ctn_arena_full(ctn_arena_t *arena, size_t bytes)
{
    pthread_mutex_lock(&arena->mutex);
    ctn_arena_log_full(arena, bytes);
    pthread_mutex_unlock(&arena->mutex);
}

/* --- small blocks --- */

/* Allocate when this thread has no cache, or its stack is empty: then fill half
 * of the stack from slabs. */
static __attribute__((noinline)) unsigned char *
alloc_small_slow(ctn_arena_t *arena, unsigned class_index)
{
    ctn_entry_t one = {NULL, NULL};
    size_t bytes = ctn_class_bytes[class_index];

    pthread_mutex_lock(&arena->mutex);
    ctn_cache_t *cache = ctn_cache_claim(arena);
    ctn_stack_t *stack = cache != NULL ? &cache->stack[class_index] : NULL;
    ctn_entry_t *entries = stack != NULL ? stack->entry : &one;
    unsigned got = 0;

    if (stack != NULL && stack->count > 0) {
        got = stack->count; /* another thread was emptying caches, so this
                               thread could not enter its own */
    } else {
        ctn_slab_request_t request = {
            .class_index = class_index,
            .owner = cache != NULL ? cache->owner : 0,
            .want = stack != NULL ? (stack->capacity + 1) / 2 : 1};
        got = ctn_slabs_take(arena, &request, entries);
        if (got == 0) {
            ctn_arena_trim_locked(arena);
            request.want = 1;
            got = ctn_slabs_take(arena, &request, entries);
        }
        for (unsigned i = 0; i < got; i++) {
            ctn_poison(entries[i].block, bytes);
        }
    }
    if (got == 0) {
        ctn_arena_log_full(arena, bytes);
        pthread_mutex_unlock(&arena->mutex);
        return NULL;
    }
    one = entries[got - 1];
    __atomic_store_n(one.used, 1, __ATOMIC_RELAXED);
    if (stack != NULL) {
        stack->count = got - 1;
    }
    ctn_arena_count_block(arena, cache, (int64_t)bytes);
    pthread_mutex_unlock(&arena->mutex);
    ctn_unpoison(one.block, bytes);
    return one.block;
}

static inline unsigned char *alloc_small(ctn_arena_t *arena,
                                         unsigned class_index)
{
    ctn_cache_t *cache = ctn_cache_enter(arena);

    if (__builtin_expect(cache != NULL, 1)) {
        ctn_stack_t *stack = &cache->stack[class_index];
        if (__builtin_expect(stack->count > 0, 1)) {
            ctn_entry_t entry = stack->entry[--stack->count];
            __atomic_store_n(entry.used, 1, __ATOMIC_RELAXED);
            ctn_cache_count_alloc(cache, ctn_class_bytes[class_index]);
            ctn_cache_leave(cache);
            ctn_unpoison(entry.block, ctn_class_bytes[class_index]);
            return entry.block;
        }
        ctn_cache_leave(cache);
    }
    return alloc_small_slow(arena, class_index);
}

/* Free when this thread has no cache, or its stack is full: then return half of
 * the stack to slabs. */
static __attribute__((noinline)) void free_small_slow(ctn_arena_t *arena,
                                                      ctn_entry_t entry,
                                                      size_t bytes,
                                                      unsigned class_index)
{
    pthread_mutex_lock(&arena->mutex);
    ctn_cache_t *cache = ctn_cache_claim(arena);
    ctn_arena_count_block(arena, cache, -(int64_t)bytes);
    if (cache != NULL) {
        ctn_stack_t *stack = &cache->stack[class_index];
        if (stack->count == stack->capacity) {
            ctn_cache_spill(arena, stack);
        }
        stack->entry[stack->count++] = entry;
    } else {
        ctn_slabs_put(arena, &entry);
    }
    pthread_mutex_unlock(&arena->mutex);
}

/* The block of a slab at offset `off` of the arena. Ends the process unless a
 * block in use starts there. */
static inline ctn_entry_t slab_entry(const ctn_arena_t *arena,
                                     const ctn_run_t *slab, size_t off)
{
    uint64_t inside = off - ((size_t)slab->first << CTN_PAGE_SHIFT);
    uint32_t i = (uint32_t)((inside * slab->reciprocal) >> 32);
    ctn_entry_t entry = {arena->base + off, &slab->used[i]};

    if (__builtin_expect(i >= slab->blocks ||
                             (uint64_t)i * slab->block_bytes != inside,
                         0)) {
        die(arena, entry.block, "it is not the start of a block");
    }
    if (__builtin_expect(__atomic_load_n(entry.used, __ATOMIC_RELAXED) != 1,
                         0)) {
        die(arena, entry.block, "the block was freed before");
    }
    return entry;
}

static inline void free_small(ctn_arena_t *arena, const ctn_run_t *slab,
                              size_t off)
{
    ctn_entry_t entry = slab_entry(arena, slab, off);
    unsigned class_index = slab->class_index;
    size_t bytes = slab->block_bytes;

    ctn_poison(entry.block, bytes);
    __atomic_store_n(entry.used, 0, __ATOMIC_RELAXED);
    ctn_cache_t *cache = ctn_cache_enter(arena);
    if (__builtin_expect(cache != NULL, 1)) {
        ctn_stack_t *stack = &cache->stack[class_index];
        if (__builtin_expect(stack->count < stack->capacity, 1)) {
            /* Member by member: `*top = entry` would write `entry` in halves
             * and load it as a whole, and such a load waits until both stores
             * have left the store buffer. */
            ctn_entry_t *top = &stack->entry[stack->count++];
            top->block = entry.block;
            top->used = entry.used;
            ctn_cache_count_free(cache, bytes);
            ctn_cache_leave(cache);
            return;
        }
        ctn_cache_leave(cache);
    }
    free_small_slow(arena, entry, bytes, class_index);
}

/* --- the interface --- */

/* The smallest size class with the alignment: slabs start on a page, so a block
 * is aligned to each common divisor of its size and the page size. */
static unsigned class_aligned(size_t alignment, size_t bytes)
{
    unsigned i = ctn_class_of(bytes);
    while (i < CTN_CLASSES && (ctn_class_bytes[i] & (alignment - 1)) != 0) {
        i++;
    }
    return i;
}

static inline unsigned char *alloc(ctn_arena_t *arena, size_t alignment,
                                   size_t bytes, size_t zero)
{
    if (alignment > CTN_ALIGN_MAX || (alignment & (alignment - 1)) != 0) {
        return NULL;
    }
    if (bytes <= CTN_SMALL_MAX && alignment <= CTN_PAGE_BYTES) {
        unsigned i = alignment <= 16 ? ctn_class_of(bytes)
                                     : class_aligned(alignment, bytes);
        unsigned char *block = alloc_small(arena, i);
        if (zero > 0 && block != NULL) {
            memset(block, 0, zero);
        }
        return block;
    }
    return ctn_large_alloc(arena, alignment, bytes == 0 ? 1 : bytes, zero);
}

void *ctn_arena_alloc(ctn_arena_t *arena, size_t alignment, size_t bytes)
{
    return alloc(arena, alignment, bytes, 0);
}

void *ctn_arena_alloc_zeroed(ctn_arena_t *arena, size_t alignment, size_t bytes,
                             size_t zero)
{
    return alloc(arena, alignment, bytes, zero);
}

/* The run of a block, and the block's offset in the arena. Ends the process if
 * the block cannot be one in use; of a slab, slab_entry checks the rest. */
static inline ctn_run_t *run_of(const ctn_arena_t *arena, const void *block,
                                size_t *off)
{
    *off = (size_t)((uintptr_t)block - (uintptr_t)arena->base);
    if (__builtin_expect(*off >= arena->bytes, 0)) {
        die(arena, block, "it is not from the heap of this rank");
    }
    ctn_run_t *run = ctn_map_get(arena, *off >> CTN_PAGE_SHIFT);
    if (__builtin_expect(run == NULL, 0)) {
        die(arena, block, "it is not the start of a block in use");
    }
    if (__builtin_expect(run->kind == CTN_RUN_SLAB, 1)) {
        return run;
    }
    if ((size_t)run->first << CTN_PAGE_SHIFT != *off) {
        die(arena, block, "it is not the start of a block");
    }
    if (run->kind != CTN_RUN_BLOCK || run->cached) {
        die(arena, block, "the block was freed before");
    }
    return run;
}

void ctn_arena_free(ctn_arena_t *arena, void *block)
{
    size_t off;

    if (block == NULL) {
        return;
    }
    ctn_run_t *run = run_of(arena, block, &off);
    if (__builtin_expect(run->kind == CTN_RUN_SLAB, 1)) {
        free_small(arena, run, off);
    } else {
        ctn_large_free(arena, run);
    }
}

void *ctn_arena_realloc(ctn_arena_t *arena, void *block, size_t bytes)
{
    size_t off;
    size_t before; /* bytes of the block until now */

    if (block == NULL) {
        return ctn_arena_alloc(arena, 1, bytes);
    }
    ctn_run_t *run = run_of(arena, block, &off);
    if (run->kind == CTN_RUN_SLAB) {
        slab_entry(arena, run, off);
        before = run->block_bytes;
        /* Keep the block, unless half of it would be unused and a smaller
         * one exists. */
        if (bytes <= before &&
            (bytes > before / 2 || ctn_class_of(bytes) == run->class_index)) {
            return block;
        }
    } else {
        before = ctn_run_bytes(run);
        if (bytes > arena->bytes) {
            return NULL;
        }
        if (bytes > CTN_SMALL_MAX &&
            ctn_large_resize(
                arena, run,
                (uint32_t)((bytes + CTN_PAGE_BYTES - 1) >> CTN_PAGE_SHIFT))) {
            return block;
        }
    }
    void *moved = ctn_arena_alloc(arena, 1, bytes);
    if (moved != NULL) {
        memcpy(moved, block, bytes < before ? bytes : before);
        ctn_arena_free(arena, block);
    }
    return moved;
}

void ctn_arena_trim(ctn_arena_t *arena)
{
    pthread_mutex_lock(&arena->mutex);
    ctn_arena_trim_locked(arena);
    pthread_mutex_unlock(&arena->mutex);
}

void ctn_arena_stats(ctn_arena_t *arena, catena_heap_stats_t *stats)
{
    pthread_mutex_lock(&arena->mutex);
    int64_t in_use = arena->in_use;
    int64_t above = 0; /* highest net_peak of a cache; then the peak with it */

    stats->allocations = arena->allocations;
    stats->frees = arena->frees;
    for (unsigned i = 0; arena->slots != NULL && i < CTN_CACHE_SLOTS; i++) {
        const ctn_cache_t *cache = arena->slots[i].cache;
        if (cache == NULL) {
            continue;
        }
        int64_t net = __atomic_load_n(&cache->net, __ATOMIC_RELAXED);
        int64_t rise = __atomic_load_n(&cache->net_peak, __ATOMIC_RELAXED);
        in_use += net;
        above = rise > above ? rise : above;
        stats->allocations +=
            __atomic_load_n(&cache->allocations, __ATOMIC_RELAXED);
        stats->frees += __atomic_load_n(&cache->frees, __ATOMIC_RELAXED);
    }
    above += arena->in_use;
    above = in_use > above ? in_use : above;
    arena->peak = above > arena->peak ? above : arena->peak;
    stats->in_use = (size_t)in_use;
    stats->peak = (size_t)arena->peak;
    stats->taken = arena->taken_pages << CTN_PAGE_SHIFT;
    pthread_mutex_unlock(&arena->mutex);
}
