/* Neighborhoods whose lists do not fit, and operations that are called wrongly:
 * an error that names who said what, on every rank that is concerned; nobody
 * waits for ever, and what comes next works. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nbr_long.h"
#include "nbr_mix.h"
#include "nbr_small.h"
#include "rank_refuse.h"

enum { CASES = 100 };

/* ---- lists that do not fit ---- */

/** This rank and `other` do not agree: both must be named. */
static void names_both(rank_test_t *test, int other, const char *said)
{
    char own[32];
    char theirs[32];
    snprintf(own, sizeof(own), "rank %d ", test->place.rank);
    snprintf(theirs, sizeof(theirs), "rank %d ", other);
    if (strstr(said, own) == NULL || strstr(said, theirs) == NULL) {
        rank_fail(test, "expected '%s' and '%s', found '%s'", own, theirs,
                  said);
    }
}

static void spoiled(rank_test_t *test, uint64_t seed)
{
    nbr_graph_t graph;
    capture_t said;
    catena_neighborhood_t *neighborhood = NULL;
    int size = test->place.size;
    int rank = test->place.rank;
    bool good = true;
    nbr_graph_draw(&graph, NBR_ADJACENT, size, seed);
    nbr_graph_spoil(&graph, seed + 1);
    for (int from = 0; from < size; from++) {
        for (int to = 0; to < size; to++) {
            good = good && nbr_graph_agree(&graph, from, to);
        }
    }
    double begun = catena_time(test->context);
    capture_start(&said);
    catena_status_t status =
        nbr_graph_make(&graph, test->world, NULL, &neighborhood);
    capture_stop(&said);
    RANK_CHECK(test, catena_time(test->context) - begun < 1);
    RANK_CHECK(test, status == (good ? CATENA_OK : CATENA_ERR_ARG));
    RANK_CHECK(test, good == (neighborhood != NULL));
    for (int other = 0; other < size; other++) {
        if (other != rank && (!nbr_graph_agree(&graph, rank, other) ||
                              !nbr_graph_agree(&graph, other, rank))) {
            names_both(test, other, said.text);
        }
    }
    if (neighborhood != NULL) {
        RANK_CHECK(test, catena_neighborhood_free(neighborhood) == CATENA_OK);
    }
    nbr_graph_free(&graph);
}

static void lists_that_do_not_fit(rank_test_t *test)
{
    for (uint64_t seed = 0; seed < CASES; seed++) {
        spoiled(test, 7 * seed);
    }
}

/* ---- arguments of a creation ---- */

/** Only the last rank says something that cannot be; all fail. */
static void refuse_at_last(rank_test_t *test, const char *words, int sources,
                           const int source[], const int weight[])
{
    bool last = test->place.rank == test->place.size - 1;
    catena_neighborhood_t *n = NULL;
    const int none[] = {0};
    REFUSED(test, last ? words : "",
            catena_neighborhood_create(
                test->world, last ? sources : 0, last ? source : none,
                last ? weight : CATENA_UNWEIGHTED, 0, none,
                last ? weight : CATENA_UNWEIGHTED, NULL, &n));
    RANK_CHECK(test, n == NULL);
}

static void arguments(rank_test_t *test)
{
    int p = test->place.size;
    const int one[] = {1};
    refuse_at_last(test, "the group has ranks", 1, (int[]){p}, NULL);
    refuse_at_last(test, "the group has ranks", 1, (int[]){-1}, NULL);
    refuse_at_last(test, "the group has ranks", 1, (int[]){-3}, NULL);
    refuse_at_last(test, "expected 0 or more", 1, (int[]){0}, (int[]){-1});
    refuse_at_last(test, "", 1, NULL, NULL);
    refuse_at_last(test, "", -1, one, NULL);
    catena_neighborhood_t *n = NULL;
    if (p > 1) {
        const int *weight = test->place.rank == 0 ? one : CATENA_UNWEIGHTED;
        int own = test->place.rank;
        REFUSED(test, test->place.rank == 0 ? "all or none" : "",
                catena_neighborhood_create(test->world, 1, &own, weight, 1,
                                           &own, weight, NULL, &n));
    }
    RANK_CHECK(test,
               catena_neighborhood_create(NULL, 0, one, NULL, 0, one, NULL,
                                          NULL, &n) == CATENA_ERR_ARG);
    catena_neighborhood_info_t info = {.algorithm = "sideways"};
    REFUSED(test, "sideways",
            catena_neighborhood_create(test->world, 0, one, NULL, 0, one, NULL,
                                       &info, &n));
    REFUSED(test, "operations",
            catena_neighborhood_create_for(0, test->world, 0, one, NULL, 0, one,
                                           NULL, NULL, &n));
    if (p > 1) {
        info = (catena_neighborhood_info_t){.bytes = (size_t)test->place.rank};
        REFUSED(test, test->place.rank == 0 ? "the same on all ranks" : "",
                catena_neighborhood_create(test->world, 0, one, NULL, 0, one,
                                           NULL, &info, &n));
    }
    RANK_CHECK(test, n == NULL);
}

/* ---- a ring: each sends to the next ---- */

static catena_neighborhood_t *make_ring(rank_test_t *test, unsigned operations)
{
    int p = test->place.size;
    int source = (test->place.rank + p - 1) % p;
    int target = (test->place.rank + 1) % p;
    catena_neighborhood_t *ring = NULL;
    RANK_CHECK(test, catena_neighborhood_create_for(
                         operations, test->world, 1, &source, NULL, 1, &target,
                         NULL, NULL, &ring) == CATENA_OK);
    return ring;
}

static void still_works(rank_test_t *test, catena_neighborhood_t *ring)
{
    int p = test->place.size;
    int32_t own = test->place.rank;
    int32_t found = -1;
    RANK_CHECK(test, catena_neighbor_gather(&own, 1, CATENA_INT32, &found, 1,
                                            CATENA_INT32, ring) == CATENA_OK);
    RANK_CHECK(test, found == (own + p - 1) % p);
}

/** Whether messages of nothing are looked at, too. */
static bool checks(void)
{
    const char *check = getenv("CATENA_CHECK");
    return check != NULL && strcmp(check, "on") == 0;
}

/** One rank sends more or less than is expected: its target says so. */
static void lengths(rank_test_t *test)
{
    int p = test->place.size;
    int rank = test->place.rank;
    static const size_t expected[] = {4, 40, 20000, 0};
    static const size_t found[] = {3, 5, 4000, 60000, 0};
    catena_neighborhood_t *ring = make_ring(test, CATENA_NEIGHBOR_ALL);
    int32_t *a = (int32_t *)(void *)rank_take(test, RANK_HEAP, 240000);
    int32_t *b = (int32_t *)(void *)rank_take(test, RANK_HEAP, 240000);
    char words[64];
    for (int i = 0; i < 19 && p > 1; i++) { /* the last is right */
        int wrong = i % p;
        size_t count = expected[i % 4];
        size_t other = found[i / 4];
        if ((count == 0 || other == 0) && !checks()) {
            continue;
        }
        size_t sent = rank == wrong ? other : count;
        ptrdiff_t none = 0;
        bool finds = rank == (wrong + 1) % p;
        snprintf(words, sizeof(words), "rank %d sent %zu bytes", wrong,
                 4 * other);
        memset(b, 0x5a, 240000);
        FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? words : "",
              catena_neighbor_gatherv(a, sent, CATENA_INT32, b, &count, &none,
                                      CATENA_INT32, ring));
        RANK_CHECK(test, b[count] == 0x5a5a5a5a);
        FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? words : "",
              catena_neighbor_alltoallv(a, &sent, &none, CATENA_INT32, b,
                                        &count, &none, CATENA_INT32, ring));
        RANK_CHECK(test, b[count] == 0x5a5a5a5a);
        FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? words : "",
              catena_neighbor_reducev(a, &sent, &none, b, count, CATENA_INT32,
                                      CATENA_SUM, ring));
        RANK_CHECK(test, b[count] == 0x5a5a5a5a);
        still_works(test, ring);
    }
    rank_give(test, RANK_HEAP, (unsigned char *)a);
    rank_give(test, RANK_HEAP, (unsigned char *)b);
    RANK_CHECK(test, catena_neighborhood_free(ring) == CATENA_OK);
}

/** A grid in which blocks for diagonals share messages with others: NULL at
 * ranks beyond it. */
static catena_neighborhood_t *make_diagonals(rank_test_t *test)
{
    const int dims[] = {2, test->place.size / 2};
    const int periods[] = {1, 1};
    const int vectors[] = {1, 0, 0, 1, 1, 1};
    catena_neighborhood_info_t info = {.algorithm = "combining"};
    catena_neighborhood_t *grid = NULL;
    catena_neighborhood_t *diagonals = NULL;
    RANK_CHECK(test, catena_cart_create(test->world, 2, dims, periods, 0, NULL,
                                        &grid) == CATENA_OK);
    if (grid != NULL) {
        RANK_CHECK(test,
                   catena_cart_derive_graph(grid, 3, vectors, NULL, 0, &info,
                                            &diagonals) == CATENA_OK);
        RANK_CHECK(test, catena_neighborhood_free(grid) == CATENA_OK);
    }
    return diagonals;
}

/** One rank sends as much more as another one, whose blocks come with its own,
 * sends less: still all to whom they come say so. */
static void lengths_together(rank_test_t *test)
{
    int less = test->place.size / 2;
    int rank = test->place.rank;
    catena_neighborhood_t *diagonals;
    int source[3];
    int target[3];
    int32_t a[24] = {0};
    int32_t b[12];
    if (!checks() || test->place.size < 4) {
        return;
    }
    diagonals = make_diagonals(test);
    if (diagonals == NULL) {
        return;
    }
    RANK_CHECK(test,
               catena_neighborhood_neighbors(diagonals, 3, source, NULL, 3,
                                             target, NULL) == CATENA_OK);
    for (size_t by = 0; by <= 4; by += 2) { /* the first is right */
        bool finds = false;
        for (int i = 0; i < 3 && by > 0; i++) {
            finds = finds || source[i] == 0 || source[i] == less;
        }
        size_t count = rank == 0 ? 4 + by : rank == less ? 4 - by : 4;
        FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK, finds ? "sent" : "",
              catena_neighbor_alltoall(a, count, CATENA_INT32, b, 4,
                                       CATENA_INT32, diagonals));
    }
    RANK_CHECK(test, catena_neighborhood_free(diagonals) == CATENA_OK);
}

/* ---- one block of any graph is too long ---- */

/** The rank from which a block is too long, and its target; -1: nobody has
 * one. */
static int draw_wrong(const nbr_graph_t *graph, uint64_t *random, int *index)
{
    for (int i = 0; i < 50; i++) {
        int rank = (int)(rank_random(random) % (uint64_t)graph->size);
        const nbr_list_t *targets = &graph->targets[rank];
        if (targets->count > 0) {
            *index = (int)(rank_random(random) % (uint64_t)targets->count);
            if (targets->rank[*index] != CATENA_PROC_NULL) {
                return rank;
            }
        }
    }
    return -1;
}

/** Whether this rank gets the wrong block. */
static bool gets(const nbr_call_t *call, int wrong, int index)
{
    const nbr_list_t *sources = &call->graph->sources[call->rank];
    for (int i = 0; i < sources->count; i++) {
        if (sources->rank[i] == wrong &&
            (call->kind == NBR_GATHERV || sources->mate[i] == index)) {
            return true;
        }
    }
    return false;
}

static void too_long_once(rank_test_t *test, nbr_call_t call, uint64_t *random,
                          const char *algorithm)
{
    static const nbr_kind_t kinds[] = {NBR_GATHERV, NBR_ALLTOALLV,
                                       NBR_ALLTOALLW, NBR_REDUCEV};
    static const size_t by[] = {1, 3, 20, 900};
    int index = 0;
    uint64_t own = (uint64_t)call.rank;
    int wrong = draw_wrong(call.graph, random, &index);
    nbr_call_draw(&call, random, &own, 700);
    call.kind = kinds[rank_random(random) % 4];
    call.form = NBR_BLOCKING;
    call.count += call.count == 0;
    call.alike = true;
    call.in_place = false;
    nbr_call_repair(&call);
    size_t more = by[rank_random(random) % 4];
    if (call.rank == wrong) {
        call.wrong_index = call.kind == NBR_GATHERV ? 0 : index;
        call.wrong_by = more;
    }
    bool finds = wrong >= 0 && gets(&call, wrong, index);
    char words[32];
    char title[128];
    snprintf(words, sizeof(words), "rank %d sent", wrong);
    snprintf(title, sizeof(title), "%s %s of %zu %s, %zu more", algorithm,
             nbr_kind_name(call.kind), call.count, coll_type_name(call.type),
             more);
    nbr_call_open(test, &call);
    nbr_call_fill(&call, *random);
    capture_t said;
    capture_start(&said);
    catena_status_t status = nbr_call_run(&call);
    capture_stop(&said);
    rank_hold_against(test, title, finds ? CATENA_ERR_ARG : CATENA_OK, status,
                      finds ? words : "", said.text);
    if (!finds) {
        nbr_call_check(test, &call, title);
    }
    nbr_call_close(test, &call);
}

/** By every algorithm; what is right works before and afterwards. */
static void too_long(rank_test_t *test, nbr_way_t way, uint64_t seed)
{
    nbr_graph_t graph;
    coll_table_t table;
    uint64_t random = seed;
    uint64_t own = 1;
    nbr_call_t call = {.graph = &graph, .table = &table};
    nbr_graph_draw(&graph, way, test->place.size, rank_random(&random));
    RANK_CHECK(test, nbr_graph_make(&graph, test->world, NULL,
                                    &call.neighborhood) == CATENA_OK);
    if (call.neighborhood != NULL) {
        call.rank =
            catena_group_rank(catena_neighborhood_group(call.neighborhood));
        nbr_graph_settle(&graph, call.rank);
        coll_table_open(test, &table);
        for (int a = 0; nbr_algorithms[a] != NULL; a++) {
            if (nbr_possible(test, &graph, call.neighborhood,
                             nbr_algorithms[a])) {
                RANK_CHECK(test, catena_neighborhood_set(
                                     call.neighborhood, "algorithm",
                                     nbr_algorithms[a]) == CATENA_OK);
                too_long_once(test, call, &random, nbr_algorithms[a]);
                nbr_call_t right = call;
                nbr_call_draw(&right, &random, &own, 100);
                nbr_call_all(test, &right, random, "after an error");
            }
        }
        coll_table_close(test, &table);
        RANK_CHECK(test,
                   catena_neighborhood_free(call.neighborhood) == CATENA_OK);
    }
    nbr_graph_free(&graph);
}

static void one_too_long(rank_test_t *test)
{
    for (uint64_t seed = 0; seed < 24; seed++) {
        too_long(test, (nbr_way_t)(seed % NBR_WAYS), seed);
    }
}

/* ---- arguments of operations ---- */

static void calls(rank_test_t *test)
{
    catena_neighborhood_t *ring = make_ring(test, CATENA_NEIGHBOR_GATHER);
    catena_datatype_t type = CATENA_INT32;
    catena_request_t *request = NULL;
    int32_t a[4] = {0};
    int32_t b[4] = {0};
    REFUSED(test, "", catena_neighbor_alltoall(a, 1, type, b, 1, type, ring));
    REFUSED(test, "",
            catena_ineighbor_alltoall(a, 1, type, b, 1, type, ring, &request));
    REFUSED(test, "", catena_neighbor_reduce(a, b, 1, type, CATENA_SUM, ring));
    REFUSED(test, "", catena_neighbor_gather(NULL, 1, type, b, 1, type, ring));
    REFUSED(test, "", catena_neighbor_gather(a, 1, type, NULL, 1, type, ring));
    REFUSED(test, "", catena_neighbor_gather(a, 1, NULL, b, 1, type, ring));
    REFUSED(test, "", catena_neighbor_gather(a, 1, type, b, 1, NULL, ring));
    REFUSED(test, "address space",
            catena_neighbor_gather(a, SIZE_MAX / 2, type, b, SIZE_MAX / 2, type,
                                   ring));
    REFUSED(test, "",
            catena_neighbor_gatherv(a, 1, type, b, NULL, NULL, type, ring));
    RANK_CHECK(test, catena_neighbor_gather(a, 1, type, b, 1, type, NULL) ==
                         CATENA_ERR_ARG);
    RANK_CHECK(test, catena_ineighbor_gather(a, 1, type, b, 1, type, ring,
                                             NULL) == CATENA_ERR_ARG);
    RANK_CHECK(test, request == NULL);
    REFUSED(test, "sideways",
            catena_neighborhood_set(ring, "algorithm", "sideways"));
    REFUSED(test, "", catena_neighborhood_set(ring, "direction", "direct"));
    still_works(test, ring);
    RANK_CHECK(test, catena_neighborhood_free(ring) == CATENA_OK);
}

/** One target and no source: nothing can be in place. */
static void in_place(rank_test_t *test)
{
    int p = test->place.size;
    int rank = test->place.rank;
    int target = 1;
    int source = 0;
    int32_t a[2] = {0};
    catena_neighborhood_t *n = NULL;
    RANK_CHECK(test,
               p < 2 || catena_neighborhood_create(
                            test->world, rank == 1, &source, NULL, rank == 0,
                            &target, NULL, NULL, &n) == CATENA_OK);
    if (n == NULL) {
        return;
    }
    if (rank == 0) {
        REFUSED(test, "",
                catena_neighbor_alltoall(CATENA_IN_PLACE, 1, CATENA_INT32, a, 1,
                                         CATENA_INT32, n));
    }
    RANK_CHECK(test, catena_neighbor_alltoall(a, 1, CATENA_INT32, a + 1, 1,
                                              CATENA_INT32, n) == CATENA_OK);
    RANK_CHECK(test, catena_neighborhood_free(n) == CATENA_OK);
}

/** A mesh on a ring, whose ranks have exchanged short messages of one length;
 * then one has more of them than its neighbors. */
static void in_place_too_long(rank_test_t *test)
{
    int p = test->place.size;
    int rank = test->place.rank;
    const int neighbors[] = {(rank + p - 1) % p, (rank + 1) % p};
    bool near = p > 2 && (neighbors[0] == 0 || neighbors[1] == 0);
    int64_t a[4] = {0};
    int64_t b[4];
    catena_neighborhood_t *n = NULL;
    RANK_CHECK(test, catena_neighborhood_create(
                         test->world, 2, neighbors, CATENA_UNWEIGHTED, 2,
                         neighbors, CATENA_UNWEIGHTED, NULL, &n) == CATENA_OK);
    for (int turn = 0; turn < 3 && p > 2; turn++) {
        RANK_CHECK(test,
                   catena_neighbor_alltoall(a, 1, CATENA_INT64, b, 1,
                                            CATENA_INT64, n) == CATENA_OK);
        bool finds = rank == 0 || near;
        FAILS(test, finds ? CATENA_ERR_ARG : CATENA_OK,
              finds ? "neighbor_alltoall: rank" : "",
              catena_neighbor_alltoall(CATENA_IN_PLACE, 0, NULL, a,
                                       rank == 0 ? 2 : 1, CATENA_INT64, n));
    }
    RANK_CHECK(test, catena_neighborhood_free(n) == CATENA_OK);
}

/** What is far longer than expected, and than memory for what blocks share, is
 * written nowhere else; in a mesh on a ring. */
static void far_too_long(rank_test_t *test)
{
    enum { FAR = 1 << 18 };
    int p = test->place.size;
    int rank = test->place.rank;
    const int neighbors[] = {(rank + p - 1) % p, (rank + 1) % p};
    catena_neighborhood_t *n = NULL;
    int64_t *a = calloc(2 * FAR, sizeof(*a));
    int64_t b[2];
    RANK_CHECK(test, catena_neighborhood_create(
                         test->world, 2, neighbors, CATENA_UNWEIGHTED, 2,
                         neighbors, CATENA_UNWEIGHTED, NULL, &n) == CATENA_OK);
    RANK_CHECK(test, a != NULL);
    capture_t said;
    capture_start(&said); /* on one node it is refused */
    (void)catena_neighborhood_set(n, "algorithm", "aggregated");
    capture_stop(&said);
    for (int from = 0; from < p && p > 2; from++) {
        bool near = neighbors[0] == from || neighbors[1] == from;
        capture_start(&said);
        catena_status_t status = catena_neighbor_alltoall(
            a, rank == from ? FAR : 1, CATENA_INT64, b, 1, CATENA_INT64, n);
        capture_stop(&said);
        RANK_CHECK(test,
                   status == CATENA_ERR_ARG || (status == CATENA_OK && !near));
        for (int turn = 0; turn < 8; turn++) {
            int64_t c[2] = {rank, rank};
            RANK_CHECK(test,
                       catena_neighbor_alltoall(c, 1, CATENA_INT64, b, 1,
                                                CATENA_INT64, n) == CATENA_OK);
            RANK_CHECK(test, b[0] == neighbors[0] && b[1] == neighbors[1]);
        }
    }
    free(a);
    RANK_CHECK(test, catena_neighborhood_free(n) == CATENA_OK);
}

/** Rank 1 cannot be through before rank 0 has begun. */
static void freed_too_early(rank_test_t *test)
{
    int rank = test->place.rank;
    int32_t a[2] = {rank, -1};
    catena_request_t *request = NULL;
    catena_neighborhood_t *ring = make_ring(test, CATENA_NEIGHBOR_ALL);
    for (int turn = 0; turn < 2; turn++) {
        if ((rank == 1) == (turn == 0)) {
            RANK_CHECK(test, catena_ineighbor_gather(a, 1, CATENA_INT32, a + 1,
                                                     1, CATENA_INT32, ring,
                                                     &request) == CATENA_OK);
        }
        if (turn == 0) {
            FAILS(test, CATENA_ERR_STATE, rank == 1 ? "under way" : "",
                  catena_neighborhood_free(ring));
            FAILS(test, CATENA_ERR_STATE, "",
                  catena_neighborhood_set(ring, "algorithm", "direct"));
        }
    }
    RANK_CHECK(test, catena_wait(&request) == CATENA_OK);
    still_works(test, ring);
    RANK_CHECK(test, catena_neighborhood_free(ring) == CATENA_OK);
}

int main(int argc, char **argv)
{
    static const rank_case_t cases[] = {
        {"lists that do not fit", lists_that_do_not_fit},
        {"arguments of a creation", arguments},
        {"arguments of operations", calls},
        {"in place", in_place},
        {"in place, one too long", in_place_too_long},
        {"lengths that do not agree", lengths},
        {"lengths of blocks that share messages", lengths_together},
        {"one block too long", one_too_long},
        {"long blocks", nbr_long},
        {"one far too long", far_too_long},
        {"small blocks", nbr_small},
        {"requests for small blocks", nbr_small_requests},
        {"requests for long blocks", nbr_long_requests},
        {"freed too early", freed_too_early},
        {NULL, NULL}};
    return rank_main(argc, argv, cases);
}
