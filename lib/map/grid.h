#ifndef CTN_MAP_GRID_H
#define CTN_MAP_GRID_H

#include <stdint.h>

/* Cartesian grids: ranks and coordinates. Row-major: the last dimension varies
 * fastest. */

typedef struct ctn_grid {
    int ndims;
    int *dims;
    int *periods;
    int *coords;
    /* Of a derived graph; else NULL and 0. */
    int ndirs;
    int *displacements; /* [ndirs][ndims] */
} ctn_grid_t;

#define CTN_NOT_DERIVED (-1)

/** Creates a grid; its coordinates are not set. NULL: no memory.
 * @param ndirs number of displacements, which are not set; CTN_NOT_DERIVED:
 *              none, so edges lead along the dimensions
 */
ctn_grid_t *ctn_grid_create(int ndims, const int *dims, const int *periods,
                            int ndirs);
/** NULL: nothing. */
void ctn_grid_free(ctn_grid_t *grid);

/** Number of ranks; -1: more than an int holds. */
int ctn_grid_size(const ctn_grid_t *grid);
/** The coordinates of a rank; the first `most` of them. */
void ctn_grid_coords(const ctn_grid_t *grid, int rank, int most, int *coords);
/** The rank at `coords` plus `sign` times `by` ([ndims], or NULL: zero).
 * CATENA_PROC_NULL beyond open borders. */
int ctn_grid_rank(const ctn_grid_t *grid, const int *coords, const int *by,
                  int sign);

/** The rank at this distance from grid->coords along one dimension. */
int ctn_grid_along(const ctn_grid_t *grid, int dimension, int64_t distance);

#endif
