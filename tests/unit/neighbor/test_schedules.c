/* Schedules of neighborhoods: their numbers of messages and rounds, and
 * exchanges with each of them. Simulated ranks are in one process, so a rank
 * can read the schedules of all. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/tuning.h"
#include "neighbor/schedule/select.h"
#include "oracle/neighborhood/neighborhood.h"
#include "unit/capture.h"
#include "unit/job.h"
#include "unit/unit.h"

enum { MOST_RANKS = 81 }; /* 3^4 */

/* The neighborhoods of all ranks of the job that runs, and their graph. */
static catena_neighborhood_t *made[MOST_RANKS];
static oracle_graph_t graph;

/** Builds all schedules that are possible. */
static void make_schedules(job_t *job, catena_neighborhood_t *own)
{
    for (ctn_neighbor_algorithm_t algorithm = 0;
         algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        JOB_CHECK(job, ctn_schedules_make_for(own, algorithm) == CATENA_OK);
    }
    JOB_CHECK(job, own->schedule[CTN_NEIGHBOR_DIRECT][CTN_PATTERN_ALLGATHER] !=
                       NULL);
    JOB_CHECK(job, own->schedule[CTN_NEIGHBOR_COLORED][CTN_PATTERN_ALLGATHER] !=
                       NULL);
}

static const ctn_schedule_t *schedule_of(uint32_t rank,
                                         ctn_neighbor_algorithm_t algorithm,
                                         ctn_pattern_t pattern)
{
    return made[rank]->schedule[algorithm][pattern];
}

/** Whether all ranks, or none, have a schedule of the algorithm. */
static bool is_possible(job_t *job, ctn_neighbor_algorithm_t algorithm,
                        ctn_pattern_t pattern)
{
    bool possible = schedule_of(0, algorithm, pattern) != NULL;
    for (uint32_t r = 0; r < job->size; r++) {
        JOB_CHECK(job,
                  (schedule_of(r, algorithm, pattern) != NULL) == possible);
    }
    return possible;
}

/* ---- what the algorithms promise ---- */

/** A rank sends at most one message in a round, and receives at most one. */
static void check_steps(job_t *job, const ctn_schedule_t *schedule)
{
    for (uint32_t i = 1; i < schedule->sends; i++) {
        JOB_CHECK(job, schedule->send[i].round > schedule->send[i - 1].round);
    }
    for (uint32_t i = 1; i < schedule->receives; i++) {
        JOB_CHECK(job,
                  schedule->receive[i].round > schedule->receive[i - 1].round);
    }
}

/** Between two nodes there is one message each way, if there are edges. */
static void check_node_pairs(job_t *job, const ctn_schedule_t *schedule)
{
    uint64_t pairs = 0;
    bool *seen = calloc((size_t)job->size * job->size, sizeof(*seen));
    for (uint32_t r = 0; r < job->size; r++) {
        const catena_neighborhood_t *own = made[r];
        for (uint32_t i = 0; i < own->targets; i++) {
            const ctn_edge_t *edge = &own->target[i];
            if (edge->link == CTN_NO_LINK) {
                continue;
            }
            const ctn_edge_t *back =
                &made[edge->rank]->source[edge->peer_index];
            bool *pair = &seen[back->node * job->size + edge->node];
            pairs += !*pair && back->node != edge->node;
            *pair = true;
        }
    }
    JOB_CHECK(job,
              schedule->facts.all[CTN_COUNT_MESSAGES + CTN_REMOTE] == pairs);
    JOB_CHECK(job, schedule->rounds == 3 &&
                       schedule->facts.remote_rounds == (pairs > 0));
    free(seen);
}

/** The displacement of edges in direction i along a dimension; along a ring
 * reduced to one value. */
static int hop(int i, int d)
{
    bool cart = graph.way == ORACLE_WAY_CART;
    int n = graph.dims[d];
    int along = !cart        ? graph.displacements[i * graph.ndims + d]
                : i / 2 == d ? 2 * (i % 2) - 1
                             : 0;
    return graph.periods[d] ? ((along % n) + n) % n : along;
}

/** On rings: a message for each displacement, a round for each dimension, and
 * each block is sent once for each dimension in which it moves. */
static void check_combining(job_t *job, ctn_pattern_t pattern)
{
    int directions =
        graph.way == ORACLE_WAY_CART ? 2 * graph.ndims : graph.ndirs;
    uint32_t messages = 0;
    uint32_t blocks = 0;
    uint32_t rounds = 0;
    bool rings = true;
    for (int d = 0; d < graph.ndims; d++) {
        uint32_t hops = 0;
        for (int i = 0; i < directions; i++) {
            int j = 0;
            while (hop(j, d) != hop(i, d)) {
                j++;
            }
            hops += j == i && hop(i, d) != 0;
            blocks += hop(i, d) != 0;
        }
        messages += hops;
        rounds += hops > 0;
        rings = rings && graph.periods[d];
    }
    for (uint32_t r = 0; r < job->size; r++) {
        const ctn_schedule_t *schedule =
            schedule_of(r, CTN_NEIGHBOR_COMBINING, pattern);
        uint32_t parts = 0;
        for (uint32_t i = 0; i < schedule->sends; i++) {
            parts += schedule->send[i].count;
        }
        bool each = pattern == CTN_PATTERN_ALLTOALL;
        JOB_CHECK(job, rings ? schedule->sends == messages
                             : schedule->sends <= messages);
        JOB_CHECK(job, rings ? schedule->rounds == rounds
                             : schedule->rounds <= rounds);
        JOB_CHECK(job, rings && each ? parts == blocks : parts <= blocks);
    }
}

static uint32_t greatest_degree(const job_t *job)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < job->size; r++) {
        const ctn_schedule_t *schedule =
            schedule_of(r, CTN_NEIGHBOR_DIRECT, CTN_PATTERN_ALLTOALL);
        most = most > schedule->sends ? most : schedule->sends;
        most = most > schedule->receives ? most : schedule->receives;
    }
    return most;
}

/** The facts that all ranks agreed on hold for the schedules of all ranks. */
static void check_facts(job_t *job, ctn_neighbor_algorithm_t algorithm,
                        ctn_pattern_t pattern)
{
    const ctn_schedule_t *first = schedule_of(0, algorithm, pattern);
    uint64_t messages[CTN_REACHES] = {0};
    uint64_t blocks[CTN_REACHES] = {0};
    for (uint32_t rank = 0; rank < job->size; rank++) {
        const ctn_schedule_t *schedule = schedule_of(rank, algorithm, pattern);
        JOB_CHECK(job, schedule->rounds == first->rounds);
        JOB_CHECK(job,
                  schedule->facts.heavy_rounds == first->facts.heavy_rounds);
        JOB_CHECK(job, memcmp(schedule->facts.all, first->facts.all,
                              sizeof(first->facts.all)) == 0);
        JOB_CHECK(job, memcmp(schedule->facts.most, first->facts.most,
                              sizeof(first->facts.most)) == 0);
        uint64_t own[CTN_REACHES] = {0};
        for (uint32_t i = 0; i < schedule->sends; i++) {
            int remote = !schedule->out[schedule->send[i].link].peer.local;
            own[remote]++;
            blocks[remote] += schedule->send[i].count;
        }
        for (int reach = 0; reach < CTN_REACHES; reach++) {
            JOB_CHECK(job,
                      own[reach] <=
                          schedule->facts.most[CTN_COUNT_MESSAGES + reach]);
            messages[reach] += own[reach];
        }
    }
    JOB_CHECK(job, memcmp(messages, &first->facts.all[CTN_COUNT_MESSAGES],
                          sizeof(messages)) == 0);
    JOB_CHECK(job, memcmp(blocks, &first->facts.all[CTN_COUNT_BLOCKS],
                          sizeof(blocks)) == 0);
}

static void check_algorithm(job_t *job, ctn_neighbor_algorithm_t algorithm,
                            ctn_pattern_t pattern)
{
    const ctn_schedule_t *schedule = schedule_of(0, algorithm, pattern);
    check_facts(job, algorithm, pattern);
    if (algorithm == CTN_NEIGHBOR_COLORED) {
        uint32_t degree = greatest_degree(job);
        JOB_CHECK(job, schedule->rounds == degree);
        for (uint32_t r = 0; r < job->size; r++) {
            check_steps(job, schedule_of(r, algorithm, pattern));
        }
    } else if (algorithm == CTN_NEIGHBOR_AGGREGATED) {
        check_node_pairs(job, schedule);
    } else if (algorithm == CTN_NEIGHBOR_COMBINING) {
        check_combining(job, pattern);
    }
}

static void check_all(job_t *job)
{
    for (ctn_neighbor_algorithm_t algorithm = 0;
         algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        for (ctn_pattern_t pattern = 0; pattern < CTN_PATTERNS; pattern++) {
            if (is_possible(job, algorithm, pattern)) {
                check_algorithm(job, algorithm, pattern);
            }
        }
    }
}

/* ---- exchanges ---- */

/** Exchanges data with each schedule. Memory that messages took is released. */
static void run_all(job_t *job, catena_neighborhood_t *own)
{
    oracle_t oracle = job_oracle(job);
    oracle_table_t table;
    uint64_t random = job->seed;
    uint64_t mine = job->rank;
    uint64_t memory = job->exec->tally.memory;
    oracle_table_open(&oracle, &table);
    for (ctn_neighbor_algorithm_t algorithm = 0;
         algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        if (own->schedule[algorithm][CTN_PATTERN_ALLTOALL] == NULL) {
            continue;
        }
        JOB_CHECK(job, catena_neighborhood_set(
                           own, "algorithm",
                           ctn_neighbor_algorithm_words[1 + algorithm]) ==
                           CATENA_OK);
        oracle_nbr_call_t call = {
            .graph = &graph, .neighborhood = own, .table = &table};
        oracle_nbr_draw(&call, &random, &mine, job->size > 32 ? 150 : 3000);
        oracle_nbr_all(&oracle, &call, random,
                       ctn_neighbor_algorithm_words[1 + algorithm]);
    }
    JOB_CHECK(job, job->exec->tally.memory == memory);
    oracle_table_close(&oracle, &table);
}

static void make_and_check(job_t *job)
{
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, oracle_neighborhood_make(&graph, job->context->world, NULL,
                                            &own) == CATENA_OK);
    made[job->rank] = own;
    if (own != NULL) {
        oracle_graph_settle(&graph, (int)job->rank);
        make_schedules(job, own);
    }
    (void)catena_barrier(job->context->world);
    if (own != NULL && job->rank == 0) {
        check_all(job);
    }
    (void)catena_barrier(job->context->world);
    if (own != NULL) {
        run_all(job, own);
        JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
    }
}

static void go(uint64_t seed, job_body_t body)
{
    int failed = job_simulate((uint32_t)graph.size, seed, body);
    ck_assert_msg(failed == 0, "way %d, shape %d, seed %d: %d failed",
                  (int)graph.way, (int)graph.shape, (int)seed, failed);
    oracle_graph_free(&graph);
}

START_TEST(graphs)
{
    for (uint64_t seed = 1; seed <= 7; seed += unit_step(3)) {
        int size = seed < 6 ? (int)seed + 1 : (int)(seed * 7 % 40) + 1;
        oracle_graph_draw(&graph, ORACLE_WAY_ADJACENT, (oracle_shape_t)_i, size,
                          seed);
        go(seed, make_and_check);
    }
}
END_TEST

START_TEST(grids)
{
    for (uint64_t seed = 1; seed <= 20; seed += unit_step(6)) {
        oracle_graph_draw(&graph, (oracle_graph_way_t)_i, ORACLE_SHAPE_EMPTY,
                          1 + (int)(seed * 13 % 60), seed);
        go(seed, make_and_check);
    }
}
END_TEST

/** Twice as many messages as dimensions; if all targets get the same block,
 * each of them receives it once. */
static void check_moore(job_t *job)
{
    make_and_check(job);
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, oracle_neighborhood_make(&graph, job->context->world, NULL,
                                            &own) == CATENA_OK);
    JOB_CHECK(job,
              ctn_schedules_make_for(own, CTN_NEIGHBOR_COMBINING) == CATENA_OK);
    const ctn_schedule_t *gather =
        own->schedule[CTN_NEIGHBOR_COMBINING][CTN_PATTERN_ALLGATHER];
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < gather->sends; i++) {
        blocks += gather->send[i].count;
    }
    JOB_CHECK(job, gather->sends == 2u * (unsigned)graph.ndims);
    JOB_CHECK(job, blocks == (unsigned)graph.ndirs);
    JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
}

/** Four dimensions, 81 ranks with 80 neighbors each, only with all seeds. */
START_TEST(diagonals)
{
    bool large = _i == 4 && unit_step(2) > 1;
    oracle_graph_torus(&graph, large ? 3 : _i, large ? 4 : 3, true);
    go((uint64_t)_i, check_moore);
}
END_TEST

/* ---- heavy edges ---- */

/** A ring of rings in which each rank has one heavy neighbor, in every second
 * pair of rows in another dimension: in the order of dimensions heavy edges
 * would take two rounds for each direction, but no two share a rank. */
static void make_heavy(job_t *job, bool grid, catena_neighborhood_t **out)
{
    enum { SIDE = 4 };
    static const int sides[] = {SIDE, SIDE};
    static const int periods[] = {1, 1};
    int row = (int)job->rank / SIDE;
    int column = (int)job->rank % SIDE;
    int neighbor[4] = {(row + SIDE - 1) % SIDE * SIDE + column,
                       (row + 1) % SIDE * SIDE + column,
                       row * SIDE + (column + SIDE - 1) % SIDE,
                       row * SIDE + (column + 1) % SIDE};
    int weight[4] = {1, 1, 1, 1};
    /* Rows 0 and 1 pair within a row, rows 2 and 3 with each other. */
    weight[row < 2 ? 2 + (column + 1) % 2 : (row + 1) % 2] = 9;
    const catena_neighborhood_info_t info = {.size = sizeof(info),
                                             .weights = weight};
    catena_group_t *world = job->context->world;
    JOB_CHECK(
        job, (grid ? catena_cart_create(world, 2, sides, periods, 0, &info, out)
                   : catena_neighborhood_create(world, 4, neighbor, weight, 4,
                                                neighbor, weight, NULL, out)) ==
                 CATENA_OK);
}

static void make_heavy_mesh(job_t *job, catena_neighborhood_t **out)
{
    make_heavy(job, false, out);
}

/* How check_heavy_mesh makes the mesh. */
static bool heavy_grid;

static void check_heavy_mesh(job_t *job)
{
    catena_neighborhood_stats_t stats = {.size = sizeof(stats)};
    catena_neighborhood_t *own = NULL;
    char text[1024];
    make_heavy(job, heavy_grid, &own);
    JOB_CHECK(job, catena_neighborhood_set(own, "algorithm", "colored") ==
                       CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_get_stats(own, &stats) == CATENA_OK);
    JOB_CHECK(job, stats.heavy_rounds == 1);
    JOB_CHECK(job, stats.rounds == 4);
    JOB_CHECK(job, stats.messages == 4);
    JOB_CHECK(job, stats.weight_all == 16 * (9 + 3));
    JOB_CHECK(job,
              catena_neighborhood_estimate(own, "neighbor_allgather", 8, text,
                                           sizeof(text)) == CATENA_OK);
    JOB_CHECK(job, strncmp(text, "algorithm=colored ", 18) == 0);
    JOB_CHECK(job, strstr(text, "as asked for") != NULL);
    JOB_CHECK(job, strstr(text, "\ndirect: ") != NULL);
    JOB_CHECK(job, strstr(text, "heavy 1;") != NULL);
    /* truncated, but terminated */
    JOB_CHECK(job, catena_neighborhood_explain(own, "neighbor_allgather", text,
                                               10) == CATENA_OK);
    JOB_CHECK(job, strcmp(text, "algorithm") == 0);
    JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
}

START_TEST(heavy_edges)
{
    heavy_grid = _i;
    for (uint64_t seed = 1; seed <= 10; seed += unit_step(4)) {
        int failed = job_simulate(16, seed, check_heavy_mesh);
        ck_assert_msg(failed == 0, "seed %d: %d failed", (int)seed, failed);
    }
}
END_TEST

/* ---- settings ---- */

/** A collective is explained by what it last ran with, until the setting
 * changes; the others are not affected. */
static void check_what_ran(job_t *job, catena_neighborhood_t *own)
{
    int32_t send = job->rank, recv[16] = {0};
    char text[1024];
    static const char *const settings[] = {"colored", "auto"};
    for (int i = 0; i < 2; i++) {
        JOB_CHECK(job, catena_neighborhood_set(own, "algorithm", settings[i]) ==
                           CATENA_OK);
        JOB_CHECK(job,
                  catena_neighborhood_explain(own, "neighbor_allgather", text,
                                              sizeof(text)) == CATENA_OK);
        JOB_CHECK(job, strstr(text, "has not run yet") != NULL);
        JOB_CHECK(job,
                  catena_neighbor_allgather(&send, 1, CATENA_INT32, recv, 1,
                                            CATENA_INT32, own) == CATENA_OK);
        JOB_CHECK(job,
                  catena_neighborhood_explain(own, "neighbor_allgather", text,
                                              sizeof(text)) == CATENA_OK);
        JOB_CHECK(job, strstr(text, "has not run yet") == NULL);
        JOB_CHECK(job,
                  strstr(text, i == 0 ? "reason=\"as asked for\""
                                      : "estimate for its blocks") != NULL);
        JOB_CHECK(job,
                  catena_neighborhood_explain(own, "neighbor_allgatherv", text,
                                              sizeof(text)) == CATENA_OK);
        JOB_CHECK(job, strstr(text, "has not run yet") != NULL);
    }
}

static void check_settings(job_t *job)
{
    char text[1024];
    catena_neighborhood_t *own = NULL;
    make_heavy_mesh(job, &own);
    JOB_CHECK(job, catena_neighborhood_set(own, "algorithm", "combining") ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_set(own, "algorithm", "none") ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job,
              catena_neighborhood_set(own, "color", "1") == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_set(NULL, "algorithm", "auto") ==
                       CATENA_ERR_ARG);
    bool odd = job->rank == 3; /* one rank uses another value */
    JOB_CHECK(job, catena_neighborhood_set(own, "algorithm",
                                           odd ? "direct" : "colored") ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job,
              catena_neighborhood_set(own, "algorithm",
                                      odd ? "none" : "auto") == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_set(own, odd ? "color" : "algorithm",
                                           "auto") == CATENA_ERR_ARG);
    for (ctn_neighbor_algorithm_t algorithm = 0;
         algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        const char *name = ctn_neighbor_algorithm_words[1 + algorithm];
        if (algorithm == CTN_NEIGHBOR_COMBINING) {
            continue;
        }
        JOB_CHECK(job,
                  catena_neighborhood_set(own, "algorithm", name) == CATENA_OK);
        JOB_CHECK(job, catena_neighborhood_explain(own, "neighbor_reduce", text,
                                                   sizeof(text)) == CATENA_OK);
        JOB_CHECK(job, strncmp(text + 10, name, strlen(name)) == 0);
    }
    JOB_CHECK(job,
              catena_neighborhood_set(own, "algorithm", "auto") == CATENA_OK);
    JOB_CHECK(job, own->requested == -1);
    JOB_CHECK(job, catena_neighborhood_explain(own, "reduce", text,
                                               sizeof(text)) == CATENA_ERR_ARG);
    JOB_CHECK(job, strstr(catena_last_error(), "expected neighbor_allgather") !=
                       NULL);
    check_what_ran(job, own);
    JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
}

/** Usual lengths that do not fit an address count as long ones. */
static void check_lengths(job_t *job)
{
    static const int weights[] = {3, 3, 3, 3, 3, 3};
    static const int moves[] = {0, 1, 0, -1, 1, 0, -1, 0, 1, 1, -1, -1};
    static const size_t bytes[] = {1, SIZE_MAX / 64, SIZE_MAX};
    char text[3][512];
    catena_neighborhood_t *grid = NULL;
    JOB_CHECK(job, catena_cart_create(job->context->world, 2,
                                      (const int[]){3, 3}, (const int[]){1, 1},
                                      0, NULL, &grid) == CATENA_OK);
    for (int i = 0; i < 3; i++) {
        catena_neighborhood_info_t info = {.size = sizeof(info),
                                           .bytes = bytes[i]};
        catena_neighborhood_t *own = NULL;
        JOB_CHECK(job, catena_cart_derive_graph(grid, 6, moves, weights, 0,
                                                &info, &own) == CATENA_OK);
        JOB_CHECK(job, catena_neighborhood_estimate(own, "neighbor_alltoall", 0,
                                                    text[i], sizeof(text[i])) ==
                           CATENA_OK);
        *strchr(text[i], ' ') = '\0';
        JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
    }
    JOB_CHECK(job, strcmp(text[0], text[1]) != 0);
    JOB_CHECK(job, strcmp(text[1], text[2]) == 0);
    JOB_CHECK(job, catena_neighborhood_free(&grid) == CATENA_OK);
}

/** Ranks of 4 nodes send to the next 6 ranks: the first rank receives from
 * none. */
static void from_nobody(job_t *job)
{
    enum { FAR = 6 };
    int rank = (int)job->rank;
    int sources[FAR + 1] = {CATENA_PROC_NULL};
    int targets[FAR];
    int source_count = 1;
    int target_count = 0;
    for (int i = 1; i <= FAR; i++) {
        if (rank >= i) {
            sources[source_count++] = rank - i;
        }
        if (rank + i < (int)job->size) {
            targets[target_count++] = rank + i;
        }
    }
    const catena_neighborhood_info_t info = {.size = sizeof(info),
                                             .bytes = (size_t)1 << 20};
    catena_neighborhood_t *n;
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, source_count, sources,
                       CATENA_UNWEIGHTED, target_count, targets,
                       CATENA_UNWEIGHTED, &info, &n) == CATENA_OK);
    /* otherwise this tests nothing */
    const ctn_rule_t *rule;
    JOB_CHECK(job, ctn_neighbor_choose(n, CTN_PATTERN_ALLGATHER, 0, false, true,
                                       &rule) !=
                       ctn_neighbor_choose(n, CTN_PATTERN_ALLGATHER, 8, false,
                                           true, &rule));
    uint64_t send = job->rank;
    uint64_t recv[FAR + 1];
    JOB_CHECK(job, catena_neighbor_allgather(&send, 1, CATENA_UINT64, recv,
                                             rank == 0 ? 0 : 1, CATENA_UINT64,
                                             n) == CATENA_OK);
    for (int i = 1; i < source_count; i++) {
        JOB_CHECK(job, recv[i] == (uint64_t)sources[i]);
    }
    JOB_CHECK(job, catena_neighborhood_free(&n) == CATENA_OK);
}

START_TEST(choices)
{
    ck_assert_int_eq(job_simulate_nodes(9, 3, 1, check_lengths), 0);
    ck_assert_int_eq(job_simulate_nodes(16, 4, 1, from_nobody), 0);
}
END_TEST

/** One rank has another machine model: all ranks choose by the same costs. */
static void check_costs(job_t *job)
{
    catena_neighborhood_t *own = NULL;
    ctn_exec_t *exec = job->context->exec;
    const ctn_tuning_t *tuning = exec->tuning;
    JOB_CHECK(job,
              job->rank != 1 || ctn_tuning_open(exec->log, "machine:jaguar",
                                                &exec->tuning) == CATENA_OK);
    make_heavy_mesh(job, &own);
    if (job->rank == 1) {
        ctn_tuning_close(exec->tuning);
        exec->tuning = tuning;
    }
    const ctn_neighbor_costs_t *costs = &own->chooser->costs;
    uint64_t packed = (uint64_t)(costs->packed * 1000);
    uint64_t most[2] = {packed, ~packed};
    JOB_CHECK(job, ctn_neighbor_agree(own->group, CATENA_OK, 0, NULL, 2,
                                      most) == CATENA_OK);
    JOB_CHECK(job, most[0] == ~most[1]);
    JOB_CHECK(job, catena_neighborhood_free(&own) == CATENA_OK);
}

START_TEST(costs)
{
    ck_assert_int_eq(job_simulate(16, 1, check_costs), 0);
}
END_TEST

/* ---- rules ---- */

/** Exchanges int32_t with 4 neighbors, and checks how that is explained. */
static void check_explained(job_t *job, catena_neighborhood_t *own,
                            bool blocking, int count, const char *algorithm,
                            const char *reason)
{
    enum { MOST = 64 };
    int32_t send[4 * MOST] = {0};
    int32_t recv[4 * MOST];
    char text[512], wanted[128];
    catena_request_t *request = NULL;
    if (blocking) {
        JOB_CHECK(job, catena_neighbor_alltoall(
                           send, (size_t)count, CATENA_INT32, recv,
                           (size_t)count, CATENA_INT32, own) == CATENA_OK);
    } else {
        JOB_CHECK(job,
                  catena_ineighbor_alltoall(send, (size_t)count, CATENA_INT32,
                                            recv, (size_t)count, CATENA_INT32,
                                            own, &request) == CATENA_OK);
        JOB_CHECK(job, catena_request_wait(&request) == CATENA_OK);
    }
    JOB_CHECK(job, catena_neighborhood_explain(own, "neighbor_alltoall", text,
                                               sizeof(text)) == CATENA_OK);
    snprintf(wanted, sizeof(wanted), "algorithm=%s ", algorithm);
    JOB_CHECK(job, strncmp(text, wanted, strlen(wanted)) == 0);
    snprintf(wanted, sizeof(wanted), "reason=\"%s", reason);
    JOB_CHECK(job, strstr(text, wanted) != NULL);
}

/** The file of check_rules. */
static char rules_path[] = "/tmp/catena-tuning-XXXXXX.json";

static const char rules_text[] =
    "{\"name\": \"mine\", \"source\": \"made up\", \"neighbor_alltoall\": ["
    "{\"bytes_to\": 100, \"nodes\": 4, \"ppn\": 4, \"ranks\": 16,"
    " \"algorithm\": \"colored\"},"
    "{\"blocking\": false, \"algorithm\": \"combining\"},"
    "{\"bytes_to\": 200, \"algorithm\": \"auto\"},"
    "{\"algorithm\": \"aggregated\"}]}";

/** Rules name the algorithm; one that is impossible leaves it to the next. */
static void check_rules(job_t *job)
{
    catena_neighborhood_t *mesh = NULL;
    catena_neighborhood_t *grid = NULL;
    char text[512];
    ctn_exec_t *exec = job->context->exec;
    const ctn_tuning_t *tuning = exec->tuning;
    JOB_CHECK(job, ctn_tuning_open(exec->log, rules_path, &exec->tuning) ==
                       CATENA_OK);
    make_heavy_mesh(job, &mesh);
    JOB_CHECK(job, catena_cart_create(job->context->world, 2,
                                      (const int[]){4, 4}, (const int[]){1, 1},
                                      0, NULL, &grid) == CATENA_OK);
    check_explained(job, mesh, true, 25, "colored", "rule 1 of tuning mine\"");
    check_explained(job, mesh, false, 25, "colored", "rule 1 of tuning mine\"");
    check_explained(job, mesh, false, 26, "direct", "rule 3 of tuning");
    check_explained(job, mesh, true, 51, "aggregated", "rule 4 of tuning");
    check_explained(job, mesh, true, 50, "direct",
                    "rule 3 of tuning mine: least estimate for its blocks");
    check_explained(job, grid, true, 25, "colored", "rule 1 of tuning mine\"");
    check_explained(job, grid, false, 26, "combining", "rule 2 of tuning");
    check_explained(job, grid, true, 51, "aggregated", "rule 4 of tuning");
    JOB_CHECK(job,
              catena_neighborhood_estimate(grid, "neighbor_allgather", 8, text,
                                           sizeof(text)) == CATENA_OK);
    JOB_CHECK(job, strstr(text, "rule 1 of tuning default: least estimate "
                                "for 8 bytes") != NULL);
    JOB_CHECK(job, catena_neighborhood_set(grid, "algorithm", "direct") ==
                       CATENA_OK);
    check_explained(job, grid, true, 51, "direct", "as asked for");
    JOB_CHECK(job,
              catena_neighborhood_set(grid, "algorithm", "auto") == CATENA_OK);
    check_explained(job, grid, true, 51, "aggregated", "rule 4 of tuning");
    JOB_CHECK(job, catena_neighborhood_free(&mesh) == CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_free(&grid) == CATENA_OK);
    ctn_tuning_close(exec->tuning);
    exec->tuning = tuning;
}

START_TEST(rules)
{
    int fd = mkstemps(rules_path, 5);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, rules_text, strlen(rules_text)),
                     (ssize_t)strlen(rules_text));
    close(fd);
    int failed = job_simulate_nodes(16, 4, 1, check_rules);
    unlink(rules_path);
    ck_assert_int_eq(failed, 0);
}
END_TEST

START_TEST(settings)
{
    static const char *const expected[] = {
        "algorithm 'combining' is not possible: it is not a grid",
        "algorithm is 'none'; expected auto, direct, colored",
        "no setting 'color'; expected algorithm"};
    capture_t capture;
    capture_start(&capture);
    int failed = job_simulate_nodes(16, 4, 3, check_settings);
    capture_stop(&capture);
    ck_assert_msg(failed == 0, "%s", capture.text);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        ck_assert_msg(strstr(capture.text, expected[i]) != NULL, "%s in %s",
                      expected[i], capture.text);
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, graphs, 0, ORACLE_GRAPH_SHAPES);
    tcase_add_loop_test(tcase, grids, ORACLE_WAY_CART, ORACLE_WAY_DERIVED + 1);
    tcase_add_loop_test(tcase, diagonals, 1, 5);
    tcase_add_loop_test(tcase, heavy_edges, false, true + 1);
    tcase_add_test(tcase, rules);
    tcase_add_test(tcase, settings);
    tcase_add_test(tcase, choices);
    tcase_add_test(tcase, costs);
}

UNIT_TEST(schedules)
{
    return unit_main("neighbor_schedules", 100, add_cases);
}
