#ifndef CTN_NEIGHBOR_GRID_GRID_H
#define CTN_NEIGHBOR_GRID_GRID_H

#include "neighbor/create/create.h"

/* Grids: ranks, coordinates and edges. Row-major: the last dimension varies
 * fastest. */

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

/** The edges of the rank at grid->coords: along each displacement of a derived
 * grid, else two for each dimension. Edges with the same direction have the
 * same label, so both ends match the same edges.
 * @param weights by displacement, or CATENA_UNWEIGHTED
 * @param[out] graph sources and targets, malloc'd; the caller frees them
 * @return ERR_NO_MEMORY */
catena_status_t ctn_grid_edges(const ctn_grid_t *grid, const int *weights,
                               ctn_graph_t *graph);

#endif
