/* Neighborhoods that are not made: lists that do not fit each other, arguments
 * that are wrong on one rank; and the end of those that are. */

#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "said.h"
#include "unit.h"

/* ---- lists that do not fit ---- */

/* A graph of which one end says something else. */
static graph_t wrong;
static int liar, other_end;
static int liar_says; /* edges more (+) or fewer (-) than there are */
static bool liar_targets;

/** What the liar adds or leaves out. */
static void falsify(graph_list_t *list)
{
    if (liar_says > 0) {
        for (int i = 0; i < liar_says; i++) {
            list->weight[list->count] = 1;
            list->rank[list->count++] = other_end;
        }
        return;
    }
    int left_out = 0;
    int kept = 0;
    for (int i = 0; i < list->count; i++) {
        if (list->rank[i] == other_end && left_out < -liar_says) {
            left_out++;
            continue;
        }
        list->rank[kept++] = list->rank[i];
    }
    list->count = kept;
}

static void lie(job_t *job)
{
    int rank = (int)job->rank;
    graph_list_t sources = graph_list(&wrong, rank, false, job->seed);
    graph_list_t targets = graph_list(&wrong, rank, true, job->seed);
    catena_neighborhood_t *own = NULL;
    if (rank == liar) {
        falsify(liar_targets ? &targets : &sources);
    }
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, sources.count, sources.rank,
                       CATENA_UNWEIGHTED, targets.count, targets.rank,
                       CATENA_UNWEIGHTED, NULL, &own) == CATENA_ERR_ARG);
    JOB_CHECK(job, own == NULL);
    graph_list_free(&sources);
    graph_list_free(&targets);
}

static int occurrences(const char *text, const char *part)
{
    int count = 0;
    for (text = strstr(text, part); text != NULL;
         text = strstr(text + 1, part)) {
        count++;
    }
    return count;
}

/** Both ends must say so, in the same words. */
static void expect_complaint(const char *text, int failed, uint64_t seed)
{
    int from = liar_targets ? liar : other_end;
    int to = liar_targets ? other_end : liar;
    int edges = graph_edges(&wrong, from, to);
    int as_target = edges + (liar_targets ? liar_says : 0);
    int as_source = edges + (liar_targets ? 0 : liar_says);
    char expected[200];
    snprintf(expected, sizeof(expected),
             "rank %d names rank %d as target %d time%s, rank %d names rank "
             "%d as source %d time%s",
             from, to, as_target, as_target == 1 ? "" : "s", to, from,
             as_source, as_source == 1 ? "" : "s");
    ck_assert_msg(failed == 0, "seed %d: %d ranks: %s", (int)seed, failed,
                  text);
    ck_assert_msg(occurrences(text, expected) == (from == to ? 1 : 2),
                  "seed %d: expected '%s' on ranks %d and %d: %s", (int)seed,
                  expected, from, to, text);
    ck_assert_int_eq(occurrences(text, "ERROR"), from == to ? 1 : 2);
    for (int end = 0; end < 2; end++) {
        char head[32];
        snprintf(head, sizeof(head), ":%d] ERROR", end == 0 ? from : to);
        ck_assert_msg(strstr(text, head) != NULL, "'%s': %s", head, text);
    }
}

START_TEST(mismatches)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        int size = 2 + (int)(job_random(&random) % 20);
        wrong = graph_make(
            (enum graph_shape)(job_random(&random) % GRAPH_SHAPES), size, seed);
        liar = (int)(job_random(&random) % (unsigned)size);
        other_end = (int)(job_random(&random) % (unsigned)size);
        liar_targets = job_random(&random) % 2 == 0;
        int edges = liar_targets ? graph_edges(&wrong, liar, other_end)
                                 : graph_edges(&wrong, other_end, liar);
        liar_says = edges > 0 && seed % 2 == 0
                        ? -1 - (int)(job_random(&random) % (unsigned)edges)
                        : 1 + (int)(job_random(&random) % GRAPH_SPARE);
        capture_t capture;
        capture_start(&capture);
        int failed = job_simulate((uint32_t)size, seed, lie);
        capture_stop(&capture);
        expect_complaint(capture.text, failed, seed);
        graph_free(&wrong);
    }
}
END_TEST

/** A rank whom nobody names as it names them says so a few times only. */
static void lie_to_all(job_t *job)
{
    int all[12];
    catena_neighborhood_t *own = NULL;
    for (int i = 0; i < (int)job->size; i++) {
        all[i] = i;
    }
    JOB_CHECK(job, catena_neighborhood_create(
                       job->context->world, 0, NULL, CATENA_UNWEIGHTED,
                       job->rank == 3 ? (int)job->size : 0, all,
                       CATENA_UNWEIGHTED, NULL, &own) == CATENA_ERR_ARG);
}

START_TEST(many_mismatches)
{
    capture_t said;
    said_by(&said, 12, lie_to_all);
    said_has(&said, "8 more lists do not fit");
}
END_TEST

/* ---- arguments ---- */

/** A ring of all ranks, but for what is given. */
typedef struct ring {
    const int *source; /* in place of the one before */
    const int *weight;
    const catena_neighborhood_info_t *info;
    unsigned operations; /* 0 is nonsense */
} ring_t;

static catena_status_t make_ring(job_t *job, ring_t ring)
{
    int size = (int)job->size;
    int before = ((int)job->rank + size - 1) % size;
    int after = ((int)job->rank + 1) % size;
    catena_neighborhood_t *own = NULL;
    catena_status_t status = catena_neighborhood_create_for(
        ring.operations, job->context->world, 1,
        ring.source != NULL ? ring.source : &before, ring.weight, 1, &after,
        ring.weight, ring.info, &own);
    if (status == CATENA_OK) {
        (void)catena_neighborhood_free(own);
    }
    return status;
}

/** One of the ranks is odd. */
static void give_wrong_arguments(job_t *job)
{
    enum { ALL = CATENA_NEIGHBOR_ALL };
    int beyond_all = 8;
    int nobody = -1;
    int weight = 1;
    int negative = -1;
    bool odd = job->rank == 2;
    catena_neighborhood_info_t info = {.bytes = odd ? 8 : 16};
    catena_neighborhood_info_t other = {.algorithm = odd ? "direct" : "auto"};
    catena_neighborhood_info_t unknown = {.algorithm = odd ? "odd" : NULL};
    const ring_t wrong_rings[] = {
        {.source = odd ? &beyond_all : NULL, .operations = ALL},
        {.source = odd ? &nobody : NULL, .operations = ALL},
        {.weight = odd ? &negative : &weight, .operations = ALL},
        {.weight = odd ? &weight : NULL, .operations = ALL},
        {.info = &info, .operations = ALL},
        {.info = &other, .operations = ALL},
        {.info = &unknown, .operations = ALL},
        {.operations = odd ? 1 : 2},
        {.operations = odd ? 0 : 2},
        {.operations = odd ? 9 : 2},
    };
    for (size_t i = 0; i < sizeof(wrong_rings) / sizeof(*wrong_rings); i++) {
        if (make_ring(job, wrong_rings[i]) != CATENA_ERR_ARG) {
            fprintf(stderr, "ring %zu is taken\n", i);
            job->errors++;
        }
    }
    ring_t right = {.operations = ALL};
    job->context->config.check = odd;
    JOB_CHECK(job, make_ring(job, right) == CATENA_ERR_ARG);
    job->context->config.check = 0;
    right.weight = &weight;
    JOB_CHECK(job, make_ring(job, right) == CATENA_OK);
    right = (ring_t){.operations = CATENA_NEIGHBOR_GATHER};
    JOB_CHECK(job, make_ring(job, right) == CATENA_OK);
    JOB_CHECK(job, catena_neighborhood_free(NULL) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_group(NULL) == NULL);
}

START_TEST(arguments)
{
    capture_t said;
    said_by(&said, 8, give_wrong_arguments);
    static const char *const texts[] = {
        "source 0 is rank 8",         "source 0 is rank -1",
        "weight of source 0 is -1",   "1 ranks give their edges weights and 7",
        "bytes must be the same",     "the algorithm must be the same",
        "the operations must be the", "operations are 0x0",
        "operations are 0x9",         "algorithm is 'odd'",
        "CATENA_CHECK must be the"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        said_has(&said, texts[i]);
    }
}
END_TEST

/* ---- the end ---- */

/** Rank 0 alone has started an exchange, and alone is refused. */
static void free_too_early(job_t *job)
{
    catena_group_t *world = job->context->world;
    int size = (int)job->size;
    int peer[2] = {((int)job->rank + size - 1) % size,
                   ((int)job->rank + 1) % size};
    char sent[2] = {1, 2};
    char received[2];
    catena_neighborhood_t *own = NULL;
    catena_request_t *request = NULL;
    JOB_CHECK(job, catena_neighborhood_create(world, 2, peer, NULL, 2, peer,
                                              NULL, NULL, &own) == CATENA_OK);
    for (int turn = 0; turn < 2; turn++) {
        if ((job->rank == 0) == (turn == 0)) {
            JOB_CHECK(job, catena_ineighbor_alltoall(
                               sent, 1, CATENA_BYTE, received, 1, CATENA_BYTE,
                               own, &request) == CATENA_OK);
        }
        if (turn == 0) {
            JOB_CHECK(job, job->rank > 0 || catena_neighborhood_free(own) ==
                                                CATENA_ERR_STATE);
            JOB_CHECK(job, catena_neighborhood_set(own, "algorithm", "auto") ==
                               CATENA_ERR_STATE);
        }
    }
    JOB_CHECK(job, catena_wait(&request) == CATENA_OK);
    JOB_CHECK(job, received[0] == 2 && received[1] == 1);
    JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
}

START_TEST(not_yet_free)
{
    capture_t said;
    said_by(&said, 5, free_too_early);
    said_has(&said, "freed with 1 of its operations under way");
}
END_TEST

static bool reorder;

/** Whatever becomes of it, it comes to an end. */
static void make_and_lose(job_t *job)
{
    graph_t graph = graph_make(GRAPH_SPARSE, (int)job->size, job->seed);
    catena_neighborhood_t *own = NULL;
    if (graph_create(job, &graph, true, reorder, &own) == CATENA_OK) {
        (void)catena_neighborhood_free(own);
    }
    graph_free(&graph);
}

START_TEST(deaths)
{
    for (uint64_t event = 100; event < 20000; event += event / 3) {
        reorder = event % 2 == 0;
        capture_t capture;
        capture_start(&capture);
        job_simulate_death(9, event, event, make_and_lose);
        capture_stop(&capture);
    }
}
END_TEST

static void contribute_wrongly(job_t *job)
{
    bool odd = job->rank == 1;
    int node = odd ? 9 : 0;
    int zero = 0;
    int one = 1;
    int minus = odd ? -1 : 1;
    int target = odd ? CATENA_PROC_NULL : 2;
    catena_group_t *world = job->context->world;
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, catena_dist_graph_create(world, 1, &node, &one, &zero, NULL,
                                            NULL, &own) == CATENA_ERR_ARG);
    JOB_CHECK(job,
              catena_dist_graph_create(world, 1, &zero, &minus, &zero, NULL,
                                       NULL, &own) == CATENA_ERR_ARG);
    JOB_CHECK(job,
              catena_dist_graph_create(world, 1, &zero, &one, &target, NULL,
                                       NULL, &own) == CATENA_ERR_ARG);
    JOB_CHECK(job,
              catena_dist_graph_create(world, 1, &zero, &one, &zero, &minus,
                                       NULL, &own) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_dist_graph_create(world, 1, &zero, &one, &zero,
                                            odd ? &one : NULL, NULL,
                                            &own) == CATENA_ERR_ARG);
    JOB_CHECK(job,
              catena_dist_graph_create(world, minus, &zero, &one, &zero, NULL,
                                       NULL, &own) == CATENA_ERR_ARG);
    JOB_CHECK(job, own == NULL);
}

START_TEST(wrong_contributions)
{
    capture_t said;
    said_by(&said, 5, contribute_wrongly);
    said_has(&said, "node 0 is rank 9");
    said_has(&said, "weight of edge 0 is -1");
}
END_TEST

/** The last rank has nowhere for what is made. */
static void forget_results(job_t *job)
{
    static const int dims[] = {5};
    static const int periods[] = {1};
    static const int remain[] = {1};
    bool last = job->rank + 1 == job->size;
    int zero = 0;
    int one = 1;
    int size = (int)job->size;
    int before = ((int)job->rank + size - 1) % size;
    int after = ((int)job->rank + 1) % size;
    catena_group_t *world = job->context->world;
    catena_neighborhood_t *own = NULL;
    catena_neighborhood_t *ring = NULL;
    catena_neighborhood_t **out = last ? NULL : &own;
    JOB_CHECK(job, catena_cart_create(world, 1, dims, periods, 0, NULL,
                                      &ring) == CATENA_OK);
    JOB_CHECK(job,
              catena_neighborhood_create(world, 1, &before, NULL, 1, &after,
                                         NULL, NULL, out) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_dist_graph_create(world, 1, &zero, &one, &zero, NULL,
                                            NULL, out) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_create(world, 1, dims, periods, 0, NULL, out) ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_derive_graph(ring, 1, &one, NULL, 0, NULL,
                                            out) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_sub(ring, remain, out) == CATENA_ERR_ARG);
    JOB_CHECK(job, catena_cart_sub(ring, last ? NULL : remain, &own) ==
                       CATENA_ERR_ARG);
    JOB_CHECK(job, catena_neighborhood_set(ring, last ? NULL : "algorithm",
                                           "auto") == CATENA_ERR_ARG);
    JOB_CHECK(job, own == NULL);
    JOB_CHECK(job, catena_neighborhood_free(ring) == CATENA_OK);
}

START_TEST(nowhere)
{
    ck_assert_int_eq(job_simulate(5, 1, forget_results), 0);
}
END_TEST

/** What is wrong on the ranks of a grid those beyond it hear as well. */
static void wrong_beyond(job_t *job)
{
    static const int dims[] = {3};
    static const int periods[] = {1};
    catena_neighborhood_info_t info = {.algorithm = "sideways"};
    catena_neighborhood_t *own = NULL;
    JOB_CHECK(job, catena_cart_create(job->context->world, 1, dims, periods, 0,
                                      &info, &own) == CATENA_ERR_ARG);
    JOB_CHECK(job, own == NULL);
}

START_TEST(beyond)
{
    capture_t said;
    said_by(&said, 5, wrong_beyond);
    ck_assert_int_eq(occurrences(said.text, "sideways"), 3);
}
END_TEST

/** Usual lengths that do not fit an address are long ones. */
static void choose_for_long(job_t *job)
{
    static const int dims[] = {3, 3};
    static const int periods[] = {1, 1};
    static const int moves[] = {0, 1, 0, -1, 1, 0, -1, 0, 1, 1, -1, -1};
    static const int weights[] = {3, 3, 3, 3, 3, 3};
    static const size_t bytes[] = {1, SIZE_MAX / 64, SIZE_MAX};
    char text[3][512];
    catena_neighborhood_t *grid = NULL;
    JOB_CHECK(job, catena_cart_create(job->context->world, 2, dims, periods, 0,
                                      NULL, &grid) == CATENA_OK);
    for (int i = 0; i < 3; i++) {
        catena_neighborhood_info_t info = {.bytes = bytes[i]};
        catena_neighborhood_t *own = NULL;
        JOB_CHECK(job, catena_cart_derive_graph(grid, 6, moves, weights, 0,
                                                &info, &own) == CATENA_OK);
        JOB_CHECK(job, catena_neighborhood_explain(
                           own, CATENA_NEIGHBOR_ALLTOALL, 0, text[i],
                           sizeof(text[i])) == CATENA_OK);
        *strchr(text[i], ' ') = '\0';
        JOB_CHECK(job, catena_neighborhood_free(own) == CATENA_OK);
    }
    JOB_CHECK(job, strcmp(text[0], text[1]) != 0);
    JOB_CHECK(job, strcmp(text[1], text[2]) == 0);
    JOB_CHECK(job, catena_neighborhood_free(grid) == CATENA_OK);
}

START_TEST(lengths_beyond_all)
{
    ck_assert_int_eq(job_simulate_nodes(9, 3, 1, choose_for_long), 0);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, mismatches);
    tcase_add_test(tcase, many_mismatches);
    tcase_add_test(tcase, arguments);
    tcase_add_test(tcase, not_yet_free);
    tcase_add_test(tcase, deaths);
    tcase_add_test(tcase, wrong_contributions);
    tcase_add_test(tcase, nowhere);
    tcase_add_test(tcase, beyond);
    tcase_add_test(tcase, lengths_beyond_all);
}

int main(void)
{
    return unit_main("neighborhood_errors", 100, add_cases);
}
