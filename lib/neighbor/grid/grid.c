#include "neighbor/grid/grid.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

static int *copy_of(const int *from, size_t count)
{
    int *copy = calloc(count + 1, sizeof(*copy));
    if (copy != NULL && from != NULL && count > 0) {
        memcpy(copy, from, count * sizeof(*copy));
    }
    return copy;
}

ctn_grid_t *ctn_grid_create(int ndims, const int *dims, const int *periods,
                            int ndirs)
{
    ctn_grid_t *grid = calloc(1, sizeof(*grid));
    if (grid == NULL) {
        return NULL;
    }
    size_t n = (size_t)ndims;
    grid->ndims = ndims;
    grid->ndirs = ndirs > 0 ? ndirs : 0;
    grid->dims = copy_of(dims, n);
    grid->periods = copy_of(periods, n);
    grid->coords = copy_of(NULL, n);
    grid->displacements = ndirs >= 0 ? copy_of(NULL, (size_t)ndirs * n) : NULL;
    for (int d = 0; grid->periods != NULL && d < ndims; d++) {
        grid->periods[d] = grid->periods[d] != 0;
    }
    if (grid->dims == NULL || grid->periods == NULL || grid->coords == NULL ||
        (ndirs >= 0 && grid->displacements == NULL)) {
        ctn_grid_free(grid);
        return NULL;
    }
    return grid;
}

void ctn_grid_free(ctn_grid_t *grid)
{
    if (grid != NULL) {
        free(grid->dims);
        free(grid->periods);
        free(grid->coords);
        free(grid->displacements);
        free(grid);
    }
}

/* ---- coordinates ---- */

int ctn_grid_size(const ctn_grid_t *grid)
{
    int64_t size = 1;
    for (int d = 0; d < grid->ndims; d++) {
        size *= grid->dims[d];
        if (size > INT_MAX) {
            return -1;
        }
    }
    return (int)size;
}

void ctn_grid_coords(const ctn_grid_t *grid, int rank, int most, int *coords)
{
    for (int d = grid->ndims; d-- > 0;) {
        if (d < most) {
            coords[d] = rank % grid->dims[d];
        }
        rank /= grid->dims[d];
    }
}

/** A coordinate within the grid; -1: beyond an open border. */
static int64_t within(const ctn_grid_t *grid, int d, int64_t at)
{
    int64_t size = grid->dims[d];
    if (grid->periods[d]) {
        return (at % size + size) % size;
    }
    return at < size && at >= 0 ? at : -1;
}

int ctn_grid_rank(const ctn_grid_t *grid, const int *coords, const int *by,
                  int sign)
{
    int64_t rank = 0;
    for (int d = 0; d < grid->ndims; d++) {
        int64_t remote = by != NULL ? (int64_t)sign * by[d] : 0;
        int64_t at = within(grid, d, coords[d] + remote);
        if (at < 0) {
            return CATENA_PROC_NULL;
        }
        rank = rank * grid->dims[d] + at;
    }
    return (int)rank;
}

int ctn_grid_along(const ctn_grid_t *grid, int dimension, int64_t distance)
{
    int64_t at = within(grid, dimension, grid->coords[dimension] + distance);
    int64_t rank = 0;
    for (int d = 0; d < grid->ndims; d++) {
        rank = rank * grid->dims[d] + (d == dimension ? at : grid->coords[d]);
    }
    return at >= 0 ? (int)rank : CATENA_PROC_NULL;
}

/* ---- edges ---- */

/** For each dimension the lower neighbor, then the upper one. Messages to lower
 * coordinates have an even label and come from the upper neighbor. */
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
    ctn_edge_t *source;
    ctn_edge_t *target;
    if (ctn_edge_lists(count, &source, &target) != CATENA_OK) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (derived) {
        set_directions(grid, weights, source, target);
    } else {
        set_neighbors(grid, source, target);
    }
    graph->sources = graph->targets = (uint32_t)count;
    graph->source = source;
    graph->target = target;
    graph->weighted = weights != NULL;
    return CATENA_OK;
}
