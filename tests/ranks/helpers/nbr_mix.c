/* Neighborhoods drawn from seeds, and operations on them. */

#include "ranks/helpers/nbr_mix.h"

#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT = 5 };

static void check_stats(const nbr_t *nbr, bool reordered)
{
    rank_test_t *test = nbr->test;
    catena_neighborhood_stats_t stats = {.size = sizeof(stats)};
    uint64_t all = 0;
    for (int r = 0; r < nbr->graph.size; r++) {
        const oracle_list_t *t = &nbr->graph.targets[r];
        for (int i = 0; i < t->count; i++) {
            all += t->rank[i] != CATENA_PROC_NULL;
        }
    }
    RANK_CHECK(test, catena_neighborhood_get_stats(nbr->neighborhood, &stats) ==
                         CATENA_OK);
    RANK_CHECK(test, nbr->graph.weighted || stats.weight_all == all);
    RANK_CHECK(test, stats.weight_between <= stats.weight_all);
    RANK_CHECK(test, stats.weight_between <= stats.weight_before);
    RANK_CHECK(test, reordered || stats.weight_between == stats.weight_before);
    RANK_CHECK(test, test->place.nodes > 1 || stats.weight_between == 0);
}

void nbr_open(rank_test_t *test, nbr_t *nbr,
              const catena_neighborhood_info_t *info, uint64_t own)
{
    nbr->test = test;
    nbr->own = own;
    nbr->algorithm = "auto";
    nbr->neighborhood = NULL;
    RANK_CHECK(test, oracle_neighborhood_make(&nbr->graph, test->world, info,
                                              &nbr->neighborhood) == CATENA_OK);
    if (nbr->neighborhood != NULL) {
        oracle_graph_settle(
            &nbr->graph,
            catena_group_rank(catena_neighborhood_group(nbr->neighborhood)));
        oracle_neighborhood_check(&test->oracle, &nbr->graph,
                                  nbr->neighborhood);
        check_stats(nbr, info != NULL && info->reorder);
    }
    oracle_table_open(&test->oracle, &nbr->table);
}

void nbr_close(nbr_t *nbr)
{
    RANK_CHECK(nbr->test,
               nbr->neighborhood == NULL ||
                   catena_neighborhood_free(&nbr->neighborhood) == CATENA_OK);
    oracle_table_close(&nbr->test->oracle, &nbr->table);
    oracle_graph_free(&nbr->graph);
}

bool nbr_choose(nbr_t *nbr, const char *algorithm)
{
    if (!oracle_nbr_has(&nbr->test->oracle, &nbr->graph, nbr->neighborhood,
                        algorithm)) {
        return false;
    }
    RANK_CHECK(nbr->test,
               catena_neighborhood_set(nbr->neighborhood, "algorithm",
                                       algorithm) == CATENA_OK);
    nbr->algorithm = algorithm;
    return true;
}

oracle_nbr_call_t nbr_draw(nbr_t *nbr, uint64_t *random, size_t most)
{
    oracle_nbr_call_t call = {.graph = &nbr->graph,
                              .neighborhood = nbr->neighborhood,
                              .table = &nbr->table};
    oracle_nbr_draw(&call, random, &nbr->own, most);
    return call;
}

static void maybe_pause(nbr_t *nbr)
{
    if (ctn_random_below(&nbr->own, 4) == 0) {
        rank_pause(nbr->test, (double)ctn_random_below(&nbr->own, 40));
    }
}

void nbr_check_algorithm(nbr_t *nbr, const oracle_nbr_call_t *call)
{
    const oracle_list_t *targets = &nbr->graph.targets[call->rank];
    catena_neighborhood_stats_t stats = {.size = sizeof(stats)};
    bool any = false;
    for (int i = 0; i < targets->count; i++) {
        any = any || targets->rank[i] != CATENA_PROC_NULL;
    }
    RANK_CHECK(nbr->test, catena_neighborhood_get_stats(nbr->neighborhood,
                                                        &stats) == CATENA_OK);
    if (any && call->count > 0 && call->kind == ORACLE_NEIGHBOR_ALLTOALL &&
        strcmp(nbr->algorithm, "auto") != 0) {
        RANK_CHECK(nbr->test, stats.algorithm != NULL &&
                                  strcmp(stats.algorithm, nbr->algorithm) == 0);
    }
}

static void one(nbr_t *nbr, uint64_t *random, size_t most)
{
    oracle_nbr_call_t call = nbr_draw(nbr, random, most);
    maybe_pause(nbr);
    oracle_nbr_all(&nbr->test->oracle, &call, ctn_random(random),
                   nbr->algorithm);
    nbr_check_algorithm(nbr, &call);
}

/** Several in flight, whose requests complete in any order. Types and
 * operations are freed immediately after the start. */
static void several(nbr_t *nbr, uint64_t *random, size_t most)
{
    rank_test_t *test = nbr->test;
    oracle_nbr_call_t call[IN_FLIGHT];
    catena_request_t *request[IN_FLIGHT];
    for (int i = 0; i < IN_FLIGHT; i++) {
        oracle_table_t *table = oracle_zeros(1, sizeof(*table));
        call[i] = nbr_draw(nbr, random, most);
        oracle_table_open(&test->oracle, table);
        call[i].table = table;
        call[i].form += call[i].form == ORACLE_FORM_BLOCKING;
        oracle_nbr_open(&test->oracle, &call[i]);
        oracle_nbr_fill(&call[i], ctn_random(random));
        maybe_pause(nbr);
        RANK_CHECK(test, oracle_nbr_run(&call[i]) == CATENA_OK);
        RANK_CHECK(test,
                   call[i].form != ORACLE_FORM_PERSISTENT ||
                       catena_request_start(call[i].request) == CATENA_OK);
        oracle_table_close(&test->oracle, table);
        oracle_nbr_release(&test->oracle, &call[i]);
        free(table);
        request[i] = call[i].request;
    }
    rank_complete(test, request, IN_FLIGHT,
                  (int)ctn_random_below(&nbr->own, RANK_WAYS));
    for (int i = 0; i < IN_FLIGHT; i++) {
        oracle_nbr_check(&test->oracle, &call[i], nbr->algorithm);
        RANK_CHECK(test, call[i].form != ORACLE_FORM_PERSISTENT ||
                             catena_request_free(&request[i]) == CATENA_OK);
        oracle_nbr_close(&test->oracle, &call[i]);
    }
}

void nbr_mix(rank_test_t *test, oracle_graph_way_t way, uint64_t seed,
             int operations, size_t most)
{
    uint64_t random = seed;
    nbr_t nbr;
    catena_neighborhood_info_t info = {.size = sizeof(info),
                                       .reorder =
                                           ctn_random_below(&random, 3) == 0,
                                       .bytes = ctn_random_below(&random, 999)};
    oracle_graph_draw_any(&nbr.graph, way, test->place.ranks,
                          ctn_random(&random));
    nbr_open(test, &nbr, &info, seed * 77 + (uint64_t)test->place.rank);
    for (int done = 0; nbr.neighborhood != NULL && done < operations;
         done += 3 + IN_FLIGHT) {
        (void)nbr_choose(&nbr, oracle_nbr_algorithms[ctn_random_below(
                                   &random, ORACLE_NBR_ALGORITHMS)]);
        for (int i = 0; i < 3; i++) {
            one(&nbr, &random, most);
        }
        several(&nbr, &random, most);
    }
    if (nbr.neighborhood != NULL) {
        /* Ranks that no edges connect do not wait for each other: they may
         * execute any number. */
        catena_group_t *group = catena_neighborhood_group(nbr.neighborhood);
        int color = nbr.graph.color[catena_group_rank(group)];
        random += (uint64_t)color;
        for (int i = 0; i < 5 * color; i++) {
            one(&nbr, &random, most);
        }
    }
    nbr_close(&nbr);
}
