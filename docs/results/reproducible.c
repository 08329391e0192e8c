/* What reproducible reductions cost: reductions of doubles on a simulated
 * machine, with CATENA_REPRODUCIBLE off and on, and what catena selects.
 * reproducible MACHINE NODES: ranks of each node, as 3+1+5 or, equal ones, 8x2.
 * Prints nodes,collective,bytes,off_us,on_us: the time of the slowest rank, of
 * a call that all ranks start at once, in the mean of some calls. */

#include <catena/catena.h>
#include <catena/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 4, MOST_RANKS = 64, MOST_BYTES = 1 << 20 };

/* From one call to the next, seconds. */
#define PERIOD 0.1

typedef struct job {
    const char *collective;
    size_t bytes;
    double us[CALLS]; /* of the slowest rank */
} job_t;

/* Of all ranks: the simulator moves no data. */
static double in[MOST_BYTES / sizeof(double)];
static double out[MOST_BYTES / sizeof(double)];

static catena_status_t reduce(const job_t *job, catena_group_t *world)
{
    size_t count = job->bytes / sizeof(double);
    size_t counts[MOST_RANKS], ranks = (size_t)catena_group_size(world);
    for (size_t i = 0; i < ranks; i++) {
        counts[i] = count * (i + 1) / ranks - count * i / ranks;
    }
    if (strcmp(job->collective, "allreduce") == 0) {
        return catena_allreduce(in, out, count, CATENA_DOUBLE, CATENA_SUM,
                                world);
    }
    if (strcmp(job->collective, "reduce") == 0) {
        return catena_reduce(in, out, count, CATENA_DOUBLE, CATENA_SUM, 0,
                             world);
    }
    if (strcmp(job->collective, "scan") == 0) {
        return catena_scan(in, out, count, CATENA_DOUBLE, CATENA_SUM, world);
    }
    return catena_reduce_scatter(in, out, counts, CATENA_DOUBLE, CATENA_SUM,
                                 world);
}

static int rank_main(const catena_config_t *config, void *argument)
{
    job_t *job = argument;
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    catena_status_t status = reduce(job, world); /* builds what it needs */
    for (int call = 0; call < CALLS && status == CATENA_OK; call++) {
        double begin = (call + 1) * PERIOD;
        if (catena_barrier(world) != CATENA_OK ||
            catena_time(context) > begin ||
            catena_compute(context, begin - catena_time(context)) !=
                CATENA_OK) {
            status = CATENA_ERR_ARG; /* the period is too short */
            break;
        }
        status = reduce(job, world);
        double us = (catena_time(context) - begin) * 1e6;
        job->us[call] = us > job->us[call] ? us : job->us[call];
    }
    return catena_finalize(&context) != CATENA_OK || status != CATENA_OK;
}

/** Set the nodes of ranks; return their number, or 0. */
static int lay_out(const char *nodes, int node_of[MOST_RANKS])
{
    int count, ppn, ranks = 0;
    if (sscanf(nodes, "%dx%d", &count, &ppn) == 2) {
        for (; ranks < count * ppn && ranks < MOST_RANKS; ranks++) {
            node_of[ranks] = ranks / ppn;
        }
        return ranks;
    }
    for (int node = 0; *nodes != '\0'; node++) {
        char *end;
        long more = strtol(nodes, &end, 10);
        if (more < 1 || more > MOST_RANKS - ranks) {
            return 0;
        }
        while (more-- > 0) {
            node_of[ranks++] = node;
        }
        nodes = end + (*end == '+');
    }
    return ranks;
}

/** @return microseconds; below 0: it failed */
static double run(const char *machine, const char *nodes, job_t job,
                  const char *setting)
{
    int node_of[MOST_RANKS];
    int ranks = lay_out(nodes, node_of);
    const char *const settings[] = {setting, NULL};
    if (ranks == 0) {
        return -1;
    }
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = machine,
                                  .nodes = node_of[ranks - 1] + 1,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .payload = CATENA_SIM_SIZES,
                                  .seed = 1,
                                  .settings = settings};
    catena_sim_report_t report = {.size = sizeof(report)};
    double us = 0;
    if (catena_sim_run(&params, rank_main, &job, &report) != CATENA_OK ||
        report.failed_ranks > 0) {
        return -1;
    }
    for (int call = 0; call < CALLS; call++) {
        us += job.us[call] / CALLS;
    }
    return us;
}

int main(int argc, char **argv)
{
    static const char *const collectives[] = {"allreduce", "reduce",
                                              "reduce_scatter", "scan"};
    static const size_t lengths[] = {8, 4096, MOST_BYTES};
    int failed = argc != 3;
    printf("nodes,collective,bytes,off_us,on_us\n");
    for (int i = 0; i < 4 * 3 && argc == 3; i++) {
        job_t job = {.collective = collectives[i / 3], .bytes = lengths[i % 3]};
        double off = run(argv[1], argv[2], job, "REPRODUCIBLE=off");
        double on = run(argv[1], argv[2], job, "REPRODUCIBLE=on");
        failed |= off <= 0 || on <= 0;
        printf("%s,%s,%zu,%.2f,%.2f\n", argv[2], job.collective, job.bytes, off,
               on);
    }
    return failed;
}
