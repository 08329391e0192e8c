/* The places of rank reordering (ORD-1 to ORD-4): rank 0 gathers the graph,
 * computes the place of each rank (lib/map) and sends it. */

#include <stdlib.h>

#include "map/map.h"
#include "neighbor/create/create.h"
#include "neighbor/create/sparse_exchange.h"

/** What a rank sends to rank 0: a record with its node, then one for each edge.
 * A rank without memory sends one record with NO_MEMORY. */
typedef struct graph_record {
    uint32_t rank; /* 0; when received: the origin */
    uint32_t of;   /* lowest rank on the node; of an edge: the target */
    uint64_t weight;
} graph_record_t;

#define NO_MEMORY UINT32_MAX /* as graph_record_t.of */

/** What rank 0 sends to each rank. */
typedef struct place_record {
    uint32_t rank;   /* for ctn_sparse_exchange */
    uint32_t place;  /* the new rank */
    uint64_t status; /* of rank 0 */
} place_record_t;

/** The graph at rank 0. */
typedef struct gathered {
    uint32_t *node; /* [size]: node of each rank; nodes count from 0 */
    size_t edges;
    ctn_map_edge_t *edge; /* [edges] */
} gathered_t;

/** Sends this rank's node and its edges to rank 0.
 * @param graph NULL: no edges */
static catena_status_t gather(catena_group_t *group, const ctn_graph_t *graph,
                              graph_record_t **came, size_t *came_count)
{
    ctn_nodes_t nodes;
    catena_status_t status = ctn_neighbor_nodes(group, &nodes);
    if (status != CATENA_OK) {
        return status;
    }
    uint32_t targets = graph != NULL ? graph->targets : 0;
    graph_record_t *record = malloc(((size_t)targets + 1) * sizeof(*record));
    graph_record_t missing = {.of = NO_MEMORY};
    size_t count = 1;
    if (record != NULL) {
        record[0] = (graph_record_t){.of = nodes.own};
        for (uint32_t i = 0; i < targets; i++) {
            const ctn_edge_t *edge = &graph->target[i];
            if (edge->rank != CATENA_PROC_NULL) {
                record[count++] =
                    (graph_record_t){.of = (uint32_t)edge->rank,
                                     .weight = (uint64_t)edge->weight};
            }
        }
    }
    status = ctn_sparse_exchange(group, sizeof(*record), count,
                                 record != NULL ? record : &missing,
                                 (void **)came, came_count);
    free(record);
    return status;
}

/** Separates the records into nodes and edges. Nodes are numbered in the order
 * of their lowest ranks: the record of such a rank names the rank itself, and
 * comes before those of the other ranks of its node. */
static catena_status_t sort_out(uint32_t size, const graph_record_t *came,
                                size_t came_count, gathered_t *gathered)
{
    gathered->node = malloc((size_t)size * sizeof(*gathered->node));
    gathered->edge = malloc((came_count + 1) * sizeof(*gathered->edge));
    if (gathered->node == NULL || gathered->edge == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    uint32_t nodes = 0;
    for (size_t i = 0; i < came_count; i++) {
        const graph_record_t *record = &came[i];
        if (record->of == NO_MEMORY) {
            return CATENA_ERR_NO_MEMORY;
        }
        if (i > 0 && came[i - 1].rank == record->rank) {
            gathered->edge[gathered->edges++] =
                (ctn_map_edge_t){record->rank, record->of, record->weight};
        } else {
            gathered->node[record->rank] = record->of == record->rank
                                               ? nodes++
                                               : gathered->node[record->of];
        }
    }
    return CATENA_OK;
}

/** Rank 0 sends each rank its place, or the error. */
static catena_status_t send_places(catena_group_t *group,
                                   const uint32_t place[],
                                   catena_status_t status, int *own)
{
    uint32_t size = group->chain.place.rank == 0 ? group->chain.place.size : 0;
    place_record_t *record = malloc(((size_t)size + 1) * sizeof(*record));
    for (uint32_t i = 0; record != NULL && i < size; i++) {
        record[i] =
            (place_record_t){.rank = i,
                             .place = status == CATENA_OK ? place[i] : 0,
                             .status = (uint64_t)status};
    }
    place_record_t *received = NULL;
    size_t count = 0;
    status =
        ctn_sparse_exchange(group, sizeof(*record), record != NULL ? size : 0,
                            record, (void **)&received, &count);
    if (status == CATENA_OK) {
        status = count == 1 ? (catena_status_t)received->status
                            : CATENA_ERR_NO_MEMORY;
    }
    if (status == CATENA_OK) {
        *own = (int)received->place;
    }
    free(record);
    free(received);
    return status;
}

/** Computes the places, at rank 0. */
static catena_status_t map(const gathered_t *gathered, uint32_t size,
                           const ctn_grid_t *grid, const int weights[],
                           uint32_t place[])
{
    uint64_t before;
    uint64_t after;
    if (grid != NULL) {
        return ctn_map_grid(size, gathered->node, grid, weights, place, &before,
                            &after);
    }
    return ctn_map_graph(size, gathered->node, gathered->edges, gathered->edge,
                         place, &before, &after);
}

/** Finds this rank's place for a graph or, if `grid` is not NULL, for a grid.
 * All ranks take part to the end, whatever their status.
 * @return this rank's status */
static catena_status_t reorder(catena_group_t *group, const ctn_graph_t *graph,
                               const ctn_grid_t *grid, const int weights[],
                               int *place)
{
    uint32_t size = group->chain.place.size;
    graph_record_t *came = NULL;
    size_t came_count = 0;
    catena_status_t own = gather(group, graph, &came, &came_count);
    catena_status_t status = own;
    gathered_t gathered = {0};
    uint32_t *places = NULL;
    if (group->chain.place.rank == 0 && status == CATENA_OK) {
        places = malloc((size_t)size * sizeof(*places));
        status = places == NULL ? CATENA_ERR_NO_MEMORY
                                : sort_out(size, came, came_count, &gathered);
    }
    free(came);
    if (group->chain.place.rank == 0 && status == CATENA_OK) {
        status = map(&gathered, size, grid, weights, places);
    }
    free(gathered.node);
    free(gathered.edge);
    status = send_places(group, places, status, place);
    free(places);
    return own != CATENA_OK ? own : status;
}

catena_status_t ctn_reorder_graph(catena_group_t *group,
                                  const ctn_graph_t *graph, int *place)
{
    return reorder(group, graph, NULL, NULL, place);
}

catena_status_t ctn_reorder_grid(catena_group_t *group, const ctn_grid_t *grid,
                                 const int weights[], int *place)
{
    return reorder(group, NULL, grid, weights, place);
}
