#ifndef CTN_HEAP_ARENA_H
#define CTN_HEAP_ARENA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/heap.h>

#include "core/log.h"
#include "core/pool.h"

/* The allocator of one rank's arena: a range of addresses whose pages are
 * backed by memory only when they are needed.
 *
 *   caches (cache.c)  per thread: stacks of free small blocks, a few runs
 *   slabs  (slab.c)   runs cut into blocks of one of CTN_CLASSES sizes
 *   runs   (runs.c)   ranges of pages: free and fresh, free and taken, used
 *   source            where pages are accounted for: the limit of the node
 *
 * A page is fresh until it is taken from the source, and again after it was
 * given back; a fresh page is zero and costs nothing. All that the allocator
 * knows lies in private memory, never in the arena, so a write beyond a
 * block (by this rank or by a peer) harms other blocks but not the allocator.
 *
 * Slabs, runs and statistics are guarded by one mutex. A cache is used by its
 * own thread without any lock; see cache.c for how others may empty it. */

enum {
    CTN_PAGE_SHIFT = 12,
    CTN_PAGE_BYTES = 1 << CTN_PAGE_SHIFT,
    CTN_CLASSES = 31,
    CTN_SMALL_MAX = 16384, /* larger blocks are runs of their own */
    CTN_ALIGN_MAX = 2 << 20,
    CTN_HUGE_BYTES = 2 << 20,
    CTN_SPARSE_MIN = 128 << 10, /* calloc from here on wants fresh pages */
    CTN_CACHE_SLOTS = 64, /* threads with a cache; others use slabs and runs */
    CTN_CACHED_RUNS = 64
};

/** The source of an arena's pages. Called with the arena's mutex held. */
typedef struct ctn_arena_source {
    /** Charge [offset, offset + bytes); false: the limit is reached. */
    bool (*take)(void *argument, uint64_t offset, size_t bytes);
    /** Return pages; they must read as zero afterwards. False: failure,
     * unchanged. */
    bool (*give)(void *argument, uint64_t offset, size_t bytes);
    /** Whether memory is short, so that no free memory should be kept. */
    bool (*short_of_memory)(void *argument);
    void *argument;
} ctn_arena_source_t;

typedef struct ctn_arena_params {
    const ctn_log_t *log;
    unsigned char *base; /* aligned to CTN_ALIGN_MAX, zero, untouched */
    size_t bytes;        /* whole pages */
    size_t huge_off;     /* from here on huge pages are used; bytes: nowhere */
    size_t keep_bytes;   /* free memory kept before it is returned */
    bool caches;         /* per-thread caches (about 16 KiB per thread) */
    ctn_arena_source_t source;
} ctn_arena_params_t;

typedef enum ctn_run_kind {
    CTN_RUN_FRESH, /* free, not taken from the source, zero */
    CTN_RUN_FREE,  /* free, taken, with old contents */
    CTN_RUN_BLOCK, /* one block, in use or in a cache */
    CTN_RUN_SLAB   /* small blocks of one class */
} ctn_run_kind_t;

/* The page map points from the first and the last page of a run to it, and from
 * every page of a slab; entries between are NULL. Two adjacent free runs of one
 * kind in one zone are always merged. */
typedef struct ctn_run {
    uint32_t first; /* page index */
    uint32_t pages;
    uint8_t kind;
    uint8_t cached;      /* a block in a cache; written without the mutex */
    uint8_t class_index; /* from here on slabs only, except the links */
    uint8_t owner;       /* slot whose thread takes blocks from it */
    uint32_t blocks;
    uint32_t block_bytes;
    uint32_t reciprocal;  /* of block_bytes, 32 bit fixed point */
    uint32_t free_blocks; /* in free_map */
    uint8_t *used;        /* per block: 1 if in use */
    uint64_t *free_map;   /* per block: 1 if neither in use nor in a cache */
    struct ctn_run *next; /* in a bin or in the list of partial slabs */
    struct ctn_run *previous;
} ctn_run_t;

_Static_assert(sizeof(ctn_run_t) == 64, "a run is one cache line");

/* Pages [first, end) and their free runs, binned by size, four bins to each
 * power of two. */
typedef struct ctn_zone {
    uint32_t first;
    uint32_t end;
    uint32_t bins;         /* as many as the largest possible run needs */
    uint64_t filled[2][2]; /* by kind: which bins have runs */
    ctn_run_t *bin[];      /* [2][bins] */
} ctn_zone_t;

typedef struct ctn_entry {
    unsigned char *block;
    uint8_t *used; /* the block's byte in its slab */
} ctn_entry_t;

typedef struct ctn_stack {
    uint32_t count;
    uint32_t capacity;
    ctn_entry_t *entry;
} ctn_stack_t;

/* Counters have one writer and are read by ctn_arena_stats: relaxed. */
typedef struct ctn_cache {
    uint32_t busy;  /* its thread is inside */
    uint32_t owner; /* its slot's number, from 1 */
    uint32_t runs;
    uint32_t run_pages;
    int64_t net; /* bytes allocated less freed since it was last published */
    int64_t net_peak; /* maximum of net since then */
    uint64_t allocations;
    uint64_t frees;
    ctn_run_t *run[CTN_CACHED_RUNS];  /* oldest first */
    uint32_t length[CTN_CACHED_RUNS]; /* their pages, adjacent */
    ctn_stack_t stack[CTN_CLASSES];
    ctn_entry_t entries[];
} ctn_cache_t;

typedef struct ctn_cache_slot {
    uintptr_t owner; /* thread, 0: free, or being emptied */
    ctn_cache_t *cache;
} ctn_cache_slot_t;

typedef struct ctn_arena {
    unsigned char *base;
    size_t bytes;
    ctn_run_t **map;         /* one entry per page */
    ctn_cache_slot_t *slots; /* [CTN_CACHE_SLOTS], NULL: no caches */
    size_t map_bytes;

    pthread_mutex_t mutex; /* guards all below, and empties caches */
    ctn_arena_params_t params;
    ctn_zone_t *zone[2];             /* usual, huge pages (may be NULL) */
    ctn_run_t *partial[CTN_CLASSES]; /* slabs with a free block */
    ctn_pool_t descriptors;          /* of runs */
    uint32_t cache_pages;            /* runs that one cache may hold */
    size_t taken_pages;
    size_t free_pages; /* of CTN_RUN_FREE runs */
    int64_t in_use;    /* bytes; without what caches have not published */
    int64_t peak;
    uint64_t allocations; /* that bypassed the caches */
    uint64_t frees;
    bool can_empty; /* caches of other threads can be emptied */
    bool full_logged;
} ctn_arena_t;

/* --- arena.c: the whole allocator; contracts in catena/heap.h --- */

catena_status_t ctn_arena_init(ctn_arena_t *arena,
                               const ctn_arena_params_t *params);
/** Release the allocator; its creator keeps the pages. */
void ctn_arena_release(ctn_arena_t *arena);
void *ctn_arena_alloc(ctn_arena_t *arena, size_t alignment, size_t bytes);
void *ctn_arena_calloc(ctn_arena_t *arena, size_t alignment, size_t bytes);
void *ctn_arena_realloc(ctn_arena_t *arena, void *block, size_t bytes);
void ctn_arena_free(ctn_arena_t *arena, void *block);
/** Return all free memory, including that in caches. */
void ctn_arena_trim(ctn_arena_t *arena);
/** Sets all members except limit and node_taken. */
void ctn_arena_stats(ctn_arena_t *arena, catena_heap_stats_t *stats);
/** Assert every invariant of the arena; slow. No other thread may be in it. */
void ctn_arena_check(ctn_arena_t *arena);

/** Add bytes in use that no cache counts. The mutex is held. */
void ctn_arena_count(ctn_arena_t *arena, int64_t bytes);
/** Log once that the arena is full. The mutex is held. */
void ctn_arena_log_full(ctn_arena_t *arena, size_t bytes);
void ctn_arena_trim_locked(ctn_arena_t *arena);

/* --- large.c: blocks of their own run --- */

unsigned char *ctn_large_alloc(ctn_arena_t *arena, size_t alignment,
                               size_t bytes, bool zero);
void ctn_large_free(ctn_arena_t *arena, ctn_run_t *run);
/** In place; false: impossible, unchanged. */
bool ctn_large_resize(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages);

/* --- runs.c; the mutex is held --- */

typedef struct ctn_run_request {
    uint32_t pages;
    uint32_t align_pages; /* power of two */
    bool huge;            /* from the zone of huge pages, if there is one */
    bool fresh;           /* prefer fresh pages */
} ctn_run_request_t;

bool ctn_runs_init(ctn_arena_t *arena);
void ctn_runs_release(ctn_arena_t *arena);
/** A run of kind CTN_RUN_BLOCK; *fresh: whether its pages are zero. */
ctn_run_t *ctn_runs_take(ctn_arena_t *arena, const ctn_run_request_t *request,
                         bool *fresh);
/** Free a run in use. Returns memory if too much is kept. */
void ctn_runs_put(ctn_arena_t *arena, ctn_run_t *run);
/** Extend a block's run in place; false: the pages behind it are in use. */
bool ctn_runs_grow(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages);
void ctn_runs_shrink(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages);
/** Return free pages until at most `keep` are left. */
void ctn_runs_give_back(ctn_arena_t *arena, size_t keep);
/** Point the map entries of all pages between the ends to `target`. */
void ctn_runs_map_inside(ctn_arena_t *arena, const ctn_run_t *run,
                         ctn_run_t *target);
void ctn_runs_check(ctn_arena_t *arena);

/* --- slab.c; the mutex is held --- */

extern const uint16_t ctn_class_bytes[CTN_CLASSES];

typedef struct ctn_slab_request {
    unsigned class_index;
    unsigned owner; /* of the cache that they go to */
    unsigned want;
} ctn_slab_request_t;

/** Take up to `want` free blocks of a class, at least one if there is memory.
 * @return their number */
unsigned ctn_slabs_take(ctn_arena_t *arena, const ctn_slab_request_t *request,
                        ctn_entry_t *entries);
void ctn_slabs_put(ctn_arena_t *arena, const ctn_entry_t *entry);
/** Free the empty slabs, which are kept until memory is short. */
void ctn_slabs_trim(ctn_arena_t *arena);
void ctn_slab_check(const ctn_arena_t *arena, const ctn_run_t *slab);

/* --- cache.c; the mutex is held --- */

bool ctn_caches_init(ctn_arena_t *arena);
void ctn_caches_release(ctn_arena_t *arena);
/** The cache of the calling thread, made if necessary; NULL: none. */
ctn_cache_t *ctn_cache_claim(ctn_arena_t *arena);
/** Return the contents of one thread's cache to slabs and runs. */
void ctn_cache_empty(ctn_arena_t *arena, ctn_cache_t *cache);
/** Empty all caches, including those of other threads. */
void ctn_caches_empty(ctn_arena_t *arena);
/** Free the oldest runs until `keep` pages and half of the runs are left. */
void ctn_cache_spill_runs(ctn_arena_t *arena, ctn_cache_t *cache,
                          uint32_t keep);
/** Return the older half of a full stack. */
void ctn_cache_spill(ctn_arena_t *arena, ctn_stack_t *stack);
/** The slot of a thread; needs no mutex. NULL: none, or being emptied. */
ctn_cache_slot_t *ctn_cache_slot_find(ctn_cache_slot_t *slots, uintptr_t self);
/** Add what the cache counted to the arena's in_use and peak. */
void ctn_cache_publish(ctn_arena_t *arena, ctn_cache_t *cache);

/* --- inline: the fast paths of alloc and free --- */

static inline unsigned ctn_class_of(size_t bytes)
{
    if (bytes <= 64) {
        return bytes == 0 ? 0 : (unsigned)(bytes - 1) / 16;
    }
    if (bytes <= 512) {
        return 3 + (unsigned)(bytes - 1) / 64;
    }
    unsigned log2 = 31 - (unsigned)__builtin_clz((unsigned)(bytes - 1));
    return 11 + (log2 - 9) * 4 + (((unsigned)(bytes - 1) >> (log2 - 2)) & 3);
}

static inline size_t ctn_run_bytes(const ctn_run_t *run)
{
    return (size_t)run->pages << CTN_PAGE_SHIFT;
}

static inline unsigned char *ctn_run_start(const ctn_arena_t *arena,
                                           const ctn_run_t *run)
{
    return arena->base + ((size_t)run->first << CTN_PAGE_SHIFT);
}

/* Relaxed: the thread that asks about a block got it from a thread that had the
 * run before, and that transfer ordered their accesses. */
static inline ctn_run_t *ctn_map_get(const ctn_arena_t *arena, size_t page)
{
    return __atomic_load_n(&arena->map[page], __ATOMIC_RELAXED);
}

static inline void ctn_map_set(ctn_arena_t *arena, size_t page, ctn_run_t *run)
{
    __atomic_store_n(&arena->map[page], run, __ATOMIC_RELAXED);
}

/* Cheap, and different for all live threads. */
static inline uintptr_t ctn_thread_self(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

static inline unsigned ctn_cache_slot_first(uintptr_t self)
{
    return (unsigned)(((uint64_t)self * UINT64_C(0x9E3779B97F4A7C15)) >> 58);
}

_Static_assert(CTN_CACHE_SLOTS == 1 << (64 - 58), "a slot number is 6 bits");

/** Enter the own cache; NULL: take the mutex and claim it. */
static inline ctn_cache_t *ctn_cache_enter(ctn_arena_t *arena)
{
    if (arena->slots == NULL) {
        return NULL;
    }
    uintptr_t self = ctn_thread_self();
    ctn_cache_slot_t *slot = &arena->slots[ctn_cache_slot_first(self)];
    if (__builtin_expect(
            __atomic_load_n(&slot->owner, __ATOMIC_RELAXED) != self, 0)) {
        slot = ctn_cache_slot_find(arena->slots, self);
        if (slot == NULL) {
            return NULL;
        }
    }
    ctn_cache_t *cache = slot->cache;
    __atomic_store_n(&cache->busy, 1, __ATOMIC_RELAXED);
    /* A thread that empties the cache clears `owner`, then makes every thread
     * of the process pass a full barrier, then reads `busy`. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(
            __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE) != self, 0)) {
        __atomic_store_n(&cache->busy, 0, __ATOMIC_RELEASE);
        return NULL;
    }
    return cache;
}

/** Leave the cache. Call it before the mutex is taken. */
static inline void ctn_cache_leave(ctn_cache_t *cache)
{
    __atomic_store_n(&cache->busy, 0, __ATOMIC_RELEASE);
}

static inline void ctn_cache_count_alloc(ctn_cache_t *cache, size_t bytes)
{
    int64_t net = cache->net + (int64_t)bytes;
    __atomic_store_n(&cache->net, net, __ATOMIC_RELAXED);
    if (net > cache->net_peak) {
        __atomic_store_n(&cache->net_peak, net, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&cache->allocations, cache->allocations + 1,
                     __ATOMIC_RELAXED);
}

static inline void ctn_cache_count_free(ctn_cache_t *cache, size_t bytes)
{
    __atomic_store_n(&cache->net, cache->net - (int64_t)bytes,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&cache->frees, cache->frees + 1, __ATOMIC_RELAXED);
}

/* With AddressSanitizer, free blocks are poisoned for this process. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define ctn_poison(start, bytes) __asan_poison_memory_region(start, bytes)
#define ctn_unpoison(start, bytes) __asan_unpoison_memory_region(start, bytes)
#else
#define ctn_poison(start, bytes) ((void)(start), (void)(bytes))
#define ctn_unpoison(start, bytes) ((void)(start), (void)(bytes))
#endif

#endif
