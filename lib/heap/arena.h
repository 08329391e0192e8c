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
 * backed by memory only when they are needed. A block is what an allocation
 * returns. From the fast paths down the allocator consists of:
 *
 *   caches (cache.c)  one per thread: stacks of free small blocks, a few runs
 *   slabs  (slab.c)   runs cut into small blocks of one size class
 *   runs   (runs.c)   ranges of pages; a large block (large.c) is a run
 *   zones  (runs.c)   one for usual pages and one for huge pages
 *   source (heap.c)   charges pages to the limit of the node
 *
 * A page is fresh until the allocator takes it from the source, and again after
 * it gave the page back; a fresh page is zero and takes no memory. All data of
 * the allocator lie in private memory, never in the arena, so a write beyond a
 * block (by this rank or by a peer) harms other blocks but not the allocator.
 *
 * One mutex guards slabs, runs and statistics. A thread uses its own cache
 * without a lock; cache.c says how another thread may empty it. */

enum {
    CTN_PAGE_SHIFT = 12,
    CTN_PAGE_BYTES = 1 << CTN_PAGE_SHIFT,
    CTN_CLASSES = 31,      /* size classes of small blocks */
    CTN_SMALL_MAX = 16384, /* bytes of a small block; larger ones are large */
    CTN_ALIGN_MAX = 2 << 20,
    CTN_HUGE_BYTES = 2 << 20,   /* of a huge page */
    CTN_SPARSE_MIN = 128 << 10, /* as many zeroed bytes are fresh pages, which
                                   need no memset */
    CTN_CACHE_SLOTS = 64, /* threads with a cache; others use slabs and runs */
    CTN_CACHED_RUNS = 64  /* runs in one cache at most */
};

/** The source of an arena's pages. Called with the arena's mutex held. */
typedef struct ctn_arena_source {
    /** Charge the pages [offset, offset + bytes) of the arena to the limit;
     * false: the limit is reached. */
    bool (*take)(void *argument, uint64_t offset, size_t bytes);
    /** Give pages back; they must read as zero afterwards. False: the pages
     * are unchanged, and still charged. */
    bool (*give)(void *argument, uint64_t offset, size_t bytes);
    /** Whether the node has so little left that free pages should be given back
     * at once. */
    bool (*short_of_memory)(void *argument);
    /** Write why `take` has failed, and what to change. */
    void (*describe)(void *argument, char *text, size_t bytes);
    void *argument; /* of these functions */
} ctn_arena_source_t;

/** Arguments of ctn_arena_init. */
typedef struct ctn_arena_params {
    const ctn_log_t *log;
    unsigned char *base; /* aligned to CTN_ALIGN_MAX, zero, untouched */
    size_t bytes;        /* whole pages */
    size_t huge_off;     /* the zone of huge pages begins here; bytes: there is
                            none */
    size_t keep_bytes;   /* of free pages; if more are free, some are given back
                            to the source */
    bool caches;         /* whether threads have caches (about 16 KiB each) */
    ctn_arena_source_t source;
} ctn_arena_params_t;

typedef enum ctn_run_kind {
    CTN_RUN_FRESH, /* free; its pages are fresh */
    CTN_RUN_FREE,  /* free; taken from the source, with old contents */
    CTN_RUN_BLOCK, /* one large block, in use or in a cache */
    CTN_RUN_SLAB   /* small blocks of one size class */
} ctn_run_kind_t;

/* Descriptor of a run. The arena's page map points to it from the run's first
 * and last page, and from every page of a slab; entries between are NULL. Two
 * adjacent runs of a zone that are both fresh, or both free, are always merged.
 */
typedef struct ctn_run {
    uint32_t first;       /* index of its first page in the arena */
    uint32_t pages;       /* number of pages */
    uint8_t kind;         /* ctn_run_kind_t */
    uint8_t cached;       /* 1: a large block in a cache; written without the
                             mutex */
    uint8_t class_index;  /* size class; this and the next members: of slabs */
    uint8_t owner;        /* number of the cache whose thread takes blocks from
                             this slab; 0: threads without a cache */
    uint32_t blocks;      /* number of blocks */
    uint32_t block_bytes; /* of one block */
    uint32_t reciprocal;  /* 2^32 / block_bytes, rounded up */
    uint32_t free_blocks; /* bits set in free_map */
    uint8_t *used;        /* [blocks] 1: the block is in use */
    uint64_t *free_map;   /* a bit per block, 1: neither in use nor cached */
    struct ctn_run *next; /* of fresh and free runs: in their bin; of slabs: in
                             the list of partial slabs */
    struct ctn_run *previous;
} ctn_run_t;

_Static_assert(sizeof(ctn_run_t) == 64, "a run is one cache line");

/* The pages [first, end) of the arena. The fresh and the free runs among them
 * are in bins by their size, four bins to each power of two. */
typedef struct ctn_zone {
    uint32_t first;
    uint32_t end;
    uint32_t bins;         /* as many as the largest possible run needs */
    uint64_t filled[2][2]; /* [kind][bin / 64] a bit per bin, 1: it has runs */
    ctn_run_t *bin[]; /* [kind][bins] lists; kind: CTN_RUN_FRESH or _FREE */
} ctn_zone_t;

/* A free small block, in a cache or on its way to or from a slab. */
typedef struct ctn_entry {
    unsigned char *block;
    uint8_t *used; /* the block's byte in ctn_run_t.used of its slab */
} ctn_entry_t;

/* The free small blocks of one size class in a cache. */
typedef struct ctn_stack {
    uint32_t count;
    uint32_t capacity;
    ctn_entry_t *entry; /* [capacity] in ctn_cache_t.entries, oldest first */
} ctn_stack_t;

/* The cache of one thread. Only that thread writes the counters, and
 * ctn_arena_stats of any thread reads them: relaxed. */
typedef struct ctn_cache {
    uint32_t busy;      /* 1: its thread is using it */
    uint32_t owner;     /* its number: index of its cache slot + 1 */
    uint32_t runs;      /* number of cached runs */
    uint32_t run_pages; /* pages of these runs together */
    int64_t net;        /* bytes allocated less freed since ctn_cache_publish */
    int64_t net_peak;   /* maximum of `net` since then */
    uint64_t allocations; /* by its thread */
    uint64_t frees;
    ctn_run_t *run[CTN_CACHED_RUNS];  /* oldest first */
    uint32_t length[CTN_CACHED_RUNS]; /* pages of each run, here so that a
                                         search reads few cache lines */
    ctn_stack_t stack[CTN_CLASSES];
    ctn_entry_t entries[]; /* of all stacks */
} ctn_cache_t;

/* A place in the table that finds a thread's cache. */
typedef struct ctn_cache_slot {
    uintptr_t owner;    /* ctn_thread_self of the thread that may use the cache;
                           0: no thread yet, or another one is emptying it */
    ctn_cache_t *cache; /* NULL: the slot was never claimed */
} ctn_cache_slot_t;

/* The allocator of one arena. */
typedef struct ctn_arena {
    unsigned char *base;     /* start of the arena */
    size_t bytes;            /* its size */
    ctn_run_t **map;         /* the page map: one entry per page */
    ctn_cache_slot_t *slots; /* [CTN_CACHE_SLOTS], NULL: no caches */
    size_t map_bytes;        /* of `map` */

    pthread_mutex_t mutex; /* guards all below; held to empty a cache, too */
    ctn_arena_params_t params;
    ctn_zone_t *zone[2];             /* usual pages; huge pages, or NULL */
    ctn_run_t *partial[CTN_CLASSES]; /* lists of slabs with a free block */
    ctn_pool_t descriptors;          /* of runs */
    uint32_t cache_pages;            /* pages of runs that one cache may hold */
    size_t taken_pages;              /* from the source */
    size_t free_pages;               /* of CTN_RUN_FREE runs */
    int64_t in_use;       /* bytes of blocks; without the `net` of the caches */
    int64_t peak;         /* largest in_use so far */
    uint64_t allocations; /* that no cache counted */
    uint64_t frees;
    size_t besides;   /* bytes that sparse blocks have taken, which in_use
                         contains; written by one thread, without the mutex */
    bool can_empty;   /* a thread can empty other threads' caches */
    bool full_logged; /* the shortage was logged */
} ctn_arena_t;

/* --- arena.c: the allocator; the functions behave as those of catena/heap.h.
 * Any thread may call them. --- */

catena_status_t ctn_arena_init(ctn_arena_t *arena,
                               const ctn_arena_params_t *params);
/** Free the allocator's tables; the pages stay with the creator of the arena.
 */
void ctn_arena_release(ctn_arena_t *arena);
void *ctn_arena_alloc(ctn_arena_t *arena, size_t alignment, size_t bytes);
/** As ctn_arena_alloc, and the first `zero` bytes are zero. */
void *ctn_arena_alloc_zeroed(ctn_arena_t *arena, size_t alignment, size_t bytes,
                             size_t zero);
void *ctn_arena_realloc(ctn_arena_t *arena, void *block, size_t bytes);
void ctn_arena_free(ctn_arena_t *arena, void *block);
/** Give all free pages back to the source, including those in caches. */
void ctn_arena_trim(ctn_arena_t *arena);
/** Set all members of `stats` except size, limit and node_taken. */
void ctn_arena_stats(ctn_arena_t *arena, catena_heap_stats_t *stats);

/** Add to in_use; negative for a free. The mutex is held. */
void ctn_arena_count(ctn_arena_t *arena, int64_t bytes);
/** Count a block that this thread has allocated, or freed (negative). The mutex
 * is held.
 * @param cache of this thread; NULL: it has none */
void ctn_arena_count_block(ctn_arena_t *arena, ctn_cache_t *cache,
                           int64_t bytes);
/** Log, the first time only, that there was no memory for a block of so many
 * bytes. The mutex is held. */
void ctn_arena_log_full(ctn_arena_t *arena, size_t bytes);
/** The same where the mutex is not held. */
void ctn_arena_full(ctn_arena_t *arena, size_t bytes);
/** As ctn_arena_trim. The mutex is held. */
void ctn_arena_trim_locked(ctn_arena_t *arena);

/* --- large.c: large blocks; the mutex is not held --- */

/** Allocate a large block, whose first `zero` bytes are zero.
 * @return NULL: no memory, logged */
unsigned char *ctn_large_alloc(ctn_arena_t *arena, size_t alignment,
                               size_t bytes, size_t zero);
void ctn_large_free(ctn_arena_t *arena, ctn_run_t *run);
/** Resize a block without moving it. @return false: impossible, unchanged */
bool ctn_large_resize(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages);

/* --- runs.c; the mutex is held --- */

/* Which run to take. */
typedef struct ctn_run_request {
    uint32_t pages;       /* its length */
    uint32_t align_pages; /* its alignment in pages, a power of two */
    bool huge;            /* from the zone of huge pages, if there is one */
    bool fresh;           /* rather fresh pages than old ones */
} ctn_run_request_t;

bool ctn_runs_init(ctn_arena_t *arena);
void ctn_runs_release(ctn_arena_t *arena);
/** Take a run for use; its kind is CTN_RUN_BLOCK.
 * @param[out] fresh whether its pages are zero
 * @return NULL: no run is long enough, or the limit is reached */
ctn_run_t *ctn_runs_take(ctn_arena_t *arena, const ctn_run_request_t *request,
                         bool *fresh);
/** Free a run in use. If many pages are free then, or the source is short of
 * memory, give some back. */
void ctn_runs_put(ctn_arena_t *arena, ctn_run_t *run);
/** Extend a run in use to `pages` pages; false: it cannot grow in place, and is
 * unchanged. */
bool ctn_runs_grow(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages);
/** Cut a run in use to `pages` pages and free the rest. */
void ctn_runs_shrink(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages);
/** Give free runs back to the source until at most `keep` pages are free. */
void ctn_runs_give_back(ctn_arena_t *arena, size_t keep);
/** Point the map entries of all pages of a run, except its first and last, to
 * `target`. */
void ctn_runs_map_inside(ctn_arena_t *arena, const ctn_run_t *run,
                         ctn_run_t *target);
/** The bin for runs of a length: one each for 1 to 3 pages, then 4 for each
 * power of two. */
unsigned ctn_run_bin(uint32_t pages);

/* --- slab.c; the mutex is held --- */

/** The block size of each size class. */
extern const uint16_t ctn_class_bytes[CTN_CLASSES];

/* Which small blocks to take. */
typedef struct ctn_slab_request {
    unsigned class_index; /* their size class */
    unsigned owner; /* number of the cache that they go to; 0: to no cache */
    unsigned want;  /* number of blocks */
} ctn_slab_request_t;

/** Take up to `want` free blocks, at least one if there is memory.
 * @param[out] entries [want]
 * @return their number */
unsigned ctn_slabs_take(ctn_arena_t *arena, const ctn_slab_request_t *request,
                        ctn_entry_t *entries);
/** Return a block to its slab. */
void ctn_slabs_put(ctn_arena_t *arena, const ctn_entry_t *entry);
/** Free the runs of slabs without blocks in use, of which each size class keeps
 * one until memory is short. */
void ctn_slabs_trim(ctn_arena_t *arena);

/* --- cache.c; the mutex is held, except in _init, _release and _slot_find ---
 */

bool ctn_caches_init(ctn_arena_t *arena);
void ctn_caches_release(ctn_arena_t *arena);
/** The cache of the calling thread, made if necessary. NULL: this thread has no
 * cache, because there are none, all cache slots have an owner, or process
 * memory is short. */
ctn_cache_t *ctn_cache_claim(ctn_arena_t *arena);
/** Return everything that a cache holds to slabs and runs. No thread uses it
 * meanwhile. */
void ctn_cache_empty(ctn_arena_t *arena, ctn_cache_t *cache);
/** Empty all caches, also those of other threads if arena->can_empty. */
void ctn_caches_empty(ctn_arena_t *arena);
/** Free the oldest runs of a cache until its runs have at most `keep` pages,
 * and number at most CTN_CACHED_RUNS / 2. */
void ctn_cache_spill_runs(ctn_arena_t *arena, ctn_cache_t *cache,
                          uint32_t keep);
/** Return the older half of a stack's blocks to their slabs. */
void ctn_cache_spill(ctn_arena_t *arena, ctn_stack_t *stack);
/** Find a thread's cache slot without the mutex.
 * @param[in] self ctn_thread_self of the thread
 * @return NULL: it has none, or another thread is emptying its cache */
ctn_cache_slot_t *ctn_cache_slot_find(ctn_cache_slot_t *slots, uintptr_t self);
/** Move the bytes that the cache counted (`net`) to the arena's in_use and
 * peak.
 */
void ctn_cache_publish(ctn_arena_t *arena, ctn_cache_t *cache);

/* --- inline: the fast paths of alloc and free --- */

/** The smallest size class for a block of up to CTN_SMALL_MAX bytes: in steps
 * of 16 bytes up to 64, of 64 up to 512, then of a quarter of the power of two
 * below. */
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

/* The run at a page. Relaxed: a thread asks only about a page of a block that
 * it has. It got the block from the thread that set the entry, and that
 * handover ordered the accesses of both. */
static inline ctn_run_t *ctn_map_get(const ctn_arena_t *arena, size_t page)
{
    return __atomic_load_n(&arena->map[page], __ATOMIC_RELAXED);
}

static inline void ctn_map_set(ctn_arena_t *arena, size_t page, ctn_run_t *run)
{
    __atomic_store_n(&arena->map[page], run, __ATOMIC_RELAXED);
}

/* Identity of the calling thread: cheap to find, and different for all threads
 * that run. */
static inline uintptr_t ctn_thread_self(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

/* Index of the cache slot at which the search for a thread begins: a Fibonacci
 * hash. */
static inline unsigned ctn_cache_slot_first(uintptr_t self)
{
    return (unsigned)(((uint64_t)self * UINT64_C(0x9E3779B97F4A7C15)) >> 58);
}

_Static_assert(CTN_CACHE_SLOTS == 1 << (64 - 58), "a slot number is 6 bits");

/** Begin to use the calling thread's cache. NULL: the thread has none, or
 * another thread is emptying it; take the mutex, then call ctn_cache_claim. */
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
    /* A thread that empties this cache sets slot->owner to 0, then makes every
     * thread of the process pass a memory barrier (membarrier), then reads
     * `busy`. So here the compiler must keep the order only: either that thread
     * sees busy = 1, or this one sees owner = 0. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(
            __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE) != self, 0)) {
        __atomic_store_n(&cache->busy, 0, __ATOMIC_RELEASE);
        return NULL;
    }
    return cache;
}

/** End the use of the cache. To be called before this thread takes the mutex: a
 * thread that holds it may wait for this. */
static inline void ctn_cache_leave(ctn_cache_t *cache)
{
    __atomic_store_n(&cache->busy, 0, __ATOMIC_RELEASE);
}

/* Bytes are in use now by the cache's thread; negative: no more. */
static inline void ctn_cache_count(ctn_cache_t *cache, int64_t bytes)
{
    int64_t net = cache->net + bytes;
    __atomic_store_n(&cache->net, net, __ATOMIC_RELAXED);
    if (net > cache->net_peak) {
        __atomic_store_n(&cache->net_peak, net, __ATOMIC_RELAXED);
    }
}

/* Count a block that the cache's thread allocated, or freed. */
static inline void ctn_cache_count_alloc(ctn_cache_t *cache, size_t bytes)
{
    ctn_cache_count(cache, (int64_t)bytes);
    __atomic_store_n(&cache->allocations, cache->allocations + 1,
                     __ATOMIC_RELAXED);
}

static inline void ctn_cache_count_free(ctn_cache_t *cache, size_t bytes)
{
    ctn_cache_count(cache, -(int64_t)bytes);
    __atomic_store_n(&cache->frees, cache->frees + 1, __ATOMIC_RELAXED);
}

/* With AddressSanitizer, free blocks are poisoned: an access by this process is
 * reported. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define ctn_poison(start, bytes) __asan_poison_memory_region(start, bytes)
#define ctn_unpoison(start, bytes) __asan_unpoison_memory_region(start, bytes)
#else
#define ctn_poison(start, bytes) ((void)(start), (void)(bytes))
#define ctn_unpoison(start, bytes) ((void)(start), (void)(bytes))
#endif

#endif
