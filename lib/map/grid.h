#ifndef CTN_MAP_GRID_H
#define CTN_MAP_GRID_H

#include <stdint.h>

/* Cartesian grids: ranks and coordinates. Row-major: the last dimension varies
 * fastest. */

/** A grid, as one of its ranks sees it. */
typedef struct ctn_grid {
    int ndims;
    int *dims;    /* [ndims]: extents */
    int *periods; /* [ndims]: 1: the dimension is periodic, 0: it is not */
    int *coords;  /* [ndims]: of this rank */
    /* Of a derived graph, in which a cell has an edge to the cell at each
     * displacement. In other grids 0 and NULL: edges lead to the next cells
     * along each dimension. */
    int ndirs;
    int *displacements; /* [ndirs][ndims] */
} ctn_grid_t;

#define CTN_NOT_DERIVED (-1)

/** Create a grid in one block of memory, which the caller frees with free; its
 * coordinates and displacements are not set. NULL: no memory.
 * @param ndirs number of displacements of a derived graph; CTN_NOT_DERIVED: it
 *              is none */
ctn_grid_t *ctn_grid_create(int ndims, const int *dims, const int *periods,
                            int ndirs);

/** Return the number of ranks; -1: more than an int holds. */
int ctn_grid_size(const ctn_grid_t *grid);
/** Set coords[] to the first `most` coordinates of a rank. */
void ctn_grid_coords(const ctn_grid_t *grid, int rank, int most, int *coords);
/** Return the rank at `coords` plus `sign` times `by` ([ndims]; NULL: zero);
 * CATENA_PROC_NULL if that is outside of a dimension that is not periodic. */
int ctn_grid_rank(const ctn_grid_t *grid, const int *coords, const int *by,
                  int sign);

/** Return the rank at this distance from grid->coords along one dimension;
 * CATENA_PROC_NULL as above. */
int ctn_grid_along(const ctn_grid_t *grid, int dimension, int64_t distance);

#endif
