/* Neighborhoods made of graphs; see nbr_graph.h. */

#include "nbr_graph.h"

#include <stdlib.h>
#include <string.h>

static catena_status_t make_adjacent(const nbr_graph_t *graph,
                                     catena_group_t *group,
                                     const catena_neighborhood_info_t *info,
                                     catena_neighborhood_t **neighborhood)
{
    int rank = catena_group_rank(group);
    const nbr_list_t *s = &graph->sources[rank];
    const nbr_list_t *t = &graph->targets[rank];
    return catena_neighborhood_create(
        group, s->count, s->rank,
        graph->weighted && s->count > 0 ? s->weight
        : graph->weighted               ? (const int[]){0}
                                        : CATENA_UNWEIGHTED,
        t->count, t->rank,
        graph->weighted && t->count > 0 ? t->weight
        : graph->weighted               ? (const int[]){0}
                                        : CATENA_UNWEIGHTED,
        info, neighborhood);
}

/** Edges of one node that follow each other are listed together, and a node
 * without edges before them. */
static catena_status_t make_dist(const nbr_graph_t *graph,
                                 catena_group_t *group,
                                 const catena_neighborhood_info_t *info,
                                 catena_neighborhood_t **neighborhood)
{
    int rank = catena_group_rank(group);
    size_t most = (size_t)graph->edges + 1;
    int *nodes = calloc(4 * most, sizeof(int));
    int *degrees = nodes + most;
    int *targets = degrees + most;
    int *weights = targets + most;
    int count = 1;
    int edges = 0;
    nodes[0] = rank;
    for (int i = 0; i < graph->edges; i++) {
        const nbr_edge_t *edge = &graph->edge[i];
        if (edge->contributor == rank) {
            if (nodes[count - 1] != edge->from) {
                nodes[count++] = edge->from;
            }
            degrees[count - 1]++;
            targets[edges] = edge->to;
            weights[edges++] = edge->weight;
        }
    }
    catena_status_t status = catena_dist_graph_create(
        group, count, nodes, degrees, targets,
        graph->weighted ? weights : CATENA_UNWEIGHTED, info, neighborhood);
    free(nodes);
    return status;
}

static catena_status_t make_derived(const nbr_graph_t *graph,
                                    catena_group_t *group,
                                    const catena_neighborhood_info_t *info,
                                    catena_neighborhood_t **neighborhood)
{
    catena_neighborhood_t *cart = NULL;
    catena_status_t status = catena_cart_create(
        group, graph->ndims, graph->dims, graph->periods, 0, NULL, &cart);
    if (status != CATENA_OK || cart == NULL) {
        *neighborhood = NULL;
        return status;
    }
    status = catena_cart_derive_graph(
        cart, graph->ndirs, graph->displacements,
        graph->weighted ? graph->weights : CATENA_UNWEIGHTED,
        info != NULL && info->reorder, info, neighborhood);
    catena_status_t freed = catena_neighborhood_free(cart);
    return status != CATENA_OK ? status : freed;
}

catena_status_t nbr_graph_make(const nbr_graph_t *graph, catena_group_t *group,
                               const catena_neighborhood_info_t *info,
                               catena_neighborhood_t **neighborhood)
{
    switch (graph->way) {
    case NBR_CART:
        return catena_cart_create(group, graph->ndims, graph->dims,
                                  graph->periods, info != NULL && info->reorder,
                                  info, neighborhood);
    case NBR_DERIVED:
        return make_derived(graph, group, info, neighborhood);
    case NBR_DIST:
        return make_dist(graph, group, info, neighborhood);
    default:
        return make_adjacent(graph, group, info, neighborhood);
    }
}

/** The weight of entry i, both ends being asked. */
static int weight_of(const nbr_graph_t *graph, const nbr_list_t *list, int i,
                     const nbr_list_t *others)
{
    if (!graph->weighted || list->rank[i] == CATENA_PROC_NULL) {
        return 1;
    }
    int there = others[list->rank[i]].weight[list->mate[i]];
    return there > list->weight[i] ? there : list->weight[i];
}

static void check_list(rank_test_t *test, const nbr_graph_t *graph,
                       const char *what, const nbr_list_t *list,
                       const nbr_list_t *others, const int rank[],
                       const int weight[])
{
    for (int i = 0; i < list->count; i++) {
        int expected = weight_of(graph, list, i, others);
        bool null = list->rank[i] == CATENA_PROC_NULL;
        if (rank[i] != list->rank[i] || (!null && weight[i] != expected)) {
            rank_fail(test, "%s %d: expected rank %d, weight %d, found %d, %d",
                      what, i, list->rank[i], expected, rank[i], weight[i]);
        }
    }
}

static void check_grid(rank_test_t *test, const nbr_graph_t *graph, int rank,
                       const catena_neighborhood_t *neighborhood)
{
    int ndims = -1;
    int found[3 * NBR_DIMS];
    int coords[NBR_DIMS];
    int *dims = found;
    int *periods = found + NBR_DIMS;
    int *here = periods + NBR_DIMS;
    nbr_graph_coords(graph, rank, coords);
    RANK_CHECK(test, catena_cart_ndims(neighborhood, &ndims) == CATENA_OK &&
                         ndims == graph->ndims);
    RANK_CHECK(test, catena_cart_get(neighborhood, NBR_DIMS, dims, periods,
                                     here) == CATENA_OK);
    for (int d = 0; d < graph->ndims; d++) {
        RANK_CHECK(test, dims[d] == graph->dims[d] &&
                             !periods[d] == !graph->periods[d] &&
                             here[d] == coords[d]);
    }
    int back = -1;
    RANK_CHECK(test,
               catena_cart_rank(neighborhood, coords, &back) == CATENA_OK &&
                   back == rank);
}

void nbr_graph_check(rank_test_t *test, const nbr_graph_t *graph,
                     const catena_neighborhood_t *neighborhood)
{
    catena_group_t *group = catena_neighborhood_group(neighborhood);
    int rank = catena_group_rank(group);
    const nbr_list_t *s = &graph->sources[rank];
    const nbr_list_t *t = &graph->targets[rank];
    int sources = -1;
    int targets = -1;
    RANK_CHECK(test, catena_group_size(group) == graph->size);
    RANK_CHECK(test, catena_neighborhood_counts(neighborhood, &sources,
                                                &targets) == CATENA_OK);
    RANK_CHECK(test, sources == s->count && targets == t->count);
    if (sources != s->count || targets != t->count) {
        return;
    }
    size_t most = (size_t)(sources + targets) + 1;
    int *rank_found = calloc(2 * most, sizeof(int));
    int *weight_found = rank_found + most;
    RANK_CHECK(test,
               catena_neighborhood_neighbors(
                   neighborhood, sources, rank_found, weight_found, targets,
                   rank_found + sources, weight_found + sources) == CATENA_OK);
    check_list(test, graph, "source", s, graph->targets, rank_found,
               weight_found);
    check_list(test, graph, "target", t, graph->sources, rank_found + sources,
               weight_found + sources);
    free(rank_found);
    if (graph->way == NBR_CART || graph->way == NBR_DERIVED) {
        check_grid(test, graph, rank, neighborhood);
    }
}
