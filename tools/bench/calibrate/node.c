/* Parameters of a node, measured on the node of rank 0: signals, switches
 * between processes, copies, polls and work. */

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/parts.h"
#include "core/hash.h"

/* ---- signals and switches: local ranks 0 and 1 ---- */

/* Numbers of exchanges in a time, and of times for a median. */
enum { SIGNALS = 10000, SWITCHES = 2000, FEW = 9, MANY = 15 };

/* The two ranks notify each other in turn, n times. Returns the time of one
 * way: half of there and back. */
static double ping_pong(struct calibration *c, int n, bool yield)
{
    int me = c->bench.place.local_rank;
    _Atomic uint64_t *mine = &c->shared->flag[me].word;
    _Atomic uint64_t *theirs = &c->shared->flag[1 - me].word;
    double begin = calibrate_wall_ns();

    for (int i = 0; i < n; i++) {
        c->count++;
        if (me == 0)
            atomic_store_explicit(mine, c->count, memory_order_release);
        while (atomic_load_explicit(theirs, memory_order_acquire) < c->count)
            if (yield)
                sched_yield();
        if (me == 1)
            atomic_store_explicit(mine, c->count, memory_order_release);
    }
    return (calibrate_wall_ns() - begin) / n / 2;
}

/* Both ranks notify each other at the same time, n times, as in
 * collectives/flag.c and in barriers. Returns the time of one exchange. */
static double exchange(struct calibration *c, int n)
{
    int me = c->bench.place.local_rank;
    _Atomic uint64_t *mine = &c->shared->flag[me].word;
    _Atomic uint64_t *theirs = &c->shared->flag[1 - me].word;
    double begin = calibrate_wall_ns();

    for (int i = 0; i < n; i++) {
        c->count++;
        atomic_store_explicit(mine, c->count, memory_order_release);
        while (atomic_load_explicit(theirs, memory_order_acquire) < c->count)
            ;
    }
    return (calibrate_wall_ns() - begin) / n;
}

/* Bind the two ranks to processors. Returns, on both, whether both succeeded.
 * The first ping_pong makes the results visible; the second makes sure that
 * they are read before a next call changes them. */
static bool bind_pair(struct calibration *c, const struct cpu *first,
                      const struct cpu *second)
{
    int me = c->bench.place.local_rank;
    bool both;

    atomic_store(&c->shared->bound[me],
                 calibrate_bind_to(me == 0 ? first : second));
    ping_pong(c, 2, true);
    both =
        atomic_load(&c->shared->bound[0]) && atomic_load(&c->shared->bound[1]);
    ping_pong(c, 2, true);
    return both;
}

static void measure_signal(struct calibration *c, enum parameter signal,
                           const struct cpu *other, const char *where)
{
    double times[MANY], one_way[MANY], ns;

    exchange(c, SIGNALS);
    for (int i = 0; i < MANY; i++) {
        times[i] = exchange(c, SIGNALS);
        one_way[i] = ping_pong(c, SIGNALS, false);
    }
    ns = calibrate_median(times, MANY);
    calibrate_record(
        c, signal, ns,
        "measured: two ranks on processors %d and %d (%s) exchange flags at "
        "the same time, each exchange counts as one way, median of %d times "
        "%d; one after the other half of there and back takes %.0f ns",
        c->cpu[0].number, other->number, where, MANY, SIGNALS,
        calibrate_median(one_way, MANY));
}

/* A distance that cannot be measured gets the time of the next smaller one that
 * can, or, if there is none, of the smallest one that can. */
void calibrate_measure_signals(struct calibration *c)
{
    static const char *const where[DISTANCES] = {
        "the same L3 cache", "the same socket with an L3 cache each",
        "a socket each"};
    static const enum parameter signal[DISTANCES] = {SIGNAL_L3, SIGNAL_SOCKET,
                                                     SIGNAL_NODE};
    int last = -1, first = -1; /* distances measured */

    for (int i = 0; i < DISTANCES; i++) {
        const struct cpu *other = calibrate_find_far(c, i);

        if (other != NULL && bind_pair(c, &c->cpu[0], other)) {
            measure_signal(c, signal[i], other, where[i]);
            first = first < 0 ? i : first;
            last = i;
        } else if (last >= 0) {
            calibrate_record(
                c, signal[i], calibrate_value_of(c, signal[last]),
                "not measured, as for %s: ranks found no cores farther "
                "apart",
                where[last]);
        }
    }
    c->paired = first >= 0;
    for (int i = 0; i < first; i++)
        calibrate_record(c, signal[i], calibrate_value_of(c, signal[first]),
                         "not measured, as for %s: ranks found no cores nearer",
                         where[first]);
    for (int i = 0; i < DISTANCES && first < 0; i++)
        calibrate_record(c, signal[i], 100,
                         "set: ranks found only one core to use");
    calibrate_unbind(c);
}

void calibrate_measure_switch(struct calibration *c)
{
    double times[MANY];

    if (bind_pair(c, &c->cpu[0], &c->cpu[0])) {
        for (int i = 0; i < MANY; i++)
            times[i] = ping_pong(c, SWITCHES, true);
        calibrate_record(
            c, SWITCH, calibrate_median(times, MANY),
            "measured: half of there and back, two ranks exchange flags on "
            "processor %d with sched_yield, median of %d times %d",
            c->cpu[0].number, MANY, SWITCHES);
    } else {
        calibrate_record(c, SWITCH, 1000,
                         "set: ranks may not choose their processor");
    }
    calibrate_unbind(c);
}

/* ---- copies: all ranks of the node ---- */

enum { COPY_ROUNDS = 9, COPY_SIZES = 3 };
static const double window_s = 0.01; /* how long a rank copies for one rate */

/* Copy for window_s. Returns the rate in MB/s. */
static double copy_window(struct calibration *c, size_t bytes)
{
    double begin = calibrate_wall_ns(), end;
    size_t copied = 0;

    do {
        for (size_t done = 0; done < COPY_MOST; done += bytes)
            memcpy(c->recv, c->send, bytes);
        copied += COPY_MOST;
        end = calibrate_wall_ns();
    } while (end - begin < window_s * 1e9);
    return (double)copied / (end - begin) * 1e3;
}

/* How many ranks copy together: at most one per core of the NUMA domain of the
 * first processor. */
static int copying_ranks(const struct calibration *c)
{
    int ranks = 0;

    for (int i = 0; i < c->cpus; i++)
        ranks += c->cpu[i].domain == c->cpu[0].domain &&
                 c->cpu[i].core == c->cpu[i].number;
    if (ranks > c->bench.place.local_size)
        ranks = c->bench.place.local_size;
    return ranks < 1 ? 1 : ranks < MAX_LOCAL ? ranks : MAX_LOCAL;
}

/* Bind local rank i < ranks to the i-th core of this domain. */
static void bind_copying(const struct calibration *c, int ranks)
{
    int skip = c->bench.place.local_rank;

    if (skip >= ranks)
        return;
    for (int i = 0; i < c->cpus; i++)
        if (c->cpu[i].domain == c->cpu[0].domain &&
            c->cpu[i].core == c->cpu[i].number && skip-- == 0)
            (void)calibrate_bind_to(&c->cpu[i]);
}

/* The first `ranks` ranks copy at the same time. Returns the sum of their
 * rates. */
static double copy_together(struct calibration *c, int ranks, size_t bytes)
{
    int me = c->bench.place.local_rank;
    double sum = 0;

    calibrate_must(c, "fence", catena_node_fence(c->bench.context));
    if (me < ranks)
        c->shared->rate[me] = copy_window(c, bytes);
    else
        calibrate_sleep(window_s * 1.5);
    calibrate_must(c, "fence", catena_node_fence(c->bench.context));
    for (int i = 0; i < ranks; i++)
        sum += c->shared->rate[i];
    return sum;
}

void calibrate_measure_copies(struct calibration *c)
{
    int ranks = copying_ranks(c);
    double alone[COPY_ROUNDS * COPY_SIZES], together[COPY_ROUNDS * COPY_SIZES];
    static const size_t sizes[COPY_SIZES] = {64 << 10, 256 << 10, COPY_MOST};

    bind_copying(c, ranks);
    memset(c->send, 1, COPY_MOST);
    memset(c->recv, 2, COPY_MOST);
    for (int i = 0; i < COPY_ROUNDS * COPY_SIZES; i++) {
        alone[i] = copy_together(c, 1, sizes[i % COPY_SIZES]);
        together[i] = copy_together(c, ranks, sizes[i % COPY_SIZES]);
    }
    calibrate_unbind(c);
    calibrate_record(
        c, COPY_RATE, calibrate_median(alone, COPY_ROUNDS * COPY_SIZES),
        "measured: memcpy of 64 KiB, 256 KiB and 1 MiB in the shared heap "
        "by one rank, median of %d windows of 10 ms",
        COPY_ROUNDS * COPY_SIZES);
    calibrate_record(
        c, DOMAIN_RATE, calibrate_median(together, COPY_ROUNDS * COPY_SIZES),
        "measured: the same by %d ranks at once, sum of their rates, in "
        "turns with one alone; more ranks were not tried",
        ranks);
}

/* ---- polling: local ranks 0 and 1 ---- */

enum { BARRIERS = 2000, IDLE_POLLS = 1000 };

/* The time of a barrier of two ranks. */
static double time_barriers(struct calibration *c)
{
    double begin = calibrate_wall_ns();

    for (int i = 0; i < BARRIERS; i++)
        calibrate_must(c, "barrier", catena_barrier(c->pair));
    return (calibrate_wall_ns() - begin) / BARRIERS;
}

/* The time of a catena_progress that finds nothing to do. */
static double time_progress(struct calibration *c)
{
    double begin = calibrate_wall_ns();

    for (int i = 0; i < IDLE_POLLS; i++)
        calibrate_must(c, "progress", catena_progress(c->bench.context));
    return (calibrate_wall_ns() - begin) / IDLE_POLLS;
}

/* The overhead of a wait in catena beyond the bare signal: the time of a
 * barrier less that of an exchange of flags. If ranks share cores, a barrier
 * consists mostly of context switches. Then the time of catena_progress is
 * taken instead, although it is too long: it also polls the network, which a
 * wait on the node seldom does. */
void calibrate_measure_poll(struct calibration *c)
{
    double barrier[MANY], flag[MANY], progress[MANY], poll_ns;

    bind_copying(c, copying_ranks(c));
    time_barriers(c);
    for (int i = 0; i < MANY; i++) {
        barrier[i] = time_barriers(c);
        progress[i] = time_progress(c);
        flag[i] = c->paired ? exchange(c, BARRIERS) : 0;
    }
    calibrate_unbind(c);
    poll_ns = calibrate_median(barrier, MANY) - calibrate_median(flag, MANY);
    calibrate_record(c, IDLE_POLL, calibrate_median(progress, MANY),
                     "measured: an idle catena_progress, which asks the "
                     "network, median of %d times %d",
                     MANY, IDLE_POLLS);
    if (c->paired)
        calibrate_record(
            c, POLL, poll_ns > 1 ? poll_ns : 1,
            "measured: a barrier of 2 ranks on the node less a flag "
            "exchange (%.0f ns), medians of %d times %d, in turns",
            calibrate_median(flag, MANY), MANY, BARRIERS);
    else
        calibrate_record(c, POLL, calibrate_median(progress, MANY),
                         "as idle_poll_ns: ranks found only one core to use");
}

/* ---- calls with data ---- */

enum { CALLS = 200, COLD_SIZES = 4 };

/* The time of an alltoall as a benchmark measures it: of the slowest rank in
 * each call, after a barrier; the median over calls. */
static double time_alltoall(struct calibration *c, catena_group_t *group,
                            size_t bytes)
{
    double times[CALLS], slowest[CALLS];

    for (int i = -1; i < CALLS; i++) {
        double begin;

        calibrate_must(c, "barrier", catena_barrier(group));
        begin = calibrate_wall_ns();
        calibrate_must(c, "alltoall",
                       catena_alltoall(c->send, bytes, CATENA_BYTE, c->recv,
                                       bytes, CATENA_BYTE, group));
        times[i < 0 ? 0 : i] = calibrate_wall_ns() - begin;
    }
    calibrate_must(c, "allreduce",
                   catena_allreduce(times, slowest, CALLS, CATENA_DOUBLE,
                                    CATENA_MAX, group));
    return calibrate_median(slowest, CALLS);
}

/* Two ranks with a core each. */
void calibrate_measure_call(struct calibration *c)
{
    double times[MANY], ns;

    bind_copying(c, 2);
    for (int i = 0; i < MANY; i++)
        times[i] = time_alltoall(c, c->pair, 8);
    calibrate_unbind(c);
    ns = calibrate_median(times, MANY) - calibrate_value_of(c, SIGNAL_L3) -
         calibrate_value_of(c, POLL);
    calibrate_record(c, CALL, ns > 1 ? ns : 1,
                     "measured: alltoall of 8 bytes by 2 ranks with a core "
                     "each, after a barrier, medians of %d calls and of %d "
                     "times, less a signal and a poll",
                     CALLS, MANY);
}

/* All ranks on one core, whose caches are cold in each turn. */
void calibrate_measure_cold(struct calibration *c)
{
    int ranks = c->bench.place.local_size;
    double times[COLD_SIZES][FEW], bytes[COLD_SIZES], all[COLD_SIZES];
    double small[FEW], ns;

    (void)calibrate_bind_to(&c->cpu[0]);
    for (int i = 0; i < FEW; i++) {
        small[i] = time_alltoall(c, c->node, 8);
        for (int s = 0; s < COLD_SIZES; s++)
            times[s][i] = time_alltoall(c, c->node, (size_t)1024 << 2 * s);
    }
    calibrate_unbind(c);
    for (int s = 0; s < COLD_SIZES; s++) {
        bytes[s] = (double)ranks * ranks * (1024 << 2 * s);
        all[s] = calibrate_median(times[s], FEW);
    }
    ns = calibrate_median(small, FEW) / ranks - calibrate_value_of(c, CALL) -
         calibrate_value_of(c, SWITCH);
    calibrate_record(c, COLD, ns > 1 ? ns : 1,
                     "measured: alltoall of 8 bytes by %d ranks on processor "
                     "%d, for each rank, less call_ns and switch_ns; median of "
                     "%d times %d",
                     ranks, c->cpu[0].number, FEW, CALLS);
    calibrate_record(c, COLD_RATE,
                     1e3 / calibrate_fit_slope(bytes, all, COLD_SIZES),
                     "fitted: to the same with blocks of 1 to %d KiB; least "
                     "squares over %d sizes",
                     1 << 2 * (COLD_SIZES - 1), COLD_SIZES);
}

/* ---- work: rank 0 alone ---- */

enum {
    WORK_BYTES = 64 << 10, /* of each buffer */
    WORK_CALLS = 20,       /* in a time */
    WORK_TIMES = 33        /* for a median */
};

/* For functions whose calls are timed: no inlining into the loop. */
#define NOINLINE __attribute__((noinline))

static NOINLINE void copy_small(unsigned char *to, const unsigned char *from,
                                size_t bytes)
{
    memcpy(to, from, bytes);
}

/* Transpose square matrices of blocks of `bytes`, WORK_BYTES in all. */
static NOINLINE void transpose(unsigned char *to, const unsigned char *from,
                               size_t bytes)
{
    size_t side = 8;

    while ((2 * side) * (2 * side) * bytes <= WORK_BYTES)
        side *= 2;
    for (size_t done = 0; done < WORK_BYTES; done += side * side * bytes)
        for (size_t i = 0; i < side; i++)
            for (size_t j = 0; j < side; j++)
                memcpy(to + done + (i * side + j) * bytes,
                       from + done + (j * side + i) * bytes, bytes);
}

static NOINLINE void reduce(unsigned char *to, const unsigned char *from,
                            size_t bytes)
{
    double *sum = (double *)(void *)to;
    const double *add = (const double *)(const void *)from;

    for (size_t i = 0; i < bytes / sizeof(*sum); i++)
        sum[i] += add[i];
}

/* Jenkins' one-at-a-time hash. */
static NOINLINE void hash(unsigned char *to, const unsigned char *from,
                          size_t bytes)
{
    uint32_t value = ctn_hash_jenkins_end(ctn_hash_jenkins(0, from, bytes));

    memcpy(to, &value, sizeof(value));
}

/* One of the functions above. */
typedef void work_t(unsigned char *to, const unsigned char *from, size_t bytes);

/* The time of a call of `work`. */
static double time_work(struct calibration *c, work_t *work, size_t bytes,
                        int calls)
{
    double times[WORK_TIMES];

    for (int i = 0; i < WORK_TIMES; i++) {
        double begin = calibrate_wall_ns();

        for (int call = 0; call < calls; call++)
            work(c->recv, c->send, bytes);
        times[i] = (calibrate_wall_ns() - begin) / calls;
    }
    return calibrate_median(times, WORK_TIMES);
}

/* What is sorted to measure comparisons: 24 bytes. */
struct sort_record {
    uint64_t key[3]; /* only the first is compared */
};

static int compare_records(const void *a, const void *b)
{
    const struct sort_record *x = a, *y = b;

    return (x->key[0] > y->key[0]) - (x->key[0] < y->key[0]);
}

static void measure_compare(struct calibration *c)
{
    size_t n = 1 << 16;
    struct sort_record *records = bench_alloc(&c->bench, n, sizeof(*records));
    double times[FEW];

    for (int i = 0; i < FEW; i++) {
        double begin;

        bench_fill(records, n * sizeof(*records), bench_seed(1, i, 0));
        begin = calibrate_wall_ns();
        qsort(records, n, sizeof(*records), compare_records);
        times[i] = calibrate_wall_ns() - begin;
    }
    free(records);
    calibrate_record(
        c, COMPARE,
        calibrate_median(times, FEW) / ((double)n * log2((double)n)),
        "measured: qsort of n = %zu records of 24 bytes, time / (n log2 "
        "n), median of %d",
        n, FEW);
}

void calibrate_measure_work(struct calibration *c)
{
    double transpose_ns = 0, ns;

    (void)calibrate_bind_to(&c->cpu[0]);
    memset(c->send, 0, WORK_BYTES);
    memset(c->recv, 0, WORK_BYTES);
    calibrate_record(
        c, COPY_START, time_work(c, copy_small, 8, 10000),
        "measured: a call of memcpy with 8 bytes in cache, median of %d "
        "times 10000",
        WORK_TIMES);
    for (size_t bytes = 8; bytes <= 64; bytes *= 2)
        transpose_ns += time_work(c, transpose, bytes, WORK_CALLS) / 4;
    calibrate_record(
        c, TRANSPOSE_RATE, WORK_BYTES / transpose_ns * 1e3,
        "measured: square matrices of blocks of 8, 16, 32 and 64 bytes, 64 "
        "KiB of each size, in cache; all bytes / all time, medians of %d",
        WORK_TIMES);
    c->recv += WORK_BYTES / 2 + 1024; /* not a multiple of pages apart */
    ns = time_work(c, reduce, WORK_BYTES, WORK_CALLS);
    c->recv -= WORK_BYTES / 2 + 1024;
    calibrate_record(
        c, REDUCE_RATE, WORK_BYTES / ns * 1e3,
        "measured: sum of 64 KiB of doubles into 64 KiB, in cache, median "
        "of %d; compiled as the tools are",
        WORK_TIMES);
    ns = time_work(c, hash, WORK_BYTES, 1);
    calibrate_record(
        c, HASH_RATE, WORK_BYTES / ns * 1e3,
        "measured: Jenkins' one-at-a-time hash of 64 KiB, median of %d",
        WORK_TIMES);
    measure_compare(c);
    calibrate_unbind(c);
}
