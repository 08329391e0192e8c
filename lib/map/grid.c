/* Cartesian grids, see map/grid.h. */

#include "map/grid.h"

#include <catena/neighbor.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

/** Return a copy of `count` integers (NULL: zeros); NULL: no memory. */
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
