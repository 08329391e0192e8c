/* NBR-5. The graph facts: what all ranks know of the nodes and edges of a
 * neighborhood. */

#include <stdlib.h>

#include "coll/barrier.h"
#include "neighbor/create/create.h"
#include "topo/topo.h"

/* ---- nodes ---- */

/** A barrier builds the topology. The lowest rank on a node names it. */
catena_status_t ctn_neighbor_nodes(catena_group_t *group, ctn_nodes_t *nodes)
{
    catena_status_t status = ctn_group_result(
        group, ctn_group_run(group, ctn_barrier_create(group)));
    if (status == CATENA_OK) {
        const ctn_topo_t *topo = ctn_topo_of(group);
        *nodes = (ctn_nodes_t){.own = ctn_topo_local(topo, 0)->rank,
                               .on_node = ctn_topo_local_size(topo),
                               .nodes = topo->nodes};
    }
    return status;
}

bool ctn_neighbor_is_local(catena_group_t *group, uint32_t rank)
{
    const ctn_topo_t *topo = ctn_topo_of(group);
    uint32_t low = 0;
    uint32_t high = ctn_topo_local_size(topo);
    while (low < high) { /* the node's members are in the group's order */
        uint32_t middle = low + (high - low) / 2;
        uint32_t found = ctn_topo_local(topo, middle)->rank;
        if (found == rank) {
            return true;
        }
        if (found < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/* ---- edges ---- */

/* Indices of the words that ctn_neighbor_agree reduces. SUM_LOWEST: number of
 * ranks that have neighbors, but none below them. */
enum { SUM_EDGES, SUM_WEIGHT, SUM_BETWEEN, SUM_LOWEST, SUMS };
enum { MAX_DEGREE, MAX_ON_NODE, MAX_WEIGHT, MAXIMA };

/** Raises *most to `value`. */
static void at_least(uint64_t *most, uint64_t value)
{
    *most = *most > value ? *most : value;
}

/** Raises the maxima by a list of edges, and finds out whether this rank has
 * neighbors, and one with a lower rank. */
static void scan_list(const catena_neighborhood_t *neighborhood,
                      const ctn_edge_t *edge, uint32_t edges, uint64_t *maxima,
                      bool *any, bool *below)
{
    uint32_t own = neighborhood->group->chain.place.rank;
    for (uint32_t i = 0; i < edges; i++) {
        if (edge[i].rank == CATENA_PROC_NULL) {
            continue;
        }
        *any = *any || (uint32_t)edge[i].rank != own;
        *below = *below || (uint32_t)edge[i].rank < own;
        at_least(&maxima[MAX_WEIGHT], (uint64_t)edge[i].weight);
    }
    at_least(&maxima[MAX_DEGREE], edges);
}

static void sum_weights(const catena_neighborhood_t *neighborhood,
                        uint32_t node, uint64_t *sums)
{
    for (uint32_t i = 0; i < neighborhood->targets; i++) {
        const ctn_edge_t *edge = &neighborhood->target[i];
        if (edge->rank != CATENA_PROC_NULL) {
            uint64_t weight = (uint64_t)edge->weight;
            sums[SUM_EDGES]++;
            sums[SUM_WEIGHT] += weight;
            sums[SUM_BETWEEN] += edge->node != node ? weight : 0;
        }
    }
}

catena_status_t ctn_neighbor_graph_facts(catena_neighborhood_t *neighborhood,
                                         const ctn_nodes_t *nodes,
                                         catena_status_t status)
{
    ctn_graph_facts_t *facts = &neighborhood->graph_facts;
    uint64_t sums[SUMS] = {0};
    uint64_t maxima[MAXIMA] = {0};
    bool any = false;
    bool below = false;
    if (status == CATENA_OK) {
        maxima[MAX_ON_NODE] = nodes->on_node;
        sum_weights(neighborhood, nodes->own, sums);
        scan_list(neighborhood, neighborhood->source, neighborhood->sources,
                  maxima, &any, &below);
        scan_list(neighborhood, neighborhood->target, neighborhood->targets,
                  maxima, &any, &below);
        sums[SUM_LOWEST] = any && !below;
    }
    status = ctn_neighbor_agree(neighborhood->group, status, SUMS, sums, MAXIMA,
                                maxima);
    if (status == CATENA_OK) {
        facts->nodes = nodes->nodes;
        facts->most_degree = (uint32_t)maxima[MAX_DEGREE];
        facts->most_on_node = (uint32_t)maxima[MAX_ON_NODE];
        facts->greatest_weight = (int)maxima[MAX_WEIGHT];
        facts->edges = sums[SUM_EDGES];
        facts->weight_all = sums[SUM_WEIGHT];
        facts->weight_between = sums[SUM_BETWEEN];
        facts->weight_before = sums[SUM_BETWEEN];
        /* From each rank with neighbors a path leads to lower and lower
         * neighbors, down to a rank without a lower one. If there is only one
         * such rank, as in grids and rings, the graph is connected. */
        facts->connected = sums[SUM_LOWEST] <= 1;
    }
    if (status == CATENA_OK && !facts->connected) {
        uint64_t components = 0;
        status = ctn_neighbor_components(neighborhood, &components);
        facts->connected = components <= 1;
    }
    return status;
}
