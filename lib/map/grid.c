/* Cartesian grids, see map/grid.h. */

#include "map/grid.h"

#include <catena/neighbor.h>
#include <limits.h>
#include <stdlib.h>

ctn_grid_t *ctn_grid_create(int ndims, const int *dims, const int *periods,
                            int ndirs)
{
    size_t n = (size_t)ndims;
    size_t directions = ndirs > 0 ? (size_t)ndirs : 0;
    ctn_grid_t *grid =
        calloc(1, sizeof(*grid) + (3 + directions) * n * sizeof(int));
    if (grid == NULL) {
        return NULL;
    }
    grid->ndims = ndims;
    grid->ndirs = (int)directions;
    grid->dims = (int *)(void *)(grid + 1);
    grid->periods = grid->dims + n;
    grid->coords = grid->periods + n;
    grid->displacements = ndirs >= 0 ? grid->coords + n : NULL;
    for (size_t d = 0; d < n; d++) {
        grid->dims[d] = dims[d];
        grid->periods[d] = periods[d] != 0;
    }
    return grid;
}

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

/** Return the coordinate in dimension `d` that `at` means: `at` modulo the
 * extent if the dimension is periodic, else `at`; -1: outside of the grid. */
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
        int64_t distance = by != NULL ? (int64_t)sign * by[d] : 0;
        int64_t at = within(grid, d, coords[d] + distance);
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
