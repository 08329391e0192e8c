#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/config.h"
#include "heap/arena.h"
#include "heap/segment.h"

#include "unit.h"

static const ctn_log_t quiet = {.level = CTN_LOG_FATAL, .rank = 0};

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* --- helpers --- */

static ctn_heap_params_t params_of(size_t limit, int local_rank, int local_size)
{
    return (ctn_heap_params_t){.log = &quiet,
                               .limit = limit,
                               .local_rank = local_rank,
                               .local_size = local_size,
                               .numa = -1,
                               .huge = 0};
}

static ctn_heap_t *heap_of(size_t limit)
{
    ctn_heap_params_t params = params_of(limit, 0, 1);
    ctn_heap_t *heap = NULL;
    char name[64];

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    ctn_heap_attached(heap);
    return heap;
}

static catena_heap_stats_t stats_of(ctn_heap_t *heap)
{
    catena_heap_stats_t stats;
    ctn_heap_get_stats(heap, &stats);
    return stats;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Log-uniform from 1 byte to `most`. */
static size_t random_size(uint64_t *state, size_t most)
{
    size_t bytes = most >> random_next(state) % 22;
    return 1 + random_next(state) % (bytes + 1) % most;
}

/* Bytes that repeat after 256, so that whole blocks are quickly compared. */
static void fill(unsigned char *block, size_t bytes, uint64_t pattern)
{
    size_t done = bytes < 256 ? bytes : 256;

    for (size_t i = 0; i < done; i++) {
        block[i] = (unsigned char)(pattern + i * 31);
    }
    for (size_t part; done < bytes; done += part) {
        part = bytes - done < done ? bytes - done : done;
        memcpy(block + done, block, part);
    }
}

static bool filled(const unsigned char *block, size_t bytes, uint64_t pattern)
{
    for (size_t i = 0; i < bytes && i < 256; i++) {
        if (block[i] != (unsigned char)(pattern + i * 31)) {
            return false;
        }
    }
    return bytes <= 256 || memcmp(block, block + 256, bytes - 256) == 0;
}

static bool all_zero(const unsigned char *block, size_t bytes)
{
    return bytes == 0 ||
           (block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0);
}

static size_t resident_pages(void *start, size_t bytes)
{
    size_t pages = bytes / CTN_PAGE_BYTES;
    size_t there = 0;
    unsigned char *map = malloc(pages);

    ck_assert_int_eq(mincore(start, bytes, map), 0);
    for (size_t i = 0; i < pages; i++) {
        there += map[i] & 1;
    }
    free(map);
    return there;
}

static int names_in_shm(void)
{
    int names = 0;
    DIR *dir = opendir("/dev/shm");

    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        names += strncmp(entry->d_name, "catena-", 7) == 0;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return names;
}

/* Wait for a forked rank, which reports with _exit(0) that all was well. */
static void expect_success(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "the other rank ended with status %x", (unsigned)status);
}

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
        fill(block[i], bytes, bytes);
        most = stats_of(heap).in_use;
        ck_assert_uint_ge(most, bytes);
        ck_assert(filled(block[i], bytes, bytes));
        ctn_heap_free(heap, block[i]);
        ck_assert_uint_eq(stats_of(heap).in_use, 0);
    }
    ctn_heap_check(heap);
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
            fill(block[c][i], ctn_class_bytes[c], c * EACH + i);
        }
    }
    ctn_heap_check(heap);
    for (unsigned c = 0; c < CTN_CLASSES; c++) {
        for (unsigned i = 0; i < EACH; i++) {
            ck_assert(filled(block[c][i], ctn_class_bytes[c], c * EACH + i));
            ctn_heap_free(heap, block[c][i]);
        }
    }
    ctn_heap_check(heap);
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
            fill(block, sizes[i], i);
            unsigned char *zero = ctn_heap_calloc(heap, alignment, sizes[i]);
            ck_assert_uint_eq((uintptr_t)zero % alignment, 0);
            ck_assert(all_zero(zero, sizes[i]));
            ck_assert(filled(block, sizes[i], i));
            ctn_heap_free(heap, block);
            ctn_heap_free(heap, zero);
        }
    }
    ck_assert_ptr_null(ctn_heap_alloc(heap, 4 * MIB, 16));
    ck_assert_ptr_null(ctn_heap_alloc(heap, 48, 16));
    ck_assert_uint_eq(stats_of(heap).in_use, 0);
    ctn_heap_check(heap);
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
        ck_assert_ptr_null(ctn_heap_realloc(heap, a, sizes[i]));
    }
    b = ctn_heap_realloc(heap, b, 100000);
    ck_assert_ptr_null(ctn_heap_realloc(heap, b, SIZE_MAX));
    ctn_heap_free(heap, a);
    ctn_heap_free(heap, b);
    ctn_heap_free(heap, NULL);
    ck_assert_uint_eq(stats_of(heap).in_use, 0);
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

    unsigned char *block = ctn_heap_realloc(heap, NULL, bytes);
    fill(block, bytes, 3);
    for (int i = 0; i < 600; i++) {
        size_t wanted = random_size(&seed, 4 * MIB);
        size_t common = wanted < bytes ? wanted : bytes;
        block = ctn_heap_realloc(heap, block, wanted);
        ck_assert_ptr_nonnull(block);
        ck_assert(filled(block, common, 3));
        fill(block, wanted, 3);
        bytes = wanted;
        if (i % 50 == 0) {
            ctn_heap_check(heap);
        }
    }
    ctn_heap_free(heap, block);
    ck_assert_uint_eq(stats_of(heap).in_use, 0);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(realloc_in_place)
{
    ctn_heap_t *heap = heap_of(64 * MIB);

    /* Within its class, and a run with free pages behind it. */
    unsigned char *small = ctn_heap_alloc(heap, 1, 600);
    ck_assert_ptr_eq(ctn_heap_realloc(heap, small, 640), small);
    ck_assert_ptr_eq(ctn_heap_realloc(heap, small, 400), small);
    unsigned char *large = ctn_heap_alloc(heap, 1, MIB);
    ck_assert_ptr_eq(ctn_heap_realloc(heap, large, 3 * MIB), large);
    ck_assert_uint_eq(stats_of(heap).in_use, 640 + 3 * MIB);
    ck_assert_ptr_eq(ctn_heap_realloc(heap, large, 100000), large);
    ck_assert_uint_eq(stats_of(heap).in_use, 640 + 102400);
    ck_assert_uint_eq(stats_of(heap).peak, 640 + 3 * MIB);
    ck_assert_uint_eq(stats_of(heap).allocations, 2);
    /* What the block lost can be had again. */
    ck_assert_ptr_eq(ctn_heap_realloc(heap, large, 2 * MIB), large);
    unsigned char *wall = ctn_heap_alloc(heap, 1, 20000);
    ck_assert_ptr_eq(wall, large + 2 * MIB);
    fill(large, 2 * MIB, 9);
    unsigned char *moved = ctn_heap_realloc(heap, large, 4 * MIB);
    ck_assert_ptr_ne(moved, large);
    ck_assert(filled(moved, 2 * MIB, 9));
    ctn_heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/* --- a model: what is live, and what is written in it --- */

enum { MODEL_BLOCKS = 256 };

struct model {
    ctn_heap_t *heap;
    uint64_t seed;
    size_t most;
    size_t live_bytes;
    struct {
        unsigned char *block;
        size_t bytes;
        uint64_t pattern;
    } live[MODEL_BLOCKS];
    bool wrong;
};

static void model_step(struct model *model)
{
    unsigned i = random_next(&model->seed) % MODEL_BLOCKS;
    unsigned action = random_next(&model->seed) % 8;
    size_t bytes = random_size(&model->seed, model->most);
    unsigned char *block = model->live[i].block;
    size_t before = model->live[i].bytes;

    if (block != NULL && !filled(block, before, model->live[i].pattern)) {
        model->wrong = true;
    }
    if (action == 0 && block != NULL) {
        unsigned char *moved = ctn_heap_realloc(model->heap, block, bytes);
        if (moved == NULL) {
            return;
        }
        size_t common = bytes < before ? bytes : before;
        model->wrong |= !filled(moved, common, model->live[i].pattern);
        block = moved;
    } else {
        ctn_heap_free(model->heap, block);
        if (action == 1) {
            block = ctn_heap_calloc(model->heap, 1, bytes);
            model->wrong |= block != NULL && !all_zero(block, bytes);
        } else if (action == 2) {
            size_t alignment = (size_t)1 << random_next(&model->seed) % 22;
            block = ctn_heap_alloc(model->heap, alignment, bytes);
            model->wrong |= (uintptr_t)block % alignment != 0;
        } else {
            block = ctn_heap_alloc(model->heap, 1, bytes);
        }
    }
    model->live[i].block = block;
    model->live[i].bytes = block != NULL ? bytes : 0;
    model->live[i].pattern = random_next(&model->seed);
    if (block != NULL) {
        fill(block, bytes, model->live[i].pattern);
    }
}

static void model_end(struct model *model)
{
    for (unsigned i = 0; i < MODEL_BLOCKS; i++) {
        model->wrong |= model->live[i].block != NULL &&
                        !filled(model->live[i].block, model->live[i].bytes,
                                model->live[i].pattern);
        ctn_heap_free(model->heap, model->live[i].block);
    }
}

/* Limits from ample to so small that most large blocks fail. */
START_TEST(random_one_thread)
{
    static const size_t limits[] = {256 * MIB, 16 * MIB, 2 * MIB, 256 * KIB};
    size_t limit = limits[_i];
    static struct model model;

    model = (struct model){.heap = heap_of(limit),
                           .seed = 1234567 + (uint64_t)_i,
                           .most = limit < 2 * MIB ? limit : 2 * MIB};
    for (int step = 0; step < 6000; step++) {
        model_step(&model);
        if (step % 500 == 0) {
            ctn_heap_check(model.heap);
        }
    }
    model_end(&model);
    ck_assert(!model.wrong);
    ctn_heap_check(model.heap);
    catena_heap_stats_t stats = stats_of(model.heap);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.allocations, stats.frees);
    ck_assert_uint_le(stats.taken, limit);
    ck_assert_uint_le(stats.peak, limit);
    ctn_heap_destroy(model.heap);
}
END_TEST

static void *model_thread(void *argument)
{
    struct model *model = argument;
    for (int step = 0; step < 1000; step++) {
        model_step(model);
    }
    model_end(model);
    return NULL;
}

/* The smaller limit makes threads empty each other's caches all the time. */
START_TEST(random_threads)
{
    enum { THREADS = 6 };
    static struct model model[THREADS];
    pthread_t thread[THREADS];
    ctn_heap_t *heap = heap_of(_i == 0 ? 256 * MIB : 3 * MIB);

    for (int i = 0; i < THREADS; i++) {
        model[i] = (struct model){
            .heap = heap, .seed = 99 + (uint64_t)i, .most = 128 * KIB};
        pthread_create(&thread[i], NULL, model_thread, &model[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert(!model[i].wrong);
    }
    ctn_heap_check(heap);
    catena_heap_stats_t stats = stats_of(heap);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.allocations, stats.frees);
    ctn_heap_destroy(heap);
}
END_TEST

/* --- blocks that wander from thread to thread --- */

enum { MAILBOXES = 64, MAILS = 20000 };

struct post {
    ctn_heap_t *heap;
    unsigned char *box[MAILBOXES]; /* first 16 bytes: size, pattern */
    bool wrong;
};

struct postman {
    struct post *post;
    uint64_t seed;
};

static void *postman(void *argument)
{
    struct postman *self = argument;
    struct post *post = self->post;

    for (int i = 0; i < MAILS; i++) {
        size_t bytes = 16 + random_size(&self->seed, 40000);
        unsigned char *mail = ctn_heap_alloc(post->heap, 1, bytes);
        if (mail != NULL) {
            uint64_t head[2] = {bytes, random_next(&self->seed)};
            size_t body = bytes - 16 < 64 ? bytes - 16 : 64;
            memcpy(mail, head, 16);
            fill(mail + 16, body, head[1]);
        }
        unsigned to = random_next(&self->seed) % MAILBOXES;
        mail = __atomic_exchange_n(&post->box[to], mail, __ATOMIC_ACQ_REL);
        if (mail != NULL) {
            uint64_t head[2];
            memcpy(head, mail, 16);
            size_t body = head[0] - 16 < 64 ? head[0] - 16 : 64;
            if (!filled(mail + 16, body, head[1])) {
                __atomic_store_n(&post->wrong, true, __ATOMIC_RELAXED);
            }
            ctn_heap_free(post->heap, mail);
        }
    }
    return NULL;
}

START_TEST(frees_by_other_threads)
{
    enum { THREADS = 4 };
    struct post post = {.heap = heap_of(_i == 0 ? 64 * MIB : 512 * KIB)};
    struct postman man[THREADS];
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++) {
        man[i] = (struct postman){&post, 5 + (uint64_t)i};
        pthread_create(&thread[i], NULL, postman, &man[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < MAILBOXES; i++) {
        ctn_heap_free(post.heap, post.box[i]);
    }
    ck_assert(!post.wrong);
    ctn_heap_check(post.heap);
    catena_heap_stats_t stats = stats_of(post.heap);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.allocations, stats.frees);
    ctn_heap_destroy(post.heap);
}
END_TEST

static void *few_blocks(void *argument)
{
    ctn_heap_t *heap = argument;
    void *block[20];

    for (int i = 0; i < 20; i++) {
        block[i] = ctn_heap_alloc(heap, 1, (size_t)(i * i * 100));
    }
    usleep(20000); /* so that many live at the same time */
    for (int i = 0; i < 20; i++) {
        ctn_heap_free(heap, block[i]);
    }
    return NULL;
}

START_TEST(more_threads_than_slots)
{
    enum { THREADS = CTN_SLOTS + 30 };
    pthread_t thread[THREADS];
    ctn_heap_t *heap = heap_of(128 * MIB);

    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, few_blocks, heap);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    ctn_heap_check(heap);
    catena_heap_stats_t stats = stats_of(heap);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.allocations, 20 * THREADS);
    ck_assert_uint_eq(stats.frees, 20 * THREADS);
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
        ck_assert_uint_le(stats_of(heap).taken, MIB);
        ck_assert(turn == 0 || count == first);
        first = count;
        for (unsigned i = 0; i < count; i++) {
            ctn_heap_free(heap, block[i]);
        }
        ctn_heap_check(heap);
    }
    /* Whatever size filled it, all of it can be had as one block. */
    void *all = ctn_heap_alloc(heap, 1, MIB);
    ck_assert_ptr_nonnull(all);
    ctn_heap_free(heap, all);
    ctn_heap_destroy(heap);
}
END_TEST

static void *alloc_and_free_most(void *argument)
{
    ctn_heap_t *heap = argument;
    ctn_heap_free(heap, ctn_heap_alloc(heap, 1, 512 * KIB));
    for (int i = 0; i < 31; i++) {
        ctn_heap_free(heap, ctn_heap_alloc(heap, 1, ctn_class_bytes[i]));
    }
    return NULL;
}

/* What lies in the cache of a thread, even of one that has ended, is there
 * for the others. */
START_TEST(caches_do_not_keep_memory)
{
    ctn_heap_t *heap = heap_of(16 * MIB);
    pthread_t thread;

    pthread_create(&thread, NULL, alloc_and_free_most, heap);
    pthread_join(thread, NULL);
    ck_assert_uint_gt(stats_of(heap).taken, 0);
    unsigned char *all = ctn_heap_alloc(heap, 1, 16 * MIB);
    ck_assert_ptr_nonnull(all);
    ck_assert_uint_eq(stats_of(heap).taken, 16 * MIB);
    ctn_heap_check(heap);
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
    size_t full = stats_of(heap).taken;
    ck_assert_uint_ge(full, BLOCKS * MIB);
    for (int i = 0; i < BLOCKS; i++) {
        ctn_heap_free(heap, block[i]);
    }
    /* A sixteenth of the limit is kept in runs, as much in caches. */
    ck_assert_uint_le(stats_of(heap).taken, 24 * MIB);
    ck_assert_uint_le(
        resident_pages(ctn_heap_arena(heap, 0), ctn_heap_arena_bytes(heap)),
        stats_of(heap).taken / CTN_PAGE_BYTES);
    ctn_arena_trim(&heap->arena);
    ck_assert_uint_eq(stats_of(heap).taken, 0);
    ck_assert_uint_eq(stats_of(heap).node_taken, 0);
    ck_assert_uint_eq(
        resident_pages(ctn_heap_arena(heap, 0), ctn_heap_arena_bytes(heap)), 0);
    ctn_heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(calloc_is_sparse)
{
    ctn_heap_t *heap = heap_of(64 * MIB);
    unsigned char *block = ctn_heap_calloc(heap, 64, 8 * MIB);

    ck_assert_uint_eq(resident_pages(block, 8 * MIB), 0);
    block[5 * MIB] = 1;
    ck_assert_uint_eq(resident_pages(block, 8 * MIB), 1);
    memset(block, 7, 8 * MIB);
    ctn_heap_free(heap, block);
    /* Used pages are at hand now; new ones are taken all the same. */
    block = ctn_heap_calloc(heap, 1, 8 * MIB);
    ck_assert_uint_eq(resident_pages(block, 8 * MIB), 0);
    ck_assert(all_zero(block, 8 * MIB));
    ctn_heap_free(heap, block);
    /* And when there are no new pages, the old ones are made new. */
    block = ctn_heap_alloc(heap, 1, 63 * MIB);
    memset(block, 7, 63 * MIB);
    ctn_heap_free(heap, block);
    block = ctn_heap_calloc(heap, 1, 63 * MIB);
    ck_assert_uint_eq(resident_pages(block, 63 * MIB), 0);
    ctn_heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(stats_are_exact)
{
    ctn_heap_t *heap = heap_of(32 * MIB + 5);
    catena_heap_stats_t stats = stats_of(heap);

    ck_assert_uint_eq(stats.limit, 32 * MIB);
    ck_assert_uint_eq(stats.node_taken, 0);
    ck_assert_uint_eq(stats.taken, 0);
    ck_assert_uint_eq(stats.peak, 0);
    void *a = ctn_heap_alloc(heap, 1, 100);     /* 128 */
    void *b = ctn_heap_alloc(heap, 1, 20000);   /* 5 pages */
    void *c = ctn_heap_calloc(heap, 1, 300000); /* 74 pages */
    stats = stats_of(heap);
    ck_assert_uint_eq(stats.in_use, 128 + 79 * 4096);
    ck_assert_uint_eq(stats.taken, 16384 + 79 * 4096);
    ck_assert_uint_eq(stats.node_taken, stats.taken);
    ctn_heap_free(heap, b);
    ctn_heap_free(heap, a);
    a = ctn_heap_alloc(heap, 1, 1);
    stats = stats_of(heap);
    ck_assert_uint_eq(stats.in_use, 16 + 74 * 4096);
    ck_assert_uint_eq(stats.peak, 128 + 79 * 4096);
    ck_assert_uint_eq(stats.allocations, 4);
    ck_assert_uint_eq(stats.frees, 2);
    ctn_heap_free(heap, a);
    ctn_heap_free(heap, c);
    ck_assert_uint_eq(stats_of(heap).in_use, 0);
    ck_assert_uint_eq(stats_of(heap).peak, 128 + 79 * 4096);
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
        ctn_heap_realloc(heap, small, 10);
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
        ctn_heap_realloc(heap, &outside, 10);
        break;
    default: /* the arena of another rank */
        ctn_heap_free(heap, ctn_heap_arena(heap, 1));
    }
}

START_TEST(misuse_dies)
{
    ctn_heap_params_t params = params_of(16 * MIB, 0, 2);
    ctn_heap_t *heap = NULL;
    char name[64];

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    misuse(heap, _i);
}
END_TEST

/* Everything taken may be overwritten: the allocator goes on. */
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
    memset(ctn_heap_arena(heap, 0), 0xff, stats_of(heap).taken);
#endif
    ctn_heap_check(heap);
    for (int i = 0; i < 64; i++) {
        ctn_heap_free(heap, block[i]);
    }
    for (int i = 0; i < 64; i++) {
        ck_assert(all_zero(ctn_heap_calloc(heap, 1, (size_t)i * 700),
                           (size_t)i * 700));
    }
    ctn_heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/* --- several ranks --- */

/* What the other rank, a forked process, does in a test of two ranks. */
typedef int (*rank_body)(ctn_heap_t *heap, int to_parent, int from_parent);

struct pair {
    ctn_heap_t *heap;
    pid_t child;
    int from_child;
    int to_child;
};

static void pair_start(struct pair *pair, ctn_segment_kind_t kind, size_t limit,
                       rank_body body)
{
    ctn_heap_params_t params = params_of(limit, 0, 2);
    int down[2];
    int up[2];
    char name[64];

    ck_assert_int_eq(ctn_heap_create_kind(&params, kind, &pair->heap, name),
                     CATENA_OK);
    ck_assert(pipe(down) == 0 && pipe(up) == 0);
    pair->child = fork();
    if (pair->child == 0) {
        ctn_heap_t *heap = NULL;
        params.local_rank = 1;
        if (ctn_heap_attach(&params, name, &heap) != CATENA_OK) {
            _exit(100);
        }
        int code = body(heap, up[1], down[0]);
        ctn_heap_destroy(heap);
        _exit(code);
    }
    pair->from_child = up[0];
    pair->to_child = down[1];
}

static uint64_t hear(int from)
{
    uint64_t word = 0;
    ssize_t got = read(from, &word, sizeof(word));
    return got == (ssize_t)sizeof(word) ? word : UINT64_MAX;
}

static void say(int to, uint64_t word)
{
    if (write(to, &word, sizeof(word)) != (ssize_t)sizeof(word)) {
        _exit(101);
    }
}

static int write_where_told(ctn_heap_t *heap, int to_parent, int from_parent)
{
    unsigned char *mine = ctn_heap_alloc(heap, 1, 100000);
    uint64_t offset;

    fill(mine, 100000, 77);
    if (!ctn_heap_contains(heap, mine, 100000, &offset)) {
        return 1;
    }
    say(to_parent, offset);
    uint64_t theirs = hear(from_parent);
    if (!filled(ctn_heap_arena(heap, 0) + theirs, 5000, 55)) {
        return 2;
    }
    fill(ctn_heap_arena(heap, 0) + theirs, 5000, 56);
    say(to_parent, 1);
    return 0;
}

START_TEST(ranks_see_each_other)
{
    struct pair pair;
    uint64_t offset;

    pair_start(&pair, _i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM, 16 * MIB,
               write_where_told);
    uint64_t theirs = hear(pair.from_child);
    ctn_heap_attached(pair.heap);
    ck_assert_int_eq(names_in_shm(), 0);
    ck_assert(filled(ctn_heap_arena(pair.heap, 1) + theirs, 100000, 77));
    ck_assert(!ctn_heap_contains(
        pair.heap, ctn_heap_arena(pair.heap, 1) + theirs, 1, &offset));
    unsigned char *mine = ctn_heap_alloc(pair.heap, 1, 5000);
    fill(mine, 5000, 55);
    ck_assert(ctn_heap_contains(pair.heap, mine, 5000, &offset));
    say(pair.to_child, offset);
    ck_assert_uint_eq(hear(pair.from_child), 1);
    ck_assert(filled(mine, 5000, 56));
    expect_success(pair.child);
    ctn_heap_destroy(pair.heap);
}
END_TEST

static int take_nearly_all(ctn_heap_t *heap, int to_parent, int from_parent)
{
    void *block = ctn_heap_alloc(heap, 1, 7 * MIB);

    if (block == NULL) {
        return 1;
    }
    say(to_parent, 0);
    hear(from_parent);
    ctn_heap_free(heap, block);
    say(to_parent, 0);
    hear(from_parent);
    return 0;
}

START_TEST(limit_is_shared)
{
    struct pair pair;

    pair_start(&pair, _i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM, 8 * MIB,
               take_nearly_all);
    ck_assert_uint_eq(hear(pair.from_child), 0);
    ctn_heap_attached(pair.heap);
    ck_assert_ptr_null(ctn_heap_alloc(pair.heap, 1, 2 * MIB));
    void *block = ctn_heap_alloc(pair.heap, 1, MIB);
    ck_assert_ptr_nonnull(block);
    catena_heap_stats_t stats = stats_of(pair.heap);
    ck_assert_uint_eq(stats.node_taken, 8 * MIB);
    ck_assert_uint_eq(stats.taken, MIB);
    ck_assert_ptr_null(ctn_heap_alloc(pair.heap, 1, 1));
    say(pair.to_child, 0);
    ck_assert_uint_eq(hear(pair.from_child), 0);
    ck_assert_ptr_nonnull(ctn_heap_alloc(pair.heap, 1, 4 * MIB));
    say(pair.to_child, 0);
    expect_success(pair.child);
    ctn_heap_check(pair.heap);
    ctn_heap_destroy(pair.heap);
}
END_TEST

static int allocate_a_lot(ctn_heap_t *heap, int to_parent, int from_parent)
{
    static struct model model;
    model = (struct model){.heap = heap, .seed = 31, .most = 256 * KIB};
    for (int step = 0; step < 3000; step++) {
        model_step(&model);
    }
    model_end(&model);
    ctn_heap_check(heap);
    say(to_parent, 0);
    hear(from_parent);
    return model.wrong;
}

/* Two ranks want more than there is, at the same time. */
START_TEST(ranks_compete)
{
    static struct model model;
    struct pair pair;

    pair_start(&pair, _i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM, 2 * MIB,
               allocate_a_lot);
    model = (struct model){.heap = pair.heap, .seed = 32, .most = 256 * KIB};
    for (int step = 0; step < 3000; step++) {
        model_step(&model);
    }
    model_end(&model);
    ck_assert(!model.wrong);
    ck_assert_uint_eq(hear(pair.from_child), 0);
    ck_assert_uint_le(stats_of(pair.heap).node_taken, 2 * MIB);
    say(pair.to_child, 0);
    expect_success(pair.child);
    ctn_heap_attached(pair.heap);
    ctn_heap_destroy(pair.heap);
}
END_TEST

/* --- the segment --- */

START_TEST(attach_refuses)
{
    ctn_heap_params_t params = params_of(4 * MIB, 0, 2);
    ctn_heap_t *heap = NULL;
    ctn_heap_t *other = NULL;
    char name[64];
    char wrong[64];

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    params.local_rank = 1;
    ck_assert_int_eq(ctn_heap_attach(&params, "", &other), CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_heap_attach(&params, "rubbish", &other),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(ctn_heap_attach(&params, "/proc/1/fd/3:12", &other),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(
        ctn_heap_attach(&params, "/proc/self/fd/999:0123456789abcdef", &other),
        CATENA_ERR_SYSTEM);
    ck_assert_int_eq(
        ctn_heap_attach(&params, "/catena-none:0123456789abcdef", &other),
        CATENA_ERR_SYSTEM);
    ck_assert_int_eq(
        ctn_heap_attach(&params, "/proc/self/exe:0123456789abcdef", &other),
        CATENA_ERR_SYSTEM);
    ck_assert_int_eq(
        ctn_heap_attach(&params, "/proc/self/status:0123456789abcdef", &other),
        CATENA_ERR_SYSTEM);
    memcpy(wrong, name, sizeof(wrong));
    char *last = &wrong[strlen(wrong) - 1];
    *last = *last == '0' ? '1' : '0';
    ck_assert_int_eq(ctn_heap_attach(&params, wrong, &other),
                     CATENA_ERR_SYSTEM);
    params.local_size = 3;
    ck_assert_int_eq(ctn_heap_attach(&params, name, &other), CATENA_ERR_SYSTEM);
    params.local_size = 2;
    params.local_rank = 2;
    ck_assert_int_eq(ctn_heap_attach(&params, name, &other), CATENA_ERR_ARG);
    ck_assert_ptr_null(other);
    params.local_rank = 1;
    ck_assert_int_eq(ctn_heap_attach(&params, name, &other), CATENA_OK);
    ctn_heap_destroy(other);
    ctn_heap_attached(heap);
    ck_assert_int_eq(ctn_heap_attach(&params, name, &other), CATENA_ERR_SYSTEM);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(create_refuses)
{
    ctn_heap_t *heap = NULL;
    char name[64];
    ctn_heap_params_t params = params_of((size_t)1 << 60, 0, 1);

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name),
                     CATENA_ERR_NO_MEMORY);
    params.limit = 100;
    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_ERR_ARG);
    params = params_of(MIB, 1, 1);
    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_ERR_ARG);
    ck_assert_ptr_null(heap);
    ck_assert_int_eq(names_in_shm(), 0);
}
END_TEST

/* The default limit on a node of many ranks must fit in the addresses. */
START_TEST(many_ranks)
{
    ctn_heap_params_t params = params_of(
        _i == 0 ? CTN_CONFIG_AUTO : CTN_CONFIG_INF, 0, 1 << (8 + 6 * _i));
    ctn_heap_t *heap = NULL;
    char name[64];

    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    ck_assert_uint_gt(stats_of(heap).limit, 0);
    ck_assert_uint_le(stats_of(heap).limit, ctn_memory_usable());
    void *block = ctn_heap_alloc(heap, 1, MIB);
    ck_assert_ptr_nonnull(block);
    ctn_heap_free(heap, block);
    ctn_heap_destroy(heap);
}
END_TEST

START_TEST(nothing_left_behind)
{
    int before = names_in_shm();
    int ready[2];
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        ctn_heap_params_t params = params_of(16 * MIB, 0, 2);
        ctn_heap_t *heap = NULL;
        char name[64];
        if (ctn_heap_create(&params, &heap, name) != CATENA_OK) {
            _exit(1);
        }
        memset(ctn_heap_alloc(heap, 1, MIB), 1, MIB);
        byte = name[0];
        if (write(ready[1], &byte, 1) != 1) {
            _exit(1);
        }
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(names_in_shm(), before);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(names_in_shm(), before);
}
END_TEST

START_TEST(segment_is_private)
{
    ctn_heap_params_t params = params_of(4 * MIB, 0, 1);
    ctn_heap_t *heap = NULL;
    struct stat file;
    char name[64];

    ck_assert_int_eq(ctn_heap_create_kind(
                         &params, _i == 0 ? CTN_SEGMENT_MEMFD : CTN_SEGMENT_SHM,
                         &heap, name),
                     CATENA_OK);
    ck_assert_int_eq(names_in_shm(), _i);
    ck_assert_int_eq(fstat(heap->fd, &file), 0);
    ck_assert_uint_eq(file.st_mode & 0777, 0600);
    ctn_heap_destroy(heap); /* without ctn_heap_attached */
    ck_assert_int_eq(names_in_shm(), 0);
}
END_TEST

START_TEST(numa_and_huge)
{
    ctn_heap_params_t params = params_of(64 * MIB, 0, 1);
    ctn_heap_t *heap = NULL;
    char name[64];
    unsigned char *block[4];

    params.numa = _i == 0 ? 0 : 1000;
    params.huge = 1;
    ck_assert_int_eq(ctn_heap_create(&params, &heap, name), CATENA_OK);
    size_t huge_off = ctn_heap_arena_bytes(heap) / 2;
    for (int i = 0; i < 4; i++) { /* huge, sparse, a quarter lost, small */
        block[i] = i == 1   ? ctn_heap_calloc(heap, 1, 4 * MIB)
                   : i == 2 ? ctn_heap_alloc(heap, 1, 2 * MIB + 1)
                   : i == 3 ? ctn_heap_alloc(heap, 1, 100)
                            : ctn_heap_alloc(heap, 1, 4 * MIB - 5);
        ck_assert_ptr_nonnull(block[i]);
        ck_assert((size_t)(block[i] - ctn_heap_arena(heap, 0)) < huge_off ||
                  i == 0);
    }
    ck_assert_uint_ge((size_t)(block[0] - ctn_heap_arena(heap, 0)), huge_off);
    ck_assert_uint_eq((uintptr_t)block[0] % (2 * MIB), 0);
    fill(block[0], 4 * MIB - 5, 1);
    /* Full in one half of the addresses is not full. */
    unsigned char *rest = ctn_heap_alloc(heap, 1, 48 * MIB);
    ck_assert_ptr_nonnull(rest);
    ck_assert(filled(block[0], 4 * MIB - 5, 1));
    ctn_heap_check(heap);
    for (int i = 0; i < 4; i++) {
        ctn_heap_free(heap, block[i]);
    }
    ctn_heap_free(heap, rest);
    ctn_heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

/* A /dev/shm of our own of 8 MiB; false: not allowed here. */
static bool small_shm(void)
{
    if (unshare(CLONE_NEWNS) != 0 &&
        unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return false;
    }
    return mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) == 0 &&
           mount("none", "/dev/shm", "tmpfs", 0, "size=8m") == 0;
}

/* A full /dev/shm makes allocations fail; it does not kill. */
START_TEST(full_shm)
{
    ctn_heap_params_t params = params_of(6 * MIB, 0, 1);
    ctn_heap_t *heap = NULL;
    char name[64];

    if (!small_shm()) {
        return;
    }
    ck_assert_int_eq(
        ctn_heap_create_kind(&params, CTN_SEGMENT_SHM, &heap, name), CATENA_OK);
    int other = shm_open("/other", O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(posix_fallocate(other, 0, (off_t)(5 * MIB)), 0);
    unsigned char *block = ctn_heap_alloc(heap, 1, 2 * MIB);
    ck_assert_ptr_nonnull(block);
    memset(block, 1, 2 * MIB);
    ck_assert_ptr_null(ctn_heap_alloc(heap, 1, 2 * MIB));
    ck_assert_uint_eq(stats_of(heap).node_taken, 2 * MIB);
    ck_assert_int_eq(ftruncate(other, 0), 0);
    unsigned char *more = ctn_heap_alloc(heap, 1, 3 * MIB);
    ck_assert_ptr_nonnull(more);
    memset(more, 1, 3 * MIB);
    ctn_heap_check(heap);
    ctn_heap_destroy(heap);
    params.limit = 9 * MIB;
    ck_assert_int_eq(
        ctn_heap_create_kind(&params, CTN_SEGMENT_SHM, &heap, name),
        CATENA_ERR_NO_MEMORY);
}
END_TEST

static void write_limit(const char *dir, const char *group, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s%s/memory.max", dir, group);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

START_TEST(limits_of_control_groups)
{
    char dir[] = "/tmp/catena-test-XXXXXX";
    char path[512];

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/job", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/job/step", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_uint_eq(ctn_cgroup_limit(dir, "/job/step", "memory.max"),
                      SIZE_MAX);
    write_limit(dir, "/job/step", "max\n");
    write_limit(dir, "/job", "1048576\n");
    ck_assert_uint_eq(ctn_cgroup_limit(dir, "/job/step", "memory.max"), MIB);
    ck_assert_uint_eq(ctn_cgroup_limit(dir, "/job/step/gone", "memory.max"),
                      MIB);
    ck_assert_uint_eq(ctn_cgroup_limit(dir, "/", "memory.max"), SIZE_MAX);
    write_limit(dir, "", "4096\n");
    ck_assert_uint_eq(ctn_cgroup_limit(dir, "/", "memory.max"), 4096);
    ck_assert_uint_eq(ctn_cgroup_limit(dir, "/job", "memory.max"), 4096);
    ck_assert_uint_gt(ctn_memory_usable(), 0);
    snprintf(path, sizeof(path), "rm -r %s", dir);
    ck_assert_int_eq(system(path), 0);
}
END_TEST

/* --- the arena alone, as a simulator has thousands of them --- */

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
        ctn_arena_params_t params = {
            .log = &quiet,
            .base = purse[i].base,
            .bytes = each,
            .huge_off = each,
            .source = {purse_take, purse_give, purse_short, &purse[i]}};
        ck_assert_int_eq(ctn_arena_init(&arena[i], &params), CATENA_OK);
    }
    for (int i = 0; i < ARENAS; i++) {
        unsigned char *block[40];
        for (int j = 0; j < 40; j++) {
            block[j] = ctn_arena_alloc(&arena[i], 1, (size_t)j * 900);
            ck_assert_ptr_nonnull(block[j]);
            fill(block[j], (size_t)j * 900, (uint64_t)j);
        }
        for (int j = 0; j < 40; j++) {
            ck_assert(filled(block[j], (size_t)j * 900, (uint64_t)j));
            ctn_arena_free(&arena[i], block[j]);
        }
        ctn_arena_check(&arena[i]);
        ck_assert_ptr_null(ctn_arena_alloc(&arena[i], 1, MIB + 1));
        unsigned char *zero = ctn_arena_calloc(&arena[i], 1, 512 * KIB);
        ck_assert(zero != NULL && all_zero(zero, 512 * KIB));
        ctn_arena_free(&arena[i], zero);
        ctn_arena_trim(&arena[i]);
        ck_assert(_i == 1 || purse[i].taken == 0);
        ctn_arena_check(&arena[i]);
        ctn_arena_release(&arena[i]);
    }
    munmap(area, (ARENAS + 1) * each);
}
END_TEST

static Suite *heap_suite(void)
{
    Suite *suite = suite_create("heap");
    TCase *blocks = tcase_create("blocks");
    TCase *threads = tcase_create("threads");
    TCase *limit = tcase_create("limit");
    TCase *abuse = tcase_create("misuse");
    TCase *ranks = tcase_create("ranks");
    TCase *segment = tcase_create("segment");

    tcase_add_test(blocks, sizes_and_alignment);
    tcase_add_test(blocks, all_classes_full);
    tcase_add_test(blocks, aligned_blocks);
    tcase_add_test(blocks, zero_and_overflow);
    tcase_add_test(blocks, contains_edges);
    tcase_add_test(blocks, realloc_keeps_contents);
    tcase_add_test(blocks, realloc_in_place);
    tcase_add_loop_test(blocks, random_one_thread, 0, 4);
    tcase_add_test(blocks, calloc_is_sparse);
    tcase_add_test(blocks, stats_are_exact);
    tcase_add_test(blocks, overruns_do_no_harm);
    tcase_add_loop_test(blocks, arena_of_other_memory, 0, 2);
    tcase_add_loop_test(threads, random_threads, 0, 2);
    tcase_add_loop_test(threads, frees_by_other_threads, 0, 2);
    tcase_add_test(threads, more_threads_than_slots);
    tcase_add_loop_test(limit, exhaustion, 0, 5);
    tcase_add_test(limit, caches_do_not_keep_memory);
    tcase_add_test(limit, memory_is_given_back);
    tcase_add_test(limit, limits_of_control_groups);
    tcase_add_loop_test_raise_signal(abuse, misuse_dies, SIGABRT, 0, 12);
    tcase_add_loop_test(ranks, ranks_see_each_other, 0, 2);
    tcase_add_loop_test(ranks, limit_is_shared, 0, 2);
    tcase_add_loop_test(ranks, ranks_compete, 0, 2);
    tcase_add_test(segment, attach_refuses);
    tcase_add_test(segment, create_refuses);
    tcase_add_loop_test(segment, many_ranks, 0, 2);
    tcase_add_test(segment, nothing_left_behind);
    tcase_add_test(segment, full_shm);
    tcase_add_loop_test(segment, segment_is_private, 0, 2);
    tcase_add_loop_test(segment, numa_and_huge, 0, 2);
    TCase *all[] = {blocks, threads, limit, abuse, ranks, segment};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        tcase_set_timeout(all[i], 60);
        suite_add_tcase(suite, all[i]);
    }
    return suite;
}

int main(void)
{
    return unit_run(heap_suite());
}
