/* Simulated runs from seeds: each draws what is tested, how many ranks on
 * which nodes of which machine, sizes, and the order of everything that has
 * none. usage: sim_random FIRST COUNT [MOST_RANKS] */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/rank_test.h"

enum { MOST_RANKS = 200, MOST_BYTES = 3000000, IN_FLIGHT = 4 };

static const char *const machines[] = {"hpc-a",  "hpc-b",  "dawn",
                                       "sierra", "jaguar", "smoky"};
static const char *const algorithms[] = {"direct", "l-a2a",  "mpml",
                                         "nmpml",  "onmpml", "auto"};

typedef struct draw draw_t;

typedef struct kind {
    const char *name;
    void (*run)(rank_test_t *test, draw_t *draw, uint64_t random);
    bool kills;
} kind_t;

/** One seed's job. The ranks share it: they are one process. */
struct draw {
    uint64_t seed;
    const kind_t *kind;
    const char *machine;
    int ranks;
    int nodes;
    int *node_of;
    double *entered; /* [ranks]: virtual time */
    unsigned long errors;
    bool through; /* some rank ended without an error */
};

/* ---- what is tested ---- */

/** Sizes between nothing and what all ranks together may take. */
static size_t draw_count(const draw_t *draw, uint64_t *random, int ranks)
{
    double most = (double)MOST_BYTES / ((double)draw->ranks * ranks);
    size_t limit = most < 1 ? 1 : (size_t)most;
    size_t count = limit >> rank_random(random) % 20;
    return rank_random(random) % 16 == 0 ? 0 : count;
}

static void draw_exchange(rank_test_t *test, const draw_t *draw,
                          uint64_t *random, catena_group_t *group,
                          rank_exchange_t *x)
{
    uint64_t own = rank_random(random) + (uint64_t)test->place.rank;
    uint64_t place = rank_random(&own);
    char leaders[8];
    *x = (rank_exchange_t){
        .group = group,
        .count = draw_count(draw, random, catena_group_size(group)),
        .type = CATENA_BYTE,
        .send_memory = (rank_memory_t)(place & 1),
        .receive_memory = (rank_memory_t)(place >> 1 & 1),
        .in_place = rank_random(random) % 4 == 0,
    };
    snprintf(leaders, sizeof(leaders), "%d",
             (int)(rank_random(random) % 5) + 1);
    catena_group_set(group, "alltoall_algorithm",
                     algorithms[rank_random(random) % 6]);
    catena_group_set(group, "alltoall_leaders", leaders);
    rank_exchange_open(test, x);
    rank_exchange_fill(test, x, rank_random(random));
}

static void pause_somewhere(rank_test_t *test, uint64_t shared)
{
    uint64_t own = shared ^ (uint64_t)test->place.rank * 977;
    if (rank_random(&own) % 3 == 0) {
        rank_pause(test, (double)(rank_random(&own) % 50));
    }
}

static void exchanges(rank_test_t *test, draw_t *draw, uint64_t random)
{
    for (int i = 0; i < 6; i++) {
        rank_exchange_t x;
        draw_exchange(test, draw, &random, test->world, &x);
        pause_somewhere(test, random);
        RANK_CHECK(test,
                   catena_alltoall(rank_exchange_source(&x), x.receive, x.count,
                                   x.type, test->world) == CATENA_OK);
        rank_exchange_check(test, &x, draw->kind->name);
        rank_exchange_close(test, &x);
    }
}

static void in_flight(rank_test_t *test, draw_t *draw, uint64_t random)
{
    for (int round = 0; round < 2; round++) {
        rank_exchange_t x[IN_FLIGHT];
        for (int i = 0; i < IN_FLIGHT; i++) {
            draw_exchange(test, draw, &random, test->world, &x[i]);
            pause_somewhere(test, random);
            RANK_CHECK(test, catena_ialltoall(rank_exchange_source(&x[i]),
                                              x[i].receive, x[i].count,
                                              x[i].type, test->world,
                                              &x[i].request) == CATENA_OK);
        }
        for (int i = IN_FLIGHT; i-- > 0;) {
            int done = rank_random(&random) % 2 == 0;
            while (!done) {
                RANK_CHECK(test,
                           catena_test(&x[i].request, &done) == CATENA_OK);
            }
            RANK_CHECK(test, catena_wait(&x[i].request) == CATENA_OK);
            rank_exchange_check(test, &x[i], draw->kind->name);
            rank_exchange_close(test, &x[i]);
        }
    }
}

static void persistent(rank_test_t *test, draw_t *draw, uint64_t random)
{
    rank_exchange_t x;
    draw_exchange(test, draw, &random, test->world, &x);
    RANK_CHECK(test, catena_alltoall_init(rank_exchange_source(&x), x.receive,
                                          x.count, x.type, test->world,
                                          &x.request) == CATENA_OK);
    for (int i = 0; i < 5; i++) {
        rank_exchange_fill(test, &x, rank_random(&random));
        pause_somewhere(test, random);
        RANK_CHECK(test, catena_start(x.request) == CATENA_OK);
        RANK_CHECK(test, catena_wait(&x.request) == CATENA_OK);
        rank_exchange_check(test, &x, draw->kind->name);
    }
    RANK_CHECK(test, catena_request_free(&x.request) == CATENA_OK);
    rank_exchange_close(test, &x);
}

static void groups(rank_test_t *test, draw_t *draw, uint64_t random)
{
    catena_group_t *dup = NULL;
    catena_group_t *node = NULL;
    uint64_t own = random + (uint64_t)test->place.rank;
    int key = (int)(rank_random(&own) % 9);
    RANK_CHECK(test, catena_group_dup(test->world, &dup) == CATENA_OK);
    RANK_CHECK(test, catena_group_split_level(dup, CATENA_LEVEL_NODE, key,
                                              &node) == CATENA_OK);
    RANK_CHECK(test, catena_group_size(node) == test->place.local_size);
    catena_group_t *both[] = {dup, node};
    for (int i = 0; i < 4; i++) {
        rank_exchange_t x;
        draw_exchange(test, draw, &random, both[i % 2], &x);
        RANK_CHECK(test,
                   catena_alltoall(rank_exchange_source(&x), x.receive, x.count,
                                   x.type, x.group) == CATENA_OK);
        rank_exchange_check(test, &x, draw->kind->name);
        rank_exchange_close(test, &x);
    }
    RANK_CHECK(test, catena_group_free(node) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(dup) == CATENA_OK);
}

/** Nobody leaves before the last has come, by the virtual clock itself. */
static void barriers(rank_test_t *test, draw_t *draw, uint64_t random)
{
    for (int i = 0; i < 8; i++) {
        double *entered = &draw->entered[i % 2 * draw->ranks];
        pause_somewhere(test, rank_random(&random));
        entered[test->place.rank] = catena_time(test->context);
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        double now = catena_time(test->context);
        for (int r = 0; r < draw->ranks; r++) {
            if (entered[r] == 0 || entered[r] > now) {
                rank_fail(test, "barrier %d left at %g before rank %d at %g", i,
                          now, r, entered[r]);
                return;
            }
        }
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        entered[test->place.rank] = 0;
    }
}

static const kind_t kinds[] = {
    {"exchanges", exchanges, false},   {"in flight", in_flight, false},
    {"persistent", persistent, false}, {"groups", groups, false},
    {"barriers", barriers, false},     {"a rank dies", exchanges, true},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- a run ---- */

/** When a rank is to die, errors are what is expected: all ranks end with one
 * and give everything back. */
static void run_dying(rank_test_t *test, draw_t *draw)
{
    uint64_t block[MOST_RANKS];
    catena_status_t status = CATENA_OK;
    while (status == CATENA_OK) {
        uint64_t *receive = calloc((size_t)draw->ranks, sizeof(*receive));
        memset(block, 0, sizeof(block));
        status = catena_alltoall(block, receive, 1, CATENA_UINT64, test->world);
        free(receive);
    }
    RANK_CHECK(test, status == CATENA_ERR_PEER);
}

static int run_rank(const catena_config_t *config, void *argument)
{
    draw_t *draw = argument;
    rank_test_t test = {.simulated = true};
    catena_status_t status = catena_init(config, &test.context);
    if (status != CATENA_OK) {
        draw->errors += !draw->kind->kills;
        return 1;
    }
    test.world = catena_world(test.context);
    catena_place(test.context, &test.place);
    if (draw->kind->kills) {
        run_dying(&test, draw);
    } else {
        draw->kind->run(&test, draw, draw->seed);
    }
    draw->errors += test.errors;
    status = catena_finalize(test.context);
    draw->through |= status == CATENA_OK;
    return status != CATENA_OK;
}

/** Blocks of the same size, uneven ones, or every rank anywhere. */
static void draw_layout(draw_t *draw, uint64_t *random, int most_ranks)
{
    int most = 1 + (int)(rank_random(random) % (uint64_t)most_ranks);
    draw->ranks = 1 + (int)(rank_random(random) % (uint64_t)most);
    draw->nodes = 1 + (int)(rank_random(random) % (uint64_t)draw->ranks);
    int way = (int)(rank_random(random) % 3);
    int per_node = (draw->ranks + draw->nodes - 1) / draw->nodes;
    for (int r = 0; r < draw->ranks; r++) {
        draw->node_of[r] =
            r < draw->nodes ? r /* none is empty */
            : way == 0      ? r % draw->nodes
                       : (int)(rank_random(random) % (uint64_t)draw->nodes);
    }
    if (way == 1) {
        for (int r = 0; r < draw->ranks; r++) {
            draw->node_of[r] = r / per_node;
        }
        draw->nodes = (draw->ranks - 1) / per_node + 1;
    }
}

static bool run_seed(uint64_t seed, int most_ranks)
{
    int node_of[MOST_RANKS];
    double entered[2 * MOST_RANKS] = {0};
    uint64_t random = seed * 7919;
    draw_t draw = {.seed = seed, .node_of = node_of, .entered = entered};
    draw.kind = &kinds[rank_random(&random) % KINDS];
    draw.machine = machines[rank_random(&random) % 6];
    draw_layout(&draw, &random, most_ranks);
    catena_sim_params_t params = {
        .machine = draw.machine,
        .nodes = draw.nodes,
        .ranks = draw.ranks,
        .node_of = node_of,
        .ports = (int)(rank_random(&random) % 5),
        .seed = seed,
        .jitter = (double)(rank_random(&random) % 3) * 0.7,
        .reorder = rank_random(&random) % 4 != 0,
    };
    catena_status_t expected = CATENA_OK;
    if (draw.kind->kills) {
        params.kill_rank = (int)(rank_random(&random) % (uint64_t)draw.ranks);
        params.kill_event =
            1 + rank_random(&random) % ((uint64_t)draw.ranks * 100);
        expected = CATENA_ERR_PEER;
    }
    catena_sim_report_t report = {0};
    catena_status_t status = catena_sim_run(&params, run_rank, &draw, &report);
    bool good = status == expected && draw.errors == 0 &&
                (draw.kind->kills ? !draw.through : report.failed_ranks == 0);
    if (!good) {
        printf("not ok - seed %llu: %s, %d ranks on %d nodes of %s: %s, %lu "
               "errors\n",
               (unsigned long long)seed, draw.kind->name, draw.ranks,
               draw.nodes, draw.machine, catena_status_string(status),
               draw.errors);
    }
    fflush(stdout);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 500;
    int most = argc > 3 ? atoi(argv[3]) : MOST_RANKS;
    int failed = 0;
    most = most < 1 || most > MOST_RANKS ? MOST_RANKS : most;
    for (uint64_t seed = first; seed < first + count; seed++) {
        failed += !run_seed(seed, most);
    }
    printf("# %llu passed, %d failed\n",
           (unsigned long long)count - (unsigned long long)failed, failed);
    return failed > 0;
}
