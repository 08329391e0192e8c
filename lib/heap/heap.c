#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "heap/segment.h"

/* The heap of a rank: the allocator of its arena, and the source of the arena's
 * pages, which counts the bytes that all ranks of the node have taken from the
 * segment. */

static const ctn_setting_t settings[] = {
    {"HEAP_SIZE", "auto",
     "Shared heap of a node, for all its ranks together. Memory is allocated\n"
     "on use. auto: half of the memory that this process may use.",
     offsetof(ctn_heap_config_t, size), &ctn_setting_bytes},
    {"HEAP_HUGE_PAGES", "auto", "Ask for huge pages in the shared heap.",
     offsetof(ctn_heap_config_t, huge_pages), &ctn_setting_switch},
};

const ctn_setting_table_t ctn_heap_settings =
    CTN_SETTING_TABLE(settings, ctn_heap_config_t);

/* A rank keeps at most so many bytes of free pages. */
static const size_t KEEP_MAX = (size_t)32 << 20;

/* ---- the source of the arena's pages ---- */

bool ctn_heap_source_take(void *argument, uint64_t offset, size_t bytes)
{
    ctn_heap_t *heap = argument;
    ctn_segment_header_t *header = heap->header;
    uint64_t taken = __atomic_load_n(&header->taken, __ATOMIC_RELAXED);

    /* Relaxed: a counter that orders no data. */
    do {
        if (bytes > heap->limit || taken > heap->limit - bytes) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(&header->taken, &taken, taken + bytes,
                                          true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    if (heap->kind != CTN_SEGMENT_SHM) {
        return true;
    }
    /* /dev/shm has a size limit of its own. Touching a page beyond it raises
     * SIGBUS, so allocate the pages now. */
    off_t start = (off_t)(heap->own - (unsigned char *)header) + (off_t)offset;
    int error = posix_fallocate(heap->fd, start, (off_t)bytes);
    if (error != 0) {
        ctn_debug(heap->log, "heap: no further %zu bytes in /dev/shm: %s",
                  bytes, strerror(error));
        /* A part of the pages may have been allocated: release it. */
        fallocate(heap->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start,
                  (off_t)bytes);
        __atomic_fetch_sub(&header->taken, bytes, __ATOMIC_RELAXED);
        return false;
    }
    return true;
}

/** Whether the advice clears pages: qemu-user accepts and ignores it. The
 * memory is free, and so may be poisoned. */
__attribute__((no_sanitize("address"))) static bool
advice_clears(volatile unsigned char *start, size_t bytes, int advice)
{
    *start = 1;
    return madvise((void *)(uintptr_t)start, bytes, advice) == 0 && *start == 0;
}

bool ctn_heap_source_clear(ctn_heap_t *heap, unsigned char *start, size_t bytes)
{
    /* Fails if the system's pages are larger than CTN_PAGE_BYTES. */
    int advice = heap->kind == CTN_SEGMENT_GIVEN ? MADV_DONTNEED : MADV_REMOVE;
    if (heap->clears == CTN_CLEARS_UNKNOWN) {
        heap->clears =
            advice_clears(start, bytes, advice) ? CTN_CLEARS : CTN_CLEARS_NOT;
    }
    return heap->clears == CTN_CLEARS && madvise(start, bytes, advice) == 0;
}

void ctn_heap_source_return(ctn_heap_t *heap, size_t bytes)
{
    __atomic_fetch_sub(&heap->header->taken, bytes, __ATOMIC_RELAXED);
}

static bool source_give(void *argument, uint64_t offset, size_t bytes)
{
    ctn_heap_t *heap = argument;
    if (!ctn_heap_source_clear(heap, heap->own + offset, bytes)) {
        return false;
    }
    ctn_heap_source_return(heap, bytes);
    /* Other memory may have these addresses later: it must not be poisoned. */
    ctn_unpoison(heap->own + offset, bytes);
    return true;
}

/** Return whether more than 7/8 of the limit are taken. */
bool ctn_heap_source_short(void *argument)
{
    const ctn_heap_t *heap = argument;
    uint64_t limit = heap->limit;
    return __atomic_load_n(&heap->header->taken, __ATOMIC_RELAXED) >
           limit - limit / 8;
}

static void source_describe(void *argument, char *text, size_t bytes)
{
    const ctn_heap_t *heap = argument;
    size_t taken = __atomic_load_n(&heap->header->taken, __ATOMIC_RELAXED);
    struct statvfs fs;
    if (heap->kind == CTN_SEGMENT_SHM && fstatvfs(heap->fd, &fs) == 0 &&
        (uint64_t)fs.f_bavail * fs.f_frsize < heap->limit - taken) {
        snprintf(text, bytes,
                 "/dev/shm has %zu bytes left; enlarge it, or remove files "
                 "there",
                 (size_t)fs.f_bavail * fs.f_frsize);
    } else {
        snprintf(text, bytes,
                 "the heap of the node has %zu bytes, of which %zu are taken; "
                 "increase CATENA_HEAP_SIZE",
                 heap->limit, taken);
    }
}

/* ---- start ---- */

static void bind_numa(const ctn_heap_t *heap, int numa)
{
    if (numa < 0 || numa_available() < 0) {
        return;
    }
    if (numa > numa_max_node()) {
        ctn_warn(heap->log,
                 "heap: there is no NUMA domain %d, the last one is %d; the "
                 "heap of this rank is not bound",
                 numa, numa_max_node());
        return;
    }
    numa_tonode_memory(heap->own, heap->own_bytes, numa);
}

/** The binary logarithm of the system's pages, or CTN_PAGE_SHIFT. */
static unsigned page_shift(void)
{
    unsigned shift = CTN_PAGE_SHIFT;
    while (1L << shift < sysconf(_SC_PAGESIZE)) {
        shift++;
    }
    return shift;
}

/** Of a sparse block only the pages that are used take memory: no huge pages
 * there, also not in the arenas of the other ranks, into which this one writes.
 */
static void avoid_huge(const ctn_heap_t *heap)
{
    const ctn_segment_header_t *header = heap->header;
    size_t bytes = header->arena_bytes - header->sparse_off;
    /* The simulator has no huge pages, but many arenas. */
    if (bytes == 0 || heap->kind == CTN_SEGMENT_GIVEN) {
        return;
    }
    for (int i = 0; i < heap->local_size; i++) {
        (void)madvise(ctn_heap_arena(heap, i) + header->sparse_off, bytes,
                      MADV_NOHUGEPAGE);
    }
}

catena_status_t ctn_heap_start(ctn_heap_t *heap,
                               const ctn_heap_params_t *params)
{
    const ctn_segment_header_t *header = heap->header;
    size_t keep = header->limit / 8 / header->local_size; /* see KEEP_MAX */

    heap->local_size = params->local_size;
    heap->own_bytes = header->arena_bytes;
    heap->own = ctn_heap_arena(heap, params->local_rank);
    heap->limit = header->limit;
    bind_numa(heap, params->numa);
    if (header->huge_off < header->sparse_off &&
        madvise(heap->own + header->huge_off,
                header->sparse_off - header->huge_off, MADV_HUGEPAGE) != 0) {
        ctn_debug(heap->log, "heap: no huge pages: %s", strerror(errno));
    }
    avoid_huge(heap);
    ctn_arena_params_t arena = {
        .log = params->log,
        .base = heap->own,
        .bytes = header->sparse_off,
        .huge_off = header->huge_off,
        .keep_bytes = keep < KEEP_MAX ? keep : KEEP_MAX,
        /* Not in the simulator, where a thread has thousands of arenas. */
        .caches = heap->kind != CTN_SEGMENT_GIVEN,
        .source = {ctn_heap_source_take, source_give, ctn_heap_source_short,
                   source_describe, heap}};
    ctn_sparse_init(heap, heap->own + header->sparse_off,
                    header->arena_bytes - header->sparse_off,
                    params->sparse_bytes, page_shift());
    catena_status_t status = ctn_arena_init(&heap->arena, &arena);
    if (status != CATENA_OK) {
        ctn_error(heap->log,
                  "heap: no process memory for the tables of an arena of %zu "
                  "bytes; reduce CATENA_HEAP_SIZE",
                  arena.bytes);
    }
    return status;
}

unsigned char *ctn_heap_arena(const ctn_heap_t *heap, int local_rank)
{
    assert(local_rank >= 0 && local_rank < heap->local_size);
    return (unsigned char *)heap->header + CTN_SEGMENT_HEADER_BYTES +
           (size_t)local_rank * heap->own_bytes;
}

size_t ctn_heap_arena_bytes(const ctn_heap_t *heap)
{
    return heap->own_bytes;
}

ctn_doorbells_t *ctn_heap_doorbells(ctn_heap_t *heap, uint64_t *id)
{
    *id = heap->header->id;
    return &heap->header->doorbells;
}

bool ctn_heap_contains(const ctn_heap_t *heap, const void *block, size_t bytes,
                       uint64_t *offset)
{
    size_t off = (size_t)((uintptr_t)block - (uintptr_t)heap->own);

    if (off >= heap->own_bytes || bytes > heap->own_bytes - off) {
        return false;
    }
    *offset = off;
    return true;
}

uint64_t ctn_heap_offset(const ctn_heap_t *heap, const void *memory)
{
    uint64_t offset = 0;
    (void)ctn_heap_contains(heap, memory, 1, &offset);
    return offset;
}

void ctn_heap_on_shortage(ctn_heap_t *heap, bool (*reclaim)(void *),
                          void *argument)
{
    heap->reclaim = reclaim;
    heap->reclaim_argument = argument;
}

/** Return the free memory of this rank. @return whether there was any */
static bool trim(ctn_heap_t *heap)
{
    catena_heap_stats_t before, after;
    if (ctn_sparse_trim(heap)) {
        return true;
    }
    ctn_arena_stats(&heap->arena, &before);
    ctn_arena_trim(&heap->arena);
    ctn_arena_stats(&heap->arena, &after);
    return after.taken < before.taken;
}

bool ctn_heap_reclaim(ctn_heap_t *heap, size_t bytes)
{
    return bytes > 0 && bytes <= heap->limit &&
           (trim(heap) ||
            (heap->reclaim != NULL && heap->reclaim(heap->reclaim_argument)));
}

void *ctn_heap_alloc_zeroed(ctn_heap_t *heap, size_t alignment, size_t bytes,
                            size_t zero)
{
    void *block;
    do {
        block = ctn_arena_alloc_zeroed(&heap->arena, alignment, bytes, zero);
    } while (block == NULL && ctn_heap_reclaim(heap, bytes));
    return block;
}

void ctn_heap_free(ctn_heap_t *heap, void *block)
{
    ctn_arena_free(&heap->arena, block);
}

void ctn_heap_get_stats(ctn_heap_t *heap, catena_heap_stats_t *stats)
{
    ctn_arena_stats(&heap->arena, stats);
    const ctn_sparse_t *sparse = &heap->sparse;
    stats->taken += __atomic_load_n(&heap->arena.besides, __ATOMIC_RELAXED);
    stats->allocations +=
        __atomic_load_n(&sparse->allocations, __ATOMIC_RELAXED);
    stats->frees += __atomic_load_n(&sparse->frees, __ATOMIC_RELAXED);
    stats->limit = heap->limit;
    stats->node_taken = __atomic_load_n(&heap->header->taken, __ATOMIC_RELAXED);
}

void ctn_heap_destroy(ctn_heap_t *heap)
{
    if (heap == NULL) {
        return;
    }
    ctn_arena_release(&heap->arena);
    ctn_sparse_release(heap);
    ctn_heap_delete(heap);
}
