/* NBR-5. Counts the connected components of a graph: rank 0 gathers the edges,
 * with O(edges) memory there. Only needed if several ranks have neighbors but
 * no lower one; see ctn_neighbor_graph_facts in create/facts.c. */

#include <stdlib.h>

#include "neighbor/create/create.h"
#include "neighbor/create/sparse_exchange.h"

/** An edge, as its higher end sends it. */
typedef struct joined {
    uint32_t rank; /* when sent: the target, rank 0; when received: the source,
                      the higher end */
    uint32_t lower;
} joined_t;

/** Adds the neighbors with a lower rank, at most once as source and once as
 * target. */
static catena_status_t list_lower(const catena_neighborhood_t *neighborhood,
                                  ctn_vector_t *lower)
{
    uint32_t own = neighborhood->group->chain.place.rank;
    for (int list = 0; list < 2; list++) {
        uint32_t keys;
        ctn_edge_key_t *key = list == 0
                                  ? ctn_edge_keys(neighborhood->source,
                                                  neighborhood->sources, &keys)
                                  : ctn_edge_keys(neighborhood->target,
                                                  neighborhood->targets, &keys);
        bool good = key != NULL;
        for (uint32_t i = 0; good && i < keys && key[i].rank < own; i++) {
            joined_t *joined = i == 0 || key[i].rank != key[i - 1].rank
                                   ? ctn_vector_add(lower, sizeof(*joined))
                                   : NULL;
            good = joined != NULL || (i > 0 && key[i].rank == key[i - 1].rank);
            if (joined != NULL) {
                *joined = (joined_t){0, key[i].rank};
            }
        }
        free(key);
        if (!good) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    return CATENA_OK;
}

/* ---- at rank 0 ---- */

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

/** Counts the components of these edges. Ranks without an edge have none. */
static catena_status_t count_components(uint32_t size, const joined_t *joined,
                                        size_t count, uint64_t *components)
{
    uint32_t *above = malloc(size * sizeof(*above));
    if (above == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < size; i++) {
        above[i] = UINT32_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        *components += enter(above, joined[i].rank);
        *components += enter(above, joined[i].lower);
        uint32_t a = find(above, joined[i].rank);
        uint32_t b = find(above, joined[i].lower);
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
    ctn_vector_t lower = {0};
    ctn_vector_t came;
    catena_status_t status = list_lower(neighborhood, &lower);
    status =
        ctn_sparse_exchange(group, status, &lower, sizeof(joined_t), &came);
    *components = 0;
    if (status == CATENA_OK && group->chain.place.rank == 0) {
        status = count_components(group->chain.place.size, came.item,
                                  came.count, components);
    }
    ctn_vector_drop(&came);
    return ctn_neighbor_agree(group, status, 0, NULL, 1, components);
}
