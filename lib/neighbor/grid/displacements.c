/* The displacements of a grid's edges; see displacements.h. */

#include "neighbor/grid/displacements.h"

#include <stdlib.h>

/** The shortest displacement on a ring of n places; 0 for multiples of n. */
static int shortest(int hop, int n)
{
    hop %= n;
    hop += hop < 0 ? n : 0;
    return hop > n / 2 ? hop - n : hop;
}

/** Displacement i along a dimension, as the caller gave it. */
static int raw_displacement(const ctn_grid_t *grid, uint32_t i, int dimension)
{
    if (grid->ndirs > 0) {
        return grid->displacements[(size_t)i * (size_t)grid->ndims +
                                   (size_t)dimension];
    }
    bool own_dimension = (int)(i / 2) == dimension;
    return !own_dimension ? 0 : i % 2 == 0 ? -1 : 1;
}

/** Sets the hops of all displacements. */
static void set_hops(ctn_displacements_t *displacements)
{
    const ctn_grid_t *grid = displacements->grid;
    int *hop = displacements->hop;
    for (uint32_t i = 0; i < displacements->count; i++) {
        for (int d = 0; d < grid->ndims; d++) {
            int along = raw_displacement(grid, i, d);
            *hop++ = grid->periods[d] ? shortest(along, grid->dims[d]) : along;
        }
    }
}

/** Agrees on the weights: a rank at an open border lacks some of the edges, so
 * it does not know their weights. */
static catena_status_t agree_weights(const catena_neighborhood_t *neighborhood,
                                     ctn_displacements_t *displacements,
                                     catena_status_t status)
{
    for (uint32_t i = 0; status == CATENA_OK && i < displacements->count; i++) {
        const ctn_edge_t *edge = &neighborhood->target[i];
        displacements->weight[i] =
            edge->rank != CATENA_PROC_NULL ? (uint64_t)edge->weight : 0;
    }
    return ctn_neighbor_agree_maxima(neighborhood->group, status,
                                     displacements->count,
                                     displacements->weight);
}

catena_status_t
ctn_displacements_make(const catena_neighborhood_t *neighborhood,
                       ctn_displacements_t *displacements)
{
    const ctn_grid_t *grid = neighborhood->grid;
    *displacements = (ctn_displacements_t){
        .grid = grid, .count = neighborhood->targets, .ndims = grid->ndims};
    size_t hops = (size_t)displacements->count * (size_t)grid->ndims;
    displacements->hop = malloc((hops + 1) * sizeof(*displacements->hop));
    displacements->weight = malloc(((size_t)displacements->count + 1) *
                                   sizeof(*displacements->weight));
    bool none = displacements->hop == NULL || displacements->weight == NULL;
    catena_status_t status = agree_weights(
        neighborhood, displacements, none ? CATENA_ERR_NO_MEMORY : CATENA_OK);
    if (status != CATENA_OK) {
        ctn_displacements_free(displacements);
        return status;
    }
    set_hops(displacements);
    return status;
}

void ctn_displacements_free(ctn_displacements_t *displacements)
{
    free(displacements->hop);
    free(displacements->weight);
    *displacements = (ctn_displacements_t){0};
}

bool ctn_displacement_is_zero(const ctn_displacements_t *displacements,
                              uint32_t i)
{
    const int *hop = ctn_displacement(displacements, i);
    for (int d = 0; d < displacements->ndims; d++) {
        if (hop[d] != 0) {
            return false;
        }
    }
    return true;
}

bool ctn_displacement_fits_anywhere(const ctn_displacements_t *displacements,
                                    uint32_t i)
{
    const ctn_grid_t *grid = displacements->grid;
    const int *hop = ctn_displacement(displacements, i);
    for (int d = 0; d < displacements->ndims; d++) {
        int most = grid->dims[d] - 1;
        if (!grid->periods[d] && (hop[d] > most || hop[d] < -most)) {
            return false;
        }
    }
    return true;
}
