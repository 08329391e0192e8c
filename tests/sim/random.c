/* Simulated runs from seeds: each seed draws the test, the ranks per node, the
 * machine, sizes, and the order of all unordered events.
 * usage: sim_random FIRST COUNT [RANKS [KIND]]
 * RANKS: at most so many, or "LEAST-MOST"; KIND: only kinds whose name contains
 * it. */

#include <catena/sim.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "ranks/helpers/anyorder.h"
#include "sim/random.h"

enum {
    MOST_RANKS = 4000,
    USUAL_RANKS = 200,
    FEW_RANKS = 16,
    MOST_SECONDS = 100, /* for a seed; usual ones take a tenth of a second */
    MOST_BYTES = 3000000,
    IN_FLIGHT = 4
};

static const char *const machines[] = {"hpc-a",  "hpc-b",  "dawn",
                                       "sierra", "jaguar", "smoky"};
/* ---- tests ---- */

/** Sizes between zero and the maximum for all ranks together. */
static size_t draw_count(const draw_t *draw, uint64_t *random, int ranks)
{
    double most = (double)MOST_BYTES / ((double)draw->ranks * ranks);
    size_t limit = most < 1 ? 1 : (size_t)most;
    size_t count = limit >> ctn_random(random) % 20;
    return ctn_random(random) % 16 == 0 ? 0 : count;
}

/** An alltoall of bytes, or one of any kind with any types. */
static void draw_exchange(rank_test_t *test, const draw_t *draw,
                          uint64_t *random, catena_group_t *group,
                          unsigned mode, oracle_call_t *call)
{
    bool vector = draw->kind->vectors && ctn_random(random) % 5 != 0;
    unsigned kind =
        vector ? ORACLE_ALLTOALL + (unsigned)ctn_random_below(random, 3)
               : ORACLE_ALLTOALL;
    *call = (oracle_call_t){.group = group, .table = rank_table(test)};
    oracle_draw(&call->c, kind, true, random);
    uint8_t *value = call->c.value;
    if (!vector) {
        value[ORACLE_TYPE] = ORACLE_BYTE;
    } else if (ctn_random(random) % 2 == 0) {
        value[ORACLE_TYPE] = ORACLE_DRAWN;
    }
    value[ORACLE_PLACE] = ctn_random(random) % 4 == 0;
    value[ORACLE_MODE] = (uint8_t)mode;
    value[ORACLE_SIZE] = 0;
    if (ctn_random(random) % 2 == 0) { /* what runs by default */
        value[ORACLE_HIERARCHY] = 0;
        value[ORACLE_ALGORITHM] = 0;
    }
    call->exactly = draw_count(draw, random, catena_group_size(group)) /
                    oracle_unit_bytes(value[ORACLE_TYPE]);
    call->shape = ctn_random(random);
    oracle_choose_algorithm(&test->oracle, &call->c, group);
    oracle_call_open(&test->oracle, call);
    oracle_call_fill(call, ctn_random(random));
}

static void check_exchange(rank_test_t *test, oracle_call_t *call)
{
    oracle_call_check(&test->oracle, call, "");
    oracle_call_close(&test->oracle, call);
}

void pause_somewhere(rank_test_t *test, uint64_t shared)
{
    uint64_t own = shared ^ (uint64_t)test->place.rank * 977;
    if (ctn_random(&own) % 3 == 0) {
        rank_pause(test, (double)(ctn_random(&own) % 50));
    }
}

static void exchanges(rank_test_t *test, draw_t *draw, uint64_t random)
{
    for (int i = 0; i < 6; i++) {
        oracle_call_t e;
        draw_exchange(test, draw, &random, test->world, ORACLE_BLOCKING, &e);
        pause_somewhere(test, random);
        RANK_CHECK(test, oracle_call_run(&test->oracle, &e) == CATENA_OK);
        check_exchange(test, &e);
    }
}

static void in_flight(rank_test_t *test, draw_t *draw, uint64_t random)
{
    oracle_call_t *e = calloc(IN_FLIGHT, sizeof(*e));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < IN_FLIGHT; i++) {
            draw_exchange(test, draw, &random, test->world, ORACLE_NONBLOCKING,
                          &e[i]);
            pause_somewhere(test, random);
            RANK_CHECK(test,
                       oracle_call_run(&test->oracle, &e[i]) == CATENA_OK);
        }
        for (int i = IN_FLIGHT; i-- > 0;) {
            int done = ctn_random(&random) % 2 == 0;
            while (!done) {
                RANK_CHECK(test, catena_request_test(&e[i].request, &done) ==
                                     CATENA_OK);
            }
            RANK_CHECK(test, catena_request_wait(&e[i].request) == CATENA_OK);
            check_exchange(test, &e[i]);
        }
    }
    free(e);
}

static void persistent(rank_test_t *test, draw_t *draw, uint64_t random)
{
    oracle_call_t e;
    draw_exchange(test, draw, &random, test->world, ORACLE_PERSISTENT, &e);
    RANK_CHECK(test, oracle_call_run(&test->oracle, &e) == CATENA_OK);
    for (int i = 0; i < 5; i++) {
        oracle_call_fill(&e, ctn_random(&random));
        pause_somewhere(test, random);
        RANK_CHECK(test, catena_request_start(e.request) == CATENA_OK);
        RANK_CHECK(test, catena_request_wait(&e.request) == CATENA_OK);
        oracle_call_check(&test->oracle, &e, "");
    }
    RANK_CHECK(test, catena_request_free(&e.request) == CATENA_OK);
    oracle_call_close(&test->oracle, &e);
}

static void groups(rank_test_t *test, draw_t *draw, uint64_t random)
{
    catena_group_t *dup = NULL;
    catena_group_t *node = NULL;
    catena_group_t *color = NULL;
    uint64_t own = random + (uint64_t)test->place.rank;
    int key = (int)(ctn_random(&own) % 9);
    int colors = (int)(ctn_random(&random) % 4) + 1;
    RANK_CHECK(test, catena_group_dup(test->world, &dup) == CATENA_OK);
    RANK_CHECK(test, catena_group_split_level(dup, CATENA_LEVEL_NODE, key,
                                              &node) == CATENA_OK);
    RANK_CHECK(test, catena_group_size(node) == test->place.local_size);
    RANK_CHECK(test, catena_group_split(test->world, test->place.rank % colors,
                                        key, &color) == CATENA_OK);
    RANK_CHECK(test,
               catena_group_size(color) ==
                   (draw->ranks - test->place.rank % colors - 1) / colors + 1);
    catena_group_t *all[] = {dup, node, color};
    for (int i = 0; i < 5; i++) {
        oracle_call_t e;
        draw_exchange(test, draw, &random, all[i % 3], ORACLE_BLOCKING, &e);
        RANK_CHECK(test, oracle_call_run(&test->oracle, &e) == CATENA_OK);
        check_exchange(test, &e);
    }
    RANK_CHECK(test, catena_group_free(&color) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&node) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&dup) == CATENA_OK);
}

/** No rank leaves before the last has entered, by the virtual clock. */
static void barriers(rank_test_t *test, draw_t *draw, uint64_t random)
{
    for (int i = 0; i < 8; i++) {
        double *entered = &draw->entered[i % 2 * draw->ranks];
        pause_somewhere(test, ctn_random(&random));
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

static void started(rank_test_t *test, draw_t *draw, uint64_t random)
{
    started_in_any_order(test, random, draw->ranks > 64 ? 6 : 14, 4);
}

static void freed(rank_test_t *test, draw_t *draw, uint64_t random)
{
    (void)draw;
    freed_in_any_order(test, random);
}

static void sums(rank_test_t *test, draw_t *draw, uint64_t random)
{
    (void)draw;
    sums_of_any_length(test, random);
}

/** When a rank is to die, errors are expected: all ranks end with one and
 * release everything. */
static void dying(rank_test_t *test, draw_t *draw, uint64_t random)
{
    catena_status_t status = CATENA_OK;
    while (status == CATENA_OK) {
        oracle_call_t e = rank_alltoall(test, test->world, 8);
        e.c.value[ORACLE_MODE] = ORACLE_BLOCKING;
        if (draw->kind->vectors) {
            draw_exchange(test, draw, &random, test->world, ORACLE_BLOCKING,
                          &e);
        } else {
            oracle_call_open(&test->oracle, &e);
            oracle_call_fill(&e, 0);
        }
        status = oracle_call_run(&test->oracle, &e);
        oracle_call_close(&test->oracle, &e);
    }
    RANK_CHECK(test, status == CATENA_ERR_PEER);
}

static const kind_t kinds[] = {
    {"exchanges", .run = exchanges},
    {"in flight", .run = in_flight},
    {"persistent", .run = persistent},
    {"groups", .run = groups},
    {"barriers", .run = barriers},
    {"a rank dies", .run = dying, .kills = true},
    {"vectors", .run = exchanges, .vectors = true},
    {"vectors in flight", .run = in_flight, .vectors = true},
    {"persistent vectors", .run = persistent, .vectors = true},
    {"vectors in groups", .run = groups, .vectors = true},
    {"a rank dies in vectors", .run = dying, .vectors = true, .kills = true},
    {"splits of the world", .run = splits},
    {"splits in flight", .run = splits_in_flight, .vectors = true},
    {"splits of splits", .run = splits_of_splits},
    {"splits by liars", .run = splits_by_liars},
    {"a rank dies in splits", .run = dying_splits, .kills = true},
    {"mixed collectives", .run = mixed_collectives},
    {"a rank dies in collectives", .run = dying_collectives, .kills = true},
    {"persistent in any order", .run = started},
    {"freed in any order", .run = freed},
    {"sums of any length", .run = sums},
    {"neighborhoods", .run = neighborhoods},
    {"a rank dies in neighborhoods", .run = dying_neighborhoods, .kills = true},
    {"programs", .run = programs, .few = true, .weight = 10},
    {"long blocks", .run = long_blocks, .few = true, .together = true,
     .weight = 3},
    {"short calls", .run = short_calls, .few = true, .together = true,
     .weight = 4},
#if !SIM_TINY /* with tiny limits ranks differ in more than the length */
    {"wrong lengths", .run = wrong_lengths, .ends = true, .few = true,
     .weight = 3},
#endif
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), MOST_WEIGHT = 2 * KINDS };

/* ---- a run ---- */

static int run_rank(const catena_config_t *config, void *argument)
{
    draw_t *draw = argument;
    rank_test_t test = {.simulated = true};
    catena_status_t status = catena_init(config, &test.context);
    if (status != CATENA_OK) {
        draw->errors += !draw->kind->kills;
        return 1;
    }
    rank_test_open(&test);
    draw->kind->run(&test, draw, draw->seed);
    rank_test_close(&test);
    draw->errors += test.errors;
    status = catena_finalize(&test.context);
    draw->through |= status == CATENA_OK;
    return status != CATENA_OK;
}

/** Consecutive ranks of any number on each node: 3, 1 and 5, say. */
static void draw_blocks(draw_t *draw, uint64_t *random)
{
    int last = draw->ranks - draw->nodes; /* ranks beyond one for each node */
    int node = 0;
    for (int r = 0; r < draw->ranks; r++) {
        draw->node_of[r] = node;
        bool enough =
            (int)(ctn_random(random) % (uint64_t)draw->ranks) < draw->nodes;
        if (node + 1 < draw->nodes && (last == 0 || enough)) {
            node++;
        } else {
            last--;
        }
    }
}

/** Few nodes more often than many; ranks round robin, anywhere, in equal
 * blocks, or in unequal ones. */
static void draw_layout(draw_t *draw, uint64_t *random)
{
    uint64_t most = 1 + ctn_random(random) % (uint64_t)draw->ranks;
    draw->nodes = 1 + (int)(ctn_random(random) % most);
    int way = (int)(ctn_random(random) % 4);
    int per_node = (draw->ranks + draw->nodes - 1) / draw->nodes;
    if (way == 3) {
        draw_blocks(draw, random);
        return;
    }
    for (int r = 0; r < draw->ranks; r++) {
        draw->node_of[r] =
            r < draw->nodes ? r /* none is empty */
            : way == 0      ? r % draw->nodes
                            : (int)(ctn_random(random) % (uint64_t)draw->nodes);
    }
    if (way == 1) {
        for (int r = 0; r < draw->ranks; r++) {
            draw->node_of[r] = r / per_node;
        }
        draw->nodes = (draw->ranks - 1) / per_node + 1;
    }
}

/** NULL: no such name. */
static const kind_t *draw_kind(uint64_t *random, const char *only)
{
    const kind_t *fit[MOST_WEIGHT];
    uint64_t count = 0;
    for (size_t i = 0; i < KINDS; i++) {
        unsigned weight = kinds[i].weight > 0 ? kinds[i].weight : 1;
        for (unsigned w = 0; w < weight && strstr(kinds[i].name, only) != NULL;
             w++) {
            fit[count++] = &kinds[i];
        }
    }
    uint64_t drawn = ctn_random(random);
    return count > 0 ? fit[drawn % count] : NULL;
}

/** Common to all seeds. */
typedef struct limits {
    int least_ranks; /* 0: any, few more often than many */
    int most_ranks;
    const char *only; /* of kinds */
} limits_t;

static int draw_ranks(uint64_t *random, const limits_t *limits)
{
    int least = limits->least_ranks;
    int most = limits->most_ranks;
    if (least == 0) {
        most = 1 + (int)(ctn_random(random) % (uint64_t)most);
        least = 1;
    }
    return least + (int)(ctn_random(random) % (uint64_t)(most - least + 1));
}

static bool run_seed(uint64_t seed, const limits_t *limits)
{
    int node_of[MOST_RANKS];
    double entered[2 * MOST_RANKS] = {0};
    uint64_t random = seed * 7919;
    draw_t draw = {.seed = seed, .node_of = node_of, .entered = entered};
    draw.kind = draw_kind(&random, limits->only);
    if (draw.kind == NULL) {
        printf("not ok - no kind of runs is named '%s'\n", limits->only);
        return false;
    }
    draw.machine = machines[ctn_random(&random) % 6];
    draw.ranks = draw_ranks(&random, limits);
    if (draw.kind->few && ctn_random(&random) % 8 != 0 &&
        draw.ranks > FEW_RANKS && limits->least_ranks == 0) {
        draw.ranks = 1 + draw.ranks % FEW_RANKS;
    }
    draw_layout(&draw, &random);
    if (draw.kind->together && ctn_random(&random) % 4 != 0) {
        draw.nodes = 1;
        memset(node_of, 0, sizeof(node_of));
    }
    catena_sim_params_t params = {
        .size = sizeof(params),
        .machine = draw.machine,
        .nodes = draw.nodes,
        .ranks = draw.ranks,
        .node_of = node_of,
        .ports = (int)(ctn_random(&random) % 5),
        .seed = seed,
        .jitter = (double)(ctn_random(&random) % 3) * 0.7,
        .reorder = ctn_random(&random) % 4 != 0,
    };
    static const int few_cores[] = {0, 1};
    if (seed % 3 == 0) { /* oversubscribed */
        params.cores = few_cores;
        params.core_count = 2;
    }
    catena_status_t expected = CATENA_OK;
    catena_sim_kill_t kill;
    if (draw.kind->kills) {
        kill.rank = (int)(ctn_random(&random) % (uint64_t)draw.ranks);
        kill.event = 1 + ctn_random(&random) % ((uint64_t)draw.ranks * 100);
        params.kills = &kill;
        params.kill_count = 1;
        expected = CATENA_ERR_PEER;
    }
    catena_sim_report_t report = {.size = sizeof(report)};
    catena_status_t status = catena_sim_run(&params, run_rank, &draw, &report);
    bool good =
        status == expected && draw.errors == 0 &&
        (draw.kind->kills ? !draw.through
                          : draw.kind->ends || report.failed_ranks == 0);
    if (good) {
        printf("ok - seed %llu\n", (unsigned long long)seed);
    } else {
        printf("not ok - seed %llu: %s, %d ranks on %d nodes of %s: %s, %lu "
               "errors\n",
               (unsigned long long)seed, draw.kind->name, draw.ranks,
               draw.nodes, draw.machine, catena_status_string(status),
               draw.errors);
    }
    fflush(stdout);
    return good;
}

/** Names a seed that does not end. */
static char running[80];

static void give_up(int signal)
{
    (void)signal;
    if (write(STDOUT_FILENO, running, strlen(running)) >= 0) {
        _exit(1);
    }
    _exit(2);
}

static bool run_in_time(uint64_t seed, const limits_t *limits)
{
    snprintf(running, sizeof(running),
             "not ok - seed %llu did not end in %d seconds of a core\n",
             (unsigned long long)seed, MOST_SECONDS);
    static const struct itimerval limit = {.it_value.tv_sec = MOST_SECONDS};
    (void)setitimer(ITIMER_PROF, &limit, NULL); /* time of this process */
    return run_seed(seed, limits);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 500;
    limits_t limits = {.most_ranks = USUAL_RANKS,
                       .only = argc > 4 ? argv[4] : ""};
    bool failed = false;
    if (argc > 3 && sscanf(argv[3], "%d-%d", &limits.least_ranks,
                           &limits.most_ranks) == 1) {
        limits.most_ranks = limits.least_ranks;
        limits.least_ranks = 0;
    }
    if (limits.least_ranks < 0 || limits.most_ranks < limits.least_ranks ||
        limits.most_ranks < 1 || limits.most_ranks > MOST_RANKS) {
        printf("not ok - ranks: at most %d\n", MOST_RANKS);
        return 1;
    }
    signal(SIGPROF, give_up);
    for (uint64_t seed = first; seed < first + count; seed++) {
        failed |= !run_in_time(seed, &limits);
    }
    return failed;
}
