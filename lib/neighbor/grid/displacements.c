#include "neighbor/grid/displacements.h"

#include <stdlib.h>

/** Of n places on a ring; none for 0, n, -n. */
static int shortest(int hop, int n)
{
    hop %= n;
    hop += hop < 0 ? n : 0;
    return hop > n / 2 ? hop - n : hop;
}

/** Vector i along a dimension, as it was given. */
static int given(const ctn_grid_t *grid, uint32_t i, int dimension)
{
    if (grid->ndirs > 0) {
        return grid->displacements[(size_t)i * (size_t)grid->ndims +
                                   (size_t)dimension];
    }
    bool own_dimension = (int)(i / 2) == dimension;
    return !own_dimension ? 0 : i % 2 == 0 ? -1 : 1;
}

static void set_hops(ctn_displacements_t *vectors)
{
    const ctn_grid_t *grid = vectors->grid;
    int *hop = vectors->hop;
    for (uint32_t i = 0; i < vectors->count; i++) {
        for (int d = 0; d < grid->ndims; d++) {
            int along = given(grid, i, d);
            *hop++ = grid->periods[d] ? shortest(along, grid->dims[d]) : along;
        }
    }
}

/** Borders hide from some ranks what an edge weighs. */
static catena_status_t agree_weights(const catena_neighborhood_t *neighborhood,
                                     ctn_displacements_t *vectors,
                                     catena_status_t status)
{
    enum { AT_ONCE = 16 };
    for (uint32_t from = 0; from == 0 || from < vectors->count;
         from += AT_ONCE) {
        uint64_t weight[AT_ONCE] = {0};
        for (uint32_t i = from; i < vectors->count && i < from + AT_ONCE; i++) {
            const ctn_edge_t *edge = &neighborhood->target[i];
            weight[i - from] =
                edge->rank != CATENA_PROC_NULL ? (uint64_t)edge->weight : 0;
        }
        status = ctn_neighbor_agree(neighborhood->group, status, 0, NULL,
                                    AT_ONCE, weight);
        if (status != CATENA_OK) {
            return status;
        }
        for (uint32_t i = from; i < vectors->count && i < from + AT_ONCE; i++) {
            vectors->weight[i] = (int)weight[i - from];
        }
    }
    return status;
}

catena_status_t
ctn_displacements_make(const catena_neighborhood_t *neighborhood,
                       ctn_displacements_t *vectors)
{
    const ctn_grid_t *grid = neighborhood->grid;
    *vectors = (ctn_displacements_t){
        .grid = grid, .count = neighborhood->targets, .ndims = grid->ndims};
    size_t hops = (size_t)vectors->count * (size_t)grid->ndims;
    vectors->hop = malloc((hops + 1) * sizeof(*vectors->hop));
    vectors->weight =
        malloc(((size_t)vectors->count + 1) * sizeof(*vectors->weight));
    bool none = vectors->hop == NULL || vectors->weight == NULL;
    catena_status_t status = agree_weights(
        neighborhood, vectors, none ? CATENA_ERR_NO_MEMORY : CATENA_OK);
    if (status != CATENA_OK) {
        ctn_displacements_free(vectors);
        return status;
    }
    set_hops(vectors);
    return status;
}

void ctn_displacements_free(ctn_displacements_t *vectors)
{
    free(vectors->hop);
    free(vectors->weight);
    *vectors = (ctn_displacements_t){0};
}

bool ctn_displacement_is_zero(const ctn_displacements_t *vectors, uint32_t i)
{
    const int *hop = ctn_displacement(vectors, i);
    for (int d = 0; d < vectors->ndims; d++) {
        if (hop[d] != 0) {
            return false;
        }
    }
    return true;
}

bool ctn_displacement_fits(const ctn_displacements_t *vectors, uint32_t i,
                           const int coords[])
{
    const ctn_grid_t *grid = vectors->grid;
    const int *hop = ctn_displacement(vectors, i);
    for (int d = 0; d < vectors->ndims; d++) {
        int64_t at = (int64_t)coords[d] + hop[d];
        if (!grid->periods[d] && (at < 0 || at >= grid->dims[d])) {
            return false;
        }
    }
    return true;
}

bool ctn_displacement_fits_anywhere(const ctn_displacements_t *vectors,
                                    uint32_t i)
{
    const ctn_grid_t *grid = vectors->grid;
    const int *hop = ctn_displacement(vectors, i);
    for (int d = 0; d < vectors->ndims; d++) {
        int most = grid->dims[d] - 1;
        if (!grid->periods[d] && (hop[d] > most || hop[d] < -most)) {
            return false;
        }
    }
    return true;
}
