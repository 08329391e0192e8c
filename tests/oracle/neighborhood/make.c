/* Creation of neighborhoods from graphs, and checks of their queries; see
 * neighborhood.h. */

#include "oracle/neighborhood/neighborhood.h"

#include <stdlib.h>
#include <string.h>

enum { FARTHEST = 4, MOST_PLACES = 64 };

/* ---- creation ---- */

static const int *weights_of(const oracle_graph_t *graph,
                             const oracle_list_t *list)
{
    static const int none[] = {0};
    return !graph->weighted   ? CATENA_UNWEIGHTED
           : list->count == 0 ? none
                              : list->weight;
}

static catena_status_t make_adjacent(const oracle_graph_t *graph,
                                     catena_group_t *group,
                                     const catena_neighborhood_info_t *info,
                                     catena_neighborhood_t **neighborhood)
{
    const oracle_list_t *s = &graph->sources[catena_group_rank(group)];
    const oracle_list_t *t = &graph->targets[catena_group_rank(group)];
    return catena_neighborhood_create(group, s->count, s->rank,
                                      weights_of(graph, s), t->count, t->rank,
                                      weights_of(graph, t), info, neighborhood);
}

/** Consecutive edges of one node are listed together, and a node without edges
 * precedes them. */
static catena_status_t make_dist(const oracle_graph_t *graph,
                                 catena_group_t *group,
                                 const catena_neighborhood_info_t *info,
                                 catena_neighborhood_t **neighborhood)
{
    int rank = catena_group_rank(group);
    size_t most = (size_t)graph->edges + 1;
    int *nodes = oracle_zeros(4 * most, sizeof(int));
    int *degrees = nodes + most;
    int *targets = degrees + most;
    int *weights = targets + most;
    int count = 1;
    int edges = 0;
    nodes[0] = rank;
    for (int i = 0; i < graph->edges; i++) {
        const oracle_edge_t *edge = &graph->edge[i];
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

static catena_status_t make_cart(const oracle_graph_t *graph,
                                 catena_group_t *group,
                                 const catena_neighborhood_info_t *info,
                                 catena_neighborhood_t **neighborhood)
{
    catena_neighborhood_info_t own = {.size = sizeof(own)};
    own = info != NULL ? *info : own;
    int rank = catena_group_rank(group);
    if (graph->weighted && rank < graph->size) {
        own.weights = graph->targets[rank].weight;
    }
    return catena_cart_create(group, graph->ndims, graph->dims, graph->periods,
                              own.reorder, &own, neighborhood);
}

static catena_status_t make_derived(const oracle_graph_t *graph,
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
    catena_status_t freed = catena_neighborhood_free(&cart);
    return status != CATENA_OK ? status : freed;
}

catena_status_t oracle_neighborhood_make(const oracle_graph_t *graph,
                                         catena_group_t *group,
                                         const catena_neighborhood_info_t *info,
                                         catena_neighborhood_t **neighborhood)
{
    switch (graph->way) {
    case ORACLE_WAY_CART:
        return make_cart(graph, group, info, neighborhood);
    case ORACLE_WAY_DERIVED:
        return make_derived(graph, group, info, neighborhood);
    case ORACLE_WAY_DIST:
        return make_dist(graph, group, info, neighborhood);
    default:
        return make_adjacent(graph, group, info, neighborhood);
    }
}

/* ---- queries ---- */

/** The weight of entry i, from both ends. */
static int weight_of(const oracle_graph_t *graph, const oracle_list_t *list,
                     int i, const oracle_list_t *others)
{
    if (!graph->weighted || list->rank[i] == CATENA_PROC_NULL) {
        return 1;
    }
    int there = others[list->rank[i]].weight[list->mate[i]];
    return there > list->weight[i] ? there : list->weight[i];
}

static void check_list(const oracle_t *oracle, const oracle_graph_t *graph,
                       const oracle_list_t *list, const oracle_list_t *others,
                       const int rank[], const int weight[])
{
    for (int i = 0; i < list->count; i++) {
        int expected = weight_of(graph, list, i, others);
        bool null = list->rank[i] == CATENA_PROC_NULL;
        if (rank[i] != list->rank[i] || (!null && weight[i] != expected)) {
            oracle_fail(oracle,
                        "%s %d: expected rank %d, weight %d, found %d, %d",
                        others == graph->targets ? "source" : "target", i,
                        list->rank[i], expected, rank[i], weight[i]);
        }
    }
}

/** The rank at a distance along a dimension, by rank and by coordinates. */
static void check_shift(const oracle_t *oracle, const oracle_graph_t *graph,
                        int rank, const catena_neighborhood_t *neighborhood,
                        int dimension, int by)
{
    int step[ORACLE_DIMS] = {0};
    int coords[ORACLE_DIMS];
    int source, target, found;
    step[dimension] = by;
    int expected = oracle_graph_beside(graph, rank, step, 1);
    oracle_graph_coords(graph, rank, coords);
    coords[dimension] += by;
    catena_status_t status = catena_cart_rank(neighborhood, coords, &found);
    ORACLE_CHECK(oracle, expected == CATENA_PROC_NULL
                             ? status == CATENA_ERR_ARG
                             : status == CATENA_OK && found == expected);
    ORACLE_CHECK(oracle,
                 catena_cart_shift(neighborhood, dimension, by, &source,
                                   &target) == CATENA_OK &&
                     target == expected &&
                     source == oracle_graph_beside(graph, rank, step, -1));
}

static void check_grid(const oracle_t *oracle, const oracle_graph_t *graph,
                       int rank, const catena_neighborhood_t *neighborhood)
{
    int ndims = -1;
    int dims[ORACLE_DIMS], periods[ORACLE_DIMS], here[ORACLE_DIMS];
    int coords[ORACLE_DIMS];
    ORACLE_CHECK(oracle, catena_cart_ndims(neighborhood, &ndims) == CATENA_OK &&
                             ndims == graph->ndims);
    ORACLE_CHECK(oracle, catena_cart_get(neighborhood, ORACLE_DIMS, dims,
                                         periods, here) == CATENA_OK);
    oracle_graph_coords(graph, rank, coords);
    for (int d = 0; d < graph->ndims; d++) {
        ORACLE_CHECK(oracle, dims[d] == graph->dims[d] &&
                                 !periods[d] == !graph->periods[d] &&
                                 here[d] == coords[d]);
        for (int by = -FARTHEST; by <= FARTHEST; by++) {
            check_shift(oracle, graph, rank, neighborhood, d, by);
        }
    }
    for (int r = 0; r < graph->size && r < MOST_PLACES; r++) {
        oracle_graph_coords(graph, r, coords);
        ORACLE_CHECK(
            oracle,
            catena_cart_coords(neighborhood, r, ORACLE_DIMS, here) ==
                    CATENA_OK &&
                memcmp(here, coords, (size_t)graph->ndims * sizeof(int)) == 0);
    }
}

void oracle_neighborhood_check(const oracle_t *oracle,
                               const oracle_graph_t *graph,
                               const catena_neighborhood_t *neighborhood)
{
    catena_group_t *group = catena_neighborhood_group(neighborhood);
    int rank = catena_group_rank(group);
    const oracle_list_t *s = &graph->sources[rank];
    const oracle_list_t *t = &graph->targets[rank];
    int sources = -1;
    int targets = -1;
    ORACLE_CHECK(oracle, catena_group_size(group) == graph->size);
    ORACLE_CHECK(oracle, catena_neighborhood_counts(neighborhood, &sources,
                                                    &targets) == CATENA_OK);
    if (sources != s->count || targets != t->count) {
        oracle_fail(oracle, "%d sources and %d targets; expected %d and %d",
                    sources, targets, s->count, t->count);
        return;
    }
    size_t most = (size_t)(sources + targets);
    int *ranks = oracle_zeros(most, sizeof(int));
    int *weights = oracle_zeros(most, sizeof(int));
    ORACLE_CHECK(oracle, catena_neighborhood_neighbors(
                             neighborhood, sources, ranks, weights, targets,
                             ranks + sources, weights + sources) == CATENA_OK);
    check_list(oracle, graph, s, graph->targets, ranks, weights);
    check_list(oracle, graph, t, graph->sources, ranks + sources,
               weights + sources);
    free(ranks);
    free(weights);
    if (graph->way == ORACLE_WAY_CART || graph->way == ORACLE_WAY_DERIVED) {
        check_grid(oracle, graph, rank, neighborhood);
    }
}

/* ---- algorithms ---- */

const char *const oracle_nbr_algorithms[ORACLE_NBR_ALGORITHMS] = {
    "auto", "direct", "colored", "combining", "aggregated"};

/** Whether its ranks are on several nodes. */
static bool on_several(const oracle_t *oracle, catena_group_t *group)
{
    catena_place_t place = {.size = sizeof(place)};
    int32_t most[2] = {0, 0};
    (void)catena_get_place(oracle->context, &place);
    int32_t node[] = {place.node, -place.node};
    ORACLE_CHECK(oracle, catena_allreduce(node, most, 2, CATENA_INT32,
                                          CATENA_MAX, group) == CATENA_OK);
    return most[0] != -most[1];
}

bool oracle_nbr_has(const oracle_t *oracle, const oracle_graph_t *graph,
                    catena_neighborhood_t *neighborhood, const char *algorithm)
{
    if (strcmp(algorithm, "combining") == 0) {
        /* Otherwise uninvolved ranks may be in the path. */
        return (graph->way == ORACLE_WAY_CART ||
                graph->way == ORACLE_WAY_DERIVED) &&
               graph->full;
    }
    if (strcmp(algorithm, "aggregated") == 0) {
        return on_several(oracle, catena_neighborhood_group(neighborhood)) &&
               graph->components == 1;
    }
    return true;
}
