/* NBR-5. Counts the connected components of a graph: rank 0 gathers the edges,
 * with O(edges) memory there. Only needed if several ranks have neighbors but
 * no lower one; see ctn_neighbor_graph_facts in create/facts.c. */

#include <stdlib.h>

#include "neighbor/create/create.h"

/** The representative of a rank's component (union-find with path halving).
 * @param above parent of each rank: a representative is its own */
static uint32_t find(uint32_t *above, uint32_t rank)
{
    while (above[rank] != rank) {
        above[rank] = above[above[rank]];
        rank = above[rank];
    }
    return rank;
}

/** Makes a rank that has not appeared yet a component of its own.
 * @return the number of new components */
static uint32_t enter(uint32_t *above, uint32_t rank)
{
    if (above[rank] != UINT32_MAX) {
        return 0;
    }
    above[rank] = rank;
    return 1;
}

/** Counts the components of a gathered graph. Ranks without edges to other
 * ranks have none. */
static catena_status_t count_components(uint32_t size, const ctn_vector_t *came,
                                        uint64_t *components)
{
    const ctn_graph_record_t *record = came->item;
    uint32_t *above = malloc(size * sizeof(*above));
    if (above == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < size; i++) {
        above[i] = UINT32_MAX;
    }
    for (size_t i = 1; i < came->count; i++) {
        uint32_t from = record[i].from;
        uint32_t to = record[i].of;
        if (record[i - 1].from != from || from == to) {
            continue; /* a node, or an edge from a rank to itself */
        }
        *components += enter(above, from) + enter(above, to);
        uint32_t a = find(above, from);
        uint32_t b = find(above, to);
        *components -= a != b;
        above[a > b ? a : b] = a > b ? b : a;
    }
    free(above);
    return CATENA_OK;
}

catena_status_t ctn_neighbor_components(catena_neighborhood_t *neighborhood,
                                        uint64_t *components)
{
    catena_group_t *group = neighborhood->group;
    ctn_vector_t came;
    catena_status_t status =
        ctn_graph_gather(group, CATENA_OK, 0, neighborhood->target,
                         neighborhood->targets, &came);
    *components = 0;
    if (status == CATENA_OK && group->chain.place.rank == 0) {
        status = count_components(group->chain.place.size, &came, components);
    }
    ctn_vector_drop(&came);
    return ctn_neighbor_agree_maxima(group, status, 1, components);
}
