/* The heap under many random calls, of one thread and of many. */

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "heap_case.h"
#include "unit/unit.h"

/* Limits from ample to so small that most large blocks fail. */
START_TEST(random_one_thread)
{
    static const size_t limits[] = {256 * MIB, 16 * MIB, 2 * MIB, 256 * KIB};
    size_t limit = limits[_i];
    static heap_model_t model;

    model = (heap_model_t){.heap = heap_of(limit),
                           .seed = 1234567 + (uint64_t)_i,
                           .most = limit < 2 * MIB ? limit : 2 * MIB};
    for (int step = 0; step < 6000; step++) {
        heap_model_step(&model);
        if (step % 500 == 0) {
            heap_check(model.heap);
        }
    }
    heap_model_end(&model);
    ck_assert(!model.wrong);
    heap_check(model.heap);
    catena_heap_stats_t stats = heap_stats_of(model.heap);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.allocations, stats.frees);
    ck_assert_uint_le(stats.taken, limit);
    ck_assert_uint_le(stats.peak, limit);
    ctn_heap_destroy(model.heap);
}
END_TEST

static void *model_thread(void *argument)
{
    heap_model_t *model = argument;
    for (int step = 0; step < 1000; step++) {
        heap_model_step(model);
    }
    heap_model_end(model);
    return NULL;
}

/* With the smaller limit threads empty each other's caches all the time. */
START_TEST(random_threads)
{
    enum { THREADS = 6 };
    static heap_model_t model[THREADS];
    pthread_t thread[THREADS];
    ctn_heap_t *heap = heap_of(_i == 0 ? 256 * MIB : 3 * MIB);

    for (int i = 0; i < THREADS; i++) {
        model[i] = (heap_model_t){
            .heap = heap, .seed = 99 + (uint64_t)i, .most = 128 * KIB};
        pthread_create(&thread[i], NULL, model_thread, &model[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert(!model[i].wrong);
    }
    heap_check(heap);
    catena_heap_stats_t stats = heap_stats_of(heap);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.allocations, stats.frees);
    ctn_heap_destroy(heap);
}
END_TEST

/* --- blocks that one thread allocates and another frees --- */

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
        size_t bytes = 16 + heap_random_size(&self->seed, 40000);
        unsigned char *message = ctn_heap_alloc(post->heap, 1, bytes);
        if (message != NULL) {
            uint64_t head[2] = {bytes, ctn_random(&self->seed)};
            size_t body = bytes - 16 < 64 ? bytes - 16 : 64;
            memcpy(message, head, 16);
            heap_fill(message + 16, body, head[1]);
        }
        unsigned to = ctn_random(&self->seed) % MAILBOXES;
        message =
            __atomic_exchange_n(&post->box[to], message, __ATOMIC_ACQ_REL);
        if (message != NULL) {
            uint64_t head[2];
            memcpy(head, message, 16);
            size_t body = head[0] - 16 < 64 ? head[0] - 16 : 64;
            if (!heap_filled(message + 16, body, head[1])) {
                __atomic_store_n(&post->wrong, true, __ATOMIC_RELAXED);
            }
            ctn_heap_free(post->heap, message);
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
    heap_check(post.heap);
    catena_heap_stats_t stats = heap_stats_of(post.heap);
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
    usleep(20000); /* so that many threads are alive at once */
    for (int i = 0; i < 20; i++) {
        ctn_heap_free(heap, block[i]);
    }
    return NULL;
}

START_TEST(more_threads_than_slots)
{
    enum { THREADS = CTN_CACHE_SLOTS + 30 };
    pthread_t thread[THREADS];
    ctn_heap_t *heap = heap_of(128 * MIB);

    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, few_blocks, heap);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    heap_check(heap);
    catena_heap_stats_t stats = heap_stats_of(heap);
    ck_assert_uint_eq(stats.in_use, 0);
    ck_assert_uint_eq(stats.allocations, 20 * THREADS);
    ck_assert_uint_eq(stats.frees, 20 * THREADS);
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

/* Other threads can allocate what the cache of a thread holds, even one that
 * has ended. */
START_TEST(caches_do_not_keep_memory)
{
    ctn_heap_t *heap = heap_of(16 * MIB);
    pthread_t thread;

    pthread_create(&thread, NULL, alloc_and_free_most, heap);
    pthread_join(thread, NULL);
    ck_assert_uint_gt(heap_stats_of(heap).taken, 0);
    unsigned char *all = ctn_heap_alloc(heap, 1, 16 * MIB);
    ck_assert_ptr_nonnull(all);
    ck_assert_uint_eq(heap_stats_of(heap).taken, 16 * MIB);
    heap_check(heap);
    ctn_heap_destroy(heap);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, random_one_thread, 0, 4);
    tcase_add_loop_test(tcase, random_threads, 0, 2);
    tcase_add_loop_test(tcase, frees_by_other_threads, 0, 2);
    tcase_add_test(tcase, more_threads_than_slots);
    tcase_add_test(tcase, caches_do_not_keep_memory);
}

UNIT_TEST(heap_threads)
{
    return unit_main("heap_threads", 60, add_cases);
}
