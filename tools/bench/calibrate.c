/* catena-bench --calibrate FILE: measure the parameters of lib/model/machine.h
 * on the machine at hand. Meant for
 *
 *   prun -n 4 --ppn 2 catena-bench --calibrate here.json
 *
 * two nodes, virtual or not, of two ranks each: two ranks on rank 0's node are
 * needed for signals and for copies at the same time, a second node for the
 * network. Ranks that have no part in a measurement sleep, so that it makes no
 * difference whether nodes share their cores. */

#include "calibrate.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

enum {
    LINE_PAIR = 128, /* processors fetch cache lines in pairs */
    MAX_CPUS = 4096,
    MAX_LOCAL = 256, /* ranks that copy at once */
    MAX_DOMAINS = 256,
    PASSES = 5, /* of all measurements: a machine is busy now and then */
    LANES = 8,  /* groups whose operations are under way at once */
    ID_BYTES = 64
};

enum { DISTANCES = 3 }; /* as in lib/model/machine.h: L3, socket, node */

/* The parameters, in the order of the file. */
enum parameter {
    CORES,
    SOCKETS,
    NUMA_DOMAINS,
    L3_CACHES,
    SHARED_CORES,
    SWITCH,
    PORTS,
    LATENCY,
    SEND_OVERHEAD,
    RECEIVE_OVERHEAD,
    GAP,
    PORT_RATE,
    NODE_RATE,
    COPY_START,
    COPY_RATE,
    DOMAIN_RATE,
    SIGNAL_L3,
    SIGNAL_SOCKET,
    SIGNAL_NODE,
    POLL,
    TRANSPOSE_RATE,
    REDUCE_RATE,
    HASH_RATE,
    COMPARE,
    PARAMETERS
};

static const struct {
    const char *section;
    const char *name;
} names[PARAMETERS] = {
    [CORES] = {"node", "cores"},
    [SOCKETS] = {"node", "sockets"},
    [NUMA_DOMAINS] = {"node", "numa_domains"},
    [L3_CACHES] = {"node", "l3_caches"},
    [SHARED_CORES] = {"node", "shared_cores"},
    [SWITCH] = {"node", "switch_ns"},
    [PORTS] = {"network", "ports"},
    [LATENCY] = {"network", "latency_ns"},
    [SEND_OVERHEAD] = {"network", "send_overhead_ns"},
    [RECEIVE_OVERHEAD] = {"network", "receive_overhead_ns"},
    [GAP] = {"network", "gap_ns"},
    [PORT_RATE] = {"network", "port_MBps"},
    [NODE_RATE] = {"network", "node_MBps"},
    [COPY_START] = {"memory", "copy_start_ns"},
    [COPY_RATE] = {"memory", "copy_MBps"},
    [DOMAIN_RATE] = {"memory", "domain_MBps"},
    [SIGNAL_L3] = {"memory", "signal_l3_ns"},
    [SIGNAL_SOCKET] = {"memory", "signal_socket_ns"},
    [SIGNAL_NODE] = {"memory", "signal_node_ns"},
    [POLL] = {"memory", "poll_ns"},
    [TRANSPOSE_RATE] = {"work", "transpose_MBps"},
    [REDUCE_RATE] = {"work", "reduce_MBps"},
    [HASH_RATE] = {"work", "hash_MBps"},
    [COMPARE] = {"work", "compare_ns"},
};

/* A processor as /sys shows it: what it shares with others is named by the
 * lowest processor that shares it. */
struct cpu {
    int number;
    int core;
    int l3;
    int socket;
    int domain;
};

/* Shared by the ranks of rank 0's node. */
struct board {
    struct {
        _Alignas(LINE_PAIR) _Atomic uint64_t word;
    } flag[2];
    _Atomic int bound[2]; /* whether each of two ranks got its processor */
    _Alignas(LINE_PAIR) double rate[MAX_LOCAL];
};

struct figure {
    double value;
    double lowest; /* of all passes; in the result only */
    double highest;
    char source[480];
};

struct calibration {
    struct bench bench;
    catena_group_t *node;
    catena_group_t *world_lane[LANES];
    catena_group_t *node_lane[LANES];
    bool home;     /* on the node of rank 0 */
    bool paired;   /* two ranks can have a core each */
    bool emulated; /* other nodes are on the same host */
    struct board *board;
    uint64_t count; /* of flags exchanged */
    struct cpu *cpu;
    int cpus;
    cpu_set_t affinity; /* at the beginning */
    unsigned char *send;
    unsigned char *recv;
    int pass;
    double message_ns[PASSES]; /* L and both overheads */
    char message_source[PASSES][240];
    struct figure figure[PASSES][PARAMETERS];
    struct figure result[PARAMETERS]; /* the median pass's */
};

/* ---- helpers ---- */

static const double settle_s = 0.03; /* until idle ranks sleep */

static double now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double wall_ns(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

static void nap(double seconds)
{
    struct timespec pause = {0, (long)(seconds * 1e9)};

    nanosleep(&pause, NULL);
}

static double median(double *times, size_t n)
{
    qsort(times, n, sizeof(*times), bench_compare_times);
    return n % 2 != 0 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

/* Least squares: y = base + slope * x. */
static double fit_slope(const double *x, const double *y, size_t n)
{
    double mean_x = 0, mean_y = 0, xy = 0, xx = 0;

    for (size_t i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        xx += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return xy / xx;
}

static void must(struct calibration *c, const char *what,
                 catena_status_t status)
{
    if (status != CATENA_OK)
        bench_die(&c->bench, what, status);
}

static void __attribute__((format(printf, 4, 5)))
record(struct calibration *c, enum parameter parameter, double value,
       const char *format, ...)
{
    struct figure *figure = &c->figure[c->pass][parameter];
    va_list arguments;

    figure->value = value;
    va_start(arguments, format);
    vsnprintf(figure->source, sizeof(figure->source), format, arguments);
    va_end(arguments);
}

/* What was recorded in this pass. */
static double value_of(const struct calibration *c, enum parameter parameter)
{
    return c->figure[c->pass][parameter].value;
}

static bool is_root(const struct calibration *c)
{
    return c->bench.place.local_rank == 0;
}

/* ---- the shape of the node ---- */

/* The first number of a file such as ".../shared_cpu_list"; -1: none. */
static int first_in(int cpu, const char *file)
{
    char path[128];
    int first = -1;
    FILE *stream;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
    stream = fopen(path, "r");
    if (stream == NULL)
        return -1;
    if (fscanf(stream, "%d", &first) != 1)
        first = -1;
    fclose(stream);
    return first;
}

static int domain_of(int cpu)
{
    char path[128];

    for (int domain = 0; domain < MAX_DOMAINS; domain++) {
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d",
                 cpu, domain);
        if (access(path, F_OK) == 0)
            return domain;
    }
    return 0;
}

static int or_else(int number, int otherwise)
{
    return number >= 0 ? number : otherwise;
}

/* Where /sys says nothing: a core per processor, one socket, and one L3 for
 * each socket. */
static void read_cpus(struct calibration *c)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    c->cpu = bench_alloc(&c->bench, MAX_CPUS, sizeof(*c->cpu));
    for (int i = 0; i < MAX_CPUS && c->cpus < online; i++) {
        struct cpu *cpu = &c->cpu[c->cpus];
        int core = first_in(i, "topology/thread_siblings_list");

        if (core < 0 && first_in(i, "online") == 0)
            continue;
        cpu->number = i;
        cpu->core = or_else(core, i);
        cpu->socket = or_else(first_in(i, "topology/core_siblings_list"), 0);
        cpu->l3 =
            or_else(first_in(i, "cache/index3/shared_cpu_list"), cpu->socket);
        cpu->domain = domain_of(i);
        c->cpus++;
    }
}

static int core_id(const struct cpu *cpu)
{
    return cpu->core;
}

static int socket_id(const struct cpu *cpu)
{
    return cpu->socket;
}

static int l3_id(const struct cpu *cpu)
{
    return cpu->l3;
}

static int domain_id(const struct cpu *cpu)
{
    return cpu->domain;
}

static int count_different(const struct calibration *c,
                           int (*id)(const struct cpu *))
{
    int different = 0;

    for (int i = 0; i < c->cpus; i++) {
        bool is_new = true;

        for (int j = 0; j < i && is_new; j++)
            is_new = id(&c->cpu[j]) != id(&c->cpu[i]);
        different += is_new;
    }
    return different;
}

static void record_shape(struct calibration *c)
{
    int cores = count_different(c, core_id);

    record(c, CORES, cores,
           "read: different thread_siblings_list in /sys, of %d processors "
           "online",
           c->cpus);
    record(c, SOCKETS, count_different(c, socket_id),
           "read: different core_siblings_list in /sys");
    record(c, NUMA_DOMAINS, count_different(c, domain_id),
           "read: nodes of the processors in /sys/devices/system/node");
    record(c, L3_CACHES, count_different(c, l3_id),
           "read: different cache/index3/shared_cpu_list in /sys");
    if (c->emulated)
        record(c, SHARED_CORES, cores,
               "read: cores online; several of the job's nodes were on this "
               "host and shared them");
    else
        record(c, SHARED_CORES, 0,
               "read: each of the job's nodes was a host of its own");
}

/* ---- processors ---- */

static bool bind_to(const struct cpu *cpu)
{
    cpu_set_t set;

    if (cpu->number >= CPU_SETSIZE)
        return false;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu->number, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static void unbind(const struct calibration *c)
{
    (void)sched_setaffinity(0, sizeof(c->affinity), &c->affinity);
}

static int distance(const struct cpu *a, const struct cpu *b)
{
    return a->l3 == b->l3 ? 0 : a->socket == b->socket ? 1 : 2;
}

/* A core so far from that of the first processor; NULL: there is none. */
static const struct cpu *find_far(const struct calibration *c, int far)
{
    for (int i = 1; i < c->cpus; i++)
        if (c->cpu[i].core != c->cpu[0].core &&
            distance(&c->cpu[0], &c->cpu[i]) == far)
            return &c->cpu[i];
    return NULL;
}

/* ---- signals: local ranks 0 and 1 of rank 0's node ---- */

enum { SIGNALS = 10000, SWITCHES = 2000, FEW = 9, MANY = 15 };

/* One way: half of there and back. */
static double ping_pong(struct calibration *c, int n, bool yield)
{
    int me = c->bench.place.local_rank;
    _Atomic uint64_t *mine = &c->board->flag[me].word;
    _Atomic uint64_t *theirs = &c->board->flag[1 - me].word;
    double begin = wall_ns();

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
    return (wall_ns() - begin) / n / 2;
}

/* Both tell each other at the same time, as in flag.c and in barriers. */
static double exchange(struct calibration *c, int n)
{
    int me = c->bench.place.local_rank;
    _Atomic uint64_t *mine = &c->board->flag[me].word;
    _Atomic uint64_t *theirs = &c->board->flag[1 - me].word;
    double begin = wall_ns();

    for (int i = 0; i < n; i++) {
        c->count++;
        atomic_store_explicit(mine, c->count, memory_order_release);
        while (atomic_load_explicit(theirs, memory_order_acquire) < c->count)
            ;
    }
    return (wall_ns() - begin) / n;
}

/* Both get their processors, or neither is measured. */
static bool bind_pair(struct calibration *c, const struct cpu *first,
                      const struct cpu *second)
{
    int me = c->bench.place.local_rank;
    bool both;

    atomic_store(&c->board->bound[me], bind_to(me == 0 ? first : second));
    ping_pong(c, 2, true);
    both = atomic_load(&c->board->bound[0]) && atomic_load(&c->board->bound[1]);
    ping_pong(c, 2, true);
    return both;
}

static void measure_signal(struct calibration *c, enum parameter signal,
                           const struct cpu *other, const char *where)
{
    double times[MANY], turns[MANY], ns;

    exchange(c, SIGNALS);
    for (int i = 0; i < MANY; i++) {
        times[i] = exchange(c, SIGNALS);
        turns[i] = ping_pong(c, SIGNALS, false);
    }
    ns = median(times, MANY);
    record(c, signal, ns,
           "measured: two ranks on processors %d and %d (%s) exchange flags at "
           "the same time, each exchange counts as one way, median of %d times "
           "%d; one after the other half of there and back takes %.0f ns",
           c->cpu[0].number, other->number, where, MANY, SIGNALS,
           median(turns, MANY));
}

/* Distances that the machine does not have, or that ranks may not use, cost
 * what the next nearer one does, or else the nearest. */
static void measure_signals(struct calibration *c)
{
    static const char *const where[DISTANCES] = {
        "the same L3 cache", "the same socket with an L3 cache each",
        "a socket each"};
    static const enum parameter signal[DISTANCES] = {SIGNAL_L3, SIGNAL_SOCKET,
                                                     SIGNAL_NODE};
    int last = -1, first = -1; /* distances measured */

    for (int i = 0; i < DISTANCES; i++) {
        const struct cpu *other = find_far(c, i);

        if (other != NULL && bind_pair(c, &c->cpu[0], other)) {
            measure_signal(c, signal[i], other, where[i]);
            first = first < 0 ? i : first;
            last = i;
        } else if (last >= 0) {
            record(c, signal[i], value_of(c, signal[last]),
                   "not measured, as for %s: ranks found no cores farther "
                   "apart",
                   where[last]);
        }
    }
    c->paired = first >= 0;
    for (int i = 0; i < first; i++)
        record(c, signal[i], value_of(c, signal[first]),
               "not measured, as for %s: ranks found no cores nearer",
               where[first]);
    for (int i = 0; i < DISTANCES && first < 0; i++)
        record(c, signal[i], 100, "set: ranks found only one core to use");
    unbind(c);
}

static void measure_switch(struct calibration *c)
{
    double times[MANY];

    if (bind_pair(c, &c->cpu[0], &c->cpu[0])) {
        for (int i = 0; i < MANY; i++)
            times[i] = ping_pong(c, SWITCHES, true);
        record(c, SWITCH, median(times, MANY),
               "measured: half of there and back, two ranks exchange flags on "
               "processor %d with sched_yield, median of %d times %d",
               c->cpu[0].number, MANY, SWITCHES);
    } else {
        record(c, SWITCH, 1000, "set: ranks may not choose their processor");
    }
    unbind(c);
}

/* ---- copies: all ranks of rank 0's node ---- */

enum { COPY_ROUNDS = 9, COPY_SIZES = 3, COPY_MOST = 1 << 20 };
static const double window_s = 0.01;

/* For the length of a window; MB/s. */
static double copy_window(struct calibration *c, size_t bytes)
{
    double begin = wall_ns(), end;
    size_t copied = 0;

    do {
        for (size_t done = 0; done < COPY_MOST; done += bytes)
            memcpy(c->recv, c->send, bytes);
        copied += COPY_MOST;
        end = wall_ns();
    } while (end - begin < window_s * 1e9);
    return (double)copied / (end - begin) * 1e3;
}

/* Ranks that copy at once: no more than their NUMA domain has cores. */
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

/* Local rank i takes the i-th core of the first domain. */
static void bind_copying(const struct calibration *c, int ranks)
{
    int skip = c->bench.place.local_rank;

    if (skip >= ranks)
        return;
    for (int i = 0; i < c->cpus; i++)
        if (c->cpu[i].domain == c->cpu[0].domain &&
            c->cpu[i].core == c->cpu[i].number && skip-- == 0)
            (void)bind_to(&c->cpu[i]);
}

/* The first `ranks` ranks copy; the sum of their rates. */
static double copy_together(struct calibration *c, int ranks, size_t bytes)
{
    int me = c->bench.place.local_rank;
    double sum = 0;

    must(c, "fence", catena_node_fence(c->bench.context));
    if (me < ranks)
        c->board->rate[me] = copy_window(c, bytes);
    else
        nap(window_s * 1.5);
    must(c, "fence", catena_node_fence(c->bench.context));
    for (int i = 0; i < ranks; i++)
        sum += c->board->rate[i];
    return sum;
}

static void measure_copies(struct calibration *c)
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
    unbind(c);
    record(c, COPY_RATE, median(alone, COPY_ROUNDS * COPY_SIZES),
           "measured: memcpy of 64 KiB, 256 KiB and 1 MiB in the shared heap "
           "by one rank, median of %d windows of 10 ms",
           COPY_ROUNDS * COPY_SIZES);
    record(c, DOMAIN_RATE, median(together, COPY_ROUNDS * COPY_SIZES),
           "measured: the same by %d ranks at once, sum of their rates, in "
           "turns with one alone; more ranks were not tried",
           ranks);
}

/* ---- polling: all ranks of rank 0's node ---- */

enum { BARRIERS = 2000, IDLE_POLLS = 1000 };

static double time_barriers(struct calibration *c)
{
    double begin = wall_ns();

    for (int i = 0; i < BARRIERS; i++)
        must(c, "barrier", catena_barrier(c->node));
    return (wall_ns() - begin) / BARRIERS;
}

static double time_progress(struct calibration *c)
{
    double begin = wall_ns();

    for (int i = 0; i < IDLE_POLLS; i++)
        must(c, "progress", catena_progress(c->bench.context));
    return (wall_ns() - begin) / IDLE_POLLS;
}

/* What catena adds to the bare signal. catena_progress is too much: it asks the
 * network as well, which waiting on the node seldom does. Where ranks have no
 * core each it must do, as a barrier would be mostly switches. */
static void measure_poll(struct calibration *c)
{
    int ranks = c->bench.place.local_size;
    double barrier[MANY], flag[MANY], progress[MANY], poll_ns;
    bool room = c->paired && copying_ranks(c) == ranks;

    if (copying_ranks(c) == ranks)
        bind_copying(c, ranks);
    time_barriers(c);
    for (int i = 0; i < MANY; i++) {
        barrier[i] = time_barriers(c);
        progress[i] = time_progress(c);
        flag[i] =
            room && c->bench.place.local_rank < 2 ? exchange(c, BARRIERS) : 0;
    }
    unbind(c);
    poll_ns = median(barrier, MANY) - median(flag, MANY);
    if (room)
        record(c, POLL, poll_ns > 1 ? poll_ns : 1,
               "measured: a barrier of %d ranks on the node less a flag "
               "exchange (%.0f ns), medians of %d times %d, in turns; an idle "
               "catena_progress, which asks the network as well, takes %.0f ns",
               ranks, median(flag, MANY), MANY, BARRIERS,
               median(progress, MANY));
    else
        record(c, POLL, median(progress, MANY),
               "measured: an idle catena_progress, as the node's %d ranks have "
               "no core each; median of %d times %d",
               ranks, MANY, IDLE_POLLS);
}

/* ---- work: rank 0 alone ---- */

enum { WORK_BYTES = 64 << 10, WORK_CALLS = 20, WORK_TIMES = 33 };

/* Kept from being folded into the loops around it. */
#define NOINLINE __attribute__((noinline))

static NOINLINE void copy_small(unsigned char *to, const unsigned char *from,
                                size_t bytes)
{
    memcpy(to, from, bytes);
}

/* A matrix of blocks, column by column. */
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

/* Jenkins, one at a time. */
static NOINLINE void hash(unsigned char *to, const unsigned char *from,
                          size_t bytes)
{
    uint32_t value = 0;

    for (size_t i = 0; i < bytes; i++) {
        value += from[i];
        value += value << 10;
        value ^= value >> 6;
    }
    value += value << 3;
    value ^= value >> 11;
    value += value << 15;
    memcpy(to, &value, sizeof(value));
}

typedef void work_t(unsigned char *to, const unsigned char *from, size_t bytes);

/* ns per call. */
static double time_work(struct calibration *c, work_t *work, size_t bytes,
                        int calls)
{
    double times[WORK_TIMES];

    for (int i = 0; i < WORK_TIMES; i++) {
        double begin = wall_ns();

        for (int call = 0; call < calls; call++)
            work(c->recv, c->send, bytes);
        times[i] = (wall_ns() - begin) / calls;
    }
    return median(times, WORK_TIMES);
}

struct sort_record {
    uint64_t key[3];
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
        begin = wall_ns();
        qsort(records, n, sizeof(*records), compare_records);
        times[i] = wall_ns() - begin;
    }
    free(records);
    record(c, COMPARE, median(times, FEW) / ((double)n * log2((double)n)),
           "measured: qsort of n = %zu records of 24 bytes, time / (n log2 "
           "n), median of %d",
           n, FEW);
}

static void measure_work(struct calibration *c)
{
    double transpose_ns = 0, ns;

    (void)bind_to(&c->cpu[0]);
    memset(c->send, 0, WORK_BYTES);
    memset(c->recv, 0, WORK_BYTES);
    record(c, COPY_START, time_work(c, copy_small, 8, 10000),
           "measured: a call of memcpy with 8 bytes in cache, median of %d "
           "times 10000",
           WORK_TIMES);
    for (size_t bytes = 8; bytes <= 64; bytes *= 2)
        transpose_ns += time_work(c, transpose, bytes, WORK_CALLS) / 4;
    record(c, TRANSPOSE_RATE, WORK_BYTES / transpose_ns * 1e3,
           "measured: square matrices of blocks of 8, 16, 32 and 64 bytes, 64 "
           "KiB of each size, in cache; all bytes / all time, medians of %d",
           WORK_TIMES);
    ns = time_work(c, reduce, WORK_BYTES, WORK_CALLS);
    record(c, REDUCE_RATE, WORK_BYTES / ns * 1e3,
           "measured: sum of 64 KiB of doubles into 64 KiB, in cache, median "
           "of %d; compiled as the tools are",
           WORK_TIMES);
    ns = time_work(c, hash, WORK_BYTES, 1);
    record(c, HASH_RATE, WORK_BYTES / ns * 1e3,
           "measured: Jenkins' one-at-a-time hash of 64 KiB, median of %d",
           WORK_TIMES);
    measure_compare(c);
    unbind(c);
}

/* ---- the network: all ranks ---- */

/* L, o: only the first rank of each node, its root, is awake. */
enum { QUIET_TIMES = 101 };
static const double nap_s = 0.0005;

static void spin(double ns)
{
    double end = wall_ns() + ns;

    while (wall_ns() < end)
        ;
}

/* Mean over the roots of the times each took: they wait for each other, so
 * what one gains by being late the other loses. */
static void mean_of_roots(struct calibration *c, double *times, size_t n)
{
    size_t size = (size_t)c->bench.place.size;
    double *send = bench_alloc(&c->bench, 2 * size * n, sizeof(*send));
    double *recv = send + size * n;

    for (size_t rank = 0; rank < size; rank++)
        for (size_t i = 0; i < n; i++)
            send[rank * n + i] = is_root(c) ? times[i] : -1;
    bench_exchange(&c->bench, c->bench.control, send, recv, n * sizeof(*send));
    memset(times, 0, n * sizeof(*times));
    for (size_t rank = 0; rank < size; rank++)
        for (size_t i = 0; i < n && recv[rank * n] >= 0; i++)
            times[i] += recv[rank * n + i] / c->bench.place.nodes;
    free(send);
}

/* Barriers one after the other. The other ranks of a node have entered all of
 * them before and sleep: a root waits for nothing but the other nodes'. The
 * first barrier takes up that the roots do not begin together. */
static double barrier_chain(struct calibration *c, catena_group_t **lane)
{
    catena_request_t *request[LANES];
    double begin;

    must(c, "barrier", catena_barrier(c->bench.world));
    if (!is_root(c)) {
        for (int i = 0; i < LANES; i++)
            must(c, "barrier", catena_ibarrier(lane[i], &request[i]));
        nap(3 * nap_s);
        must(c, "barrier", catena_waitall(LANES, request));
        return 0;
    }
    nap(nap_s);
    must(c, "barrier", catena_barrier(lane[0]));
    begin = wall_ns();
    for (int i = 1; i < LANES; i++)
        must(c, "barrier", catena_barrier(lane[i]));
    return (wall_ns() - begin) / (LANES - 1);
}

/* Roots of virtual nodes must not meet on a processor. */
static void bind_root(const struct calibration *c)
{
    if (c->emulated && is_root(c))
        (void)bind_to(&c->cpu[c->bench.place.node % c->cpus]);
}

static double cpu_ns(void)
{
    return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Processor time of starting an alltoall of 8 bytes. That on the first lane
 * only warms the caches. */
static double time_start(struct calibration *c, catena_group_t **lane)
{
    catena_request_t *request[LANES];
    double begin = 0, ns;

    must(c, "barrier", catena_barrier(c->bench.world));
    if (!is_root(c))
        nap(nap_s);
    for (int i = 0; i < LANES; i++) {
        if (i == 1)
            begin = cpu_ns();
        must(c, "alltoall",
             catena_ialltoall(c->send, c->recv, 8, CATENA_BYTE, lane[i],
                              &request[i]));
    }
    ns = (cpu_ns() - begin) / (LANES - 1);
    must(c, "alltoall", catena_waitall(LANES, request));
    return ns;
}

/* Processor time of completing one when everything has arrived. */
static double time_wait(struct calibration *c, catena_group_t *group)
{
    catena_request_t *request;
    double begin;

    must(c, "barrier", catena_barrier(c->bench.world));
    must(c, "alltoall",
         catena_ialltoall(c->send, c->recv, 8, CATENA_BYTE, group, &request));
    nap(nap_s);
    if (is_root(c))
        spin(20000); /* until the clock is up again */
    else
        nap(nap_s);
    begin = cpu_ns();
    must(c, "alltoall", catena_wait(&request));
    return cpu_ns() - begin;
}

static void measure_overheads(struct calibration *c)
{
    double start[2][QUIET_TIMES], wait[2][QUIET_TIMES];
    int far = c->bench.place.size - c->bench.place.local_size;
    double send_ns, receive_ns;

    bind_root(c);
    for (int i = -2; i < QUIET_TIMES; i++) {
        int at = i < 0 ? 0 : i; /* the first ones connect */

        start[0][at] = time_start(c, c->world_lane);
        start[1][at] = time_start(c, c->node_lane);
        wait[0][at] = time_wait(c, c->world_lane[0]);
        wait[1][at] = time_wait(c, c->node_lane[0]);
    }
    unbind(c);
    send_ns = median(start[0], QUIET_TIMES) - median(start[1], QUIET_TIMES);
    receive_ns = median(wait[0], QUIET_TIMES) - median(wait[1], QUIET_TIMES);
    record(c, SEND_OVERHEAD, send_ns > far ? send_ns / far : 1,
           "measured: processor time to start a direct catena_ialltoall of 8 "
           "bytes over all ranks, less that over the node's, by the %d "
           "messages to other nodes; medians of %d times %d, in turns",
           far, QUIET_TIMES, LANES - 1);
    record(c, RECEIVE_OVERHEAD, receive_ns > 0 ? receive_ns / far : 0,
           "measured: processor time of catena_wait for such an alltoall when "
           "all had arrived, less that over the node's, by the %d messages "
           "from other nodes; medians of %d, in turns",
           far, QUIET_TIMES);
}

/* A barrier sends one message per root and round between nodes. */
static void measure_latency(struct calibration *c)
{
    double world[QUIET_TIMES], node[QUIET_TIMES], world_ns, node_ns;
    double rounds = ceil(log2(c->bench.place.nodes));

    bind_root(c);
    barrier_chain(c, c->world_lane);
    barrier_chain(c, c->node_lane);
    for (int i = 0; i < QUIET_TIMES; i++) {
        world[i] = barrier_chain(c, c->world_lane);
        node[i] = barrier_chain(c, c->node_lane);
    }
    unbind(c);
    mean_of_roots(c, world, QUIET_TIMES);
    mean_of_roots(c, node, QUIET_TIMES);
    world_ns = median(world, QUIET_TIMES);
    node_ns = median(node, QUIET_TIMES);
    c->message_ns[c->pass] = (world_ns - node_ns) / rounds;
    snprintf(c->message_source[c->pass], sizeof(c->message_source[0]),
             "catena_barrier between nodes whose other ranks came before and "
             "sleep (%.0f ns), less the same on the node (%.0f ns), in %.0f "
             "round%s; medians of %d, in turns",
             world_ns, node_ns, rounds, rounds > 1 ? "s" : "", QUIET_TIMES);
}

/* G, g: all ranks of all nodes at once. */
enum { BUSY_TIMES = 31, SIZES = 5, BUSY_MOST = 16 << 20 };

/* The largest block whose buffer stays within BUSY_MOST. */
static size_t most_bytes(const struct calibration *c)
{
    size_t bytes = 1 << 20;

    while (bytes > 1024 && bytes * (size_t)c->bench.place.size > BUSY_MOST)
        bytes /= 2;
    return bytes;
}

static double time_alltoalls(struct calibration *c, catena_group_t **lane,
                             size_t lanes, size_t bytes)
{
    size_t stride = bytes * (size_t)c->bench.place.size;
    catena_request_t *request[LANES];
    double begin;

    must(c, "barrier", catena_barrier(c->bench.world));
    begin = wall_ns();
    for (size_t i = 0; i < lanes; i++)
        must(c, "alltoall",
             catena_ialltoall(c->send + i * stride, c->recv + i * stride, bytes,
                              CATENA_BYTE, lane[i], &request[i]));
    must(c, "alltoall", catena_waitall(lanes, request));
    return wall_ns() - begin;
}

/* What the network adds: over all ranks, less the same on the nodes. Valid on
 * rank 0. */
static double time_network(struct calibration *c, size_t lanes, size_t bytes)
{
    double world[BUSY_TIMES], node[BUSY_TIMES];

    time_alltoalls(c, c->world_lane, lanes, bytes);
    time_alltoalls(c, c->node_lane, lanes, bytes);
    for (int i = 0; i < BUSY_TIMES; i++) {
        world[i] = time_alltoalls(c, c->world_lane, lanes, bytes);
        node[i] = time_alltoalls(c, c->node_lane, lanes, bytes);
    }
    bench_max_times(&c->bench, world, BUSY_TIMES);
    bench_max_times(&c->bench, node, BUSY_TIMES);
    return median(world, BUSY_TIMES) - median(node, BUSY_TIMES);
}

/* Messages that leave a node in one direct alltoall. */
static double messages(const struct calibration *c)
{
    const catena_place_t *place = &c->bench.place;

    return (double)place->local_size * (place->size - place->local_size);
}

static void measure_rate(struct calibration *c)
{
    size_t most = most_bytes(c);
    double bytes[SIZES], times[SIZES], rate;

    for (int i = 0; i < SIZES; i++) {
        size_t block = most >> (SIZES - 1 - i);

        bytes[i] = messages(c) * (double)block;
        times[i] = time_network(c, 1, block);
    }
    rate = 1e3 / fit_slope(bytes, times, SIZES);
    record(c, NODE_RATE, rate,
           "fitted: to catena_alltoall, direct, over all ranks, less the same "
           "on the nodes, with %d blocks of %zu to %zu bytes from each node; "
           "least squares over %d sizes, medians of %d, in turns; includes "
           "what sending and receiving cores copy",
           (int)messages(c), most >> (SIZES - 1), most, SIZES, BUSY_TIMES);
    record(c, PORT_RATE, rate,
           "as node_MBps: all ranks of a node were measured together, as "
           "users of one port");
    record(c, PORTS, 1,
           "set: not measured; port_MBps and node_MBps take the network for "
           "one port");
}

static void measure_gap(struct calibration *c)
{
    static const size_t lanes[] = {1, 2, 4, LANES};
    enum { POINTS = sizeof(lanes) / sizeof(lanes[0]) };
    double count[POINTS], times[POINTS], slope;

    for (int i = 0; i < POINTS; i++) {
        count[i] = messages(c) * (double)lanes[i];
        times[i] = time_network(c, lanes[i], 8);
    }
    slope = fit_slope(count, times, POINTS);
    record(c, GAP, slope > 1 ? slope : 1,
           "fitted: to 1 to %d direct alltoalls of 8 bytes at once, over all "
           "ranks, less the same on the nodes, per message that leaves a node; "
           "an upper bound, as the cores' time for it is contained; medians of "
           "%d, in turns",
           LANES, BUSY_TIMES);
}

/* ---- the file ---- */

/* Text that follows `label` and a colon in a file such as /proc/cpuinfo. */
static void read_field(const char *path, const char *label, char *text,
                       size_t bytes)
{
    char line[512];
    FILE *stream = fopen(path, "r");

    while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, label, strlen(label)) != 0 || colon == NULL)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (stream != NULL)
        fclose(stream);
}

/* Four digits are more than was measured. */
static json_t *number(double value)
{
    char text[32];

    if (value == floor(value) && fabs(value) < 1e15)
        return json_integer((json_int_t)value);
    if (value >= 1000)
        return json_integer((json_int_t)(value + 0.5));
    snprintf(text, sizeof(text), "%.4g", value);
    return json_real(strtod(text, NULL));
}

static json_t *make_document(const struct calibration *c)
{
    char host[64] = "here", model[100] = "unknown processor", description[256];
    const catena_place_t *place = &c->bench.place;
    json_t *document;

    gethostname(host, sizeof(host) - 1);
    read_field("/proc/cpuinfo", "model name", model, sizeof(model));
    snprintf(description, sizeof(description),
             "%s; network: %s; measured by catena-bench --calibrate with %d "
             "ranks on %d %s",
             model, place->network, place->size, place->nodes,
             c->emulated ? "virtual nodes" : "nodes");
    document =
        json_pack("{s:s, s:s}", "name", host, "description", description);
    for (int i = 0; i < PARAMETERS && document != NULL; i++) {
        json_t *section = json_object_get(document, names[i].section);

        if (section == NULL) {
            section = json_object();
            json_object_set_new(document, names[i].section, section);
        }
        json_object_set_new(section, names[i].name,
                            json_pack("{s:o, s:s}", "value",
                                      number(c->result[i].value), "source",
                                      c->result[i].source));
    }
    return document;
}

static int complain(const char *doing, const char *path)
{
    fprintf(stderr, "catena-bench: --calibrate: %s %s: %s\n", doing, path,
            strerror(errno));
    return BENCH_FAILED;
}

/* A new file beside `path`; NULL: a line has been printed. */
static FILE *open_beside(const char *path, char *name, size_t bytes)
{
    mode_t mask = umask(0);
    FILE *stream;
    int fd;

    umask(mask);
    snprintf(name, bytes, "%s.XXXXXX", path);
    fd = mkstemp(name);
    if (fd < 0) {
        complain("creating a file beside", path);
        return NULL;
    }
    (void)fchmod(fd, 0666 & ~mask);
    stream = fdopen(fd, "w");
    if (stream == NULL) {
        complain("opening", name);
        close(fd);
        unlink(name);
    }
    return stream;
}

static int write_document(const json_t *document, const char *path)
{
    size_t bytes = strlen(path) + sizeof(".XXXXXX");
    char *name = malloc(bytes);
    FILE *stream = name != NULL ? open_beside(path, name, bytes) : NULL;
    int code = BENCH_FAILED;
    bool written;

    if (stream != NULL) {
        written = json_dumpf(document, stream,
                             JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
        written &= fputc('\n', stream) != EOF;
        written &= fclose(stream) == 0;
        if (!written)
            complain("writing", name);
        else if (rename(name, path) != 0)
            complain("renaming to", path);
        else
            code = BENCH_OK;
        if (code != BENCH_OK)
            unlink(name);
    }
    free(name);
    return code;
}

/* Before time is spent on measuring. */
static int try_path(const char *path)
{
    size_t bytes = strlen(path) + sizeof(".XXXXXX");
    char *name = malloc(bytes);
    FILE *stream = name != NULL ? open_beside(path, name, bytes) : NULL;
    int code = stream != NULL ? BENCH_OK : BENCH_FAILED;

    if (stream != NULL) {
        fclose(stream);
        unlink(name);
    }
    free(name);
    return code;
}

static int report(const struct calibration *c, const char *path)
{
    json_t *document = make_document(c);
    int code;

    if (document == NULL) {
        fprintf(stderr, "catena-bench: --calibrate: no memory for the file\n");
        return BENCH_FAILED;
    }
    code = write_document(document, path);
    json_decref(document);
    if (code != BENCH_OK)
        return code;
    printf("# %-8s %-22s %12s %12s %12s\n", "Section", "Parameter", "Value",
           "Lowest", "Highest");
    for (int i = 0; i < PARAMETERS; i++) {
        const struct figure *result = &c->result[i];
        bool whole = result->value == floor(result->value);
        int digits = whole || result->value >= 1000 ? 0 : 2;

        printf("  %-8s %-22s %12.*f %12.*f %12.*f\n", names[i].section,
               names[i].name, digits, result->value, digits, result->lowest,
               digits, result->highest);
    }
    printf("# written to %s, with where each comes from\n", path);
    return BENCH_OK;
}

/* ---- all of it ---- */

struct card {
    int32_t node;
    int32_t local_size;
    char host[ID_BYTES];
};

/* Two containers on one host have the same. */
static void read_host(char *id)
{
    FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "r");

    if (stream == NULL || fgets(id, ID_BYTES, stream) == NULL)
        gethostname(id, ID_BYTES - 1);
    if (stream != NULL)
        fclose(stream);
}

/* Where rank 0 is, and whether the job suits. All ranks find the same. */
static int check_layout(struct calibration *c)
{
    const catena_place_t *place = &c->bench.place;
    size_t size = (size_t)place->size;
    struct card *send = bench_alloc(&c->bench, 2 * size, sizeof(*send));
    struct card *recv = send + size;
    int local_size;

    send[0].node = place->node;
    send[0].local_size = place->local_size;
    read_host(send[0].host);
    for (size_t i = 1; i < size; i++)
        send[i] = send[0];
    bench_exchange(&c->bench, c->bench.control, send, recv, sizeof(*send));
    c->home = place->node == recv[0].node;
    for (size_t i = 0; i < size; i++)
        c->emulated |= recv[i].node != recv[0].node &&
                       memcmp(recv[i].host, recv[0].host, ID_BYTES) == 0;
    local_size = recv[0].local_size;
    free(send);
    if (place->nodes >= 2 && local_size >= 2)
        return BENCH_OK;
    if (place->rank == 0)
        fprintf(stderr,
                "catena-bench: --calibrate: expected at least 2 nodes and at "
                "least 2 ranks on the first, found %d and %d; use: prun -n 4 "
                "--ppn 2 catena-bench --calibrate FILE\n",
                place->nodes, local_size);
    return BENCH_USAGE;
}

/* The ranks of rank 0's node get at its board. */
static void open_board(struct calibration *c)
{
    size_t size = (size_t)c->bench.place.size;
    uint64_t *send = bench_alloc(&c->bench, 2 * size, sizeof(*send));
    void *block = NULL;

    if (c->bench.place.rank == 0) {
        block = catena_aligned_alloc(c->bench.context, LINE_PAIR,
                                     sizeof(*c->board));
        if (block == NULL)
            must(c, "shared heap", CATENA_ERR_NO_MEMORY);
        memset(block, 0, sizeof(*c->board));
        must(c, "shared heap",
             catena_heap_offset(c->bench.context, block, &send[0]));
        for (size_t i = 1; i < size; i++)
            send[i] = send[0];
    }
    bench_exchange(&c->bench, c->bench.control, send, send + size,
                   sizeof(*send));
    if (c->home && block == NULL)
        must(c, "shared heap",
             catena_local_pointer(c->bench.context, 0, send[size], &block));
    c->board = block;
    free(send);
}

/* Enough for copies, and for LANES small blocks per rank. */
static void open_buffers(struct calibration *c)
{
    size_t bytes = most_bytes(c) * (size_t)c->bench.place.size;

    if (bytes < COPY_MOST)
        bytes = COPY_MOST;
    c->send = catena_aligned_alloc(c->bench.context, 4096, bytes);
    c->recv = catena_aligned_alloc(c->bench.context, 4096, bytes);
    if (c->send == NULL || c->recv == NULL)
        must(c, "shared heap", CATENA_ERR_NO_MEMORY);
    memset(c->send, 1, bytes);
    memset(c->recv, 2, bytes);
}

static void open_lane(struct calibration *c, catena_group_t *from,
                      catena_group_t **lane)
{
    must(c, "group", catena_group_dup(from, lane));
    must(c, "group", catena_group_set(*lane, "alltoall_algorithm", "direct"));
}

static void open_all(struct calibration *c)
{
    must(c, "group",
         catena_group_split_level(c->bench.world, CATENA_LEVEL_NODE,
                                  c->bench.place.rank, &c->node));
    for (int i = 0; i < LANES; i++) {
        open_lane(c, c->bench.world, &c->world_lane[i]);
        open_lane(c, c->node, &c->node_lane[i]);
    }
    open_board(c);
    open_buffers(c);
    read_cpus(c);
    (void)sched_getaffinity(0, sizeof(c->affinity), &c->affinity);
}

static void close_all(struct calibration *c)
{
    catena_free(c->bench.context, c->send);
    catena_free(c->bench.context, c->recv);
    if (c->bench.place.rank == 0)
        catena_free(c->bench.context, c->board);
    for (int i = 0; i < LANES; i++) {
        must(c, "freeing a group", catena_group_free(c->world_lane[i]));
        must(c, "freeing a group", catena_group_free(c->node_lane[i]));
    }
    must(c, "freeing a group", catena_group_free(c->node));
    free(c->cpu);
}

/* Measure with the first `ranks` ranks of rank 0's node. The others wait in a
 * barrier, where they go to sleep after a while. */
static void with_ranks(struct calibration *c, int ranks,
                       void (*measure)(struct calibration *c))
{
    if (c->home && c->bench.place.local_rank < ranks) {
        nap(settle_s);
        measure(c);
    }
    must(c, "barrier", catena_barrier(c->bench.world));
}

static void measure_all(struct calibration *c)
{
    int all = c->bench.place.local_size;

    record_shape(c);
    with_ranks(c, 2, measure_signals);
    with_ranks(c, 2, measure_switch);
    with_ranks(c, all, measure_copies);
    with_ranks(c, all, measure_poll);
    with_ranks(c, 1, measure_work);
    measure_overheads(c);
    measure_latency(c);
    measure_rate(c);
    measure_gap(c);
}

/* A parameter as the pass had it in which it was the median. */
static void choose(struct calibration *c, enum parameter parameter)
{
    struct figure *result = &c->result[parameter];
    double values[PASSES], middle;
    size_t used;

    for (int pass = 0; pass < PASSES; pass++)
        values[pass] = c->figure[pass][parameter].value;
    middle = median(values, PASSES);
    for (int pass = 0; pass < PASSES; pass++)
        if (c->figure[pass][parameter].value == middle)
            *result = c->figure[pass][parameter];
    result->lowest = values[0];
    result->highest = values[PASSES - 1];
    used = strlen(result->source);
    if (result->lowest < result->highest)
        snprintf(result->source + used, sizeof(result->source) - used,
                 "; median of %d passes that gave %.4g to %.4g", PASSES,
                 result->lowest, result->highest);
}

_Static_assert(PASSES % 2 == 1, "a pass has the median");

/* L last: it is what the overheads that were chosen leave of a message. */
static void choose_all(struct calibration *c)
{
    double overheads;

    choose(c, SEND_OVERHEAD);
    choose(c, RECEIVE_OVERHEAD);
    overheads =
        c->result[SEND_OVERHEAD].value + c->result[RECEIVE_OVERHEAD].value;
    for (c->pass = 0; c->pass < PASSES; c->pass++) {
        double ns = c->message_ns[c->pass] - overheads;

        record(c, LATENCY, ns > 1 ? ns : 1,
               "measured: %s; less the overheads given here (%.0f ns)%s",
               c->message_source[c->pass], overheads,
               ns > 1 ? "" : ", which left nothing, so 1");
    }
    for (int i = 0; i < PARAMETERS; i++)
        choose(c, (enum parameter)i);
}

static int calibrate(struct calibration *c, const char *path)
{
    int code = check_layout(c);

    if (code != BENCH_OK)
        return code;
    if (c->bench.place.rank == 0)
        code = try_path(path);
    if (bench_max(&c->bench, (uint64_t)code) != BENCH_OK)
        return BENCH_FAILED;
    open_all(c);
    for (c->pass = 0; c->pass < PASSES; c->pass++)
        measure_all(c);
    choose_all(c);
    if (c->bench.place.rank == 0)
        code = report(c, path);
    close_all(c);
    return (int)bench_max(&c->bench, (uint64_t)code);
}

int bench_calibrate(catena_context_t *context, const char *path)
{
    struct calibration c = {.bench.context = context};
    int code;

    must(&c, "place", catena_place(context, &c.bench.place));
    c.bench.world = catena_world(context);
    must(&c, "group", catena_group_dup(c.bench.world, &c.bench.control));
    code = calibrate(&c, path);
    must(&c, "freeing a group", catena_group_free(c.bench.control));
    return code;
}
