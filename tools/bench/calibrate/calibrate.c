/* catena-bench --calibrate FILE: measures the parameters of lib/model/machine.h
 * on this machine. Intended use:
 *
 *   prun -n 8 --ppn 4 catena-bench --calibrate here.json
 *
 * This makes two nodes of four ranks each; on one host prun makes virtual
 * nodes. Signals (flags that two ranks of a node store for each other) and
 * concurrent copies need two ranks on rank 0's node; the network needs a second
 * node. Ranks that take no part in a measurement sleep, so virtual nodes may
 * share cores. */

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/parts.h"
#include "core/clock.h"

/* ---- helpers ---- */

static const double idle_s = 0.03; /* after it, idle ranks sleep */

double calibrate_now_ns(clockid_t clock)
{
    return (double)ctn_clock_ns(clock);
}

double calibrate_wall_ns(void)
{
    return calibrate_now_ns(CLOCK_MONOTONIC);
}

void calibrate_sleep(double seconds)
{
    struct timespec pause = {0, (long)(seconds * 1e9)};

    nanosleep(&pause, NULL);
}

double calibrate_median(double *times, size_t n)
{
    qsort(times, n, sizeof(*times), bench_compare_times);
    return n % 2 != 0 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

/* The slope of y = base + slope * x, by least squares. */
double calibrate_fit_slope(const double *x, const double *y, size_t n)
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

void calibrate_must(struct calibration *c, const char *what,
                    catena_status_t status)
{
    if (status != CATENA_OK)
        bench_die(&c->bench, what, status);
}

void calibrate_record(struct calibration *c, enum parameter parameter,
                      double value, const char *format, ...)
{
    struct measurement *measured = &c->measured[c->pass][parameter];
    va_list arguments;

    measured->value = value;
    va_start(arguments, format);
    vsnprintf(measured->source, sizeof(measured->source), format, arguments);
    va_end(arguments);
}

double calibrate_value_of(const struct calibration *c, enum parameter parameter)
{
    return c->measured[c->pass][parameter].value;
}

bool calibrate_is_leader(const struct calibration *c)
{
    return c->bench.place.local_rank == 0;
}

/* ---- all of it ---- */

/* What the ranks exchange: where a rank is. */
struct rank_place {
    int32_t node;
    int32_t local_size; /* ranks on the node */
    char host[ID_BYTES];
};

/* Read an identifier of the host; two containers of one host have the same. */
static void read_host(char *id)
{
    FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "r");

    if (stream == NULL || fgets(id, ID_BYTES, stream) == NULL)
        gethostname(id, ID_BYTES - 1);
    if (stream != NULL)
        fclose(stream);
}

/* Set c->home and c->emulated, and check the layout. Returns an exit code, the
 * same on all ranks. */
static int check_layout(struct calibration *c)
{
    const catena_place_t *place = &c->bench.place;
    size_t size = (size_t)place->ranks;
    struct rank_place *send = bench_alloc(&c->bench, 2 * size, sizeof(*send));
    struct rank_place *recv = send + size;
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
                "least 2 ranks on the first, found %d and %d; use: prun -n 8 "
                "--ppn 4 catena-bench --calibrate FILE\n",
                place->nodes, local_size);
    return BENCH_USAGE;
}

/* Allocate memory on rank 0 that the ranks of its node share. */
static void open_shared_area(struct calibration *c)
{
    size_t size = (size_t)c->bench.place.ranks;
    uint64_t *send = bench_alloc(&c->bench, 2 * size, sizeof(*send));
    void *block = NULL;

    if (c->bench.place.rank == 0) {
        block = catena_aligned_alloc(c->bench.context, LINE_PAIR,
                                     sizeof(*c->shared));
        if (block == NULL)
            calibrate_must(c, "shared heap", CATENA_ERR_NO_MEMORY);
        memset(block, 0, sizeof(*c->shared));
        calibrate_must(c, "shared heap",
                       catena_heap_offset(c->bench.context, block, &send[0]));
        for (size_t i = 1; i < size; i++)
            send[i] = send[0];
    }
    bench_exchange(&c->bench, c->bench.control, send, send + size,
                   sizeof(*send));
    if (c->home && block == NULL)
        calibrate_must(
            c, "shared heap",
            catena_heap_pointer(c->bench.context, 0, send[size], &block));
    c->shared = block;
    free(send);
}

/* Allocate the buffers: enough for the largest alltoall and for copies. Both
 * also hold GROUPS alltoalls of 8 bytes. */
static void open_buffers(struct calibration *c)
{
    size_t bytes = calibrate_most_bytes(c) * (size_t)c->bench.place.ranks;

    if (bytes < COPY_MOST)
        bytes = COPY_MOST;
    c->send = catena_aligned_alloc(c->bench.context, 4096, bytes);
    c->recv = catena_aligned_alloc(c->bench.context, 4096, bytes);
    if (c->send == NULL || c->recv == NULL)
        calibrate_must(c, "shared heap", CATENA_ERR_NO_MEMORY);
    memset(c->send, 1, bytes);
    memset(c->recv, 2, bytes);
}

/* Duplicate a group. */
static void open_group(struct calibration *c, catena_group_t *from,
                       catena_group_t **group)
{
    calibrate_must(c, "group", catena_group_dup(from, group));
    calibrate_must(c, "group",
                   catena_group_set(*group, "alltoall_algorithm", "direct"));
}

static void open_all(struct calibration *c)
{
    calibrate_must(c, "group",
                   catena_group_split_level(c->bench.world, CATENA_LEVEL_NODE,
                                            c->bench.place.rank, &c->node));
    calibrate_must(c, "group",
                   catena_group_split(c->node, c->bench.place.local_rank / 2,
                                      c->bench.place.local_rank, &c->pair));
    for (int i = 0; i < GROUPS; i++) {
        open_group(c, c->bench.world, &c->world_groups[i]);
        open_group(c, c->node, &c->node_groups[i]);
        calibrate_must(
            c, "group",
            catena_group_split(c->bench.world, c->bench.place.local_rank,
                               c->bench.place.rank, &c->level_groups[i]));
    }
    open_shared_area(c);
    open_buffers(c);
    calibrate_read_cpus(c);
    (void)sched_getaffinity(0, sizeof(c->affinity), &c->affinity);
}

static void close_all(struct calibration *c)
{
    catena_free(c->bench.context, c->send);
    catena_free(c->bench.context, c->recv);
    if (c->bench.place.rank == 0)
        catena_free(c->bench.context, c->shared);
    for (int i = 0; i < GROUPS; i++) {
        calibrate_must(c, "freeing a group",
                       catena_group_free(&c->world_groups[i]));
        calibrate_must(c, "freeing a group",
                       catena_group_free(&c->node_groups[i]));
        calibrate_must(c, "freeing a group",
                       catena_group_free(&c->level_groups[i]));
    }
    calibrate_must(c, "freeing a group", catena_group_free(&c->pair));
    calibrate_must(c, "freeing a group", catena_group_free(&c->node));
    free(c->cpu);
}

/* Measure with the first `ranks` ranks of rank 0's node. The other ranks wait
 * in a barrier, where they soon sleep. */
static void with_ranks(struct calibration *c, int ranks,
                       void (*measure)(struct calibration *c))
{
    if (c->home && c->bench.place.local_rank < ranks) {
        calibrate_sleep(idle_s);
        measure(c);
    }
    calibrate_must(c, "barrier", catena_barrier(c->bench.world));
}

static void measure_all(struct calibration *c)
{
    int all = c->bench.place.local_size;

    calibrate_record_shape(c);
    with_ranks(c, 2, calibrate_measure_signals);
    with_ranks(c, 2, calibrate_measure_switch);
    with_ranks(c, all, calibrate_measure_copies);
    with_ranks(c, 2, calibrate_measure_poll);
    with_ranks(c, 2, calibrate_measure_call);
    with_ranks(c, all, calibrate_measure_cold);
    with_ranks(c, 1, calibrate_measure_work);
    calibrate_measure_overheads(c);
    calibrate_measure_latency(c);
    calibrate_measure_rate(c);
    calibrate_measure_gap(c);
}

/* Set the result of a parameter: its measurement of the median pass. */
static void choose(struct calibration *c, enum parameter parameter)
{
    struct measurement *result = &c->result[parameter];
    double values[PASSES], middle;
    size_t used;

    for (int pass = 0; pass < PASSES; pass++)
        values[pass] = c->measured[pass][parameter].value;
    middle = calibrate_median(values, PASSES);
    for (int pass = 0; pass < PASSES; pass++)
        if (c->measured[pass][parameter].value == middle)
            *result = c->measured[pass][parameter];
    result->lowest = values[0];
    result->highest = values[PASSES - 1];
    used = strlen(result->source);
    if (result->lowest < result->highest)
        snprintf(result->source + used, sizeof(result->source) - used,
                 "; median of %d passes that gave %.4g to %.4g", PASSES,
                 result->lowest, result->highest);
}

_Static_assert(PASSES % 2 == 1, "one pass has the median");

/* Set all results. L is the time of a message less both overheads, so these are
 * chosen first. */
static void choose_all(struct calibration *c)
{
    double overheads;

    choose(c, SEND_OVERHEAD);
    choose(c, RECEIVE_OVERHEAD);
    overheads =
        c->result[SEND_OVERHEAD].value + c->result[RECEIVE_OVERHEAD].value;
    for (c->pass = 0; c->pass < PASSES; c->pass++) {
        double ns = c->message_ns[c->pass] - overheads;

        calibrate_record(
            c, LATENCY, ns > 1 ? ns : 1,
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
        code = calibrate_try_path(path);
    if (bench_max(&c->bench, (uint64_t)code) != BENCH_OK)
        return BENCH_FAILED;
    open_all(c);
    for (c->pass = 0; c->pass < PASSES; c->pass++)
        measure_all(c);
    choose_all(c);
    if (c->bench.place.rank == 0)
        code = calibrate_report(c, path);
    close_all(c);
    return (int)bench_max(&c->bench, (uint64_t)code);
}

int bench_calibrate(catena_context_t *context, const char *path)
{
    struct calibration c = {.bench.context = context,
                            .bench.place.size = sizeof(catena_place_t)};
    int code;

    calibrate_must(&c, "place", catena_get_place(context, &c.bench.place));
    c.bench.world = catena_world(context);
    calibrate_must(&c, "group",
                   catena_group_dup(c.bench.world, &c.bench.control));
    code = calibrate(&c, path);
    calibrate_must(&c, "freeing a group", catena_group_free(&c.bench.control));
    return code;
}
