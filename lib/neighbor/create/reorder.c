/* Rank reordering: puts ranks that share heavy edges on one node. The graph
 * stays as it is; the processes get new ranks. The place of a process
 * (create/mapping.c) is its new rank, and it takes over the lists of the
 * process that had this rank. Two sparse exchanges and a split, besides those
 * that find the places. */

#include <stdlib.h>

#include "neighbor/create/sparse_exchange.h"
#include "neighbor/grid/edges.h"

/** An edge on its way to the process that takes it over. */
typedef struct moved {
    uint32_t rank;      /* for ctn_sparse_exchange: target, then origin */
    uint32_t is_target; /* it is of the list of targets */
    int32_t peer;       /* rank at the other end, or CATENA_PROC_NULL */
    uint32_t label;
    int32_t weight;
} moved_t;

/* ---- lists ---- */

/** Appends the edges of a list to records for rank `to`.
 * @return where the next record goes */
static moved_t *pack(moved_t *at, const ctn_edge_t *edge, uint32_t count,
                     bool is_target, uint32_t to)
{
    for (uint32_t i = 0; i < count; i++) {
        *at++ = (moved_t){to, is_target, edge[i].rank, edge[i].label,
                          edge[i].weight};
    }
    return at;
}

/** Replaces this rank's lists by the received edges. */
static catena_status_t unpack(catena_neighborhood_t *neighborhood,
                              const moved_t *moved, size_t count)
{
    ctn_edge_t *source;
    ctn_edge_t *target;
    if (ctn_edge_lists(count, &source, &target) != CATENA_OK) {
        return CATENA_ERR_NO_MEMORY;
    }
    free(neighborhood->source);
    free(neighborhood->target);
    neighborhood->source = source;
    neighborhood->target = target;
    neighborhood->sources = neighborhood->targets = 0;
    for (size_t i = 0; i < count; i++) {
        ctn_edge_t *edge = moved[i].is_target
                               ? &target[neighborhood->targets++]
                               : &source[neighborhood->sources++];
        edge->rank = moved[i].peer;
        edge->label = moved[i].label;
        edge->weight = moved[i].weight;
    }
    return CATENA_OK;
}

/** Finds the process whose place is this process's old rank.
 * @param[out] successor its old rank */
static catena_status_t find_successor(catena_group_t *group, uint32_t place,
                                      uint32_t *successor)
{
    ctn_vector_t own = {0};
    ctn_vector_t came;
    uint32_t *record = ctn_vector_add(&own, sizeof(*record));
    if (record != NULL) {
        *record = place;
    }
    catena_status_t status = ctn_sparse_exchange(
        group, record != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY, &own,
        sizeof(*record), &came);
    if (status == CATENA_OK) {
        status = came.count == 1 ? CATENA_OK : CATENA_ERR_ARG;
        *successor = came.count == 1 ? *(const uint32_t *)came.item : 0;
    }
    ctn_vector_drop(&came);
    return status;
}

/** Sends the own lists to the successor, and receives those of the place. */
static catena_status_t move(catena_neighborhood_t *neighborhood, uint32_t place)
{
    catena_group_t *group = neighborhood->group;
    uint32_t to = 0;
    catena_status_t status = find_successor(group, place, &to);
    status = ctn_neighbor_agree(group, status, 0, NULL, 0, NULL);
    if (status != CATENA_OK) {
        return status;
    }
    size_t count = (size_t)neighborhood->sources + neighborhood->targets;
    ctn_vector_t lists = {0};
    ctn_vector_t came;
    if (ctn_vector_reserve(&lists, count + 1, sizeof(moved_t))) {
        moved_t *at = pack(lists.item, neighborhood->source,
                           neighborhood->sources, false, to);
        pack(at, neighborhood->target, neighborhood->targets, true, to);
        lists.count = count;
    } else {
        status = CATENA_ERR_NO_MEMORY;
    }
    status = ctn_sparse_exchange(group, status, &lists, sizeof(moved_t), &came);
    if (status == CATENA_OK) {
        status = unpack(neighborhood, came.item, came.count);
    }
    ctn_vector_drop(&came);
    return ctn_neighbor_agree(group, status, 0, NULL, 0, NULL);
}

/* ---- places ---- */

/** The weights of a derived graph by direction. NULL: not derived, or no
 * memory. */
static int *direction_weights(const catena_neighborhood_t *neighborhood)
{
    const ctn_grid_t *grid = neighborhood->grid;
    int *weights = grid->displacements != NULL
                       ? malloc(((size_t)grid->ndirs + 1) * sizeof(*weights))
                       : NULL;
    for (int i = 0; weights != NULL && i < grid->ndirs; i++) {
        weights[i] = neighborhood->target[i].weight;
    }
    return weights;
}

/** Finds this rank's place. */
static catena_status_t find_place(catena_neighborhood_t *neighborhood,
                                  int *place)
{
    if (neighborhood->grid == NULL) {
        ctn_graph_t graph = {.sources = neighborhood->sources,
                             .targets = neighborhood->targets,
                             .source = neighborhood->source,
                             .target = neighborhood->target,
                             .weighted = neighborhood->graph_facts.weighted};
        return ctn_reorder_graph(neighborhood->group, &graph, place);
    }
    int *weights = direction_weights(neighborhood);
    catena_status_t status = ctn_reorder_grid(
        neighborhood->group, neighborhood->grid, weights, place);
    free(weights);
    return status;
}

catena_status_t ctn_neighbor_reorder(catena_neighborhood_t *neighborhood)
{
    int place;
    catena_group_t *fresh;
    catena_status_t status = find_place(neighborhood, &place);
    status = ctn_neighbor_agree(neighborhood->group, status, 0, NULL, 0, NULL);
    if (status == CATENA_OK) {
        status = move(neighborhood, (uint32_t)place);
    }
    if (status == CATENA_OK) {
        status = catena_group_split(neighborhood->group, 0, place, &fresh);
    }
    if (status != CATENA_OK) {
        return status;
    }
    status = catena_group_free(&neighborhood->group);
    neighborhood->group = fresh;
    if (neighborhood->grid != NULL) {
        ctn_grid_coords(neighborhood->grid, place, neighborhood->grid->ndims,
                        neighborhood->grid->coords);
    }
    return status;
}
