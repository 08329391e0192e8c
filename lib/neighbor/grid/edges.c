/* The edges of a rank in a grid. */

#include "neighbor/grid/edges.h"

/** Edges of a grid: for each dimension the lower neighbor, then the upper one.
 * A message to the lower neighbor has an even label; it comes there from the
 * upper neighbor. */
static void set_neighbors(const ctn_grid_t *grid, ctn_edge_t *source,
                          ctn_edge_t *target)
{
    for (int d = 0; d < grid->ndims; d++) {
        uint32_t down = 2 * (uint32_t)d;
        int lower = ctn_grid_along(grid, d, -1);
        int upper = ctn_grid_along(grid, d, 1);
        *target++ = (ctn_edge_t){.rank = lower, .label = down, .weight = 1};
        *target++ = (ctn_edge_t){.rank = upper, .label = down + 1, .weight = 1};
        *source++ = (ctn_edge_t){.rank = lower, .label = down + 1, .weight = 1};
        *source++ = (ctn_edge_t){.rank = upper, .label = down, .weight = 1};
    }
}

/** Edges of a derived graph. */
static void set_directions(const ctn_grid_t *grid, const int *weights,
                           ctn_edge_t *source, ctn_edge_t *target)
{
    for (int i = 0; i < grid->ndirs; i++) {
        const int *by = grid->displacements + (size_t)i * (size_t)grid->ndims;
        ctn_edge_t edge = {.label = (uint32_t)i,
                           .weight = weights != NULL ? weights[i] : 1};
        edge.rank = ctn_grid_rank(grid, grid->coords, by, 1);
        target[i] = edge;
        edge.rank = ctn_grid_rank(grid, grid->coords, by, -1);
        source[i] = edge;
    }
}

catena_status_t ctn_grid_edges(const ctn_grid_t *grid, const int *weights,
                               ctn_graph_t *graph)
{
    bool derived = grid->displacements != NULL;
    size_t count = derived ? (size_t)grid->ndirs : 2 * (size_t)grid->ndims;
    if (ctn_edge_lists(count, graph) != CATENA_OK) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (derived) {
        set_directions(grid, weights, graph->source, graph->target);
    } else {
        set_neighbors(grid, graph->source, graph->target);
    }
    graph->sources = graph->targets = (uint32_t)count;
    graph->weighted = weights != NULL;
    return CATENA_OK;
}

catena_status_t ctn_grid_weigh(const char *function, const ctn_log_t *log,
                               const int weights[], ctn_graph_t *graph)
{
    if (graph->grid == NULL || graph->grid->displacements != NULL) {
        return ctn_refuse(log, CATENA_ERR_ARG, function,
                          "the info has weights; expected CATENA_UNWEIGHTED: "
                          "only catena_cart_create takes them there");
    }
    for (uint32_t i = 0; i < graph->targets; i++) {
        if (graph->target[i].rank == CATENA_PROC_NULL) {
            continue;
        }
        if (weights[i] < 0) {
            return ctn_refuse(log, CATENA_ERR_ARG, function,
                              "the weight of neighbor %u is %d; expected 0 or "
                              "more",
                              i, weights[i]);
        }
        graph->source[i].weight = graph->target[i].weight = weights[i];
    }
    graph->weighted = true;
    return CATENA_OK;
}
