/* The network between nodes: LogGP parameters, from the direct alltoall and the
 * barrier. Each is measured over all ranks and, to subtract what happens within
 * nodes, over the ranks of each node. */

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/parts.h"

/* ---- L and both overheads (o): only node leaders are awake ---- */

enum { QUIET_TIMES = 101, TESTS = 2, BARRIERS = 7 };
static const double sleep_s = 0.0005; /* until other ranks are ready */

/* Wait without sleeping. */
static void spin(double ns)
{
    double end = calibrate_wall_ns() + ns;

    while (calibrate_wall_ns() < end)
        ;
}

/* Time of a barrier of the node leaders, as a mean over consecutive barriers.
 * The first one is not timed, because they enter it at different times. */
static double barrier_chain(struct calibration *c, int count)
{
    double begin = 0;

    calibrate_must(c, "barrier", catena_barrier(c->bench.world));
    if (!calibrate_is_leader(c))
        return 0;
    calibrate_sleep(sleep_s);
    for (int i = 0; i <= count; i++) {
        if (i == 1)
            begin = calibrate_wall_ns();
        calibrate_must(c, "barrier", catena_barrier(c->level_groups[0]));
    }
    return (calibrate_wall_ns() - begin) / count;
}

/* Bind leaders of nodes on the same host, which must not share a processor. */
static void bind_leader(const struct calibration *c)
{
    if (c->emulated && calibrate_is_leader(c))
        (void)calibrate_bind_to(&c->cpu[c->bench.place.node % c->cpus]);
}

static double cpu_ns(void)
{
    return calibrate_now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Start an alltoall of 8 bytes, and let it send: what it cannot send at once it
 * sends in the first tests. */
static void start(struct calibration *c, catena_group_t *group,
                  catena_request_t **request)
{
    int done;

    calibrate_must(c, "alltoall",
                   catena_ialltoall(c->send, 8, CATENA_BYTE, c->recv, 8,
                                    CATENA_BYTE, group, request));
    for (int i = 0; i < TESTS && *request != NULL; i++)
        calibrate_must(c, "test", catena_request_test(request, &done));
}

/* Processor time of rank 0 to start an alltoall of 8 bytes of the node leaders,
 * which sends a message to each; as a mean over the groups. The other leaders
 * come later. The start on the first group is not timed; it warms the caches.
 */
static double time_start(struct calibration *c)
{
    catena_request_t *request[GROUPS];
    double begin = 0, ns;

    calibrate_must(c, "barrier", catena_barrier(c->bench.world));
    if (!calibrate_is_leader(c))
        return 0;
    if (c->bench.place.rank != 0)
        calibrate_sleep(sleep_s);
    for (int i = 0; i < GROUPS; i++) {
        if (i == 1)
            begin = cpu_ns();
        start(c, c->level_groups[i], &request[i]);
    }
    ns = (cpu_ns() - begin) / (GROUPS - 1);
    calibrate_must(c, "alltoall", catena_request_waitall(GROUPS, request));
    return ns;
}

/* Processor time to complete such an alltoall after all its data has arrived.
 */
static double time_wait(struct calibration *c)
{
    catena_request_t *request;
    double begin;

    calibrate_must(c, "barrier", catena_barrier(c->bench.world));
    if (!calibrate_is_leader(c))
        return 0;
    start(c, c->level_groups[0], &request);
    calibrate_sleep(sleep_s);
    spin(20000); /* until the clock frequency has recovered: 20 us */
    begin = cpu_ns();
    calibrate_must(c, "alltoall", catena_request_wait(&request));
    return cpu_ns() - begin;
}

void calibrate_measure_overheads(struct calibration *c)
{
    double times[2][QUIET_TIMES];
    int far = c->bench.place.nodes - 1; /* a message to and from each */

    bind_leader(c);
    for (int i = -2; i < QUIET_TIMES; i++) {
        int t = i < 0 ? 0 : i; /* the first calls, which connect, don't count */

        times[0][t] = time_start(c);
        times[1][t] = time_wait(c);
    }
    calibrate_unbind(c);
    calibrate_record(
        c, SEND_OVERHEAD, calibrate_median(times[0], QUIET_TIMES) / far,
        "measured: processor time to start a catena_ialltoall of 8 bytes "
        "between %d nodes, a rank each, and to test it %d times, before others "
        "start, by %d messages; median of %d times %d",
        far + 1, TESTS, far, QUIET_TIMES, GROUPS - 1);
    calibrate_record(
        c, RECEIVE_OVERHEAD, calibrate_median(times[1], QUIET_TIMES) / far,
        "measured: processor time of catena_request_wait for such an alltoall "
        "when all had arrived, by %d messages; median of %d",
        far, QUIET_TIMES);
}

/* In each round of a barrier every node leader sends one message to another
 * node. */
void calibrate_measure_latency(struct calibration *c)
{
    double times[QUIET_TIMES];
    double rounds = ceil(log2(c->bench.place.nodes));

    bind_leader(c);
    barrier_chain(c, BARRIERS);
    for (int i = 0; i < QUIET_TIMES; i++)
        times[i] = barrier_chain(c, BARRIERS);
    calibrate_unbind(c);
    c->message_ns[c->pass] = calibrate_median(times, QUIET_TIMES) / rounds;
    snprintf(c->message_source[c->pass], sizeof(c->message_source[0]),
             "catena_barrier between %d nodes, a rank each (%.0f ns), in %.0f "
             "round%s; median of %d times %d",
             c->bench.place.nodes, c->message_ns[c->pass] * rounds, rounds,
             rounds > 1 ? "s" : "", QUIET_TIMES, BARRIERS);
}

/* ---- G and g: all ranks are busy ---- */

enum {
    BUSY_TIMES = 31,
    SIZES = 5,
    BUSY_MOST = 16 << 20 /* bytes of a buffer */
};

/* The largest block, a power of two from 1 KiB to 1 MiB: blocks for all ranks
 * must not exceed BUSY_MOST, except those of 1 KiB. */
size_t calibrate_most_bytes(const struct calibration *c)
{
    size_t bytes = 1 << 20;

    while (bytes > 1024 && bytes * (size_t)c->bench.place.ranks > BUSY_MOST)
        bytes /= 2;
    return bytes;
}

/* The time of a number of alltoalls at once, each on a group of its own. */
static double time_alltoalls(struct calibration *c, catena_group_t **groups,
                             size_t alltoalls, size_t bytes)
{
    size_t stride = bytes * (size_t)c->bench.place.ranks;
    catena_request_t *request[GROUPS];
    double begin;

    calibrate_must(c, "barrier", catena_barrier(c->bench.world));
    begin = calibrate_wall_ns();
    for (size_t i = 0; i < alltoalls; i++)
        calibrate_must(c, "alltoall",
                       catena_ialltoall(c->send + i * stride, bytes,
                                        CATENA_BYTE, c->recv + i * stride,
                                        bytes, CATENA_BYTE, groups[i],
                                        &request[i]));
    calibrate_must(c, "alltoall", catena_request_waitall(alltoalls, request));
    return calibrate_wall_ns() - begin;
}

/* The network's share of the time of these alltoalls: the time over all ranks,
 * less the time over the ranks of each node. Valid on rank 0. */
static double time_network(struct calibration *c, size_t alltoalls,
                           size_t bytes)
{
    double world[BUSY_TIMES], node[BUSY_TIMES];

    time_alltoalls(c, c->world_groups, alltoalls, bytes);
    time_alltoalls(c, c->node_groups, alltoalls, bytes);
    for (int i = 0; i < BUSY_TIMES; i++) {
        world[i] = time_alltoalls(c, c->world_groups, alltoalls, bytes);
        node[i] = time_alltoalls(c, c->node_groups, alltoalls, bytes);
    }
    bench_max_times(&c->bench, world, BUSY_TIMES);
    bench_max_times(&c->bench, node, BUSY_TIMES);
    return calibrate_median(world, BUSY_TIMES) -
           calibrate_median(node, BUSY_TIMES);
}

/* The number of messages that leave this node in a direct alltoall. */
static double messages(const struct calibration *c)
{
    const catena_place_t *place = &c->bench.place;

    return (double)place->local_size * (place->ranks - place->local_size);
}

void calibrate_measure_rate(struct calibration *c)
{
    size_t most = calibrate_most_bytes(c);
    double bytes[SIZES], times[SIZES], rate;

    for (int i = 0; i < SIZES; i++) {
        size_t block = most >> (SIZES - 1 - i);

        bytes[i] = messages(c) * (double)block;
        times[i] = time_network(c, 1, block);
    }
    rate = 1e3 / calibrate_fit_slope(bytes, times, SIZES);
    calibrate_record(
        c, NODE_RATE, rate,
        "fitted: to catena_alltoall, direct, over all ranks, less the same "
        "on the nodes, with %d blocks of %zu to %zu bytes from each node; "
        "least squares over %d sizes, medians of %d, in turns; includes "
        "what sending and receiving cores copy",
        (int)messages(c), most >> (SIZES - 1), most, SIZES, BUSY_TIMES);
    calibrate_record(
        c, PORT_RATE, rate,
        "as node_MBps: all ranks of a node were measured together, as "
        "users of one port");
    calibrate_record(
        c, PORTS, 1,
        "set: not measured; port_MBps and node_MBps take the network for "
        "one port");
}

void calibrate_measure_gap(struct calibration *c)
{
    static const size_t alltoalls[] = {1, 2, 4, GROUPS};
    enum { POINTS = sizeof(alltoalls) / sizeof(alltoalls[0]) };
    double count[POINTS], times[POINTS], slope;

    for (int i = 0; i < POINTS; i++) {
        count[i] = messages(c) * (double)alltoalls[i];
        times[i] = time_network(c, alltoalls[i], 8);
    }
    slope = calibrate_fit_slope(count, times, POINTS);
    calibrate_record(
        c, GAP, slope > 1 ? slope : 1,
        "fitted: to 1 to %d direct alltoalls of 8 bytes at once, over all "
        "ranks, less the same on the nodes, per message that leaves a node; "
        "an upper bound, as the cores' time for it is contained; medians of "
        "%d, in turns",
        GROUPS, BUSY_TIMES);
}
