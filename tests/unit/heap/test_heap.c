/* The heap of one rank: blocks, the limit, misuse. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/config.h"

#include "heap_case.h"
#include "unit/unit.h"

static const ctn_log_t quiet = {.level = CATENA_LOG_FATAL, .rank = 0};

/* --- blocks --- */

START_TEST(sizes_and_alignment)
{
    ctn_heap_t *heap = heap_of(64 * MIB);
    unsigned char *block[300];
    size_t most = 0;
    uint64_t offset;

    for (size_t bytes = 0; bytes <= 70000; bytes += bytes < 2100 ? 1 : 501) {
        unsigned i = bytes % 300;
        block[i] = ctn_heap_alloc(heap, 1, bytes);
        ck_assert_ptr_nonnull(block[i]);
        ck_assert_uint_eq((uintptr_t)block[i] % (bytes >= 64 ? 64 : 16), 0);
        ck_assert(ctn_heap_contains(heap, block[i], bytes, &offset));
        ck_assert_ptr_eq(ctn_heap_arena(heap, 0) + offset, block[i]);
        heap_fill(block[i], bytes, bytes);
        most = heap_stats_of(heap).in_use;
        ck_assert_uint_ge(most, bytes);
        ck_assert(heap_filled(block[i], bytes, bytes));
        ctn_heap_free(heap, block[i]);
        ck_assert_uint_eq(heap_stats_of(heap).in_use, 0);
    }
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(all_classes_full)
{
    enum { EACH = 100 };
    ctn_heap_t *heap = heap_of(64 * MIB);
    static unsigned char *block[CTN_CLASSES][EACH];

    for (unsigned c = 0; c < CTN_CLASSES; c++) {
        ck_assert_uint_eq(ctn_class_of(ctn_class_bytes[c]), c);
        ck_assert_uint_eq(ctn_class_of((size_t)ctn_class_bytes[c] + 1), c + 1);
        for (unsigned i = 0; i < EACH; i++) {
            block[c][i] = ctn_heap_alloc(heap, 1, ctn_class_bytes[c]);
            heap_fill(block[c][i], ctn_class_bytes[c], c * EACH + i);
        }
    }
    heap_check(heap);
    for (unsigned c = 0; c < CTN_CLASSES; c++) {
        for (unsigned i = 0; i < EACH; i++) {
            ck_assert(
                heap_filled(block[c][i], ctn_class_bytes[c], c * EACH + i));
            ctn_heap_free(heap, block[c][i]);
        }
    }
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(aligned_blocks)
{
    ctn_heap_t *heap = heap_of(64 * MIB);
    static const size_t sizes[] = {0,    1,    17,    64,    100,   1000,
                                   4096, 5000, 16384, 16385, 70000, 3000000};

    for (size_t alignment = 1; alignment <= 2 * MIB; alignment *= 2) {
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned char *block = ctn_heap_alloc(heap, alignment, sizes[i]);
            ck_assert_ptr_nonnull(block);
            ck_assert_uint_eq((uintptr_t)block % alignment, 0);
            heap_fill(block, sizes[i], i);
            unsigned char *zero = ctn_heap_calloc(heap, alignment, sizes[i]);
            ck_assert_uint_eq((uintptr_t)zero % alignment, 0);
            ck_assert(heap_all_zero(zero, sizes[i]));
            ck_assert(heap_filled(block, sizes[i], i));
            ctn_heap_free(heap, block);
            ctn_heap_free(heap, zero);
        }
    }
    ck_assert_ptr_null(ctn_heap_alloc(heap, 4 * MIB, 16));
    ck_assert_ptr_null(ctn_heap_alloc(heap, 48, 16));
    ck_assert_uint_eq(heap_stats_of(heap).in_use, 0);
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(zero_and_overflow)
{
    ctn_heap_t *heap = heap_of(4 * MIB);
    static const size_t sizes[] = {SIZE_MAX,        SIZE_MAX - 1,
                                   SIZE_MAX - 4095, SIZE_MAX / 2,
                                   (size_t)1 << 47, 4 * MIB + 1};

    unsigned char *a = ctn_heap_alloc(heap, 1, 0);
    unsigned char *b = ctn_heap_alloc(heap, 1, 0);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_ne(a, b);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ck_assert_ptr_null(ctn_heap_alloc(heap, 1, sizes[i]));
        ck_assert_ptr_null(ctn_heap_alloc(heap, 2 * MIB, sizes[i]));
        ck_assert_ptr_null(ctn_heap_calloc(heap, 1, sizes[i]));
        ck_assert_ptr_null(ctn_arena_realloc(&heap->arena, a, sizes[i]));
    }
    b = ctn_arena_realloc(&heap->arena, b, 100000);
    ck_assert_ptr_null(ctn_arena_realloc(&heap->arena, b, SIZE_MAX));
    ctn_heap_free(heap, a);
    ctn_heap_free(heap, b);
    ctn_heap_free(heap, NULL);
    ck_assert_uint_eq(heap_stats_of(heap).in_use, 0);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(contains_edges)
{
    ctn_heap_t *heap = heap_of(4 * MIB);
    unsigned char *start = ctn_heap_arena(heap, 0);
    size_t bytes = ctn_heap_arena_bytes(heap);
    uint64_t offset = 7;
    int local;

    ck_assert(!ctn_heap_contains(heap, start - 1, 1, &offset));
    ck_assert(!ctn_heap_contains(heap, start + bytes, 0, &offset));
    ck_assert(!ctn_heap_contains(heap, start + 1, bytes, &offset));
    ck_assert(!ctn_heap_contains(heap, start + 1, SIZE_MAX, &offset));
    ck_assert(!ctn_heap_contains(heap, &local, 1, &offset));
    ck_assert(!ctn_heap_contains(heap, NULL, 0, &offset));
    ck_assert_uint_eq(offset, 7);
    ck_assert(ctn_heap_contains(heap, start, bytes, &offset));
    ck_assert_uint_eq(offset, 0);
    ck_assert(ctn_heap_contains(heap, start + bytes - 1, 1, &offset));
    ck_assert_uint_eq(offset, bytes - 1);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(realloc_keeps_contents)
{
    ctn_heap_t *heap = heap_of(128 * MIB);
    uint64_t seed = 4711;
    size_t bytes = 1;

    unsigned char *block = ctn_arena_realloc(&heap->arena, NULL, bytes);
    heap_fill(block, bytes, 3);
    for (int i = 0; i < 600; i++) {
        size_t wanted = heap_random_size(&seed, 4 * MIB);
        size_t common = wanted < bytes ? wanted : bytes;
        block = ctn_arena_realloc(&heap->arena, block, wanted);
        ck_assert_ptr_nonnull(block);
        ck_assert(heap_filled(block, common, 3));
        heap_fill(block, wanted, 3);
        bytes = wanted;
        if (i % 50 == 0) {
            heap_check(heap);
        }
    }
    ctn_heap_free(heap, block);
    ck_assert_uint_eq(heap_stats_of(heap).in_use, 0);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(realloc_in_place)
{
    ctn_heap_t *heap = heap_of(64 * MIB);

    /* Within its class, and a run with free pages behind it. */
    unsigned char *small = ctn_heap_alloc(heap, 1, 600);
    ck_assert_ptr_eq(ctn_arena_realloc(&heap->arena, small, 640), small);
    ck_assert_ptr_eq(ctn_arena_realloc(&heap->arena, small, 400), small);
    unsigned char *large = ctn_heap_alloc(heap, 1, MIB);
    ck_assert_ptr_eq(ctn_arena_realloc(&heap->arena, large, 3 * MIB), large);
    ck_assert_uint_eq(heap_stats_of(heap).in_use, 640 + 3 * MIB);
    ck_assert_ptr_eq(ctn_arena_realloc(&heap->arena, large, 100000), large);
    ck_assert_uint_eq(heap_stats_of(heap).in_use, 640 + 102400);
    ck_assert_uint_eq(heap_stats_of(heap).peak, 640 + 3 * MIB);
    ck_assert_uint_eq(heap_stats_of(heap).allocations, 2);
    /* The space that the block lost can be allocated. */
    ck_assert_ptr_eq(ctn_arena_realloc(&heap->arena, large, 2 * MIB), large);
    unsigned char *wall = ctn_heap_alloc(heap, 1, 20000);
    ck_assert_ptr_eq(wall, large + 2 * MIB);
    heap_fill(large, 2 * MIB, 9);
    unsigned char *moved = ctn_arena_realloc(&heap->arena, large, 4 * MIB);
    ck_assert_ptr_ne(moved, large);
    ck_assert(heap_filled(moved, 2 * MIB, 9));
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/* --- the limit --- */

START_TEST(exhaustion)
{
    enum { BLOCKS = 4096 };
    static const size_t sizes[] = {16, 1000, 16384, 50000, MIB};
    static void *block[BLOCKS * 16 + 1];
    size_t bytes = sizes[_i];
    ctn_heap_t *heap = heap_of(MIB);
    unsigned first = 0;

    for (int turn = 0; turn < 3; turn++) {
        unsigned count = 0;
        while ((block[count] = ctn_heap_alloc(heap, 1, bytes)) != NULL) {
            count++;
        }
        ck_assert_uint_gt(count, 0);
        ck_assert_uint_ge(count * bytes, turn == 0 ? MIB / 2 : 1);
        ck_assert_ptr_null(ctn_heap_calloc(heap, 1, bytes));
        ck_assert_uint_le(heap_stats_of(heap).taken, MIB);
        ck_assert(turn == 0 || count == first);
        first = count;
        for (unsigned i = 0; i < count; i++) {
            ctn_heap_free(heap, block[i]);
        }
        heap_check(heap);
    }
    /* Whatever size filled it, all of it can be allocated as one block. */
    void *all = ctn_heap_alloc(heap, 1, MIB);
    ck_assert_ptr_nonnull(all);
    ctn_heap_free(heap, all);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(memory_is_given_back)
{
    enum { BLOCKS = 48 };
    ctn_heap_t *heap = heap_of(128 * MIB);
    unsigned char *block[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        block[i] = ctn_heap_alloc(heap, 1, MIB + (size_t)i * 4096);
        memset(block[i], 1, MIB);
    }
    size_t full = heap_stats_of(heap).taken;
    ck_assert_uint_ge(full, BLOCKS * MIB);
    for (int i = 0; i < BLOCKS; i++) {
        ctn_heap_free(heap, block[i]);
    }
    /* A sixteenth of the limit is kept in runs, as much in caches. */
    ck_assert_uint_le(heap_stats_of(heap).taken, 24 * MIB);
    ck_assert_uint_le(heap_resident_pages(ctn_heap_arena(heap, 0),
                                          ctn_heap_arena_bytes(heap)),
                      heap_stats_of(heap).taken / CTN_PAGE_BYTES);
    ctn_arena_trim(&heap->arena);
    ck_assert_uint_eq(heap_stats_of(heap).taken, 0);
    ck_assert_uint_eq(heap_stats_of(heap).node_taken, 0);
    ck_assert_uint_eq(heap_resident_pages(ctn_heap_arena(heap, 0),
                                          ctn_heap_arena_bytes(heap)),
                      0);
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(calloc_is_sparse)
{
    ctn_heap_t *heap = heap_of(64 * MIB);
    unsigned char *block = ctn_heap_calloc(heap, 64, 8 * MIB);

    ck_assert_uint_eq(heap_resident_pages(block, 8 * MIB), 0);
    block[5 * MIB] = 1;
    ck_assert_uint_eq(heap_resident_pages(block, 8 * MIB), 1);
    memset(block, 7, 8 * MIB);
    ctn_heap_free(heap, block);
    /* There are used pages now; calloc takes new ones all the same. */
    block = ctn_heap_calloc(heap, 1, 8 * MIB);
    ck_assert_uint_eq(heap_resident_pages(block, 8 * MIB), 0);
    ck_assert(heap_all_zero(block, 8 * MIB));
    ctn_heap_free(heap, block);
    /* Without new pages, old ones are returned and taken again. */
    block = ctn_heap_alloc(heap, 1, 63 * MIB);
    memset(block, 7, 63 * MIB);
    ctn_heap_free(heap, block);
    block = ctn_heap_calloc(heap, 1, 63 * MIB);
    ck_assert_uint_eq(heap_resident_pages(block, 63 * MIB), 0);
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(stats_are_exact)
{
    ctn_heap_t *heap = heap_of(32 * MIB + 5);
    catena_heap_stats_t stats = heap_stats_of(heap);

    ck_assert_uint_eq(stats.limit, 32 * MIB);
    ck_assert_uint_eq(stats.node_taken, 0);
    ck_assert_uint_eq(stats.taken, 0);
    ck_assert_uint_eq(stats.peak, 0);
    void *a = ctn_heap_alloc(heap, 1, 100);     /* 128 */
    void *b = ctn_heap_alloc(heap, 1, 20000);   /* 5 pages */
    void *c = ctn_heap_calloc(heap, 1, 300000); /* 74 pages */
    stats = heap_stats_of(heap);
    ck_assert_uint_eq(stats.in_use, 128 + 79 * 4096);
    ck_assert_uint_eq(stats.taken, 16384 + 79 * 4096);
    ck_assert_uint_eq(stats.node_taken, stats.taken);
    ctn_heap_free(heap, b);
    ctn_heap_free(heap, a);
    a = ctn_heap_alloc(heap, 1, 1);
    stats = heap_stats_of(heap);
    ck_assert_uint_eq(stats.in_use, 16 + 74 * 4096);
    ck_assert_uint_eq(stats.peak, 128 + 79 * 4096);
    ck_assert_uint_eq(stats.allocations, 4);
    ck_assert_uint_eq(stats.frees, 2);
    ctn_heap_free(heap, a);
    ctn_heap_free(heap, c);
    ck_assert_uint_eq(heap_stats_of(heap).in_use, 0);
    ck_assert_uint_eq(heap_stats_of(heap).peak, 128 + 79 * 4096);
    ctn_heap_destroy(heap);
}
END_TEST

/* --- misuse: each must end the process with a message --- */

static void misuse(ctn_heap_t *heap, int kind)
{
    unsigned char *small = ctn_heap_alloc(heap, 1, 100);
    unsigned char *large = ctn_heap_alloc(heap, 1, 100000);
    static int outside;

    switch (kind) {
    case 0:
        ctn_heap_free(heap, small);
        ctn_heap_free(heap, small);
        break;
    case 1:
        ctn_heap_free(heap, large);
        ctn_heap_free(heap, large);
        break;
    case 2:
        ctn_heap_free(heap, &outside);
        break;
    case 3:
        ctn_heap_free(heap, small + 64);
        break;
    case 4:
        ctn_heap_free(heap, large + 4096);
        break;
    case 5:
        ctn_heap_free(heap, large + 16);
        break;
    case 6: /* never allocated */
        ctn_heap_free(heap, ctn_heap_arena(heap, 0) + MIB);
        break;
    case 7:
        ctn_heap_free(heap, small);
        ctn_arena_realloc(&heap->arena, small, 10);
        break;
    case 8: /* freed and back in the free runs */
        ctn_heap_free(heap, large);
        ctn_arena_trim(&heap->arena);
        ctn_heap_free(heap, large);
        break;
    case 9:
        ctn_heap_free(heap, small);
        ctn_arena_trim(&heap->arena);
        ctn_heap_free(heap, small);
        break;
    case 10:
        ctn_arena_realloc(&heap->arena, &outside, 10);
        break;
    default: /* the arena of another rank */
        ctn_heap_free(heap, ctn_heap_arena(heap, 1));
    }
}

START_TEST(misuse_dies)
{
    ctn_heap_params_t params = heap_params_of(16 * MIB, 0, 2);
    ctn_heap_t *heap = NULL;
    char name[64];

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    misuse(heap, _i);
}
END_TEST

/* Everything taken may be overwritten: the allocator still works. */
START_TEST(overruns_do_no_harm)
{
    ctn_heap_t *heap = heap_of(16 * MIB);
    void *block[64];

    for (int i = 0; i < 64; i++) {
        block[i] = ctn_heap_alloc(heap, 1, (size_t)i * 700);
    }
    for (int i = 0; i < 64; i += 2) {
        ctn_heap_free(heap, block[i]);
        block[i] = NULL;
    }
#if !defined(__SANITIZE_ADDRESS__)
    memset(ctn_heap_arena(heap, 0), 0xff, heap_stats_of(heap).taken);
#endif
    heap_check(heap);
    for (int i = 0; i < 64; i++) {
        ctn_heap_free(heap, block[i]);
    }
    for (int i = 0; i < 64; i++) {
        ck_assert(heap_all_zero(ctn_heap_calloc(heap, 1, (size_t)i * 700),
                                (size_t)i * 700));
    }
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/* --- the arena by itself, as the simulator uses it --- */

struct purse {
    unsigned char *base;
    size_t taken;
    size_t limit;
    bool keeps; /* refuses to take pages back */
};

static bool purse_take(void *argument, uint64_t offset, size_t bytes)
{
    struct purse *purse = argument;
    (void)offset;
    if (bytes > purse->limit - purse->taken) {
        return false;
    }
    purse->taken += bytes;
    return true;
}

static bool purse_give(void *argument, uint64_t offset, size_t bytes)
{
    struct purse *purse = argument;
    if (purse->keeps ||
        madvise(purse->base + offset, bytes, MADV_DONTNEED) != 0) {
        return false;
    }
    purse->taken -= bytes;
    return true;
}

static bool purse_short(void *argument)
{
    (void)argument;
    return false;
}

static void purse_describe(void *argument, char *text, size_t bytes)
{
    (void)argument;
    snprintf(text, bytes, "the purse is empty");
}

START_TEST(arena_of_other_memory)
{
    enum { ARENAS = 100 };
    static ctn_arena_t arena[ARENAS];
    static struct purse purse[ARENAS];
    size_t each = 2 * MIB;
    unsigned char *area =
        mmap(NULL, (ARENAS + 1) * each, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *base = area + (-(uintptr_t)area & (each - 1));

    for (int i = 0; i < ARENAS; i++) {
        purse[i] = (struct purse){base + (size_t)i * each, 0, MIB, _i == 1};
        ctn_arena_params_t params = {.log = &quiet,
                                     .base = purse[i].base,
                                     .bytes = each,
                                     .huge_off = each,
                                     .source = {purse_take, purse_give,
                                                purse_short, purse_describe,
                                                &purse[i]}};
        ck_assert_int_eq(ctn_arena_init(&arena[i], &params), CATENA_OK);
    }
    for (int i = 0; i < ARENAS; i++) {
        unsigned char *block[40];
        for (int j = 0; j < 40; j++) {
            block[j] = ctn_arena_alloc(&arena[i], 1, (size_t)j * 900);
            ck_assert_ptr_nonnull(block[j]);
            heap_fill(block[j], (size_t)j * 900, (uint64_t)j);
        }
        for (int j = 0; j < 40; j++) {
            ck_assert(heap_filled(block[j], (size_t)j * 900, (uint64_t)j));
            ctn_arena_free(&arena[i], block[j]);
        }
        heap_check_arena(&arena[i]);
        ck_assert_ptr_null(ctn_arena_alloc(&arena[i], 1, MIB + 1));
        unsigned char *zero =
            ctn_arena_alloc_zeroed(&arena[i], 1, 512 * KIB, 512 * KIB);
        ck_assert(zero != NULL && heap_all_zero(zero, 512 * KIB));
        ctn_arena_free(&arena[i], zero);
        ctn_arena_trim(&arena[i]);
        ck_assert(_i == 1 || purse[i].taken == 0);
        heap_check_arena(&arena[i]);
        ctn_arena_release(&arena[i]);
    }
    munmap(area, (ARENAS + 1) * each);
}
END_TEST

/* --- sparse blocks --- */

enum { SPARSE = 3 * MIB / 2 + 5 }; /* becomes whole pages */

static ctn_heap_t *sparse_heap_of(ctn_segment_kind_t kind, size_t limit)
{
    ctn_heap_params_t params = heap_params_of(limit, 0, 1);
    ctn_heap_t *heap = NULL;
    char name[64];

    params.sparse_bytes = SPARSE;
    ck_assert_int_eq(ctn_heap_create_kind(&params, kind, &heap, name),
                     CATENA_OK);
    return heap;
}

/** Only pages that are taken count, and each once. */
START_TEST(sparse_blocks)
{
    enum { BLOCKS = 1000 };
    static unsigned char *block[BLOCKS];
    ctn_heap_t *heap = sparse_heap_of(CTN_SEGMENT_MEMFD, 256 * MIB);
    uint64_t offset;

    for (unsigned i = 0; i < BLOCKS; i++) {
        block[i] = ctn_heap_alloc_sparse(heap, 0);
        ck_assert_ptr_nonnull(block[i]);
        ck_assert(ctn_heap_contains(heap, block[i], SPARSE, &offset));
        ck_assert_uint_eq(offset % CTN_PAGE_BYTES, 0);
        ck_assert(i == 0 || block[i] >= block[i - 1] + SPARSE);
    }
    ck_assert_uint_eq(heap_stats_of(heap).taken, 0);
    for (int turn = 0; turn < 2; turn++) {
        ck_assert(ctn_heap_take(heap, block[3], 1));
        ck_assert(ctn_heap_take(heap, block[3] + 4095, 2));
        ck_assert(ctn_heap_take(heap, block[3] + 4 * 4096, 4096));
        ck_assert(ctn_heap_take(heap, block[3] + SPARSE - 1, 1));
        ck_assert_uint_eq(heap_stats_of(heap).taken, 4 * 4096);
    }
    ck_assert(ctn_heap_take(heap, block[3], 6 * 4096)); /* closes the gaps */
    ck_assert_uint_eq(heap_stats_of(heap).in_use, 7 * 4096);
    ck_assert_uint_eq(heap_stats_of(heap).node_taken, 7 * 4096);
    heap_check(heap);
    for (unsigned i = 0; i < BLOCKS; i++) {
        ctn_heap_free_sparse(heap, block[i], 0);
    }
    ck_assert_uint_eq(heap_stats_of(heap).in_use, 0);
    ck_assert_uint_eq(heap_stats_of(heap).peak, 7 * 4096);
    ck_assert_uint_eq(heap_stats_of(heap).allocations, BLOCKS);
    ck_assert_uint_eq(heap_stats_of(heap).frees, BLOCKS);
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/** Blocks are zero whatever was in them, and however they were freed. */
START_TEST(sparse_blocks_are_zero)
{
    ctn_heap_t *heap =
        sparse_heap_of(_i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM, 64 * MIB);
    unsigned char *block[3];
    size_t part = 10 * 4096;

    for (int turn = 0; turn < 6; turn++) {
        for (int i = 0; i < 3; i++) {
            block[i] = ctn_heap_alloc_sparse(heap, i == 1);
            ck_assert_ptr_nonnull(block[i]);
            ck_assert(heap_all_zero(block[i], SPARSE));
            ck_assert(ctn_heap_take(heap, block[i] + 4096, part));
            heap_fill(block[i] + 4096, part, 7);
        }
        for (int i = 0; i < 3; i++) {
            bool zero = (turn + i) % 2 == 0;
            memset(block[i], 0, zero ? SPARSE : 0);
            ctn_heap_free_sparse(heap, block[i],
                                 zero ? (unsigned)turn % 2 : CTN_SPARSE_USES);
        }
        heap_check(heap);
    }
    ck_assert_uint_gt(heap_stats_of(heap).taken, 0); /* kept for later */
    ck_assert(ctn_sparse_trim(heap));
    ck_assert(!ctn_sparse_trim(heap));
    ck_assert_uint_eq(heap_stats_of(heap).node_taken, 0);
    ctn_heap_destroy(heap);
}
END_TEST

static bool run_out(void *argument)
{
    return --*(int *)argument > 0;
}

/** So are those into which peers wrote before their pages were taken. */
START_TEST(sparse_blocks_of_peers_are_zero)
{
    ctn_heap_t *heap = sparse_heap_of(CTN_SEGMENT_MEMFD, 64 * MIB);
    bool clean = _i == 1;

    unsigned char *block = ctn_heap_alloc_sparse(heap, 1);
    heap_fill(block, SPARSE, 7);
    ctn_heap_free_sparse(heap, block, clean ? 0 : CTN_SPARSE_USES);
    ck_assert(ctn_sparse_trim(heap) || !clean);
    ck_assert_ptr_eq(ctn_heap_alloc_sparse(heap, 1), block);
    ck_assert(heap_all_zero(block, SPARSE));
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/** At the limit pages are refused; what is free but kept is used first. */
START_TEST(sparse_exhaustion)
{
    ctn_heap_t *heap = sparse_heap_of(CTN_SEGMENT_MEMFD, 2 * MIB);
    unsigned char *block[3];
    int calls = 3;

    for (int i = 0; i < 3; i++) {
        block[i] = ctn_heap_alloc_sparse(heap, 0);
    }
    ctn_heap_on_shortage(heap, run_out, &calls);
    ck_assert(ctn_heap_take(heap, block[0], SPARSE));
    ck_assert(!ctn_heap_take(heap, block[1], SPARSE));
    ck_assert_int_eq(calls, 0); /* asked until there was no more */
    ck_assert_ptr_null(ctn_heap_alloc(heap, 1, MIB));
    memset(block[0], 0, SPARSE);
    ctn_heap_free_sparse(heap, block[0], 0);
    ck_assert(ctn_heap_take(heap, block[1], SPARSE));
    ctn_heap_free_sparse(heap, block[1], 0);
    void *all = ctn_heap_alloc(heap, 1, 2 * MIB);
    ck_assert_ptr_nonnull(all);
    ck_assert(!ctn_heap_take(heap, block[2], 1));
    ctn_heap_free(heap, all);
    ck_assert(ctn_heap_take(heap, block[2], 1));
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/** A small heap has few sparse blocks; one that is freed can be had again. */
START_TEST(sparse_addresses_run_out)
{
    enum { BLOCKS = 64 };
    ctn_heap_t *heap = sparse_heap_of(CTN_SEGMENT_MEMFD, MIB);
    unsigned char *block[BLOCKS + 2];
    int calls = 3;
    unsigned n = 0;

    while (n < BLOCKS + 2 &&
           (block[n] = ctn_heap_alloc_sparse(heap, 0)) != NULL) {
        n++;
    }
    ck_assert_uint_ge(n, BLOCKS); /* the part is rounded up */
    ck_assert_uint_le(n, BLOCKS + 1);
    ctn_heap_on_shortage(heap, run_out, &calls);
    ck_assert_ptr_null(ctn_heap_alloc_sparse(heap, 1));
    ck_assert_int_eq(calls, 0); /* also for more bytes than the limit */
    ctn_heap_free_sparse(heap, block[0], 0);
    ck_assert_ptr_eq(ctn_heap_alloc_sparse(heap, 1), block[0]);
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, sparse_blocks);
    tcase_add_loop_test(tcase, sparse_blocks_are_zero, 0, 2);
    tcase_add_loop_test(tcase, sparse_blocks_of_peers_are_zero, 0, 2);
    tcase_add_test(tcase, sparse_exhaustion);
    tcase_add_test(tcase, sparse_addresses_run_out);
    tcase_add_test(tcase, sizes_and_alignment);
    tcase_add_test(tcase, all_classes_full);
    tcase_add_test(tcase, aligned_blocks);
    tcase_add_test(tcase, zero_and_overflow);
    tcase_add_test(tcase, contains_edges);
    tcase_add_test(tcase, realloc_keeps_contents);
    tcase_add_test(tcase, realloc_in_place);
    tcase_add_test(tcase, calloc_is_sparse);
    tcase_add_test(tcase, stats_are_exact);
    tcase_add_test(tcase, overruns_do_no_harm);
    tcase_add_loop_test(tcase, arena_of_other_memory, 0, 2);
    tcase_add_loop_test(tcase, exhaustion, 0, 5);
    tcase_add_test(tcase, memory_is_given_back);
    tcase_add_loop_test_raise_signal(tcase, misuse_dies, SIGABRT, 0, 12);
}

UNIT_TEST(heap)
{
    return unit_main("heap", 60, add_cases);
}
