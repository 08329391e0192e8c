/* Throughput of gathering on a simulated node: 1, 2, 4 or 8 leaders each fetch
 * a block from every rank of the node, the leaders being its first ranks, or
 * spread over it. Prints machine,placement,leaders,bytes,MBps. */

#include <catena/catena.h>
#include <catena/sim.h>
#include <stdio.h>
#include <string.h>

enum { CALLS = 8 };

typedef struct gather {
    int leaders;
    int spread;
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
    unsigned char *block = catena_calloc(context, 1, gather->bytes);
    unsigned char *all = catena_calloc(context, (size_t)ranks, gather->bytes);
    uint64_t offset;
    catena_heap_offset(context, block, &offset);
    catena_barrier(world);
    double begin = catena_time(context);
    for (int call = 0; call < CALLS && leads(gather, rank, ranks); call++) {
        for (int r = 0; r < ranks; r++) {
            catena_node_get(context, r, offset, all + (size_t)r * gather->bytes,
                            gather->bytes);
        }
    }
    double seconds = catena_time(context) - begin;
    gather->slowest = seconds > gather->slowest ? seconds : gather->slowest;
    catena_barrier(world);
    catena_free(context, block);
    catena_free(context, all);
    return catena_finalize(&context) != CATENA_OK;
}

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
    printf("%s,%s,%d,%zu,%.0f\n", machine, gather.spread ? "spread" : "packed",
           gather.leaders, gather.bytes,
           CALLS * (double)gather.leaders * ranks * (double)gather.bytes /
               gather.slowest * 1e-6);
    return 0;
}

int main(void)
{
    static const struct {
        const char *name;
        int ranks;
    } machines[] = {{"hpc-a", 32}, {"hpc-b", 24}};
    int failed = 0;
    puts("machine,placement,leaders,bytes,MBps");
    for (int m = 0; m < 2; m++) {
        for (int leaders = 1; leaders <= 8; leaders *= 2) {
            for (size_t bytes = 64; bytes <= 65536; bytes *= 4) {
                for (int spread = 0; spread < 2; spread++) {
                    failed |= run(machines[m].name, machines[m].ranks,
                                  (gather_t){leaders, spread, bytes, 0});
                }
            }
        }
    }
    return failed;
}
