/* Neighborhoods: a pairwise covering set of cases in which every value meets
 * every layout; and operations in any order. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/layout.h"
#include "oracle/neighborhood/case.h"
#include "ranks/helpers/nbr_mix.h"

enum { OPERATIONS = 16, MOST = 3000 };

/* ---- the covering set ---- */

static const oracle_plan_t *plan_of_cases(void)
{
    static oracle_plan_t plan;
    if (plan.set == NULL) {
        oracle_plan_make(&plan, oracle_nbr_space(), NULL);
    }
    return &plan;
}

static void values_meet(rank_test_t *test)
{
    rank_check_plan(test, plan_of_cases());
}

static void run_case(rank_test_t *test, const oracle_case_t *c, uint64_t number)
{
    char text[256], name[300];
    oracle_nbr_case_describe(c, text, sizeof(text));
    snprintf(name, sizeof(name), "#%lu %s", (unsigned long)number, text);
    if (!rank_wanted(test, name)) {
        return;
    }
    nbr_t nbr;
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .reorder = oracle_nbr_case_reorders(c)};
    oracle_nbr_case_graph(c, test->place.ranks, number, &nbr.graph);
    nbr_open(test, &nbr, &info, number);
    if (nbr.neighborhood != NULL) {
        (void)nbr_choose(&nbr, oracle_nbr_case_algorithm(c));
        oracle_nbr_call_t call = oracle_nbr_case_call(
            c, &nbr.graph, nbr.neighborhood, &nbr.table, number);
        oracle_nbr_all(&test->oracle, &call, number, nbr.algorithm);
        nbr_check_algorithm(&nbr, &call);
    }
    nbr_close(&nbr);
    rank_conclude(test, name);
}

static void cover(rank_test_t *test)
{
    const oracle_plan_t *plan = plan_of_cases();
    int layout = test->options->layout;
    for (size_t i = 0; i < plan->count; i++) {
        if (layout < 0 || (plan->layouts[i] >> layout & 1) != 0) {
            run_case(test, &plan->set[i], i + 1);
        }
    }
}

/** Several in flight, and connected ranks that execute any number; more of them
 * on cheaper layouts. */
static void mixed(rank_test_t *test)
{
    for (uint64_t i = 0; i < (test->simulated ? 12 : 4); i++) {
        nbr_mix(test, (oracle_graph_way_t)(i % ORACLE_GRAPH_WAYS),
                1000 * rank_seed(1) + i, OPERATIONS, MOST);
    }
}

/* ---- parts of grids ---- */

/** The values of all neighbors when each sends its rank in the world; gaps keep
 * -1. */
static void receive_ranks(rank_test_t *test, catena_neighborhood_t *n,
                          int32_t *received)
{
    for (int i = 0; i < 2 * ORACLE_DIMS; i++) {
        received[i] = -1;
    }
    RANK_CHECK(test, catena_neighbor_allgather(&test->place.rank, 1,
                                               CATENA_INT32, received, 1,
                                               CATENA_INT32, n) == CATENA_OK);
}

/** A part of a grid has the neighbors of the whole in the dimensions that it
 * keeps. */
static void part(rank_test_t *test, uint64_t seed)
{
    oracle_graph_t graph;
    catena_neighborhood_t *whole = NULL;
    catena_neighborhood_t *kept = NULL;
    int remain[ORACLE_DIMS];
    int coords[ORACLE_DIMS], dims[ORACLE_DIMS], periods[ORACLE_DIMS];
    int here[ORACLE_DIMS];
    int32_t in_whole[2 * ORACLE_DIMS], in_part[2 * ORACLE_DIMS];
    int ndims = 0;
    oracle_graph_draw_any(&graph, ORACLE_WAY_CART, test->place.ranks, seed);
    for (int d = 0; d < graph.ndims; d++) {
        remain[d] = (int)ctn_random_below(&seed, 2);
    }
    RANK_CHECK(test, oracle_neighborhood_make(&graph, test->world, NULL,
                                              &whole) == CATENA_OK);
    if (whole != NULL) {
        RANK_CHECK(test, catena_cart_sub(whole, remain, &kept) == CATENA_OK);
        receive_ranks(test, whole, in_whole);
        receive_ranks(test, kept, in_part);
        RANK_CHECK(test, catena_cart_get(kept, ORACLE_DIMS, dims, periods,
                                         here) == CATENA_OK);
        oracle_graph_coords(&graph, test->place.rank, coords);
        for (int d = 0; d < graph.ndims; d++) {
            if (remain[d] == 0) {
                continue;
            }
            RANK_CHECK(test, dims[ndims] == graph.dims[d] &&
                                 !periods[ndims] == !graph.periods[d] &&
                                 here[ndims] == coords[d]);
            RANK_CHECK(test, memcmp(&in_part[2 * ndims], &in_whole[2 * d],
                                    2 * sizeof(int32_t)) == 0);
            ndims++;
        }
        int found = -1;
        RANK_CHECK(test, catena_cart_ndims(kept, &found) == CATENA_OK &&
                             found == ndims);
        RANK_CHECK(test, catena_neighborhood_free(&kept) == CATENA_OK);
        RANK_CHECK(test, catena_neighborhood_free(&whole) == CATENA_OK);
    }
    oracle_graph_free(&graph);
}

static void parts(rank_test_t *test)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        part(test, seed);
    }
}

/* ---- operations that complete out of order ---- */

/** Two operations on a star of ranks 0 to 2 around rank 0: first a number along
 * all edges, then one from rank 1 to rank 0 only. */
typedef struct pair {
    int64_t send[2], recv[2];
    int64_t alone[2];
    catena_request_t *all, *one;
} pair_t;

static catena_status_t send_alone(rank_test_t *test, pair_t *pair,
                                  catena_neighborhood_t *star)
{
    static const ptrdiff_t places[] = {0, 0};
    static const size_t none[] = {0, 0};
    static const size_t first[] = {1, 0};
    int rank = test->place.rank;
    pair->alone[0] = rank;
    return catena_ineighbor_alltoallv(&pair->alone[0], rank == 1 ? first : none,
                                      places, CATENA_INT64, &pair->alone[1],
                                      rank == 0 ? first : none, places,
                                      CATENA_INT64, star, &pair->one);
}

static void start_pair(rank_test_t *test, pair_t *pair,
                       catena_neighborhood_t *star)
{
    *pair = (pair_t){.send = {test->place.rank, test->place.rank}};
    RANK_CHECK(test, catena_ineighbor_alltoall(pair->send, 1, CATENA_INT64,
                                               pair->recv, 1, CATENA_INT64,
                                               star, &pair->all) == CATENA_OK);
    RANK_CHECK(test, send_alone(test, pair, star) == CATENA_OK);
}

static void end_pair(rank_test_t *test, pair_t *pair)
{
    int rank = test->place.rank;
    RANK_CHECK(test, catena_request_wait(&pair->one) == CATENA_OK);
    RANK_CHECK(test, catena_request_wait(&pair->all) == CATENA_OK);
    RANK_CHECK(test, rank != 0 || pair->alone[1] == 1);
    RANK_CHECK(test, pair->recv[0] == (rank == 0) &&
                         pair->recv[1] == (rank == 0 ? 2 : 0));
}

/** Rank 0 completes the second of two operations before the first, in which it
 * waits for rank 2. Rank 1 starts the next two before rank 0 does, and must
 * detect both completions. */
static void second_first(rank_test_t *test, catena_neighborhood_t *star)
{
    int rank = test->place.rank;
    pair_t pair = {.one = NULL};
    RANK_CHECK(test, send_alone(test, &pair, star) == CATENA_OK);
    RANK_CHECK(test, catena_request_wait(&pair.one) == CATENA_OK);
    if (rank == 2) {
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
    start_pair(test, &pair, star);
    if (rank == 0) {
        RANK_CHECK(test, catena_request_wait(&pair.one) == CATENA_OK);
    }
    if (rank != 2) {
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
    end_pair(test, &pair);
    if (rank == 0) {
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
    start_pair(test, &pair, star);
    if (rank != 0) {
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
    end_pair(test, &pair);
}

static void out_of_order(rank_test_t *test)
{
    static const int outer[] = {1, 2};
    static const int center[] = {0};
    int rank = test->place.rank;
    int degree = test->place.ranks < 3 ? 0 : rank == 0 ? 2 : rank < 3;
    const int *neighbors = rank == 0 ? outer : center;
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .algorithm = "direct"};
    catena_neighborhood_t *star = NULL;
    RANK_CHECK(test, catena_neighborhood_create(test->world, degree, neighbors,
                                                CATENA_UNWEIGHTED, degree,
                                                neighbors, CATENA_UNWEIGHTED,
                                                &info, &star) == CATENA_OK);
    /* If messages without data are sent, no rank completes an operation before
     * all its neighbors have started it. */
    int turns = test->place.ranks > 2 && !rank_checks() ? 8 : 0;
    for (int turn = 0; turn < turns; turn++) {
        if (degree > 0) {
            second_first(test, star);
        } else {
            RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
            RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
        }
    }
    RANK_CHECK(test, catena_neighborhood_free(&star) == CATENA_OK);
}

/* ---- types with long runs, which receivers may read in place ---- */

enum { STREAM = 38400 };

/** Layout of a stream of bytes: runs, `per` of them in each element. */
typedef struct lay {
    size_t run, stride, per, extent;
} lay_t;

static const lay_t lays[] = {{STREAM, STREAM, 1, STREAM},
                             {512, 1024, 75, 75 * 1024},
                             {512, 1024, 5, 5 * 1024 + 64},
                             {100, 300, 384, 384 * 300}};

enum { LAYS = sizeof(lays) / sizeof(lays[0]), LAY_MOST = 384 * 300 };

/** A new buffer with the data of rank `from`; negative: without data. */
static unsigned char *lay_out(rank_test_t *test, const lay_t *lay, int from)
{
    unsigned char data[STREAM];
    unsigned char *memory = rank_take(test, RANK_HEAP, LAY_MOST);
    memset(memory, 0xee, LAY_MOST);
    oracle_stream(1, (size_t)from, 0, 0, from < 0 ? 0 : STREAM, data);
    for (size_t r = 0; from >= 0 && r < STREAM / lay->run; r++) {
        memcpy(memory + r / lay->per * lay->extent + r % lay->per * lay->stride,
               data + r * lay->run, lay->run);
    }
    return memory;
}

static catena_type_t lay_type(rank_test_t *test, const lay_t *lay)
{
    catena_type_t element = NULL;
    catena_type_t type = NULL;
    RANK_CHECK(test,
               catena_type_vector(lay->per, lay->run, (ptrdiff_t)lay->stride,
                                  CATENA_BYTE, &element) == CATENA_OK);
    RANK_CHECK(test, catena_type_resized(element, 0, (ptrdiff_t)lay->extent,
                                         &type) == CATENA_OK);
    RANK_CHECK(test, catena_type_free(&element) == CATENA_OK);
    return type;
}

/** Send to the next rank. @param i one of the LAYS * LAYS pairs of layouts */
static void pass_on(rank_test_t *test, catena_neighborhood_t *ring, int before,
                    int i)
{
    static const ptrdiff_t places[] = {0};
    const lay_t *lay[] = {&lays[i / LAYS], &lays[i % LAYS]};
    catena_type_t type[2];
    size_t count[2];
    unsigned char *send = lay_out(test, lay[0], test->place.rank);
    unsigned char *recv = lay_out(test, lay[1], -1);
    unsigned char *expected = lay_out(test, lay[1], before);
    for (int s = 0; s < 2; s++) {
        type[s] = lay_type(test, lay[s]);
        count[s] = STREAM / lay[s]->run / lay[s]->per;
    }
    RANK_CHECK(test, catena_neighbor_alltoallw(
                         send, &count[0], places, &type[0], recv, &count[1],
                         places, &type[1], ring) == CATENA_OK);
    RANK_CHECK(test, memcmp(recv, expected, LAY_MOST) == 0);
    for (int s = 0; s < 2; s++) {
        RANK_CHECK(test, catena_type_free(&type[s]) == CATENA_OK);
    }
    rank_give(test, RANK_HEAP, send);
    rank_give(test, RANK_HEAP, recv);
    rank_give(test, RANK_HEAP, expected);
}

static void long_runs(rank_test_t *test)
{
    int size = test->place.ranks;
    int before = (test->place.rank + size - 1) % size;
    int after = (test->place.rank + 1) % size;
    catena_neighborhood_t *ring = NULL;
    RANK_CHECK(test, catena_neighborhood_create(
                         test->world, 1, &before, CATENA_UNWEIGHTED, 1, &after,
                         CATENA_UNWEIGHTED, NULL, &ring) == CATENA_OK);
    for (int i = 0; i < LAYS * LAYS; i++) {
        pass_on(test, ring, before, i);
    }
    RANK_CHECK(test, catena_neighborhood_free(&ring) == CATENA_OK);
}

/** Requests that are freed before their links are connected. */
static void freed_at_once(rank_test_t *test)
{
    enum { REQUESTS = 3 };
    int p = test->place.ranks;
    int left = (test->place.rank + p - 1) % p;
    int right = (test->place.rank + 1) % p;
    catena_neighborhood_t *ring = NULL;
    RANK_CHECK(test, catena_neighborhood_create(test->world, 1, &left, NULL, 1,
                                                &right, NULL, NULL,
                                                &ring) == CATENA_OK);
    for (int turn = 0; turn < 10; turn++) {
        int32_t mine = test->place.rank + turn, other = -1;
        for (int i = 0; i < REQUESTS; i++) {
            catena_request_t *request = NULL;
            RANK_CHECK(test, catena_neighbor_alltoall_init(
                                 &mine, 1, CATENA_INT32, &other, 1,
                                 CATENA_INT32, ring, &request) == CATENA_OK);
            RANK_CHECK(test, catena_request_free(&request) == CATENA_OK);
        }
        RANK_CHECK(test,
                   catena_neighbor_alltoall(&mine, 1, CATENA_INT32, &other, 1,
                                            CATENA_INT32, ring) == CATENA_OK);
        RANK_CHECK(test, other == left + turn);
    }
    RANK_CHECK(test, catena_neighborhood_free(&ring) == CATENA_OK);
}

static const rank_case_t cases[] = {
    {"every two values of neighborhoods meet", values_meet},
    {"operations that end out of order", out_of_order},
    {"parts of grids", parts},
    {"types with long runs", long_runs},
    {"mixed neighborhoods", mixed},
    {"requests that are freed at once", freed_at_once},
    {NULL, NULL}};
static const rank_case_t many[] = {{"cover", cover}, {NULL, NULL}};
const rank_suite_t rank_suite_neighbor = {
    .name = "neighbor", .cases = cases, .many = many};
