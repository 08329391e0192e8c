/* Sparse collectives, as kinds of runs drawn from seeds. */

#include "ranks/nbr_mix.h"
#include "sim/random.h"

void neighborhoods(rank_test_t *test, draw_t *draw, uint64_t random)
{
    nbr_way_t way = (nbr_way_t)(rank_random(&random) % NBR_WAYS);
    bool few = draw->ranks <= 64;
    nbr_mix(test, way, random, few ? 40 : 8, few ? 3000 : 150);
}

/** On a ring, so that everybody comes to wait for the dead. */
void dying_neighborhoods(rank_test_t *test, draw_t *draw, uint64_t random)
{
    nbr_graph_t graph;
    coll_table_t table;
    catena_neighborhood_t *neighborhood = NULL;
    nbr_graph_ring(&graph, draw->ranks);
    coll_table_open(test, &table);
    catena_status_t status =
        nbr_graph_make(&graph, test->world, NULL, &neighborhood);
    if (status == CATENA_OK) {
        nbr_graph_settle(&graph, test->place.rank);
    }
    uint64_t own = random + (uint64_t)test->place.rank;
    while (status == CATENA_OK) {
        nbr_call_t call = {
            .graph = &graph, .neighborhood = neighborhood, .table = &table};
        nbr_call_draw(&call, &random, &own, 700);
        call.form = NBR_BLOCKING;
        call.alike = true;
        call.count += call.count == 0;
        /* A rank alone makes no events by itself, and would never die. */
        rank_pause(test, 1);
        nbr_call_open(test, &call);
        nbr_call_fill(&call, random);
        status = nbr_call_run(&call);
        if (status == CATENA_OK) {
            nbr_call_check(test, &call, draw->kind->name);
        }
        nbr_call_close(test, &call);
    }
    RANK_CHECK(test, status == CATENA_ERR_PEER);
    (void)catena_neighborhood_free(neighborhood);
    coll_table_close(test, &table);
    nbr_graph_free(&graph);
}
