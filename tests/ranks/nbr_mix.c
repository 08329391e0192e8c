/* Neighborhoods drawn from seeds, and operations on them. */

#include "nbr_mix.h"

#include <stdlib.h>
#include <string.h>

#include "rank_vector.h"

enum { IN_FLIGHT = 5 };

const char *const nbr_algorithms[] = {"auto",      "direct",     "colored",
                                      "combining", "aggregated", NULL};

enum { ALGORITHMS = 5 };

/** Whether its ranks are on several nodes. */
static bool on_several(rank_test_t *test, catena_group_t *group)
{
    int32_t node[] = {test->place.node, -test->place.node};
    int32_t most[2];
    RANK_CHECK(test, catena_allreduce(node, most, 2, CATENA_INT32, CATENA_MAX,
                                      group) == CATENA_OK);
    return most[0] != -most[1];
}

bool nbr_possible(rank_test_t *test, const nbr_graph_t *graph,
                  catena_neighborhood_t *neighborhood, const char *algorithm)
{
    if (strcmp(algorithm, "combining") == 0) {
        /* Else there may be ranks in the way that have no part in it. */
        return (graph->way == NBR_CART || graph->way == NBR_DERIVED) &&
               graph->full;
    }
    if (strcmp(algorithm, "aggregated") == 0) {
        return on_several(test, catena_neighborhood_group(neighborhood)) &&
               graph->joined;
    }
    return true;
}

typedef struct mix {
    rank_test_t *test;
    nbr_graph_t graph;
    coll_table_t table;
    catena_neighborhood_t *neighborhood;
    uint64_t own; /* for what each rank does as it likes */
    size_t most;
    const char *algorithm;
} mix_t;

static void choose(mix_t *mix, uint64_t *random)
{
    const char *algorithm = nbr_algorithms[rank_random(random) % ALGORITHMS];
    if (nbr_possible(mix->test, &mix->graph, mix->neighborhood, algorithm)) {
        RANK_CHECK(mix->test,
                   catena_neighborhood_set(mix->neighborhood, "algorithm",
                                           algorithm) == CATENA_OK);
        mix->algorithm = algorithm;
    }
}

static void draw_call(mix_t *mix, nbr_call_t *call, uint64_t *random)
{
    *call = (nbr_call_t){.graph = &mix->graph,
                         .neighborhood = mix->neighborhood,
                         .table = &mix->table};
    nbr_call_draw(call, random, &mix->own, mix->most);
}

static void maybe_pause(mix_t *mix)
{
    if (rank_random(&mix->own) % 4 == 0) {
        rank_pause(mix->test, (double)(rank_random(&mix->own) % 40));
    }
}

/** What was asked for was done, where there was something to do. */
static void check_algorithm(mix_t *mix, const nbr_call_t *call)
{
    const nbr_list_t *targets = &mix->graph.targets[call->rank];
    catena_neighborhood_stats_t stats = {0};
    bool any = false;
    for (int i = 0; i < targets->count; i++) {
        any = any || targets->rank[i] != CATENA_PROC_NULL;
    }
    RANK_CHECK(mix->test, catena_neighborhood_get_stats(mix->neighborhood,
                                                        &stats) == CATENA_OK);
    if (any && call->count > 0 && call->kind == NBR_ALLTOALL &&
        strcmp(mix->algorithm, "auto") != 0) {
        RANK_CHECK(mix->test, stats.algorithm != NULL &&
                                  strcmp(stats.algorithm, mix->algorithm) == 0);
    }
}

static void one(mix_t *mix, uint64_t *random)
{
    nbr_call_t call;
    draw_call(mix, &call, random);
    maybe_pause(mix);
    nbr_call_all(mix->test, &call, rank_random(random), mix->algorithm);
    check_algorithm(mix, &call);
}

/** Several at once, whose requests end in any order. Types and operations are
 * freed as soon as they are under way. */
static void several(mix_t *mix, uint64_t *random)
{
    rank_test_t *test = mix->test;
    nbr_call_t call[IN_FLIGHT];
    catena_request_t *request[IN_FLIGHT];
    coll_table_t *table = calloc(IN_FLIGHT, sizeof(*table));
    for (int i = 0; i < IN_FLIGHT; i++) {
        draw_call(mix, &call[i], random);
        coll_table_open(test, &table[i]);
        call[i].table = &table[i];
        call[i].form =
            call[i].form == NBR_BLOCKING ? NBR_NONBLOCKING : call[i].form;
        nbr_call_open(test, &call[i]);
        nbr_call_fill(&call[i], rank_random(random));
        maybe_pause(mix);
        RANK_CHECK(test, nbr_call_run(&call[i]) == CATENA_OK);
        if (call[i].form == NBR_PERSISTENT) {
            RANK_CHECK(test, catena_start(call[i].request) == CATENA_OK);
        }
        coll_table_close(test, &table[i]);
        request[i] = call[i].request;
    }
    rank_complete(test, request, IN_FLIGHT,
                  (int)(rank_random(&mix->own) % RANK_WAYS));
    for (int i = 0; i < IN_FLIGHT; i++) {
        nbr_call_check(test, &call[i], mix->algorithm);
        RANK_CHECK(test, call[i].form != NBR_PERSISTENT ||
                             catena_request_free(&request[i]) == CATENA_OK);
        nbr_call_close(test, &call[i]);
    }
    free(table);
}

/** Ranks that no edges join do not wait for each other: they may do as many as
 * they like. */
static void by_component(mix_t *mix, uint64_t *random)
{
    int rank = catena_group_rank(catena_neighborhood_group(mix->neighborhood));
    uint64_t color = (uint64_t)mix->graph.color[rank];
    uint64_t ours = rank_random(random) + color;
    for (uint64_t i = 0; i < 5 * color; i++) {
        one(mix, &ours);
    }
}

static void check_stats(mix_t *mix, bool reordered)
{
    rank_test_t *test = mix->test;
    catena_neighborhood_stats_t stats = {0};
    uint64_t all = 0;
    for (int r = 0; r < mix->graph.size; r++) {
        const nbr_list_t *t = &mix->graph.targets[r];
        for (int i = 0; i < t->count; i++) {
            all += t->rank[i] != CATENA_PROC_NULL;
        }
    }
    RANK_CHECK(test, catena_neighborhood_get_stats(mix->neighborhood, &stats) ==
                         CATENA_OK);
    RANK_CHECK(test, mix->graph.weighted || stats.weight_all == all);
    RANK_CHECK(test, stats.weight_between <= stats.weight_all);
    RANK_CHECK(test, stats.weight_between <= stats.weight_before);
    RANK_CHECK(test, reordered || stats.weight_between == stats.weight_before);
    RANK_CHECK(test, test->place.nodes > 1 || stats.weight_between == 0);
}

static void operate(mix_t *mix, uint64_t random, int operations)
{
    int done = 0;
    while (done < operations) {
        choose(mix, &random);
        for (int i = 0; i < 3; i++) {
            one(mix, &random);
        }
        several(mix, &random);
        done += 3 + IN_FLIGHT;
    }
    by_component(mix, &random);
}

void nbr_mix(rank_test_t *test, nbr_way_t way, uint64_t seed, int operations,
             size_t most)
{
    uint64_t random = seed;
    mix_t mix = {.test = test, .most = most, .algorithm = "auto"};
    catena_neighborhood_info_t info = {.reorder = rank_random(&random) % 3 == 0,
                                       .bytes = rank_random(&random) % 999};
    nbr_graph_draw(&mix.graph, way, test->place.size, rank_random(&random));
    mix.own = seed * 77 + (uint64_t)test->place.rank;
    RANK_CHECK(test, nbr_graph_make(&mix.graph, test->world, &info,
                                    &mix.neighborhood) == CATENA_OK);
    if (mix.neighborhood != NULL) {
        catena_group_t *group = catena_neighborhood_group(mix.neighborhood);
        nbr_graph_settle(&mix.graph, catena_group_rank(group));
        nbr_graph_check(test, &mix.graph, mix.neighborhood);
        check_stats(&mix, info.reorder);
        coll_table_open(test, &mix.table);
        operate(&mix, rank_random(&random), operations);
        coll_table_close(test, &mix.table);
        RANK_CHECK(test,
                   catena_neighborhood_free(mix.neighborhood) == CATENA_OK);
    }
    nbr_graph_free(&mix.graph);
}
