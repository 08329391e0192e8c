#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/list.h"
#include "heap/arena.h"

/* Runs of pages. Fresh and free runs are in bins by size. An allocation takes
 * the best of a few runs that fit, and cuts off what it does not need; a run
 * that is freed is merged with free neighbors. Fresh and free runs are separate
 * kinds: so calloc knows which pages are zero, and an arena has fresh addresses
 * left when the node's limit of pages is reached. */

enum {
    DESCRIPTORS_AT_ONCE = 15,   /* the pool allocates so many descriptors of 64
                                   bytes: 1 KiB with its header */
    LOOK_IN_BIN = 16,           /* runs of a bin to look at in the first pass */
    SMALL_MAP_BYTES = 128 << 10 /* a page map up to this comes from malloc */
};

static ctn_run_t *descriptor_get(ctn_arena_t *arena)
{
    ctn_run_t *run =
        ctn_pool_get(&arena->descriptors, sizeof(*run), DESCRIPTORS_AT_ONCE);
    return run != NULL ? memset(run, 0, sizeof(*run)) : NULL;
}

static void descriptor_put(ctn_arena_t *arena, ctn_run_t *run)
{
    ctn_pool_put(&arena->descriptors, run);
}

static ctn_zone_t *zone_of(const ctn_arena_t *arena, uint32_t page)
{
    return page < arena->zone[0]->end ? arena->zone[0] : arena->zone[1];
}

unsigned ctn_run_bin(uint32_t pages)
{
    if (pages < 4) {
        return pages;
    }
    unsigned log2 = 31 - (unsigned)__builtin_clz(pages);
    return (log2 - 1) * 4 + ((pages >> (log2 - 2)) & 3);
}

/* kind: CTN_RUN_FRESH or CTN_RUN_FREE */
static ctn_run_t **bin_head(ctn_zone_t *zone, unsigned kind, unsigned bin)
{
    return &zone->bin[kind * zone->bins + bin];
}

static void bin_insert(ctn_arena_t *arena, ctn_run_t *run)
{
    ctn_zone_t *zone = zone_of(arena, run->first);
    unsigned bin = ctn_run_bin(run->pages);

    CTN_LIST_PUSH(bin_head(zone, run->kind, bin), run);
    zone->filled[run->kind][bin / 64] |= UINT64_C(1) << (bin % 64);
    arena->free_pages += run->kind == CTN_RUN_FREE ? run->pages : 0;
}

static void bin_remove(ctn_arena_t *arena, ctn_run_t *run)
{
    ctn_zone_t *zone = zone_of(arena, run->first);
    unsigned bin = ctn_run_bin(run->pages);
    ctn_run_t **head = bin_head(zone, run->kind, bin);

    CTN_LIST_REMOVE(head, run);
    if (*head == NULL) {
        zone->filled[run->kind][bin / 64] &= ~(UINT64_C(1) << (bin % 64));
    }
    arena->free_pages -= run->kind == CTN_RUN_FREE ? run->pages : 0;
}

/* Point the map entries of a run's first and last page to `target`. */
static void map_ends(ctn_arena_t *arena, const ctn_run_t *run,
                     ctn_run_t *target)
{
    ctn_map_set(arena, run->first, target);
    ctn_map_set(arena, run->first + run->pages - 1, target);
}

void ctn_runs_map_inside(ctn_arena_t *arena, const ctn_run_t *run,
                         ctn_run_t *target)
{
    for (uint32_t i = 1; i + 1 < run->pages; i++) {
        ctn_map_set(arena, run->first + i, target);
    }
}

/* Merge a fresh or free run with neighbors of the same kind, and put it into
 * its bin. Returns the merged run. */
static ctn_run_t *free_insert(ctn_arena_t *arena, ctn_run_t *run)
{
    const ctn_zone_t *zone = zone_of(arena, run->first);

    map_ends(arena, run, NULL);
    if (run->first > zone->first) {
        ctn_run_t *left = ctn_map_get(arena, run->first - 1);
        if (left->kind == run->kind) {
            bin_remove(arena, left);
            map_ends(arena, left, NULL);
            run->first = left->first;
            run->pages += left->pages;
            descriptor_put(arena, left);
        }
    }
    if (run->first + run->pages < zone->end) {
        ctn_run_t *right = ctn_map_get(arena, run->first + run->pages);
        if (right->kind == run->kind) {
            bin_remove(arena, right);
            map_ends(arena, right, NULL);
            run->pages += right->pages;
            descriptor_put(arena, right);
        }
    }
    map_ends(arena, run, run);
    bin_insert(arena, run);
    return run;
}

/* Cut `run`, which is in no bin, after `pages` pages. Returns the rest as a run
 * of the same kind, also in no bin; NULL: no memory for its descriptor, and
 * `run` is unchanged. */
static ctn_run_t *cut(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages)
{
    ctn_run_t *rest = descriptor_get(arena);
    if (rest == NULL) {
        return NULL;
    }
    rest->kind = run->kind;
    rest->first = run->first + pages;
    rest->pages = run->pages - pages;
    run->pages = pages;
    map_ends(arena, run, run);
    map_ends(arena, rest, rest);
    return rest;
}

/* Pages to skip from the start of `run` to the first aligned one. The base of
 * the arena has the largest supported alignment. */
static uint32_t skip_pages(const ctn_run_t *run, uint32_t align_pages)
{
    return -run->first & (align_pages - 1);
}

/* Whether a free run has the requested pages at the requested alignment. */
static bool fits(const ctn_run_t *run, const ctn_run_request_t *request)
{
    uint32_t skip = skip_pages(run, request->align_pages);
    return run->pages >= request->pages && run->pages - request->pages >= skip;
}

/* The shortest run that fits among the first `look` runs of a bin. */
static ctn_run_t *find_in_bin(const ctn_run_t *run, unsigned look,
                              const ctn_run_request_t *request)
{
    ctn_run_t *best = NULL;
    for (; run != NULL && look > 0; run = run->next, look--) {
        if (fits(run, request) && (best == NULL || run->pages < best->pages)) {
            best = (ctn_run_t *)run;
            if (run->pages == request->pages) {
                break;
            }
        }
    }
    return best;
}

/* Find a run that fits, in the bin of the requested length or in a higher one.
 * Not all runs of a bin fit: in the first bin some are too short, and in any
 * bin some have no aligned part that is long enough. So the first pass looks at
 * a few runs of each bin, and only if none fits does the second pass look at
 * all. */
static ctn_run_t *find(ctn_zone_t *zone, unsigned kind,
                       const ctn_run_request_t *request)
{
    static const unsigned looks[2] = {LOOK_IN_BIN, UINT32_MAX};
    unsigned start = ctn_run_bin(request->pages);

    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned word = start / 64; word < 2; word++) {
            uint64_t filled = zone->filled[kind][word];
            if (word == start / 64) {
                filled &= ~UINT64_C(0) << (start % 64);
            }
            for (; filled != 0; filled &= filled - 1) {
                unsigned bin = word * 64 + (unsigned)__builtin_ctzll(filled);
                ctn_run_t *run = find_in_bin(*bin_head(zone, kind, bin),
                                             looks[pass], request);
                if (run != NULL) {
                    return run;
                }
            }
        }
    }
    return NULL;
}

/* Cut the requested pages out of a run that fits, and return the other parts to
 * bins. NULL: no memory for descriptors; the run is in its bin again. */
static ctn_run_t *carve(ctn_arena_t *arena, ctn_run_t *run,
                        const ctn_run_request_t *request)
{
    uint32_t skip = skip_pages(run, request->align_pages);

    bin_remove(arena, run);
    if (skip > 0) {
        ctn_run_t *head = run;
        run = cut(arena, head, skip);
        bin_insert(arena, head);
        if (run == NULL) {
            return NULL;
        }
    }
    if (run->pages > request->pages) {
        ctn_run_t *tail = cut(arena, run, request->pages);
        if (tail == NULL) {
            free_insert(arena, run);
            return NULL;
        }
        bin_insert(arena, tail);
    }
    return run;
}

/* Charge the pages of a run; false: the limit is reached. */
static bool source_take(ctn_arena_t *arena, const ctn_run_t *run)
{
    const ctn_arena_source_t *source = &arena->params.source;
    if (!source->take(source->argument, (uint64_t)run->first << CTN_PAGE_SHIFT,
                      ctn_run_bytes(run))) {
        return false;
    }
    arena->taken_pages += run->pages;
    return true;
}

/* Give the pages of a run back; false: they are unchanged. */
static bool source_give(ctn_arena_t *arena, const ctn_run_t *run)
{
    const ctn_arena_source_t *source = &arena->params.source;
    if (!source->give(source->argument, (uint64_t)run->first << CTN_PAGE_SHIFT,
                      ctn_run_bytes(run))) {
        return false;
    }
    arena->taken_pages -= run->pages;
    return true;
}

/* Take a run of one kind. */
static ctn_run_t *take_kind(ctn_arena_t *arena, ctn_zone_t *zone,
                            ctn_run_kind_t kind,
                            const ctn_run_request_t *request)
{
    ctn_run_t *run = find(zone, kind, request);
    if (run != NULL) {
        run = carve(arena, run, request);
    }
    if (run != NULL && kind == CTN_RUN_FRESH && !source_take(arena, run)) {
        free_insert(arena, run);
        return NULL;
    }
    return run;
}

/* Fresh pages are requested, but the limit is reached: give the old pages of
 * `run` back and take them again, which zeroes them. NULL: another rank took
 * the memory meanwhile. If they cannot be given back, *fresh is false. */
static ctn_run_t *refresh(ctn_arena_t *arena, ctn_run_t *run, bool *fresh)
{
    *fresh = source_give(arena, run);
    if (!*fresh || source_take(arena, run)) {
        return run;
    }
    run->kind = CTN_RUN_FRESH;
    free_insert(arena, run);
    return NULL;
}

/* Take a run of one zone: of the preferred kind, else of the other. */
static ctn_run_t *take_in(ctn_arena_t *arena, ctn_zone_t *zone,
                          const ctn_run_request_t *request, bool *fresh)
{
    *fresh = request->fresh;
    ctn_run_t *run =
        take_kind(arena, zone, *fresh ? CTN_RUN_FRESH : CTN_RUN_FREE, request);
    if (run == NULL) {
        *fresh = !request->fresh;
        run = take_kind(arena, zone, *fresh ? CTN_RUN_FRESH : CTN_RUN_FREE,
                        request);
        if (run != NULL && request->fresh) {
            run = refresh(arena, run, fresh);
        }
    }
    return run;
}

ctn_run_t *ctn_runs_take(ctn_arena_t *arena, const ctn_run_request_t *request,
                         bool *fresh)
{
    bool huge = request->huge && arena->zone[1] != NULL;

    /* If the requested zone has no run, try the other one. */
    for (int attempt = 0; attempt < 2; attempt++, huge = !huge) {
        ctn_zone_t *zone = arena->zone[huge ? 1 : 0];
        if (zone == NULL) {
            continue;
        }
        ctn_run_t *run = take_in(arena, zone, request, fresh);
        if (run != NULL) {
            run->kind = CTN_RUN_BLOCK;
            return run;
        }
    }
    return NULL;
}

void ctn_runs_put(ctn_arena_t *arena, ctn_run_t *run)
{
    const ctn_arena_source_t *source = &arena->params.source;
    size_t keep = arena->params.keep_bytes >> CTN_PAGE_SHIFT;

    ctn_poison(ctn_run_start(arena, run), ctn_run_bytes(run));
    run->kind = CTN_RUN_FREE;
    run->cached = 0;
    free_insert(arena, run);
    if (source->short_of_memory(source->argument)) {
        ctn_runs_give_back(arena, 0);
    } else if (arena->free_pages > keep) {
        ctn_runs_give_back(arena, keep / 2);
    }
}

/* Give a free run back to the source; it is fresh then. */
static void give_back_run(ctn_arena_t *arena, ctn_run_t *run)
{
    if (source_give(arena, run)) {
        bin_remove(arena, run);
        run->kind = CTN_RUN_FRESH;
        free_insert(arena, run);
    }
}

/* Largest runs first, since each run costs a system call. */
void ctn_runs_give_back(ctn_arena_t *arena, size_t keep)
{
    for (unsigned z = 0; z < 2; z++) {
        ctn_zone_t *zone = arena->zone[z];
        for (unsigned bin = zone != NULL ? zone->bins : 0; bin-- > 0;) {
            ctn_run_t *run = *bin_head(zone, CTN_RUN_FREE, bin);
            while (run != NULL && arena->free_pages > keep) {
                ctn_run_t *next = run->next;
                give_back_run(arena, run);
                run = next;
            }
        }
    }
}

bool ctn_runs_grow(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages)
{
    uint32_t more = pages - run->pages;
    const ctn_zone_t *zone = zone_of(arena, run->first);

    if (run->first + run->pages == zone->end) {
        return false;
    }
    ctn_run_t *next = ctn_map_get(arena, run->first + run->pages);
    if (next->kind > CTN_RUN_FREE || next->pages < more) {
        return false;
    }
    ctn_run_request_t request = {.pages = more, .align_pages = 1};
    bool fresh = next->kind == CTN_RUN_FRESH;
    next = carve(arena, next, &request);
    if (next == NULL) {
        return false;
    }
    if (fresh && !source_take(arena, next)) {
        free_insert(arena, next);
        return false;
    }
    map_ends(arena, next, NULL);
    map_ends(arena, run, NULL);
    run->pages += next->pages;
    map_ends(arena, run, run);
    descriptor_put(arena, next);
    ctn_unpoison(ctn_run_start(arena, run), ctn_run_bytes(run));
    return true;
}

void ctn_runs_shrink(ctn_arena_t *arena, ctn_run_t *run, uint32_t pages)
{
    ctn_run_t *rest = cut(arena, run, pages);
    if (rest != NULL) {
        ctn_runs_put(arena, rest);
    }
}

/* Make the zone of pages [first, end): one fresh run. */
static ctn_zone_t *zone_new(ctn_arena_t *arena, size_t first, size_t end)
{
    uint32_t bins = ctn_run_bin((uint32_t)(end - first)) + 1;
    ctn_zone_t *zone =
        calloc(1, sizeof(*zone) + (size_t)bins * 2 * sizeof(zone->bin[0]));
    ctn_run_t *run = descriptor_get(arena);

    if (zone == NULL || run == NULL) {
        free(zone);
        return NULL;
    }
    zone->bins = bins;
    zone->first = (uint32_t)first;
    zone->end = (uint32_t)end;
    run->kind = CTN_RUN_FRESH;
    run->first = (uint32_t)first;
    run->pages = (uint32_t)(end - first);
    arena->zone[first == 0 ? 0 : 1] = zone;
    map_ends(arena, run, run);
    bin_insert(arena, run);
    return zone;
}

bool ctn_runs_init(ctn_arena_t *arena)
{
    size_t pages = arena->bytes >> CTN_PAGE_SHIFT;
    size_t huge = arena->params.huge_off >> CTN_PAGE_SHIFT;

    arena->map_bytes = pages * sizeof(*arena->map);
    /* A mapping is sparse, as the arena is: entries of pages that are never
     * used take no memory. Small maps come from calloc, since the system limits
     * the number of mappings. */
    if (arena->map_bytes <= SMALL_MAP_BYTES) {
        arena->map = calloc(1, arena->map_bytes);
    } else {
        arena->map = mmap(NULL, arena->map_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (arena->map == NULL || arena->map == MAP_FAILED) {
        arena->map = NULL;
        return false;
    }
    return zone_new(arena, 0, huge) != NULL &&
           (huge == pages || zone_new(arena, huge, pages) != NULL);
}

void ctn_runs_release(ctn_arena_t *arena)
{
    ctn_pool_drop(&arena->descriptors);
    free(arena->zone[0]);
    free(arena->zone[1]);
    if (arena->map_bytes <= SMALL_MAP_BYTES) {
        free(arena->map);
    } else if (arena->map != NULL) {
        munmap(arena->map, arena->map_bytes);
    }
}
