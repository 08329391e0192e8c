/* The weighted mesh of [Hoefler]: a mesh with open borders in which a rank has
 * at most one heavy neighbor, in two quarters of it along one dimension, in the
 * others along the other. On nodes of a simulated machine with one port. How
 * long an exchange takes in dimension order, in rounds made from the weights,
 * all at once, and as catena selects.
 *
 * mesh: 4 x 4, of hpc-b. Prints
 * schedule,rounds,heavy_rounds,light_bytes,heavy_bytes,us.
 * mesh FILE: larger ones, also without heavy neighbors, of a machine that may
 * have a buffer, which catena is told of. Prints
 * mesh,ppn,heavy,light_bytes,auto,direct_us,colored_us,auto_us; ppn: ranks on a
 * node, side by side in a row of the mesh; auto: what catena selects. */

#include <catena/catena.h>
#include <catena/sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, CALLS = 5, HEAVY = 16, MOST_RANKS = 128 };

typedef struct schedule {
    const char *name;
    const char *algorithm;
    int dims[2];
    int ppn;      /* ranks on a node */
    int heavy;    /* how much more a heavy message has */
    int weighted; /* catena is told the weights */
    size_t light; /* bytes of a light message */
    catena_neighborhood_stats_t stats;
    double slowest;
} schedule_t;

/** Pairs lie side by side in two quarters of the mesh, above each other in the
 * others. Some ranks at a border have no partner. */
static int is_partner(const schedule_t *schedule, int rank, int other)
{
    int columns = schedule->dims[1];
    int row = rank / columns;
    int column = rank % columns;
    int upper = row < schedule->dims[0] / 4 * 2;
    int left = column < columns / 4 * 2;
    return other >= 0 &&
           (upper == left ? other == row * columns + (column ^ 1)
                          : other == (row ^ 1) * columns + column);
}

/** The weights of a rank's neighbors, in the order of a grid. */
static void weigh(const schedule_t *schedule, int rank, int weights[MOST])
{
    int columns = schedule->dims[1];
    const int other[MOST] = {rank - columns, rank + columns, rank - 1,
                             rank + 1};
    for (int i = 0; i < MOST; i++) {
        weights[i] = is_partner(schedule, rank, other[i]) ? schedule->heavy : 1;
    }
}

static catena_status_t make(const schedule_t *schedule, catena_group_t *world,
                            catena_neighborhood_t **mesh)
{
    static const int periods[] = {0, 0};
    int weights[MOST];
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .algorithm = schedule->algorithm,
                                       .bytes = schedule->light};
    weigh(schedule, catena_group_rank(world), weights);
    if (schedule->weighted) {
        info.weights = weights;
    }
    return catena_cart_create(world, 2, schedule->dims, periods, 0, &info,
                              mesh);
}

static catena_status_t exchange(const schedule_t *schedule,
                                unsigned char *blocks,
                                catena_neighborhood_t *mesh)
{
    size_t most = schedule->light * HEAVY;
    int weights[MOST];
    size_t counts[MOST];
    ptrdiff_t at[MOST];
    weigh(schedule, catena_group_rank(catena_neighborhood_group(mesh)),
          weights);
    for (int i = 0; i < MOST; i++) {
        counts[i] = schedule->light * (size_t)weights[i];
        at[i] = (ptrdiff_t)most * i;
    }
    return catena_neighbor_alltoallv(blocks, counts, at, CATENA_BYTE,
                                     blocks + MOST * most, counts, at,
                                     CATENA_BYTE, mesh);
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

static int run(const char *machine, schedule_t *schedule)
{
    int ranks = schedule->dims[0] * schedule->dims[1];
    int node_of[MOST_RANKS];
    for (int r = 0; r < ranks; r++) {
        node_of[r] = r / schedule->ppn;
    }
    catena_sim_params_t params = {.size = sizeof(params),
                                  .machine = machine,
                                  .nodes = node_of[ranks - 1] + 1,
                                  .ranks = ranks,
                                  .node_of = node_of,
                                  .ports = 1,
                                  .payload = CATENA_SIM_SIZES,
                                  .seed = 1};
    catena_sim_report_t report = {.size = sizeof(report)};
    if (catena_sim_run(&params, rank_main, schedule, &report) != CATENA_OK ||
        report.failed_ranks > 0) {
        fprintf(stderr, "mesh: %s failed\n", schedule->name);
        return 1;
    }
    return 0;
}

/* Not told of weights, catena takes a grid in dimension order. */
static int small_mesh(size_t light)
{
    schedule_t schedules[] = {
        {.name = "dimension order", .algorithm = "colored"},
        {.name = "by weight", .algorithm = "colored", .weighted = 1},
        {.name = "all at once", .algorithm = "direct"}};
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        schedule_t *s = &schedules[i];
        s->dims[0] = s->dims[1] = 4;
        s->ppn = 1;
        s->heavy = HEAVY;
        s->light = light;
        failed |= run("hpc-b", s);
        printf("%s,%u,%u,%zu,%zu,%.2f\n", s->name, s->stats.rounds,
               s->stats.heavy_rounds, light, light * HEAVY, s->slowest * 1e6);
    }
    return failed;
}

static int large_mesh(const char *machine, const int dims[2], int ppn,
                      int heavy, size_t light)
{
    schedule_t schedules[] = {{.name = "all at once", .algorithm = "direct"},
                              {.name = "by weight", .algorithm = "colored"},
                              {.name = "as selected", .algorithm = "auto"}};
    int failed = 0;
    for (int i = 0; i < 3; i++) {
        schedule_t *s = &schedules[i];
        memcpy(s->dims, dims, sizeof(s->dims));
        s->ppn = ppn;
        s->heavy = heavy;
        s->weighted = 1;
        s->light = light;
        failed |= run(machine, s);
    }
    printf("%dx%d,%d,%d,%zu,%s,%.2f,%.2f,%.2f\n", dims[0], dims[1], ppn, heavy,
           light, schedules[2].stats.algorithm, schedules[0].slowest * 1e6,
           schedules[1].slowest * 1e6, schedules[2].slowest * 1e6);
    return failed;
}

int main(int argc, char **argv)
{
    static const struct {
        int dims[2], ppn;
    } meshes[] = {{{5, 6}, 1}, {{11, 11}, 1}, {{11, 11}, 4}};
    int failed = 0;
    if (argc < 2) {
        printf("schedule,rounds,heavy_rounds,light_bytes,heavy_bytes,us\n");
        for (size_t light = 64; light <= 65536; light *= 4) {
            failed |= small_mesh(light);
        }
        return failed;
    }
    char tuning[4096];
    snprintf(tuning, sizeof(tuning), "machine:%s", argv[1]);
    setenv("CATENA_TUNING", tuning, 1);
    printf("mesh,ppn,heavy,light_bytes,auto,direct_us,colored_us,auto_us\n");
    for (int mesh = 0; mesh < 3; mesh++) {
        for (int heavy = 1; heavy <= HEAVY; heavy *= HEAVY) {
            for (size_t light = 4096; light <= 262144; light *= 4) {
                failed |= large_mesh(argv[1], meshes[mesh].dims,
                                     meshes[mesh].ppn, heavy, light);
            }
        }
    }
    return failed;
}
