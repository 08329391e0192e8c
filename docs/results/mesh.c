/* The weighted mesh of [Hoefler]: a 4x4 mesh with open borders in which each
 * rank has one heavy neighbor, some along one dimension, some along the other.
 * One rank on each node of a simulated machine with one port. How long an
 * exchange takes in dimension order, in rounds made from the weights, and all
 * at once. Prints schedule,rounds,heavy_rounds,light_bytes,heavy_bytes,us. */

#include <catena/catena.h>
#include <catena/sim.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 4, RANKS = SIDE * SIDE, MOST = 4, CALLS = 5, HEAVY = 16 };

typedef struct schedule {
    const char *name;
    const char *algorithm;
    int weighted; /* catena is told the weights */
    size_t light; /* bytes of a light message */
    catena_neighborhood_stats_t stats;
    double slowest;
} schedule_t;

/** Pairs lie side by side in two quarters of the mesh, above each other in the
 * others. */
static int partner(int rank)
{
    int row = rank / SIDE;
    int column = rank % SIDE;
    int side_by_side = (row < SIDE / 2) == (column < SIDE / 2);
    return side_by_side ? row * SIDE + (column ^ 1) : (row ^ 1) * SIDE + column;
}

/** The neighbors of a rank, in the order of a grid. @return how many */
static int neighbors(int rank, int list[MOST], int weights[MOST])
{
    static const int step[MOST][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    int count = 0;
    for (int i = 0; i < MOST; i++) {
        int row = rank / SIDE + step[i][0];
        int column = rank % SIDE + step[i][1];
        if (row >= 0 && row < SIDE && column >= 0 && column < SIDE) {
            list[count] = row * SIDE + column;
            weights[count] = list[count] == partner(rank) ? HEAVY : 1;
            count++;
        }
    }
    return count;
}

/** Untold of weights, catena takes a grid in dimension order. */
static catena_status_t make(schedule_t *schedule, catena_group_t *world,
                            catena_neighborhood_t **mesh)
{
    static const int dims[] = {SIDE, SIDE};
    static const int periods[] = {0, 0};
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .algorithm = schedule->algorithm};
    int list[MOST];
    int weights[MOST];
    if (!schedule->weighted) {
        return catena_cart_create(world, 2, dims, periods, 0, &info, mesh);
    }
    int count = neighbors(catena_group_rank(world), list, weights);
    return catena_neighborhood_create(world, count, list, weights, count, list,
                                      weights, &info, mesh);
}

static catena_status_t exchange(const schedule_t *schedule,
                                unsigned char *blocks,
                                catena_neighborhood_t *mesh)
{
    int rank = catena_group_rank(catena_neighborhood_group(mesh));
    int list[MOST];
    size_t counts[MOST] = {0};
    ptrdiff_t at[MOST] = {0};
    int count = 0;
    catena_neighborhood_counts(mesh, &count, &count);
    catena_neighborhood_neighbors(mesh, count, list, NULL, count, list, NULL);
    for (int i = 0; i < count; i++) {
        counts[i] = schedule->light * (list[i] == partner(rank) ? HEAVY : 1);
        at[i] = (ptrdiff_t)(schedule->light * HEAVY) * i;
    }
    return catena_neighbor_alltoallv(blocks, counts, at, CATENA_BYTE,
                                     blocks + MOST * HEAVY * schedule->light,
                                     counts, at, CATENA_BYTE, mesh);
}

static int rank_main(const catena_config_t *config, void *argument)
{
    schedule_t *schedule = argument;
    catena_context_t *context;
    if (catena_init(config, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    catena_neighborhood_t *mesh = NULL;
    unsigned char *blocks =
        catena_calloc(context, 2 * MOST, HEAVY * schedule->light);
    catena_status_t status = make(schedule, world, &mesh);
    for (int call = 0; call < CALLS && status == CATENA_OK; call++) {
        catena_barrier(world);
        double begin = catena_time(context);
        status = exchange(schedule, blocks, mesh);
        double seconds = catena_time(context) - begin;
        if (call == CALLS - 1 && seconds > schedule->slowest) {
            schedule->slowest = seconds;
        }
    }
    if (mesh != NULL) {
        schedule->stats.size = sizeof(schedule->stats);
        catena_neighborhood_get_stats(mesh, &schedule->stats);
        catena_neighborhood_free(&mesh);
    }
    catena_free(context, blocks);
    return catena_finalize(&context) != CATENA_OK || status != CATENA_OK;
}

static int run(schedule_t schedule)
{
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = "hpc-b",
                                  .nodes = RANKS,
                                  .ppn = 1,
                                  .ports = 1,
                                  .seed = 1};
    catena_sim_report_t report = {.size = sizeof(report)};
    if (catena_sim_run(&params, rank_main, &schedule, &report) != CATENA_OK ||
        report.failed_ranks > 0) {
        fprintf(stderr, "mesh: %s failed\n", schedule.name);
        return 1;
    }
    printf("%s,%u,%u,%zu,%zu,%.2f\n", schedule.name, schedule.stats.rounds,
           schedule.stats.heavy_rounds, schedule.light, schedule.light * HEAVY,
           schedule.slowest * 1e6);
    return 0;
}

int main(void)
{
    int failed = 0;
    printf("schedule,rounds,heavy_rounds,light_bytes,heavy_bytes,us\n");
    for (size_t light = 64; light <= 65536; light *= 4) {
        failed |= run((schedule_t){
            .name = "dimension order", .algorithm = "colored", .light = light});
        failed |= run((schedule_t){.name = "by weight",
                                   .algorithm = "colored",
                                   .weighted = 1,
                                   .light = light});
        failed |= run((schedule_t){
            .name = "all at once", .algorithm = "direct", .light = light});
    }
    return failed;
}
