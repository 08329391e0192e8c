/* Plans of neighborhoods, without data: what all ranks would do is followed
 * block by block, and each must come to where it belongs, once. Simulated ranks
 * are in one process, so the plans of all can be seen. */

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "graph.h"
#include "grid_case.h"
#include "neighbor/choice.h"
#include "plan_run.h"
#include "plan_walk.h"
#include "unit.h"

/* The neighborhoods of all ranks of the job that runs. */
static catena_neighborhood_t *made[PLAN_WALK_RANKS];

/* What they are made from. */
static enum graph_shape shape;
static grid_case_t grid;

/* ---- making them ---- */

static catena_status_t make_graph(job_t *job, catena_neighborhood_t **out)
{
    int rank = (int)job->rank;
    graph_t graph = graph_make(shape, (int)job->size, job->seed);
    graph_list_t sources = graph_list(&graph, rank, false, job->seed);
    graph_list_t targets = graph_list(&graph, rank, true, job->seed);
    bool weighted = job->seed % 2 == 0;
    catena_status_t status = catena_neighborhood_create(
        job->context->world, sources.count, sources.rank,
        weighted ? sources.weight : CATENA_UNWEIGHTED, targets.count,
        targets.rank, weighted ? targets.weight : CATENA_UNWEIGHTED, NULL, out);
    graph_list_free(&sources);
    graph_list_free(&targets);
    graph_free(&graph);
    return status;
}

/** All plans that are possible. */
static void make_plans(job_t *job, catena_neighborhood_t *own)
{
    for (ctn_scheme_t scheme = 0; scheme < CTN_SCHEMES; scheme++) {
        JOB_CHECK(job, ctn_scheme_make(own, scheme) == CATENA_OK);
    }
    JOB_CHECK(job, own->plan[CTN_SCHEME_DIRECT][CTN_PATTERN_GATHER] != NULL);
    JOB_CHECK(job, own->plan[CTN_SCHEME_COLORED][CTN_PATTERN_GATHER] != NULL);
}

static const ctn_plan_t *plan_of(uint32_t rank, ctn_scheme_t scheme,
                                 ctn_pattern_t pattern)
{
    return made[rank]->plan[scheme][pattern];
}

/** Whether all ranks, or none, have a plan of the scheme. */
static bool is_possible(job_t *job, ctn_scheme_t scheme, ctn_pattern_t pattern)
{
    bool possible = plan_of(0, scheme, pattern) != NULL;
    for (uint32_t r = 0; r < job->size; r++) {
        JOB_CHECK(job, (plan_of(r, scheme, pattern) != NULL) == possible);
    }
    return possible;
}

/* ---- what schemes promise ---- */

/** A rank sends at most one message in a round, and receives at most one. */
static void check_steps(job_t *job, const ctn_plan_t *plan)
{
    for (uint32_t i = 1; i < plan->sends; i++) {
        JOB_CHECK(job, plan->send[i].round > plan->send[i - 1].round);
    }
    for (uint32_t i = 1; i < plan->receives; i++) {
        JOB_CHECK(job, plan->receive[i].round > plan->receive[i - 1].round);
    }
}

/** Between two nodes there is one message each way, if there are edges. */
static void check_node_pairs(job_t *job, const ctn_plan_t *plan)
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
    JOB_CHECK(job, plan->facts.messages[CTN_FAR] == pairs);
    JOB_CHECK(job, plan->rounds == 3 && plan->facts.far_rounds == (pairs > 0));
    free(seen);
}

static uint32_t greatest_degree(const job_t *job)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < job->size; r++) {
        const ctn_plan_t *plan =
            plan_of(r, CTN_SCHEME_DIRECT, CTN_PATTERN_ALLTOALL);
        most = most > plan->sends ? most : plan->sends;
        most = most > plan->receives ? most : plan->receives;
    }
    return most;
}

static void check_scheme(job_t *job, ctn_scheme_t scheme, ctn_pattern_t pattern)
{
    const ctn_plan_t *plan = plan_of(0, scheme, pattern);
    plan_walk(job, made, scheme, pattern);
    if (scheme == CTN_SCHEME_COLORED) {
        uint32_t degree = greatest_degree(job);
        JOB_CHECK(job, plan->rounds >= degree);
        JOB_CHECK(job, grid.ndims > 0
                           ? plan->rounds <= made[0]->targets
                           : plan->rounds < 2 * degree || degree == 0);
        for (uint32_t r = 0; r < job->size; r++) {
            check_steps(job, plan_of(r, scheme, pattern));
        }
    } else if (scheme == CTN_SCHEME_AGGREGATED) {
        check_node_pairs(job, plan);
    } else if (scheme == CTN_SCHEME_COMBINING) {
        grid_case_check(job, &grid, made, pattern);
    }
}

static void check_all(job_t *job)
{
    for (ctn_scheme_t scheme = 0; scheme < CTN_SCHEMES; scheme++) {
        for (ctn_pattern_t pattern = 0; pattern < CTN_PATTERNS; pattern++) {
            if (is_possible(job, scheme, pattern)) {
                check_scheme(job, scheme, pattern);
            }
        }
    }
}

/* ---- */

/** The same with data. */
static void run_all(job_t *job, catena_neighborhood_t *own)
{
    static const size_t words[] = {1, 40, 5000};
    for (ctn_scheme_t scheme = 0; scheme < CTN_SCHEMES; scheme++) {
        if (own->plan[scheme][CTN_PATTERN_ALLTOALL] != NULL) {
            JOB_CHECK(job, catena_neighborhood_set(own, "algorithm",
                                                   ctn_scheme_names[scheme]) ==
                               CATENA_OK);
            plan_run(job, own, words[(job->seed + scheme) % 3]);
        }
    }
}

static void make_and_check(job_t *job)
{
    catena_neighborhood_t *own = NULL;
    catena_status_t status = grid.ndims > 0 ? grid_case_make(job, &grid, &own)
                                            : make_graph(job, &own);
    made[job->rank] = own;
    JOB_CHECK(job, status == CATENA_OK);
    if (status == CATENA_OK) {
        make_plans(job, own);
    }
    (void)catena_barrier(job->context->world);
    if (status == CATENA_OK && job->rank == 0) {
        check_all(job);
    }
    (void)catena_barrier(job->context->world);
    if (status == CATENA_OK) {
        run_all(job, own);
    }
    JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
}

START_TEST(graphs)
{
    grid = (grid_case_t){0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        for (shape = 0; shape < GRAPH_SHAPES; shape++) {
            uint32_t size = seed < 6 ? (uint32_t)seed : (uint32_t)seed * 7 % 40;
            int failed = job_simulate(size + 1, seed, make_and_check);
            ck_assert_msg(failed == 0, "shape %d, seed %d: %d failed",
                          (int)shape, (int)seed, failed);
        }
    }
}
END_TEST

START_TEST(grids)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        grid = grid_case_draw(seed);
        int failed = job_simulate((uint32_t)grid_case_ranks(&grid), seed,
                                  make_and_check);
        ck_assert_msg(failed == 0, "seed %d: %d failed", (int)seed, failed);
    }
}
END_TEST

/** As many messages as there are dimensions, twice; and when all get the same
 * block, it comes to each of them once. */
static void check_moore(job_t *job)
{
    make_and_check(job);
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, grid_case_make(job, &grid, &own) == CATENA_OK);
    JOB_CHECK(job, ctn_scheme_make(own, CTN_SCHEME_COMBINING) == CATENA_OK);
    const ctn_plan_t *gather =
        own->plan[CTN_SCHEME_COMBINING][CTN_PATTERN_GATHER];
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < gather->sends; i++) {
        blocks += gather->send[i].count;
    }
    JOB_CHECK(job, gather->sends == 2u * (unsigned)grid.ndims);
    JOB_CHECK(job, blocks == (unsigned)grid.vectors);
    JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
}

START_TEST(diagonals)
{
    for (int ndims = 1; ndims <= 4; ndims++) {
        grid = grid_case_moore(ndims, 3);
        int failed = job_simulate((uint32_t)grid_case_ranks(&grid),
                                  (uint64_t)ndims, check_moore);
        ck_assert_msg(failed == 0, "%d dimensions: %d failed", ndims, failed);
    }
}
END_TEST

/* ---- heavy edges ---- */

/** A ring of rings in which each rank has one heavy neighbor, of every second
 * pair of rows in another dimension: in the order of dimensions heavy edges
 * would take two rounds for each direction, but no two meet in a rank. */
static void make_heavy_mesh(job_t *job, catena_neighborhood_t **out)
{
    enum { SIDE = 4 };
    int row = (int)job->rank / SIDE;
    int column = (int)job->rank % SIDE;
    int neighbor[4] = {(row + SIDE - 1) % SIDE * SIDE + column,
                       (row + 1) % SIDE * SIDE + column,
                       row * SIDE + (column + SIDE - 1) % SIDE,
                       row * SIDE + (column + 1) % SIDE};
    int weight[4] = {1, 1, 1, 1};
    /* Rows 0 and 1 pair within a row, rows 2 and 3 with each other. */
    weight[row < 2 ? 2 + (column + 1) % 2 : (row + 1) % 2] = 9;
    JOB_CHECK(job, catena_neighborhood_create(job->context->world, 4, neighbor,
                                              weight, 4, neighbor, weight, NULL,
                                              out) == CATENA_OK);
}

static void check_heavy_mesh(job_t *job)
{
    catena_neighborhood_stats_t stats;
    catena_neighborhood_t *own = NULL;
    char text[1024];
    make_heavy_mesh(job, &own);
    JOB_CHECK(job, catena_neighborhood_set(own, "algorithm", "colored") ==
                       CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_get_stats(own, &stats) == CATENA_OK);
    JOB_CHECK(job, stats.heavy_rounds == 1);
    JOB_CHECK(job, stats.rounds >= 4 && stats.rounds < 8);
    JOB_CHECK(job, stats.messages == 4);
    JOB_CHECK(job, stats.weight_all == 16 * (9 + 3));
    JOB_CHECK(job,
              catena_neighborhood_explain(own, CATENA_NEIGHBOR_GATHER, 8, text,
                                          sizeof(text)) == CATENA_OK);
    JOB_CHECK(job, strncmp(text, "algorithm=colored ", 18) == 0);
    JOB_CHECK(job, strstr(text, "as asked for") != NULL);
    JOB_CHECK(job, strstr(text, "\ndirect: ") != NULL);
    JOB_CHECK(job, strstr(text, "heavy 1;") != NULL);
    /* Cut, but terminated. */
    JOB_CHECK(job, catena_neighborhood_explain(own, CATENA_NEIGHBOR_GATHER, 8,
                                               text, 10) == CATENA_OK);
    JOB_CHECK(job, strcmp(text, "algorithm") == 0);
    JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
}

START_TEST(heavy_edges)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        int failed = job_simulate(16, seed, check_heavy_mesh);
        ck_assert_msg(failed == 0, "seed %d: %d failed", (int)seed, failed);
    }
}
END_TEST

/* ---- settings ---- */

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
    bool odd = job->rank == 3; /* one rank says something else */
    JOB_CHECK(job, catena_neighborhood_set(own, "algorithm",
                                           odd ? "direct" : "colored") ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job,
              catena_neighborhood_set(own, "algorithm",
                                      odd ? "none" : "auto") == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_set(own, odd ? "color" : "algorithm",
                                           "auto") == CATENA_ERR_ARG);
    for (ctn_scheme_t scheme = 0; scheme < CTN_SCHEMES; scheme++) {
        const char *name = ctn_scheme_names[scheme];
        if (scheme == CTN_SCHEME_COMBINING) {
            continue;
        }
        JOB_CHECK(job,
                  catena_neighborhood_set(own, "algorithm", name) == CATENA_OK);
        JOB_CHECK(job,
                  catena_neighborhood_explain(own, CATENA_NEIGHBOR_REDUCE, 64,
                                              text, sizeof(text)) == CATENA_OK);
        JOB_CHECK(job, strncmp(text + 10, name, strlen(name)) == 0);
    }
    JOB_CHECK(job,
              catena_neighborhood_set(own, "algorithm", "auto") == CATENA_OK);
    JOB_CHECK(job, own->wanted == -1);
    JOB_CHECK(job,
              catena_neighborhood_explain(own, CATENA_NEIGHBOR_ALL, 8, text,
                                          sizeof(text)) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
}

/** One rank knows another machine: all choose by the same costs. */
static void check_costs(job_t *job)
{
    static char machine[] = "machine:jaguar";
    catena_neighborhood_t *own = NULL;
    char *tuning = job->context->config.tuning;
    if (job->rank == 1) {
        job->context->config.tuning = machine;
    }
    make_heavy_mesh(job, &own);
    job->context->config.tuning = tuning;
    const ctn_neighbor_costs_t *costs = &own->chooser->costs;
    uint64_t packed = (uint64_t)(costs->packed * 1000);
    uint64_t most[2] = {packed, ~packed};
    JOB_CHECK(job, ctn_neighbor_agree(own->group, CATENA_OK, 0, NULL, 2,
                                      most) == CATENA_OK);
    JOB_CHECK(job, most[0] == ~most[1]);
    JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
}

START_TEST(costs)
{
    ck_assert_int_eq(job_simulate(16, 1, check_costs), 0);
}
END_TEST

START_TEST(settings)
{
    static const char *const said[] = {
        "algorithm 'combining' is not possible: it is no grid",
        "algorithm is 'none'; expected auto, direct, colored",
        "no setting 'color'; there is algorithm"};
    capture_t capture;
    capture_start(&capture);
    int failed = job_simulate_nodes(16, 4, 3, check_settings);
    capture_stop(&capture);
    ck_assert_msg(failed == 0, "%s", capture.text);
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        ck_assert_msg(strstr(capture.text, said[i]) != NULL, "%s in %s",
                      said[i], capture.text);
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, graphs);
    tcase_add_test(tcase, grids);
    tcase_add_test(tcase, diagonals);
    tcase_add_test(tcase, heavy_edges);
    tcase_add_test(tcase, settings);
    tcase_add_test(tcase, costs);
}

int main(void)
{
    return unit_main("neighbor_plans", 100, add_cases);
}
