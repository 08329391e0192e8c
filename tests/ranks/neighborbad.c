/* Inconsistent neighbor lists, and erroneous calls: an error that names the
 * ranks, on every rank concerned. No rank deadlocks, and the following calls
 * work. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/nbr_mix.h"
#include "ranks/helpers/refuse.h"

enum { CASES = 50, ALL = CATENA_NEIGHBOR_ALL };

static void drop(rank_test_t *test, catena_neighborhood_t *neighborhood)
{
    RANK_CHECK(test, neighborhood == NULL ||
                         catena_neighborhood_free(&neighborhood) == CATENA_OK);
}

/* ---- inconsistent lists ---- */

/** This rank and `other` disagree: both must be named. */
static void names_both(rank_test_t *test, int other, const char *captured)
{
    char own[32], theirs[32];
    snprintf(own, sizeof(own), "rank %d ", test->place.rank);
    snprintf(theirs, sizeof(theirs), "rank %d ", other);
    if (!test->simulated &&
        (strstr(captured, own) == NULL || strstr(captured, theirs) == NULL)) {
        rank_fail(test, "expected '%s' and '%s', found '%s'", own, theirs,
                  captured);
    }
}

static void spoiled(rank_test_t *test, uint64_t seed)
{
    oracle_graph_t graph;
    static capture_t captured;
    catena_neighborhood_t *neighborhood = NULL;
    int size = test->place.ranks;
    int rank = test->place.rank;
    bool good = true;
    oracle_graph_draw_any(&graph, ORACLE_WAY_ADJACENT, size, seed);
    oracle_graph_spoil(&graph, seed + 1);
    for (int i = 0; i < size * size; i++) {
        good = good && oracle_graph_agrees(&graph, i / size, i % size);
    }
    rank_capture_start(test, &captured);
    catena_status_t status =
        oracle_neighborhood_make(&graph, test->world, NULL, &neighborhood);
    rank_capture_stop(test, &captured);
    RANK_CHECK(test, status == (good ? CATENA_OK : CATENA_ERR_ARG));
    RANK_CHECK(test, good == (neighborhood != NULL));
    for (int other = 0; other < size; other++) {
        if (other != rank && (!oracle_graph_agrees(&graph, rank, other) ||
                              !oracle_graph_agrees(&graph, other, rank))) {
            names_both(test, other, captured.text);
        }
    }
    drop(test, neighborhood);
    oracle_graph_free(&graph);
}

static void lists_that_do_not_fit(rank_test_t *test)
{
    for (uint64_t seed = 0; seed < CASES; seed++) {
        spoiled(test, 7 * seed);
    }
    /* The last rank names all, and none names it: it logs that a few times. */
    int all[64];
    catena_neighborhood_t *none = NULL;
    int p = test->place.ranks < 64 ? test->place.ranks : 64;
    bool last = test->place.rank == test->place.ranks - 1;
    for (int i = 0; i < p; i++) {
        all[i] = i;
    }
    FAILS(test, CATENA_ERR_ARG, last && p > 4 ? "more lists do not fit" : "",
          catena_neighborhood_create(test->world, 0, NULL, NULL, last ? p : 0,
                                     all, NULL, NULL, &none));
}

/* ---- arguments of creation ---- */

/** A ring, except for the given members. */
typedef struct ring {
    const int *source; /* replaces the one before */
    const int *weight;
    const catena_neighborhood_info_t *info;
    unsigned operations;
    catena_neighborhood_t **out; /* NULL: none */
} ring_t;

static catena_status_t make(rank_test_t *test, ring_t ring)
{
    int p = test->place.ranks;
    int before = (test->place.rank + p - 1) % p;
    int after = (test->place.rank + 1) % p;
    const catena_neighborhood_info_t some = {.size = sizeof(some),
                                             .operations = ring.operations};
    return catena_neighborhood_create(
        test->world, 1, ring.source != NULL ? ring.source : &before,
        ring.weight, 1, &after, ring.weight,
        ring.info != NULL ? ring.info : &some, ring.out);
}

static catena_neighborhood_t *make_ring(rank_test_t *test, unsigned operations)
{
    catena_neighborhood_t *ring = NULL;
    RANK_CHECK(test, make(test, (ring_t){.operations = operations,
                                         .out = &ring}) == CATENA_OK);
    return ring;
}

/** Only the last rank is wrong, or differs; all fail. */
static void arguments(rank_test_t *test)
{
    static const int one = 1;
    static const int minus = -1;
    int p = test->place.ranks;
    bool last = test->place.rank == p - 1;
    catena_neighborhood_t *out = NULL;
    catena_neighborhood_info_t bytes = {.size = sizeof(bytes),
                                        .bytes = last ? 8 : 16};
    catena_neighborhood_info_t other = {.size = sizeof(other),
                                        .algorithm = last ? "direct" : "auto"};
    catena_neighborhood_info_t unknown = {.size = sizeof(unknown),
                                          .algorithm = last ? "odd" : NULL};
    catena_neighborhood_info_t unsized = {.size = last ? 8 : sizeof(unsized)};
    const struct {
        const char *words;
        bool differs; /* found by comparison with other ranks; all ranks report
                       * it */
        ring_t ring;
    } wrong[] = {
        {"source 0 is rank", false, {last ? &p : NULL, NULL, NULL, ALL, &out}},
        {"source 0 is rank -1",
         false,
         {last ? &minus : NULL, NULL, NULL, ALL, &out}},
        {"weight of source 0 is -1",
         false,
         {NULL, last ? &minus : &one, NULL, ALL, &out}},
        {"weights", true, {NULL, last ? &one : NULL, NULL, ALL, &out}},
        {"bytes must be the same", true, {NULL, NULL, &bytes, ALL, &out}},
        {"algorithm must be the same", true, {NULL, NULL, &other, ALL, &out}},
        {"algorithm is 'odd'", false, {NULL, NULL, &unknown, ALL, &out}},
        {"size of a catena_neighborhood_info_t is 8",
         false,
         {NULL, NULL, &unsized, ALL, &out}},
        {"operations must be the", true, {NULL, NULL, NULL, 1u + last, &out}},
        {"operations are 0x9", false, {NULL, NULL, NULL, last ? 9 : 2, &out}},
        {"", false, {NULL, NULL, NULL, ALL, last ? NULL : &out}},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        bool reports = wrong[i].differs ? test->place.rank == 0 : last;
        REFUSED(test, reports ? wrong[i].words : "", make(test, wrong[i].ring));
    }
    RANK_CHECK(test, out == NULL);
    REFUSED(test, "",
            catena_neighborhood_create(test->world, last ? -1 : 0, &one, NULL,
                                       0, &one, NULL, NULL, &out));
    REFUSED(test, "",
            catena_neighborhood_create(test->world, last, NULL, NULL, 0, &one,
                                       NULL, NULL, &out));
    drop(test, make_ring(test, CATENA_NEIGHBOR_ALLGATHER));
}

/** The same for edges that ranks contribute. */
static void contributions(rank_test_t *test)
{
    int p = test->place.ranks;
    bool last = test->place.rank == p - 1;
    static const int zero = 0;
    static const int one = 1;
    catena_neighborhood_t *n = NULL;
    int beyond = last ? p : 0;
    int minus = last ? -1 : 1;
    int null = last ? CATENA_PROC_NULL : 0;
    const struct {
        const char *words;
        int count;
        const int *node, *degree, *target, *weight;
        catena_neighborhood_t **out;
    } wrong[] = {
        {"source 0 is rank", 1, &beyond, &one, &zero, NULL, &n},
        {"", 1, &zero, &minus, &zero, NULL, &n},
        {"", 1, &zero, &one, &null, NULL, &n},
        {"weight of edge 0 is -1", 1, &zero, &one, &zero, &minus, &n},
        {"", minus, &zero, &one, &zero, NULL, &n},
        {"", 1, &zero, &one, &zero, NULL, last ? NULL : &n},
        {"", 1, &zero, &one, &zero, last ? &one : NULL, &n},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        REFUSED(test, last ? wrong[i].words : "",
                catena_dist_graph_create(
                    test->world, wrong[i].count, wrong[i].node, wrong[i].degree,
                    wrong[i].target, wrong[i].weight, NULL, wrong[i].out));
    }
    RANK_CHECK(test, n == NULL);
}

/** The same for grids. */
static void grids(rank_test_t *test)
{
    int p = test->place.ranks;
    bool last = test->place.rank == p - 1;
    static const int periods[] = {1, 0};
    catena_neighborhood_info_t sideways = {.size = sizeof(sideways),
                                           .algorithm = "sideways"};
    catena_neighborhood_t *n = NULL;
    catena_neighborhood_t *cart = NULL;
    const int dims[] = {1, p};
    const struct {
        const char *words;
        int ndims, dims[2];
        const int *periods;
        catena_neighborhood_t **out;
    } wrong[] = {
        {"dimension 1 is 0", 2, {1, last ? 0 : p}, periods, &n},
        {"make it smaller", 2, {1, last ? p + 1 : p}, periods, &n},
        {"", 2, {1 << 20, 1 << 20}, periods, &n},
        {"", last ? -1 : 2, {1, p}, periods, &n},
        {"", 2, {1, p}, last ? NULL : periods, &n},
        {"", 2, {1, p}, periods, last ? NULL : &n},
        {"", 2, {last ? p : 1, last ? 1 : p}, periods, &n},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        REFUSED(test, last ? wrong[i].words : "",
                catena_cart_create(test->world, wrong[i].ndims, wrong[i].dims,
                                   wrong[i].periods, 0, NULL, wrong[i].out));
    }
    /* Ranks outside the grid get the error too. */
    REFUSED(test, test->place.rank == 0 ? "sideways" : "",
            catena_cart_create(test->world, 1, (const int[]){1}, periods, 0,
                               &sideways, &n));
    const int weights[] = {1, 1, last ? -2 : 1, 0};
    catena_neighborhood_info_t weighted = {.size = sizeof(weighted),
                                           .weights = weights};
    REFUSED(
        test, last ? "the weight of neighbor 2 is -2" : "",
        catena_cart_create(test->world, 2, dims, periods, 0, &weighted, &n));
    weighted.weights = last ? NULL : weights;
    REFUSED(
        test, test->place.rank == 0 ? "ranks give their edges weights" : "",
        catena_cart_create(test->world, 2, dims, periods, 0, &weighted, &n));
    RANK_CHECK(test, catena_cart_create(test->world, 2, dims, periods, 0, NULL,
                                        &cart) == CATENA_OK);
    REFUSED(test, last ? "" : "only catena_cart_create takes them",
            catena_cart_derive_graph(cart, 1, dims, NULL, 0, &weighted, &n));
    const int vector[] = {last, 1};
    const int weight = last ? -1 : 1;
    const int remain[] = {0, 1};
    REFUSED(test, "",
            catena_cart_derive_graph(cart, 1, dims, &weight, 0, NULL, &n));
    REFUSED(
        test, "",
        catena_cart_derive_graph(cart, last ? -1 : 1, dims, NULL, 0, NULL, &n));
    REFUSED(test, "",
            catena_cart_derive_graph(cart, 1, dims, NULL, 0, NULL,
                                     last ? NULL : &n));
    REFUSED(test, "",
            catena_cart_derive_graph(cart, 1, vector, NULL, 0, NULL, &n));
    REFUSED(test, "",
            catena_cart_derive_graph(cart, 1, dims, last ? NULL : remain + 1, 0,
                                     NULL, &n));
    REFUSED(test, "", catena_cart_sub(cart, remain, last ? NULL : &n));
    REFUSED(test, "", catena_cart_sub(cart, last ? NULL : remain, &n));
    REFUSED(test, "",
            catena_neighborhood_set(cart, last ? NULL : "algorithm", "auto"));
    int found[2];
    RANK_CHECK(test, catena_cart_coords(cart, p, 2, found) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_cart_coords(cart, -1, 2, found) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_cart_shift(cart, 2, 1, &found[0], &found[1]) ==
                         CATENA_ERR_ARG);
    drop(test, cart);
    cart = make_ring(test, ALL);
    RANK_CHECK(test, catena_cart_ndims(cart, found) == CATENA_ERR_ARG);
    RANK_CHECK(test, catena_cart_sub(cart, remain, &n) == CATENA_ERR_ARG);
    RANK_CHECK(test, n == NULL);
    drop(test, cart);
}

/* ---- arguments of operations ---- */

static void still_works(rank_test_t *test, catena_neighborhood_t *ring)
{
    int p = test->place.ranks;
    int32_t own = test->place.rank;
    int32_t found = -1;
    RANK_CHECK(test,
               catena_neighbor_allgather(&own, 1, CATENA_INT32, &found, 1,
                                         CATENA_INT32, ring) == CATENA_OK);
    RANK_CHECK(test, found == (own + p - 1) % p);
}

static void calls(rank_test_t *test)
{
    catena_neighborhood_t *n = make_ring(test, ALL);
    catena_neighborhood_t *gathers = make_ring(test, CATENA_NEIGHBOR_ALLGATHER);
    catena_request_t *request = NULL;
    const catena_type_t type = CATENA_INT32;
    const catena_type_t none = NULL;
    void *in_place = CATENA_IN_PLACE;
    int32_t a[4] = {0}, b[4] = {0};
    size_t count = 1;
    ptrdiff_t at = 0;
    size_t much = SIZE_MAX / 2;
    REFUSED(test, "send is NULL",
            catena_neighbor_allgather(NULL, 1, type, b, 1, type, n));
    REFUSED(test, "type of recv is NULL",
            catena_neighbor_allgather(a, 1, type, b, 1, NULL, n));
    REFUSED(test, "recv_displacements is NULL; expected [",
            catena_neighbor_allgatherv(a, 1, type, b, &count, NULL, type, n));
    REFUSED(test, "type of recv is NULL",
            catena_neighbor_alltoallw(a, &count, &at, &type, b, &count, &at,
                                      &none, n));
    REFUSED(test, "operation is NULL",
            catena_neighbor_reduce(a, b, 1, type, NULL, n));
    REFUSED(test, "send is CATENA_IN_PLACE",
            catena_neighbor_allgather(in_place, 1, type, b, 1, type, n));
    REFUSED(test, "recv is CATENA_IN_PLACE",
            catena_neighbor_alltoall(a, 1, type, in_place, 1, type, n));
    REFUSED(test, "send is CATENA_IN_PLACE",
            catena_neighbor_reducev(in_place, &count, &at, b, 1, type,
                                    CATENA_SUM, n));
    REFUSED(test, "address space",
            catena_neighbor_allgather(a, much, type, b, much, type, n));
    REFUSED(test, "neighbor_reduce: ",
            catena_neighbor_reduce(a, b, 1, CATENA_FLOAT, CATENA_BAND, n));
    REFUSED(test, "made for other operations",
            catena_neighbor_alltoall(a, 1, type, b, 1, type, gathers));
    REFUSED(
        test, "",
        catena_ineighbor_alltoall(a, 1, type, b, 1, type, gathers, &request));
    RANK_CHECK(test, request == NULL);
    REFUSED(test, "sideways",
            catena_neighborhood_set(n, "algorithm", "sideways"));
    REFUSED(test, "", catena_neighborhood_set(n, "direction", "direct"));
    still_works(test, gathers);
    drop(test, gathers);
    drop(test, n);
}

/** One target and no source: nothing can be in place. */
static void in_place(rank_test_t *test)
{
    int rank = test->place.rank;
    static const int target = 1;
    static const int source = 0;
    int32_t a[2] = {0};
    catena_neighborhood_t *n = NULL;
    RANK_CHECK(test, catena_neighborhood_create(test->world, rank == 1, &source,
                                                NULL, rank == 0, &target, NULL,
                                                NULL, &n) == CATENA_OK);
    if (rank == 0) {
        REFUSED(test, "there are 0 and 1",
                catena_neighbor_alltoall(CATENA_IN_PLACE, 1, CATENA_INT32, a, 1,
                                         CATENA_INT32, n));
    }
    RANK_CHECK(test, catena_neighbor_alltoall(a, 1, CATENA_INT32, a + 1, 1,
                                              CATENA_INT32, n) == CATENA_OK);
    drop(test, n);
}

/* ---- one block of any graph has a wrong length ---- */

/** The rank that sends a wrong block, and its target; -1: none. */
static int draw_wrong(const oracle_graph_t *graph, uint64_t *random, int *index)
{
    for (int i = 0; i < 50; i++) {
        int rank = (int)ctn_random_below(random, (size_t)graph->size);
        const oracle_list_t *targets = &graph->targets[rank];
        if (targets->count > 0) {
            *index = (int)ctn_random_below(random, (size_t)targets->count);
            if (targets->rank[*index] != CATENA_PROC_NULL) {
                return rank;
            }
        }
    }
    return -1;
}

/** Whether this rank receives the wrong block. */
static bool gets(const oracle_nbr_call_t *call, int wrong, int index)
{
    const oracle_list_t *sources = &call->graph->sources[call->rank];
    for (int i = 0; i < sources->count; i++) {
        if (sources->rank[i] == wrong &&
            (call->kind == ORACLE_NEIGHBOR_ALLGATHERV ||
             sources->mate[i] == index)) {
            return true;
        }
    }
    return false;
}

/** Execute a blocking call, which the caller closes. @return its status */
static catena_status_t try(rank_test_t *test, oracle_nbr_call_t *call,
                           uint64_t seed, capture_t *captured)
{
    oracle_nbr_open(&test->oracle, call);
    oracle_nbr_fill(call, seed);
    rank_capture_start(test, captured);
    catena_status_t status = oracle_nbr_run(call);
    rank_capture_stop(test, captured);
    return status;
}

static void wrong_once(nbr_t *nbr, uint64_t *random)
{
    static const oracle_nbr_kind_t kinds[] = {
        ORACLE_NEIGHBOR_ALLGATHERV, ORACLE_NEIGHBOR_ALLTOALLV,
        ORACLE_NEIGHBOR_ALLTOALLW, ORACLE_NEIGHBOR_REDUCEV};
    static const ptrdiff_t by[] = {1, 3, 20, 900, 9000, -1, -2, -400, -4000};
    rank_test_t *test = nbr->test;
    int index = 0;
    int wrong = draw_wrong(&nbr->graph, random, &index);
    bool few = nbr->graph.edges <= 4 * nbr->graph.size;
    oracle_nbr_call_t call = nbr_draw(nbr, random, few ? 20000 : 700);
    call.count = few && ctn_random_below(random, 3) == 0 ? 20000 : call.count;
    call.kind = kinds[ctn_random_below(random, 4)];
    call.form = ORACLE_FORM_BLOCKING;
    call.count += call.count == 0;
    call.uniform = true;
    call.in_place = false;
    call.element = ORACLE_PLAIN; /* its length changes by single elements */
    oracle_nbr_repair(&call);
    ptrdiff_t more = by[ctn_random_below(random, sizeof(by) / sizeof(by[0]))];
    ptrdiff_t least = (rank_checks() ? 0 : 1) - (ptrdiff_t)call.count;
    more = more < least ? least : more;
    if (call.rank == wrong) {
        call.wrong_index = call.kind == ORACLE_NEIGHBOR_ALLGATHERV ? 0 : index;
        call.wrong_by = more;
    }
    bool finds = wrong >= 0 && more != 0 && gets(&call, wrong, index);
    char words[32], text[128], title[200];
    snprintf(words, sizeof(words), "rank %d sent", wrong);
    oracle_nbr_describe(&call, text, sizeof(text));
    snprintf(title, sizeof(title), "%s %s, %td more", nbr->algorithm, text,
             more);
    static capture_t captured;
    catena_status_t status = try(test, &call, *random, &captured);
    rank_hold_against(test, title, finds ? CATENA_ERR_ARG : CATENA_OK, status,
                      finds ? words : "", captured.text);
    if (finds) {
        oracle_nbr_check_around(&test->oracle, &call, title);
    } else {
        oracle_nbr_check(&test->oracle, &call, title);
    }
    oracle_nbr_close(&test->oracle, &call);
}

/** By every algorithm; correct calls work before and afterwards. A layout
 * takes two graphs of each way, other runs 20 graphs. */
static void one_wrong_length(rank_test_t *test)
{
    uint64_t seeds = test->options->layout < 0 ? 20 : 2 * ORACLE_GRAPH_WAYS;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        uint64_t random = seed;
        nbr_t nbr;
        oracle_graph_draw_any(&nbr.graph, seed % ORACLE_GRAPH_WAYS,
                              test->place.ranks, ctn_random(&random));
        nbr_open(test, &nbr, NULL, 1);
        for (int a = 0; nbr.neighborhood != NULL && a < ORACLE_NBR_ALGORITHMS;
             a++) {
            if (nbr_choose(&nbr, oracle_nbr_algorithms[a])) {
                wrong_once(&nbr, &random);
                oracle_nbr_call_t right = nbr_draw(&nbr, &random, 100);
                oracle_nbr_all(&test->oracle, &right, random, "after an error");
            }
        }
        nbr_close(&nbr);
    }
}

/** The blocks of one rank have another length than those of all others: this
 * rank and its neighbors fail. If ranks forward blocks, others may fail too.
 * Then, without CATENA_CHECK, it is only certain that all calls return and that
 * nothing is written elsewhere. */
static void other_length(rank_test_t *test, uint64_t seed)
{
    uint64_t random = seed;
    nbr_t nbr;
    oracle_graph_ring(&nbr.graph, test->place.ranks, 1 + (int)(seed % 2));
    if (seed % 3 == 0) {
        oracle_graph_free(&nbr.graph);
        oracle_graph_draw(&nbr.graph, ORACLE_WAY_ADJACENT,
                          ORACLE_SHAPE_COMPLETE, test->place.ranks, seed);
    }
    nbr_open(test, &nbr, NULL, 1);
    if (seed % 2 != 0 || !nbr_choose(&nbr, "aggregated")) {
        (void)nbr_choose(&nbr, "direct");
    }
    bool direct = strcmp(nbr.algorithm, "direct") == 0;
    for (int i = 0; i < 12; i++) {
        static const size_t counts[] = {1, 5, 40, 500, 2000};
        int wrong = (int)ctn_random_below(&random, (size_t)test->place.ranks);
        bool own = test->place.rank == wrong;
        bool near = false;
        oracle_nbr_call_t call = nbr_draw(&nbr, &random, 1);
        call.kind =
            i % 2 == 0 ? ORACLE_NEIGHBOR_ALLTOALL : ORACLE_NEIGHBOR_ALLGATHER;
        call.type = 8;
        call.form = ORACLE_FORM_BLOCKING;
        call.in_place = false;
        call.count = counts[ctn_random_below(&random, 5)];
        /* Too few for ranks to choose different algorithms. */
        size_t more = 1 + (direct ? ctn_random_below(&random, 99) : 0);
        bool less = i % 2 != 0 && call.count > more;
        if (i % 3 == 2 && own) {
            call.count = less ? call.count - more : call.count + more;
        }
        oracle_nbr_repair(&call);
        for (int k = 0; k < nbr.graph.sources[call.rank].count; k++) {
            int from = nbr.graph.sources[call.rank].rank[k];
            near = near ||
                   (from >= 0 && from != call.rank && (own || from == wrong));
        }
        static capture_t captured;
        catena_status_t status = try(test, &call, random, &captured);
        RANK_CHECK(test, status == CATENA_OK || status == CATENA_ERR_ARG);
        bool finds = i % 3 == 2 && near;
        RANK_CHECK(test, status != CATENA_OK || !finds ||
                             (!direct && !rank_checks()));
        if (i % 3 != 2 || (direct && !finds)) {
            RANK_CHECK(test, status == CATENA_OK);
            oracle_nbr_check(&test->oracle, &call, "beside a wrong length");
        } else {
            oracle_nbr_check_around(&test->oracle, &call, "wrong length");
        }
        oracle_nbr_close(&test->oracle, &call);
    }
    nbr_close(&nbr);
}

static void another_length(rank_test_t *test)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        other_length(test, seed);
    }
}

/** In this grid, blocks for diagonals share messages with others. One rank
 * sends more, and another one, whose blocks are in the same messages, sends as
 * much less. All receivers of their blocks fail. */
static void lengths_together(rank_test_t *test)
{
    static const int vectors[] = {1, 0, 0, 1, 1, 1};
    static const int periods[] = {1, 1};
    const int dims[] = {2, test->place.ranks / 2};
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .algorithm = "combining"};
    catena_neighborhood_t *grid = NULL;
    catena_neighborhood_t *diagonals = NULL;
    int less = test->place.ranks / 2;
    int rank = test->place.rank;
    int source[3], target[3];
    int32_t a[24] = {0}, b[12];
    RANK_CHECK(test,
               less < 2 || catena_cart_create(test->world, 2, dims, periods, 0,
                                              NULL, &grid) == CATENA_OK);
    if (grid == NULL) { /* also if this rank is not in the grid */
        return;
    }
    RANK_CHECK(test, catena_cart_derive_graph(grid, 3, vectors, NULL, 0, &info,
                                              &diagonals) == CATENA_OK);
    drop(test, grid);
    RANK_CHECK(test,
               catena_neighborhood_neighbors(diagonals, 3, source, NULL, 3,
                                             target, NULL) == CATENA_OK);
    for (size_t by = 0; by <= 4; by += 2) { /* the first is correct */
        bool finds = false;
        for (int i = 0; i < 3 && by > 0; i++) {
            finds = finds || source[i] == 0 || source[i] == less;
        }
        size_t count = rank == 0 ? 4 + by : rank == less ? 4 - by : 4;
        if (by == 0 || rank_checks()) {
            FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? "sent" : "",
                  catena_neighbor_alltoall(a, count, CATENA_INT32, b, 4,
                                           CATENA_INT32, diagonals));
        }
    }
    drop(test, diagonals);
}

/** A block far longer than expected, and longer than the memory that blocks
 * share, is not written elsewhere. */
static void far_too_long(rank_test_t *test)
{
    enum { FAR = 1 << 21, USUAL = 8 };
    static capture_t captured;
    int p = test->place.ranks;
    unsigned char *a = oracle_zeros(2, FAR);
    unsigned char b[2 * USUAL];
    uint64_t random = 1;
    nbr_t ring;
    oracle_graph_ring(&ring.graph, p, 1);
    nbr_open(test, &ring, NULL, 1);
    (void)nbr_choose(&ring, "aggregated");
    for (int from = 0; from < p && p > 2; from++) {
        const int *near = ring.graph.sources[test->place.rank].rank;
        bool finds = near[0] == from || near[1] == from;
        size_t bytes = test->place.rank == from ? FAR : USUAL;
        rank_capture_start(test, &captured);
        catena_status_t status = catena_neighbor_alltoall(
            a, bytes, CATENA_BYTE, b, USUAL, CATENA_BYTE, ring.neighborhood);
        rank_capture_stop(test, &captured);
        RANK_CHECK(test,
                   status == CATENA_ERR_ARG || (status == CATENA_OK && !finds));
        oracle_nbr_call_t right = nbr_draw(&ring, &random, 8);
        oracle_nbr_all(&test->oracle, &right, random, "after far too much");
    }
    free(a);
    nbr_close(&ring);
}

static const rank_case_t cases[] = {
    {"lists that do not fit", lists_that_do_not_fit},
    {"arguments of a creation", arguments},
    {"arguments of contributions", contributions},
    {"arguments of grids", grids},
    {"arguments of operations", calls},
    {"in place", in_place},
    {"one wrong length", one_wrong_length},
    {"another length at one rank", another_length},
    {"lengths of blocks that share messages", lengths_together},
    {"one far too long", far_too_long},
    {NULL, NULL}};
const rank_suite_t rank_suite_neighborbad = {
    .name = "neighborbad", .cases = cases, .ranks = 2};
