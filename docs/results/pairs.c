/* Throughput between two simulated nodes: the i-th rank of one node sends to
 * the i-th rank of the other, all pairs at the same time, each through its own
 * endpoint, one message after the other. pairs MACHINE PORTS SENDERS BYTES...
 * prints bytes,us,MBps: the time of a message of each pair, and the bytes of
 * all pairs in that time. */

#include <catena/catena.h>
#include <catena/sim.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 32 };

typedef struct pairs {
    int senders;
    size_t bytes;
    double slowest;
} pairs_t;

static void send_all(catena_group_t *pair, unsigned char *data, size_t bytes,
                     int sends, int messages)
{
    const size_t none[2] = {0, 0};
    const size_t one[2] = {sends ? 0 : bytes, sends ? bytes : 0};
    const ptrdiff_t at[2] = {0, 0};
    for (int m = 0; m < messages; m++) {
        catena_alltoallv(data, sends ? one : none, at, CATENA_BYTE, data,
                         sends ? none : one, at, CATENA_BYTE, pair);
    }
}

static int rank_main(const catena_config_t *config, void *argument)
{
    pairs_t *pairs = argument;
    catena_context_t *context;
    catena_group_t *pair;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int rank = catena_group_rank(world);
    int sends = rank < pairs->senders;
    unsigned char *data = catena_calloc(context, 1, pairs->bytes);
    if (data == NULL || catena_group_split(world, rank % pairs->senders, rank,
                                           &pair) != CATENA_OK) {
        return 1;
    }
    catena_group_set(pair, "alltoall_algorithm", "direct");
    send_all(pair, data, pairs->bytes, sends, 4); /* connects */
    catena_barrier(world);
    double begin = catena_time(context);
    send_all(pair, data, pairs->bytes, sends, MESSAGES);
    double seconds = catena_time(context) - begin;
    pairs->slowest = seconds > pairs->slowest ? seconds : pairs->slowest;
    catena_barrier(world);
    catena_group_free(&pair);
    catena_free(context, data);
    return catena_finalize(&context) != CATENA_OK;
}

int main(int argc, char **argv)
{
    catena_sim_params_t params = {
        .size = sizeof(params), .nodes = 2, .seed = 1};
    if (argc < 5) {
        fputs("usage: pairs MACHINE PORTS SENDERS BYTES...\n", stderr);
        return 2;
    }
    params.machine = argv[1];
    params.ports = atoi(argv[2]);
    params.ppn = atoi(argv[3]);
    puts("bytes,us,MBps");
    for (int i = 4; i < argc; i++) {
        pairs_t pairs = {params.ppn, strtoul(argv[i], NULL, 10), 0};
        catena_sim_report_t report = {.size = sizeof(report)};
        if (catena_sim_run(&params, rank_main, &pairs, &report) != CATENA_OK ||
            report.failed_ranks > 0) {
            return 1;
        }
        double us = pairs.slowest / MESSAGES * 1e6;
        printf("%zu,%.4f,%.1f\n", pairs.bytes, us,
               (double)pairs.senders * (double)pairs.bytes / us);
    }
    return 0;
}
