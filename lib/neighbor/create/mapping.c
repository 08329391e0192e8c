/* The places of rank reordering (ORD-1 to ORD-4): rank 0 gathers the graph,
 * computes the place of each rank (lib/map) and sends it. */

#include <stdlib.h>

#include "map/map.h"
#include "neighbor/create/create.h"
#include "neighbor/create/sparse_exchange.h"

/** What rank 0 sends to each rank. */
typedef struct place_record {
    uint32_t to, from; /* for ctn_sparse_exchange */
    ctn_place_t place;
} place_record_t;

/** The graph at rank 0. */
typedef struct gathered {
    uint32_t *node; /* [size]: node of each rank; nodes count from 0 */
    size_t edges;
    ctn_map_edge_t *edge; /* [edges] */
} gathered_t;

/** Adds a record for rank 0. */
static void add(ctn_vector_t *records, uint32_t of, uint64_t weight,
                catena_status_t *status)
{
    ctn_vector_put(records, &(ctn_graph_record_t){.of = of, .weight = weight},
                   sizeof(ctn_graph_record_t), status);
}

catena_status_t ctn_graph_gather(catena_group_t *group, catena_status_t status,
                                 uint32_t node, const ctn_edge_t *target,
                                 uint32_t targets, ctn_vector_t *came)
{
    *came = (ctn_vector_t){0};
    add(came, node, 0, &status);
    for (uint32_t i = 0; i < targets; i++) {
        if (target[i].rank != CATENA_PROC_NULL) {
            add(came, (uint32_t)target[i].rank, (uint64_t)target[i].weight,
                &status);
        }
    }
    return ctn_sparse_exchange(group, status, came, sizeof(ctn_graph_record_t));
}

/** Separates the records into nodes and edges. Nodes are numbered in the order
 * of their lowest ranks: the record of such a rank names the rank itself, and
 * comes before those of the other ranks of its node. */
static catena_status_t sort_out(uint32_t size, const ctn_vector_t *came,
                                gathered_t *gathered)
{
    const ctn_graph_record_t *record = came->item;
    gathered->node = malloc((size_t)size * sizeof(*gathered->node));
    gathered->edge = malloc((came->count + 1) * sizeof(*gathered->edge));
    if (gathered->node == NULL || gathered->edge == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    uint32_t nodes = 0;
    for (size_t i = 0; i < came->count; i++, record++) {
        if (i > 0 && record[-1].from == record->from) {
            gathered->edge[gathered->edges++] =
                (ctn_map_edge_t){record->from, record->of, record->weight};
        } else {
            gathered->node[record->from] = record->of == record->from
                                               ? nodes++
                                               : gathered->node[record->of];
        }
    }
    return CATENA_OK;
}

/** Rank 0 sends each rank its place; or any rank its error. */
static catena_status_t send_places(catena_group_t *group,
                                   const uint32_t place[],
                                   catena_status_t status, ctn_place_t *own)
{
    uint32_t size = group->chain.place.rank == 0 ? group->chain.place.size : 0;
    ctn_vector_t records = {0};
    if (status == CATENA_OK &&
        !ctn_vector_reserve(&records, size, sizeof(place_record_t))) {
        status = CATENA_ERR_NO_MEMORY;
    }
    place_record_t *record = records.item;
    for (uint32_t i = 0; status == CATENA_OK && i < size; i++) {
        record[i].to = i;
        record[i].place.rank = (int)place[i];
        record[place[i]].place.successor = i;
        records.count = size;
    }
    status =
        ctn_sparse_exchange(group, status, &records, sizeof(place_record_t));
    if (status == CATENA_OK && records.count != 1) {
        status = CATENA_ERR_NO_MEMORY;
    } else if (status == CATENA_OK) {
        *own = ((const place_record_t *)records.item)->place;
    }
    ctn_vector_drop(&records);
    return status;
}

/** Computes the places, at rank 0. */
static catena_status_t map(const gathered_t *gathered, uint32_t size,
                           const ctn_grid_t *grid, const int weights[],
                           uint32_t place[])
{
    uint64_t before;
    uint64_t after;
    return grid != NULL ? ctn_map_grid(size, gathered->node, grid, weights,
                                       place, &before, &after)
                        : ctn_map_graph(size, gathered->node, gathered->edges,
                                        gathered->edge, place, &before, &after);
}

/* All ranks take part to the end, whatever their status. */
catena_status_t ctn_reorder(catena_group_t *group, const ctn_graph_t *graph,
                            const int weights[], ctn_place_t *place)
{
    uint32_t size = group->chain.place.size;
    ctn_nodes_t nodes = {0};
    ctn_vector_t came;
    catena_status_t status = ctn_neighbor_nodes(group, &nodes);
    status = ctn_graph_gather(group, status, nodes.own, graph->target,
                              graph->grid == NULL ? graph->targets : 0, &came);
    gathered_t gathered = {0};
    uint32_t *places = NULL;
    if (group->chain.place.rank == 0 && status == CATENA_OK) {
        places = malloc((size_t)size * sizeof(*places));
        status = places == NULL ? CATENA_ERR_NO_MEMORY
                                : sort_out(size, &came, &gathered);
    }
    ctn_vector_drop(&came);
    if (group->chain.place.rank == 0 && status == CATENA_OK) {
        status = map(&gathered, size, graph->grid, weights, places);
    }
    free(gathered.node);
    free(gathered.edge);
    status = send_places(group, places, status, place);
    free(places);
    return status;
}
