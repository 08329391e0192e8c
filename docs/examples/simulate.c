/* An alltoall on a simulated machine: 64 nodes of 16 ranks, in this process.
 * The ranks' program is that of a real rank; only the configuration of
 * catena_init has another source.
 *
 * cc -std=c17 simulate.c -o simulate $(pkg-config --cflags --libs catena-sim)
 */
#include <catena/catena.h>
#include <catena/sim.h>
#include <stdio.h>

static int rank_main(const catena_config_t *config, void *argument)
{
    double *slowest = argument; /* all ranks are in this process */
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    size_t size = (size_t)catena_group_size(world);
    int *send = catena_calloc(context, size, sizeof(*send));
    int *receive = catena_calloc(context, size, sizeof(*receive));
    for (size_t i = 0; i < size; i++) {
        send[i] = catena_group_rank(world);
    }
    catena_barrier(world);
    double begin = catena_time(context);
    catena_status_t status =
        catena_alltoall(send, 1, CATENA_INT32, receive, 1, CATENA_INT32, world);
    double seconds = catena_time(context) - begin;
    if (seconds > *slowest) {
        *slowest = seconds;
    }
    for (size_t i = 0; i < size; i++) {
        if (status == CATENA_OK && receive[i] != (int)i) {
            status = CATENA_ERR_STATE;
        }
    }
    catena_free(context, send);
    catena_free(context, receive);
    catena_finalize(&context);
    return status != CATENA_OK;
}

int main(void)
{
    double slowest = 0;
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-b",
                                  .nodes = 64,
                                  .ppn = 16,
                                  .seed = 1};
    catena_sim_report_t report = {.size = sizeof(report)};
    catena_status_t status =
        catena_sim_run(&params, rank_main, &slowest, &report);
    if (status != CATENA_OK || report.failed_ranks > 0) {
        fprintf(stderr, "simulate: %s, %d ranks failed\n",
                catena_status_string(status), report.failed_ranks);
        return 1;
    }
    printf("1024 ranks on hpc-b: %.1f us, first call; %llu messages in all\n",
           slowest * 1e6, (unsigned long long)report.messages);
    return 0;
}
