#include "collectives/heap.h"

#include "core/clock.h"
#include "core/random.h"
#include "report.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* catena-bench heap: compares the shared heap with malloc.
 *
 * Each thread holds a number of allocated blocks, its window. An iteration
 * frees a random one, allocates a block in its place and writes the first and
 * last byte of this. All blocks have one size, or random sizes ("mixed").
 * Rounds of the two allocators alternate, so that other load of the machine
 * affects both. The table shows the median of the rounds. */

enum {
    THREADS_MAX = 2,
    WINDOW_MAX = 64, /* blocks */
    WINDOW_MIN = 4,
    SIZES = 4096, /* length of the list of sizes */
    ITERATIONS_MIN = 500,
    ROUNDS = 15
};

/* Bytes. */
static const size_t SIZE_MIN = 16;
static const size_t SIZE_LARGEST = (size_t)4 << 20;
static const size_t MIXED_LARGEST = (size_t)1 << 20; /* of random sizes */
static const size_t WINDOW_BYTES = (size_t)8 << 20;  /* most in a window */

/* One of the two allocators. */
struct allocator {
    void *(*allocate)(catena_context_t *context, size_t bytes);
    void (*release)(catena_context_t *context, void *block);
};

/* What the threads execute for one line of the table. */
struct load {
    catena_context_t *context;
    struct allocator allocator;
    size_t bytes;              /* of each block; 0: mixed */
    size_t window;             /* blocks that a thread holds */
    size_t iterations;         /* of a thread in a round */
    size_t sizes[SIZES];       /* a new block has a random one of these */
    pthread_barrier_t barrier; /* of the threads */
};

/* A thread. */
struct worker {
    struct load *load;
    uint64_t seed;
    double ns; /* per pair of malloc and free; negative: no memory */
};

static void *glibc_allocate(catena_context_t *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void glibc_release(catena_context_t *context, void *block)
{
    (void)context;
    free(block);
}

static const struct allocator CATENA = {catena_malloc, catena_free};
static const struct allocator GLIBC = {glibc_allocate, glibc_release};

/* Allocate a block and write its first and last byte. */
static unsigned char *allocate_touched(const struct load *load, size_t bytes)
{
    unsigned char *block = load->allocator.allocate(load->context, bytes);
    if (block != NULL) {
        ((volatile unsigned char *)block)[0] = 1;
        ((volatile unsigned char *)block)[bytes - 1] = 1;
    }
    return block;
}

/* Replace `count` times a random block of the window `live`. Returns 0 on
 * success. */
static int replace(const struct load *load, unsigned char **live,
                   uint64_t *seed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t random = ctn_random(seed);
        size_t index = (size_t)((random & 0xffffffff) * load->window >> 32);
        load->allocator.release(load->context, live[index]);
        live[index] =
            allocate_touched(load, load->sizes[(random >> 32) % SIZES]);
        if (live[index] == NULL) {
            return 1;
        }
    }
    return 0;
}

/* One round of a thread. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct load *load = worker->load;
    unsigned char *live[WINDOW_MAX] = {NULL};
    uint64_t seed = worker->seed; /* a copy: workers share a cache line */
    int failed = 0;

    for (size_t i = 0; i < load->window; i++) {
        live[i] = allocate_touched(load, load->sizes[i]);
        failed |= live[i] == NULL;
    }
    failed = failed || replace(load, live, &seed, load->window);
    pthread_barrier_wait(&load->barrier);
    uint64_t begin = ctn_clock_now_ns();
    failed = failed || replace(load, live, &seed, load->iterations);
    uint64_t end = ctn_clock_now_ns();
    /* A thread frees its window only when no other thread measures any more. */
    pthread_barrier_wait(&load->barrier);
    for (size_t i = 0; i < load->window; i++) {
        load->allocator.release(load->context, live[i]);
    }
    worker->ns = failed ? -1 : (end - begin) / (double)load->iterations;
    return NULL;
}

/* Execute a round. Returns the mean of the threads' times per pair of malloc
 * and free; negative: memory or another resource ran out. */
static double run_round(struct load *load, int threads, uint64_t seed)
{
    struct worker worker[THREADS_MAX];
    pthread_t thread[THREADS_MAX];
    double sum = 0;
    int failed = 0;

    if (pthread_barrier_init(&load->barrier, NULL, (unsigned)threads) != 0) {
        return -1;
    }
    for (int i = 0; i < threads; i++) {
        worker[i] =
            (struct worker){.load = load, .seed = seed + 2 * (uint64_t)i};
    }
    for (int i = 1; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, work, &worker[i]) != 0) {
            fprintf(stderr, "heap: cannot start a thread\n");
            exit(1); /* others may wait at the barrier forever */
        }
    }
    work(&worker[0]);
    for (int i = 0; i < threads; i++) {
        if (i > 0) {
            pthread_join(thread[i], NULL);
        }
        sum += worker[i].ns;
        failed |= worker[i].ns < 0;
    }
    pthread_barrier_destroy(&load->barrier);
    return failed ? -1 : sum / threads;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare_doubles);
    return count % 2 != 0 ? values[count / 2]
                          : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Set what to execute: blocks of `bytes`, 0: mixed. Large blocks have smaller
 * windows and fewer iterations. */
static void fill_load(struct load *load, size_t bytes, size_t iterations)
{
    double range = log2((double)MIXED_LARGEST / (double)SIZE_MIN);
    uint64_t seed = 88172645463325252U;

    load->bytes = bytes;
    load->window = WINDOW_MAX;
    load->iterations = iterations;
    for (size_t i = 0; i < SIZES; i++) {
        double position = ctn_random_real(&seed);
        load->sizes[i] =
            bytes > 0 ? bytes : SIZE_MIN * (size_t)exp2(position * range);
    }
    if (bytes > WINDOW_BYTES / WINDOW_MAX) {
        load->window = WINDOW_BYTES / bytes;
        load->iterations = iterations * load->window / WINDOW_MAX;
    }
    if (load->window < WINDOW_MIN) {
        load->window = WINDOW_MIN;
    }
    if (load->iterations < ITERATIONS_MIN) {
        load->iterations = ITERATIONS_MIN;
    }
}

static void open_report(struct bench_report *report, enum bench_format format)
{
    bench_report_begin(report, format, "heap",
                       "heap: nanoseconds for one malloc and one free");
    bench_report_note(report, "A thread frees a random block of those it holds "
                              "(64; from 256 KiB on fewer), allocates one in "
                              "its place, and writes its first and last byte.");
    bench_report_note(report, "catena: catena_malloc, catena_free. glibc: "
                              "malloc, free. Medians of rounds that take "
                              "turns. ratio = catena / glibc: below 1, catena "
                              "is faster.");
    bench_report_note(report, "mixed: sizes from 16 bytes to 1 MiB, each power "
                              "of two as often as any other.");
    bench_report_column(report, "bytes", "bytes", -10, 0);
    bench_report_column(report, "threads", "threads", 8, 0);
    bench_report_column(report, "catena_ns", "catena_ns", 12, 1);
    bench_report_column(report, "glibc_ns", "glibc_ns", 12, 1);
    bench_report_column(report, "ratio", "ratio", 8, 2);
}

/* Measure and print one line of the table; returns 0 on success. */
static int measure_line(struct load *load, int threads,
                        struct bench_report *report)
{
    double *ns = malloc(2 * (size_t)ROUNDS * sizeof(*ns));
    int failed = ns == NULL;

    /* Round -1 of each allocator is not counted: it touches pages and loads
     * code. */
    for (int round = -1; round < ROUNDS && !failed; round++) {
        uint64_t seed = 0x9E3779B97F4A7C15U + 64 * (uint64_t)(round + 1);
        load->allocator = CATENA;
        double catena = run_round(load, threads, seed);
        load->allocator = GLIBC;
        double glibc = run_round(load, threads, seed);
        failed = catena < 0 || glibc < 0;
        if (round >= 0) {
            ns[round] = catena;
            ns[ROUNDS + round] = glibc;
        }
    }
    if (failed) {
        fprintf(stderr,
                "heap: no memory for blocks of %zu bytes; CATENA_HEAP_SIZE "
                "should be 128m or more\n",
                load->bytes > 0 ? load->bytes : MIXED_LARGEST);
    } else {
        double catena = median(ns, ROUNDS);
        double glibc = median(ns + ROUNDS, ROUNDS);
        bench_report_row(report,
                         (struct bench_value[]){
                             load->bytes > 0 ? bench_count(load->bytes)
                                             : bench_text("mixed"),
                             bench_count((uint64_t)threads), bench_real(catena),
                             bench_real(glibc), bench_real(catena / glibc)});
    }
    free(ns);
    return failed;
}

int bench_heap(catena_context_t *context, enum bench_format format,
               size_t iterations)
{
    struct bench_report report = {0};
    struct load *load = calloc(1, sizeof(*load));
    int failed = 0;

    if (load == NULL) {
        fprintf(stderr, "heap: out of memory\n");
        return 1;
    }
    load->context = context;
    open_report(&report, format);
    for (int threads = 1; threads <= THREADS_MAX && !failed; threads++) {
        for (size_t bytes = SIZE_MIN; bytes <= SIZE_LARGEST && !failed;
             bytes *= 2) {
            fill_load(load, bytes, iterations);
            failed = measure_line(load, threads, &report);
        }
        if (!failed) {
            fill_load(load, 0, iterations);
            failed = measure_line(load, threads, &report);
        }
    }
    bench_report_close(&report);
    free(load);
    return failed;
}
