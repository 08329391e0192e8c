/* The invariants of the allocator. */

#include <check.h>

#include "heap_case.h"

/* Many conditions are checked: ck_assert would take too long. */
#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition)) {                                                    \
            ck_abort_msg("%s", #condition);                                    \
        }                                                                      \
    } while (0)

/** Every block is free in the slab, in a cache, or in use. */
static void check_slab(const ctn_arena_t *arena, const ctn_run_t *slab)
{
    uint32_t free_blocks = 0;

    EXPECT(slab->blocks == ctn_run_bytes(slab) / slab->block_bytes);
    EXPECT(slab->block_bytes == ctn_class_bytes[slab->class_index]);
    for (uint32_t i = 0; i < slab->blocks; i++) {
        bool in_slab = slab->free_map[i / 64] >> (i % 64) & 1;
        EXPECT(!in_slab || slab->used[i] == 0);
        free_blocks += in_slab;
    }
    EXPECT(free_blocks == slab->free_blocks);
    const ctn_run_t *partial = arena->partial[slab->class_index];
    while (partial != NULL && partial != slab) {
        partial = partial->next;
    }
    EXPECT((partial == slab) == (free_blocks > 0));
}

/* Assert that runs cover the zone without gaps, that the page map agrees with
 * them, that no two fresh or two free runs are adjacent, and that the bins have
 * all of these and no others. Adds the zone's pages to *taken and *free_pages.
 */
static void check_zone(const ctn_arena_t *arena, const ctn_zone_t *zone,
                       size_t *taken, size_t *free_pages)
{
    unsigned before = CTN_RUN_SLAB; /* kind of the run before */

    for (uint32_t page = zone->first; page < zone->end;) {
        const ctn_run_t *run = ctn_map_get(arena, page);
        EXPECT(run != NULL && run->first == page && run->pages > 0);
        EXPECT(page + run->pages <= zone->end);
        EXPECT(ctn_map_get(arena, page + run->pages - 1) == run);
        EXPECT(run->kind > CTN_RUN_FREE || run->kind != before);
        /* At most 1024 pages of a fresh run, which may have millions. */
        uint32_t look = run->kind == CTN_RUN_FRESH ? 1024 : run->pages;
        for (uint32_t i = 1; i < look && i + 1 < run->pages; i++) {
            EXPECT(ctn_map_get(arena, page + i) ==
                   (run->kind == CTN_RUN_SLAB ? run : NULL));
        }
        if (run->kind == CTN_RUN_SLAB) {
            check_slab(arena, run);
        }
        *taken += run->kind != CTN_RUN_FRESH ? run->pages : 0;
        *free_pages += run->kind == CTN_RUN_FREE ? run->pages : 0;
        before = run->kind;
        page += run->pages;
    }
    for (unsigned kind = 0; kind < 2; kind++) {
        for (unsigned bin = 0; bin < zone->bins; bin++) {
            const ctn_run_t *run = zone->bin[kind * zone->bins + bin];
            EXPECT((run != NULL) ==
                   (zone->filled[kind][bin / 64] >> (bin % 64) & 1));
            for (; run != NULL; run = run->next) {
                EXPECT(run->kind == kind && ctn_run_bin(run->pages) == bin);
                EXPECT(ctn_map_get(arena, run->first) == run);
            }
        }
    }
}

static void check_runs(const ctn_arena_t *arena)
{
    size_t taken = 0;
    size_t free_pages = 0;

    for (unsigned z = 0; z < 2; z++) {
        if (arena->zone[z] != NULL) {
            check_zone(arena, arena->zone[z], &taken, &free_pages);
        }
    }
    EXPECT(taken == arena->taken_pages && free_pages == arena->free_pages);
}

void heap_check_arena(ctn_arena_t *arena)
{
    pthread_mutex_lock(&arena->mutex);
    check_runs(arena);
    for (unsigned i = 0; arena->slots != NULL && i < CTN_CACHE_SLOTS; i++) {
        const ctn_cache_t *cache = arena->slots[i].cache;
        for (unsigned c = 0; cache != NULL && c < CTN_CLASSES; c++) {
            const ctn_stack_t *stack = &cache->stack[c];
            EXPECT(stack->count <= stack->capacity);
            for (uint32_t e = 0; e < stack->count; e++) {
                EXPECT(*stack->entry[e].used == 0);
            }
        }
        for (uint32_t r = 0; cache != NULL && r < cache->runs; r++) {
            EXPECT(cache->run[r]->cached);
        }
    }
    pthread_mutex_unlock(&arena->mutex);
}

/** The bits of taken pages agree with their counts. */
static void check_sparse(const ctn_heap_t *heap)
{
    const ctn_sparse_t *sparse = &heap->sparse;
    size_t pages = 0;
    for (uint32_t number = 1; number <= sparse->made; number++) {
        const ctn_sparse_block_t *block = ctn_sparse_block_at(sparse, number);
        uint32_t bits = 0;
        for (uint32_t page = 0; page < ctn_sparse_pages(sparse); page++) {
            bits += block->page[page / 64] >> (page % 64) & 1;
        }
        EXPECT(bits == block->pages);
        pages += bits;
    }
    EXPECT(pages << sparse->page_shift == heap->arena.besides);
}

void heap_check(ctn_heap_t *heap)
{
    heap_check_arena(&heap->arena);
    check_sparse(heap);
}
