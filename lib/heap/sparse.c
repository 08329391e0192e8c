#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/vector.h"
#include "heap/segment.h"

/* Sparse blocks: ranges of addresses of one size, of which only some pages will
 * be used. They lie in a part of the arena of their own, side by side, so a
 * block is a number. A page of a block is taken from the node's limit by
 * ctn_heap_take. All pages of all blocks are zero when they are first used.
 *
 * A block that is freed keeps its pages while few are kept in this way: a page
 * that is returned to the system costs a system call, and a fault when it is
 * used again. */

enum { NONE = 0 }; /* else: 1 + the number of a block */

uint32_t ctn_sparse_pages(const ctn_sparse_t *sparse)
{
    return (uint32_t)(sparse->block_bytes >> sparse->page_shift);
}

static size_t descriptor_bytes(const ctn_sparse_t *sparse)
{
    return sizeof(ctn_sparse_block_t) +
           (ctn_sparse_pages(sparse) + 63) / 64 * sizeof(uint64_t);
}

ctn_sparse_block_t *ctn_sparse_block_at(const ctn_sparse_t *sparse,
                                        uint32_t number)
{
    return (void *)(sparse->blocks + (number - 1) * descriptor_bytes(sparse));
}

static unsigned char *start_of(const ctn_sparse_t *sparse, uint32_t number)
{
    return sparse->base + (number - 1) * sparse->block_bytes;
}

/** Return the block that contains an address; NONE: it is in no block. */
static uint32_t number_at(const ctn_sparse_t *sparse, const void *at)
{
    size_t offset = (size_t)((uintptr_t)at - (uintptr_t)sparse->base);
    return sparse->block_bytes > 0 &&
                   offset < sparse->made * sparse->block_bytes
               ? 1 + (uint32_t)(offset / sparse->block_bytes)
               : NONE;
}

static void push(const ctn_sparse_t *sparse, uint32_t *list, uint32_t number)
{
    ctn_sparse_block_at(sparse, number)->next = *list;
    *list = number;
}

static uint32_t pop(const ctn_sparse_t *sparse, uint32_t *list)
{
    uint32_t number = *list;
    if (number != NONE) {
        *list = ctn_sparse_block_at(sparse, number)->next;
    }
    return number;
}

/** Add to what ctn_heap_get_stats reads, on any thread. */
static void add(size_t *counter, size_t bytes)
{
    __atomic_store_n(counter, *counter + bytes, __ATOMIC_RELAXED);
}

/* ---- pages ---- */

static size_t bytes_taken(const ctn_sparse_t *sparse, uint32_t number)
{
    return (size_t)ctn_sparse_block_at(sparse, number)->pages
           << sparse->page_shift;
}

/** Bytes of blocks are in use now, or negative: no more. The arena counts all,
 * so that the peak is that of both. */
static void count(ctn_heap_t *heap, int64_t bytes)
{
    ctn_arena_t *arena = &heap->arena;
    ctn_cache_t *cache = ctn_cache_enter(arena);
    if (cache != NULL) {
        ctn_cache_count(cache, bytes);
        ctn_cache_leave(cache);
        return;
    }
    pthread_mutex_lock(&arena->mutex);
    ctn_arena_count(arena, bytes);
    pthread_mutex_unlock(&arena->mutex);
}

/** The first of the pages [page, end) of a block that is not taken yet; at
 * least `end`: there is none. */
static uint32_t find_missing(const ctn_sparse_block_t *block, uint32_t page,
                             uint32_t end)
{
    while (page < end) {
        uint64_t missing = ~block->page[page / 64] >> (page % 64);
        if (missing != 0) {
            return page + (uint32_t)__builtin_ctzll(missing);
        }
        page += 64 - page % 64;
    }
    return page;
}

/** Take the pages [first, end) of a block that are not taken yet. Those that
 * were taken before it failed stay with the block. */
static bool take_pages(ctn_heap_t *heap, uint32_t number, uint32_t first,
                       uint32_t end)
{
    ctn_sparse_t *sparse = &heap->sparse;
    ctn_sparse_block_t *block = ctn_sparse_block_at(sparse, number);
    uint32_t page = find_missing(block, first, end);
    if (page >= end) {
        return true;
    }
    uint64_t start = (uint64_t)(start_of(sparse, number) - heap->own);
    size_t before = bytes_taken(sparse, number);
    bool taken = true;
    for (; taken && page < end; page = find_missing(block, page, end)) {
        taken = ctn_heap_source_take(
            heap, start + ((uint64_t)page << sparse->page_shift),
            (size_t)1 << sparse->page_shift);
        if (taken) {
            block->page[page / 64] |= UINT64_C(1) << (page % 64);
            block->pages++;
        }
    }
    size_t more = bytes_taken(sparse, number) - before;
    add(&heap->arena.besides, more);
    count(heap, (int64_t)more);
    return taken;
}

/** Return the pages of a block. @return false: the system refuses */
static bool give_pages(ctn_heap_t *heap, uint32_t number)
{
    ctn_sparse_t *sparse = &heap->sparse;
    ctn_sparse_block_t *block = ctn_sparse_block_at(sparse, number);
    size_t bytes = bytes_taken(sparse, number);
    unsigned char *start = start_of(sparse, number);
    /* All of it: peers may have used pages that are not taken. */
    if (!ctn_heap_source_clear(heap, start, sparse->block_bytes)) {
        return false;
    }
    ctn_heap_source_return(heap, bytes);
    add(&heap->arena.besides, -bytes);
    block->pages = 0;
    memset(block->page, 0, descriptor_bytes(sparse) - sizeof(*block));
    return true;
}

/* ---- blocks ---- */

void ctn_sparse_init(ctn_heap_t *heap, unsigned char *base, size_t bytes,
                     size_t block_bytes, unsigned page_shift)
{
    ctn_sparse_t *sparse = &heap->sparse;
    *sparse = (ctn_sparse_t){.base = base, .page_shift = page_shift};
    size_t page = (size_t)1 << page_shift;
    sparse->block_bytes = (block_bytes + page - 1) / page * page;
    sparse->most = sparse->block_bytes > 0 ? bytes / sparse->block_bytes : 0;
    sparse->most = sparse->most < UINT32_MAX ? sparse->most : UINT32_MAX - 1;
}

void ctn_sparse_release(ctn_heap_t *heap)
{
    ctn_sparse_t *sparse = &heap->sparse;
    ctn_unpoison(sparse->base, sparse->made * sparse->block_bytes);
    free(sparse->blocks);
}

/** Make one more block. NONE: no memory for it, or no addresses. */
static uint32_t make_block(ctn_sparse_t *sparse)
{
    size_t bytes = descriptor_bytes(sparse);
    if (sparse->made == sparse->most) {
        return NONE;
    }
    if (sparse->made == sparse->room) {
        void *blocks = ctn_vector_grow(sparse->blocks, &sparse->room, 0, bytes);
        if (blocks == NULL) {
            return NONE;
        }
        sparse->blocks = blocks;
    }
    memset(sparse->blocks + sparse->made * bytes, 0, bytes);
    return (uint32_t)++sparse->made;
}

static uint32_t get_block(ctn_heap_t *heap, unsigned use)
{
    ctn_sparse_t *sparse = &heap->sparse;
    uint32_t number = pop(sparse, &sparse->kept_list[use]);
    if (number != NONE) {
        add(&sparse->kept, -bytes_taken(sparse, number));
        count(heap, (int64_t)bytes_taken(sparse, number));
        return number;
    }
    number = pop(sparse, &sparse->empty_list);
    number = number != NONE ? number : make_block(sparse);
    /* In /dev/shm a page that cannot be had raises SIGBUS, also in a peer. */
    if (number != NONE && heap->kind == CTN_SEGMENT_SHM &&
        !take_pages(heap, number, 0, ctn_sparse_pages(sparse))) {
        count(heap, -(int64_t)bytes_taken(sparse, number));
        if (bytes_taken(sparse, number) > 0) {
            (void)give_pages(heap, number);
        }
        push(sparse, &sparse->empty_list, number);
        return NONE;
    }
    return number;
}

/** Log, the first time only, that there is no block. */
static void log_full(ctn_heap_t *heap)
{
    ctn_sparse_t *sparse = &heap->sparse;
    if (sparse->made < sparse->most) { /* no memory */
        ctn_arena_full(&heap->arena, sparse->block_bytes);
    } else if (!sparse->full_logged) {
        sparse->full_logged = true;
        ctn_warn(heap->log,
                 "heap: all %zu sparse blocks are in use, which hold the "
                 "memory of groups; increase CATENA_HEAP_SIZE, by which their "
                 "number grows, or free groups (logged only once)",
                 sparse->most);
    }
}

void *ctn_heap_alloc_sparse(ctn_heap_t *heap, unsigned use)
{
    ctn_sparse_t *sparse = &heap->sparse;
    uint32_t number;
    do {
        number = get_block(heap, use);
    } while (number == NONE && ctn_heap_reclaim(heap, CTN_PAGE_BYTES));
    if (number == NONE) {
        log_full(heap);
        return NULL;
    }
    ctn_unpoison(start_of(sparse, number), sparse->block_bytes);
    add(&sparse->allocations, 1);
    return start_of(sparse, number);
}

size_t ctn_heap_sparse_bytes(const ctn_heap_t *heap)
{
    return heap->kind != CTN_SEGMENT_SHM ? heap->sparse.block_bytes : 0;
}

bool ctn_heap_take(ctn_heap_t *heap, const void *memory, size_t bytes)
{
    const ctn_sparse_t *sparse = &heap->sparse;
    uint32_t number = number_at(sparse, memory);
    if (number == NONE || bytes == 0) {
        return true; /* a block of another kind is taken as a whole */
    }
    size_t at =
        (size_t)((const unsigned char *)memory - start_of(sparse, number));
    uint32_t first = (uint32_t)(at >> sparse->page_shift);
    uint32_t end = (uint32_t)((at + bytes - 1) >> sparse->page_shift) + 1;
    bool taken;
    do {
        taken = take_pages(heap, number, first, end);
    } while (!taken && ctn_heap_reclaim(heap, bytes));
    if (!taken) {
        ctn_arena_full(&heap->arena, bytes);
    }
    return taken;
}

/** Return the pages of blocks of a use that are free already, until `keep`
 * bytes are left; 0: of all. @return whether there were any */
static bool give_kept(ctn_heap_t *heap, unsigned use, size_t keep)
{
    ctn_sparse_t *sparse = &heap->sparse;
    bool any = false;
    uint32_t number = NONE;
    while ((keep == 0 || sparse->kept > keep) &&
           (number = pop(sparse, &sparse->kept_list[use])) != NONE) {
        size_t bytes = bytes_taken(sparse, number);
        if (!give_pages(heap, number)) {
            push(sparse, &sparse->kept_list[use], number);
            break;
        }
        add(&sparse->kept, -bytes);
        push(sparse, &sparse->empty_list, number);
        any = true;
    }
    return any;
}

/** The same for all uses. */
static bool give_all_kept(ctn_heap_t *heap, size_t keep)
{
    bool any = false;
    for (unsigned use = 0; use < CTN_SPARSE_USES; use++) {
        any = give_kept(heap, use, keep) || any;
    }
    return any;
}

bool ctn_sparse_trim(ctn_heap_t *heap)
{
    return give_all_kept(heap, 0);
}

/** Keep a free block, with its pages, for the next one that is needed. */
static void keep(ctn_heap_t *heap, uint32_t number, unsigned use)
{
    ctn_sparse_t *sparse = &heap->sparse;
    size_t most = heap->arena.params.keep_bytes;
    push(sparse, &sparse->kept_list[use], number);
    add(&sparse->kept, bytes_taken(sparse, number));
    if (ctn_heap_source_short(heap)) {
        (void)give_all_kept(heap, 0);
    } else if (sparse->kept > most) {
        (void)give_all_kept(heap, most / 2);
    }
}

void ctn_heap_free_sparse(ctn_heap_t *heap, void *memory, unsigned use)
{
    ctn_sparse_t *sparse = &heap->sparse;
    uint32_t number = number_at(sparse, memory);
    if (number == NONE) {
        ctn_heap_free(heap, memory);
        return;
    }
    add(&sparse->frees, 1);
    count(heap, -(int64_t)bytes_taken(sparse, number));
    bool dirty = use == CTN_SPARSE_USES;
    if (dirty && give_pages(heap, number)) {
        ctn_poison(memory, sparse->block_bytes);
        push(sparse, &sparse->empty_list, number);
        return;
    }
    if (dirty) {
        memset(memory, 0, sparse->block_bytes);
    }
    ctn_poison(memory, sparse->block_bytes);
    keep(heap, number, dirty ? 0 : use);
}
