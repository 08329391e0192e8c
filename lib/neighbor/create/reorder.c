/* Rank reordering: puts ranks that share heavy edges on one node. The graph
 * stays as it is; the processes get new ranks. The place of a process
 * (create/mapping.c) is its new rank, and it takes over the lists of the
 * process that had this rank. A sparse exchange and a split, besides the
 * exchanges that find the places. */

#include <stdlib.h>

#include "neighbor/grid/edges.h"

/* ---- lists ---- */

/** Appends the edges of a list to records for rank `to`.
 * @return where the next record goes */
static ctn_edge_record_t *pack(ctn_edge_record_t *at, const ctn_edge_t *edge,
                               uint32_t count, bool is_target, uint32_t to)
{
    for (uint32_t i = 0; i < count; i++) {
        *at++ = (ctn_edge_record_t){
            to, 0, is_target, edge[i].rank, edge[i].label, edge[i].weight};
    }
    return at;
}

/** Sends the own lists to the successor, and receives those of the place. */
static catena_status_t move(catena_neighborhood_t *neighborhood, uint32_t to)
{
    ctn_vector_t lists = {0};
    ctn_graph_t graph = {0};
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    size_t count = (size_t)neighborhood->sources + neighborhood->targets;
    if (ctn_vector_reserve(&lists, count + 1, sizeof(ctn_edge_record_t))) {
        ctn_edge_record_t *at = pack(lists.item, neighborhood->source,
                                     neighborhood->sources, false, to);
        pack(at, neighborhood->target, neighborhood->targets, true, to);
        lists.count = count;
        status = CATENA_OK;
    }
    status = ctn_edges_exchange(neighborhood->group, status, &lists, &graph);
    if (status == CATENA_OK) {
        free(neighborhood->source);
        free(neighborhood->target);
        neighborhood->sources = graph.sources;
        neighborhood->targets = graph.targets;
        neighborhood->source = graph.source;
        neighborhood->target = graph.target;
    } else {
        free(graph.source);
        free(graph.target);
    }
    return ctn_neighbor_agree_status(neighborhood->group, status);
}

/* ---- places ---- */

/** Finds this rank's place. A grid whose edges have weights is mapped as any
 * graph, since weights may differ within a direction. */
static catena_status_t find_place(catena_neighborhood_t *neighborhood,
                                  ctn_place_t *place)
{
    ctn_grid_t *grid = neighborhood->grid;
    if (grid != NULL && grid->displacements == NULL &&
        neighborhood->graph_facts.weighted) {
        grid = NULL;
    }
    ctn_graph_t graph = {.targets = neighborhood->targets,
                         .target = neighborhood->target,
                         .grid = grid};
    int *weights = grid != NULL && grid->displacements != NULL
                       ? malloc(((size_t)grid->ndirs + 1) * sizeof(*weights))
                       : NULL;
    for (int i = 0; weights != NULL && i < grid->ndirs; i++) {
        weights[i] = neighborhood->target[i].weight;
    }
    catena_status_t status =
        ctn_reorder(neighborhood->group, &graph, weights, place);
    free(weights);
    return status;
}

catena_status_t ctn_neighbor_reorder(catena_neighborhood_t *neighborhood)
{
    ctn_place_t place;
    catena_group_t *fresh;
    catena_status_t status = find_place(neighborhood, &place);
    status = ctn_neighbor_agree_status(neighborhood->group, status);
    if (status == CATENA_OK) {
        status = move(neighborhood, place.successor);
    }
    if (status == CATENA_OK) {
        status = catena_group_split(neighborhood->group, 0, place.rank, &fresh);
    }
    if (status != CATENA_OK) {
        return status;
    }
    status = catena_group_free(&neighborhood->group);
    neighborhood->group = fresh;
    neighborhood->sequence.failure = fresh->sequence.failure;
    if (neighborhood->grid != NULL) {
        ctn_grid_coords(neighborhood->grid, place.rank,
                        neighborhood->grid->ndims, neighborhood->grid->coords);
    }
    return status;
}
