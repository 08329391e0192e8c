/* Throughput of gathering and of scattering on a simulated node: 1, 2, 4 or 8
 * leaders each fetch a block from every rank of the node, or store one there,
 * the leaders being its first ranks, or spread over it.
 *
 *   gather [MACHINE RANKS]     default: hpc-a and hpc-b, a rank on each core */

#include <catena/catena.h>
#include <catena/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 8 };

typedef struct gather {
    int leaders;
    int spread;
    int scatters;
    size_t bytes;
    double slowest;
} gather_t;

static int leads(const gather_t *gather, int rank, int ranks)
{
    int distance = gather->spread ? ranks / gather->leaders : 1;
    return rank % distance == 0 && rank / distance < gather->leaders;
}

static int rank_main(const catena_config_t *config, void *argument)
{
    gather_t *gather = argument;
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    int ranks = catena_group_size(world);
    int rank = catena_group_rank(world);
    /* Taken in the same order by all: at the same offset everywhere. */
    unsigned char *block =
        catena_calloc(context, (size_t)gather->leaders, gather->bytes);
    unsigned char *all = catena_calloc(context, (size_t)ranks, gather->bytes);
    uint64_t offset;
    catena_heap_offset(context, block, &offset);
    int distance = gather->spread ? ranks / gather->leaders : 1;
    offset += gather->scatters ? (size_t)(rank / distance) * gather->bytes : 0;
    catena_barrier(world);
    double begin = catena_time(context);
    for (int call = 0; call < CALLS && leads(gather, rank, ranks); call++) {
        for (int r = 0; r < ranks; r++) {
            unsigned char *own = all + (size_t)r * gather->bytes;
            if (gather->scatters) {
                catena_node_put(context, r, offset, own, gather->bytes);
            } else {
                catena_node_get(context, r, offset, own, gather->bytes);
            }
        }
    }
    double seconds = catena_time(context) - begin;
    gather->slowest = seconds > gather->slowest ? seconds : gather->slowest;
    catena_barrier(world);
    catena_free(context, block);
    catena_free(context, all);
    return catena_finalize(&context) != CATENA_OK;
}

/** Print ",MBps". */
static int run(const char *machine, int ranks, gather_t gather)
{
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = machine,
                                  .nodes = 1,
                                  .ppn = ranks,
                                  .seed = 1};
    catena_sim_report_t report = {.size = sizeof(report)};
    if (catena_sim_run(&params, rank_main, &gather, &report) != CATENA_OK ||
        report.failed_ranks > 0) {
        return 1;
    }
    printf(",%.0f", CALLS * (double)gather.leaders * ranks *
                        (double)gather.bytes / gather.slowest * 1e-6);
    return 0;
}

/** Print the rows of a machine. */
static int run_all(const char *machine, int ranks)
{
    int failed = 0;
    for (int leaders = 1; leaders <= 8 && leaders <= ranks; leaders *= 2) {
        for (size_t bytes = 64; bytes <= 65536; bytes *= 4) {
            for (int spread = 0; spread < 2; spread++) {
                printf("%s,%s,%d,%zu", machine, spread ? "spread" : "packed",
                       leaders, bytes);
                for (int scatters = 0; scatters < 2; scatters++) {
                    failed |=
                        run(machine, ranks,
                            (gather_t){leaders, spread, scatters, bytes, 0});
                }
                puts("");
            }
        }
    }
    return failed;
}

int main(int argc, char **argv)
{
    puts("machine,placement,leaders,bytes,gather_MBps,scatter_MBps");
    return argc == 3 ? run_all(argv[1], atoi(argv[2]))
                     : run_all("hpc-a", 32) | run_all("hpc-b", 24);
}
