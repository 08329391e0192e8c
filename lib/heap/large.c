#include <string.h>

#include "heap/arena.h"

/* Large blocks: those above CTN_SMALL_MAX bytes, or above the page size in
 * alignment. Each is a run. A thread's cache keeps some of the runs that the
 * thread freed last. */

/** A cached run may be longer than requested by pages / SPARE_PART. */
enum { SPARE_PART = 4 };

static void cache_push(ctn_cache_t *cache, ctn_run_t *run)
{
    run->cached = 1;
    cache->length[cache->runs] = run->pages;
    cache->run[cache->runs++] = run;
    cache->run_pages += run->pages;
}

static ctn_run_t *cache_remove(ctn_cache_t *cache, uint32_t i)
{
    ctn_run_t *run = cache->run[i];

    cache->runs--;
    cache->run_pages -= run->pages;
    for (; i < cache->runs; i++) {
        cache->run[i] = cache->run[i + 1];
        cache->length[i] = cache->length[i + 1];
    }
    run->cached = 0;
    return run;
}

/* Take the newest run of this thread's cache that is long enough, but not much
 * too long. NULL: there is none. */
static ctn_run_t *cached_run(ctn_arena_t *arena,
                             const ctn_run_request_t *request)
{
    ctn_cache_t *cache = ctn_cache_enter(arena);
    uint32_t spare = request->pages / SPARE_PART;

    if (cache == NULL) {
        return NULL;
    }
    for (uint32_t i = cache->runs; i-- > 0;) {
        /* If the run is too short, the unsigned difference wraps around, and is
         * above `spare`, too. */
        if (cache->length[i] - request->pages <= spare &&
            (cache->run[i]->first & (request->align_pages - 1)) == 0) {
            ctn_run_t *run = cache_remove(cache, i);
            ctn_cache_count_alloc(cache, ctn_run_bytes(run));
            ctn_cache_leave(cache);
            return run;
        }
    }
    ctn_cache_leave(cache);
    return NULL;
}

/* Take a run under the mutex. If there is none, free what can be freed: first
 * the free pages, then also what caches and slabs hold. */
static ctn_run_t *take_run(ctn_arena_t *arena, const ctn_run_request_t *request,
                           bool *fresh)
{
    pthread_mutex_lock(&arena->mutex);
    ctn_cache_t *cache = ctn_cache_claim(arena);
    ctn_run_t *run = ctn_runs_take(arena, request, fresh);
    if (run == NULL) { /* the free runs may be too small */
        ctn_runs_give_back(arena, 0);
        run = ctn_runs_take(arena, request, fresh);
    }
    if (run == NULL) {
        ctn_arena_trim_locked(arena);
        run = ctn_runs_take(arena, request, fresh);
    }
    if (run == NULL) {
        ctn_arena_log_full(arena, (size_t)request->pages << CTN_PAGE_SHIFT);
    } else {
        ctn_arena_count_block(arena, cache, (int64_t)ctn_run_bytes(run));
    }
    pthread_mutex_unlock(&arena->mutex);
    return run;
}

/* Request huge pages if rounding up to them adds at most a quarter. */
static void use_huge(ctn_run_request_t *request, size_t bytes)
{
    size_t whole = (bytes + CTN_HUGE_BYTES - 1) & ~(size_t)(CTN_HUGE_BYTES - 1);
    if (whole - bytes <= bytes / 4) {
        request->huge = true;
        request->pages = (uint32_t)(whole >> CTN_PAGE_SHIFT);
        request->align_pages = CTN_HUGE_BYTES >> CTN_PAGE_SHIFT;
    }
}

unsigned char *ctn_large_alloc(ctn_arena_t *arena, size_t alignment,
                               size_t bytes, size_t zero)
{
    bool fresh = false;
    bool sparse = zero >= CTN_SPARSE_MIN; /* take fresh pages */
    ctn_run_t *run = NULL;

    if (bytes > arena->bytes) {
        ctn_arena_full(arena, bytes);
        return NULL;
    }
    ctn_run_request_t request = {
        .pages = (uint32_t)((bytes + CTN_PAGE_BYTES - 1) >> CTN_PAGE_SHIFT),
        .align_pages = alignment > CTN_PAGE_BYTES
                           ? (uint32_t)(alignment >> CTN_PAGE_SHIFT)
                           : 1,
        .fresh = sparse};
    if (arena->zone[1] != NULL && zero < bytes) {
        use_huge(&request, bytes);
    }
    if (!sparse) {
        run = cached_run(arena, &request);
    }
    if (run == NULL) {
        run = take_run(arena, &request, &fresh);
    }
    if (run == NULL) {
        return NULL;
    }
    unsigned char *block = ctn_run_start(arena, run);
    ctn_unpoison(block, ctn_run_bytes(run));
    if (zero > 0 && !fresh) {
        memset(block, 0, zero);
    }
    return block;
}

/* Free a run when this thread has no cache, or the cache has no room for it. */
static __attribute__((noinline)) void free_run_slow(ctn_arena_t *arena,
                                                    ctn_run_t *run)
{
    pthread_mutex_lock(&arena->mutex);
    ctn_cache_t *cache = ctn_cache_claim(arena);
    ctn_arena_count_block(arena, cache, -(int64_t)ctn_run_bytes(run));
    if (cache != NULL && run->pages <= arena->cache_pages) {
        /* Make room for more than this run, so that the next frees need no
         * mutex. */
        uint32_t half = arena->cache_pages / 2;
        ctn_cache_spill_runs(
            arena, cache,
            run->pages < half ? half : arena->cache_pages - run->pages);
        cache_push(cache, run);
    } else {
        ctn_runs_put(arena, run);
    }
    pthread_mutex_unlock(&arena->mutex);
}

void ctn_large_free(ctn_arena_t *arena, ctn_run_t *run)
{
    ctn_cache_t *cache = ctn_cache_enter(arena);

    ctn_poison(ctn_run_start(arena, run), ctn_run_bytes(run));
    if (cache != NULL) {
        if (cache->runs < CTN_CACHED_RUNS &&
            cache->run_pages + run->pages <= arena->cache_pages) {
            cache_push(cache, run);
            ctn_cache_count_free(cache, ctn_run_bytes(run));
            ctn_cache_leave(cache);
            return;
        }
        ctn_cache_leave(cache);
    }
    free_run_slow(arena, run);
}

bool ctn_large_resize(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages)
{
    size_t before = ctn_run_bytes(run);
    bool done = true;

    if (pages == run->pages) {
        return true;
    }
    pthread_mutex_lock(&arena->mutex);
    ctn_cache_t *cache = ctn_cache_claim(arena);
    if (cache != NULL) {
        ctn_cache_publish(arena, cache);
    }
    if (pages < run->pages) {
        ctn_runs_shrink(arena, run, pages);
    } else {
        done = ctn_runs_grow(arena, run, pages);
    }
    ctn_arena_count(arena, (int64_t)ctn_run_bytes(run) - (int64_t)before);
    pthread_mutex_unlock(&arena->mutex);
    return done;
}
