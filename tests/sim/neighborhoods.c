/* Neighborhood collectives, as kinds of runs drawn from seeds. */

#include "ranks/helpers/nbr_mix.h"
#include "sim/random.h"

void neighborhoods(rank_test_t *test, draw_t *draw, uint64_t random)
{
    oracle_graph_way_t way =
        (oracle_graph_way_t)ctn_random_below(&random, ORACLE_GRAPH_WAYS);
    bool few = draw->ranks <= 64;
    nbr_mix(test, way, random, few ? 24 : 8, few ? 3000 : 150);
}

/** On repeatedly created graphs, maybe reordered. The first one is a ring, so
 * that every rank eventually waits for the dead one. */
void dying_neighborhoods(rank_test_t *test, draw_t *draw, uint64_t random)
{
    catena_status_t status = CATENA_OK;
    oracle_table_t table;
    oracle_table_open(&test->oracle, &table);
    uint64_t own = random + (uint64_t)test->place.rank;
    for (int made = 0; status == CATENA_OK; made++) {
        oracle_graph_t graph;
        catena_neighborhood_t *neighborhood = NULL;
        catena_neighborhood_info_t info = {.size = sizeof(info),
                                           .reorder = made % 3 == 2};
        if (made % 2 == 0) {
            oracle_graph_torus(&graph, 1, draw->ranks, false);
        } else {
            oracle_graph_draw_any(&graph, ORACLE_WAY_ADJACENT, draw->ranks,
                                  ctn_random(&random));
        }
        status =
            oracle_neighborhood_make(&graph, test->world, &info, &neighborhood);
        int rank =
            status == CATENA_OK
                ? catena_group_rank(catena_neighborhood_group(neighborhood))
                : 0;
        oracle_graph_settle(&graph, rank);
        for (int i = 0; status == CATENA_OK && i < 20; i++) {
            oracle_nbr_call_t call = {
                .graph = &graph, .neighborhood = neighborhood, .table = &table};
            oracle_nbr_draw(&call, &random, &own, 700);
            call.uniform = true;
            call.count += call.count == 0;
            oracle_nbr_repair(&call);
            /* A single rank generates no events, and would never die. */
            rank_pause(test, 1);
            oracle_nbr_open(&test->oracle, &call);
            oracle_nbr_fill(&call, random);
            status = oracle_nbr_run_to_end(&call);
            if (status == CATENA_OK) {
                oracle_nbr_check(&test->oracle, &call, draw->kind->name);
            }
            oracle_nbr_close(&test->oracle, &call);
        }
        catena_status_t freed = CATENA_OK;
        if (neighborhood != NULL) {
            freed = catena_neighborhood_free(&neighborhood);
        }
        status = status == CATENA_OK ? freed : status;
        oracle_graph_free(&graph);
    }
    RANK_CHECK(test, status == CATENA_ERR_PEER);
    oracle_table_close(&test->oracle, &table);
}
