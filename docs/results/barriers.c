/* The mean time of a barrier on a simulated node, measured as in [Graham],
 * section 4.1: a loop of 10,000 barriers, the mean of rank 0. An untimed
 * barrier precedes the loop, so that all ranks begin together. Prints
 * microseconds.
 *
 *   barriers MACHINE RANKS CORES OVERHEAD [SETTING...]
 *
 * CORES: of the ranks, such as 0,1,4. OVERHEAD: of software at each end of a
 * message within the node: none, flag_overhead_ns or message_overhead_ns, which
 * the machine file has. */
#include <catena/catena.h>
#include <catena/model.h>
#include <catena/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 10000 };

static void die(const char *what)
{
    fprintf(stderr, "barriers: %s\n", what);
    exit(1);
}

/** Run all barriers. @return the mean in microseconds */
static double mean_us(const catena_context_t *context, catena_group_t *world)
{
    if (catena_barrier(world) != CATENA_OK) {
        die("the first barrier failed");
    }
    double begin = catena_time(context);
    for (int call = 0; call < CALLS; call++) {
        if (catena_barrier(world) != CATENA_OK) {
            die("a barrier failed");
        }
    }
    return (catena_time(context) - begin) / CALLS * 1e6;
}

static int rank_main(const catena_config_t *config, void *argument)
{
    catena_context_t *context;
    (void)argument;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    double us = mean_us(context, world);
    if (catena_group_rank(world) == 0) {
        printf("%.4f\n", us);
    }
    return catena_finalize(&context) != CATENA_OK;
}

/** The overhead in seconds. */
static double overhead_of(const char *name, const char *parameter)
{
    catena_machine_t *machine;
    double ns = 0;
    if (strcmp(parameter, "none") == 0) {
        return 0;
    }
    if (catena_machine_open(name, &machine) != CATENA_OK ||
        catena_machine_get(machine, "work", parameter, &ns) != CATENA_OK ||
        ns == 0) {
        die("the machine has no such overhead");
    }
    catena_machine_close(&machine);
    return ns * 1e-9;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    int cores[MOST];
    int count = 0;
    if (argc < 5) {
        die("expected MACHINE RANKS CORES OVERHEAD [SETTING...]");
    }
    for (char *word = strtok(argv[3], ","); word != NULL && count < MOST;
         word = strtok(NULL, ",")) {
        cores[count++] = atoi(word);
    }
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = argv[1],
                                  .nodes = 1,
                                  .ppn = atoi(argv[2]),
                                  .cores = cores,
                                  .core_count = count,
                                  .seed = 1,
                                  .node_overhead_s =
                                      overhead_of(argv[1], argv[4]),
                                  .settings = (const char *const *)argv + 5};
    catena_sim_report_t report = {.size = sizeof(report)};
    if (catena_sim_run(&params, rank_main, NULL, &report) != CATENA_OK ||
        report.failed_ranks > 0) {
        die("the simulation failed");
    }
    return 0;
}
