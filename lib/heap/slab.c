#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/list.h"
#include "heap/arena.h"

/* Slabs: runs cut into blocks of one size class. A block is in one of three
 * states: in use (used = 1), in a thread's cache (used = 0), or in the slab
 * (used = 0, its bit in free_map is 1). `used` has a byte, not a bit, per
 * block: threads write it without the mutex, so none may write another block's.
 */

const uint16_t ctn_class_bytes[CTN_CLASSES] = {
    16,   32,   48,   64,   128,  192,   256,   320,   384,  448,  512,
    640,  768,  896,  1024, 1280, 1536,  1792,  2048,  2560, 3072, 3584,
    4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384};

/* Number of partial slabs among which a thread looks for one that it owns. */
enum { LOOK_FOR_OWN = 8 };

/* Pages of a slab: 16 KiB for blocks up to 1 KiB; above that 16, 8 or 4 blocks,
 * which fill their pages exactly. */
static uint32_t slab_pages(size_t block_bytes)
{
    size_t bytes = block_bytes <= 1024   ? 16 << 10
                   : block_bytes <= 2048 ? 16 * block_bytes
                   : block_bytes <= 4096 ? 8 * block_bytes
                                         : 4 * block_bytes;
    return (uint32_t)(bytes >> CTN_PAGE_SHIFT);
}

/* A partial slab has at least one block in the slab. */
static void partial_insert(ctn_arena_t *arena, ctn_run_t *slab)
{
    CTN_LIST_PUSH(&arena->partial[slab->class_index], slab);
}

static void partial_remove(ctn_arena_t *arena, ctn_run_t *slab)
{
    CTN_LIST_REMOVE(&arena->partial[slab->class_index], slab);
}

static ctn_run_t *slab_new(ctn_arena_t *arena, unsigned class_index)
{
    uint32_t block_bytes = ctn_class_bytes[class_index];
    ctn_run_request_t request = {.pages = slab_pages(block_bytes),
                                 .align_pages = 1};
    bool fresh;

    ctn_run_t *run = ctn_runs_take(arena, &request, &fresh);
    if (run == NULL) {
        return NULL;
    }
    uint32_t blocks = (uint32_t)(ctn_run_bytes(run) / block_bytes);
    uint32_t words = (blocks + 63) / 64;
    /* One allocation for free_map and `used`, in whole cache lines: slabs of
     * different threads must not share one. */
    size_t bytes = (words * sizeof(uint64_t) + blocks + 63) & ~(size_t)63;
    uint64_t *map = aligned_alloc(64, bytes);
    if (map == NULL) {
        ctn_runs_put(arena, run);
        return NULL;
    }
    memset(map, 0, bytes);
    run->class_index = (uint8_t)class_index;
    run->blocks = blocks;
    run->block_bytes = block_bytes;
    run->reciprocal =
        (uint32_t)(((UINT64_C(1) << 32) + block_bytes - 1) / block_bytes);
    run->free_blocks = blocks;
    run->free_map = map;
    run->used = (uint8_t *)(map + words);
    for (uint32_t i = 0; i < blocks; i++) {
        map[i / 64] |= UINT64_C(1) << (i % 64);
    }
    run->kind = CTN_RUN_SLAB;
    ctn_runs_map_inside(arena, run, run);
    partial_insert(arena, run);
    return run;
}

/* Free the run of a slab that has no block in use or in a cache. */
static void slab_free(ctn_arena_t *arena, ctn_run_t *slab)
{
    assert(slab->free_blocks == slab->blocks);
    partial_remove(arena, slab);
    ctn_runs_map_inside(arena, slab, NULL);
    free(slab->free_map);
    slab->free_map = NULL;
    slab->used = NULL;
    ctn_runs_put(arena, slab);
}

/* Take up to `want` blocks of one slab; returns their number. */
static unsigned slab_take(ctn_arena_t *arena, ctn_run_t *slab,
                          ctn_entry_t *entries, unsigned want)
{
    unsigned got = 0;
    unsigned char *start = ctn_run_start(arena, slab);

    for (uint32_t word = 0; got < want && slab->free_blocks > 0; word++) {
        while (got < want && slab->free_map[word] != 0) {
            uint32_t i =
                word * 64 + (uint32_t)__builtin_ctzll(slab->free_map[word]);
            slab->free_map[word] &= slab->free_map[word] - 1;
            slab->free_blocks--;
            entries[got].block = start + (size_t)i * slab->block_bytes;
            entries[got].used = &slab->used[i];
            got++;
        }
    }
    if (slab->free_blocks == 0) {
        partial_remove(arena, slab);
    }
    return got;
}

/* Find a partial slab for a cache; NULL: none of the first few is suitable.
 * Each thread takes blocks from slabs that it owns, so two threads share no
 * cache line of blocks or of `used`. A slab whose blocks are all free changes
 * its owner. */
static ctn_run_t *slab_find(const ctn_arena_t *arena,
                            const ctn_slab_request_t *request)
{
    ctn_run_t *slab = arena->partial[request->class_index];

    for (unsigned look = LOOK_FOR_OWN; slab != NULL && look > 0; look--) {
        if (slab->owner == request->owner) {
            return slab;
        }
        if (slab->free_blocks == slab->blocks) {
            slab->owner = (uint8_t)request->owner;
            return slab;
        }
        slab = slab->next;
    }
    return NULL;
}

unsigned ctn_slabs_take(ctn_arena_t *arena, const ctn_slab_request_t *request,
                        ctn_entry_t *entries)
{
    ctn_run_t *slab = slab_find(arena, request);

    if (slab == NULL) {
        slab = slab_new(arena, request->class_index);
        if (slab != NULL) {
            slab->owner = (uint8_t)request->owner;
        } else {
            /* No memory: any slab, also one of another owner. */
            slab = arena->partial[request->class_index];
        }
    }
    return slab != NULL ? slab_take(arena, slab, entries, request->want) : 0;
}

void ctn_slabs_put(ctn_arena_t *arena, const ctn_entry_t *entry)
{
    size_t off = (size_t)(entry->block - arena->base);
    ctn_run_t *slab = ctn_map_get(arena, off >> CTN_PAGE_SHIFT);
    uint32_t i = (uint32_t)(entry->used - slab->used);
    uint64_t bit = UINT64_C(1) << (i % 64);

    assert(slab->kind == CTN_RUN_SLAB && i < slab->blocks);
    assert((slab->free_map[i / 64] & bit) == 0);
    slab->free_map[i / 64] |= bit;
    slab->free_blocks++;
    if (slab->free_blocks == 1) {
        partial_insert(arena, slab);
    }
    /* Free the slab if no block of it is left, unless it is the only partial
     * one of its size class: the next allocation will need it. */
    if (slab->free_blocks == slab->blocks &&
        (slab->next != NULL || slab->previous != NULL)) {
        slab_free(arena, slab);
    }
}

void ctn_slabs_trim(ctn_arena_t *arena)
{
    for (unsigned i = 0; i < CTN_CLASSES; i++) {
        ctn_run_t *slab = arena->partial[i];
        while (slab != NULL) {
            ctn_run_t *next = slab->next;
            if (slab->free_blocks == slab->blocks) {
                slab_free(arena, slab);
            }
            slab = next;
        }
    }
}
