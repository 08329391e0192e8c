#ifndef CTN_NEIGHBOR_GRID_GRID_H
#define CTN_NEIGHBOR_GRID_GRID_H

#include "neighbor/create/create.h"

/* Grids as such: who is where, and which edges that means. Row-major: the last
 * dimension varies fastest. */

#define CTN_NOT_DERIVED (-1)

/** A grid of these dimensions; the coordinates are yet to be set. NULL: no
 * memory.
 * @param ndirs room for so many displacements; CTN_NOT_DERIVED: it has none, so
 *              edges lead along the dimensions */
ctn_grid_t *ctn_grid_create(int ndims, const int *dims, const int *periods,
                            int ndirs);
/** NULL: nothing. */
void ctn_grid_free(ctn_grid_t *grid);

/** Ranks in it; -1: more than an int holds. */
int ctn_grid_size(const ctn_grid_t *grid);
/** Where a rank of the grid is; the first `most` of its coordinates. */
void ctn_grid_coords(const ctn_grid_t *grid, int rank, int most, int *coords);
/** Who is at `coords` plus `sign` times `by` ([ndims], or NULL: nothing), or
 * CATENA_PROC_NULL beyond borders that are open. */
int ctn_grid_rank(const ctn_grid_t *grid, const int *coords, const int *by,
                  int sign);

/** Who is so far from grid->coords along one dimension. */
int ctn_grid_along(const ctn_grid_t *grid, int dimension, int64_t distance);

/** The edges of the rank at grid->coords: along each displacement if it has
 * some, else two for each dimension. Edges that travel in the same direction
 * have the same label, so both ends mean the same ones.
 * @param weights by displacement, or CATENA_UNWEIGHTED
 * @param[out] graph sources and targets, malloc'd, the caller's
 * @return ERR_NO_MEMORY */
catena_status_t ctn_grid_edges(const ctn_grid_t *grid, const int *weights,
                               ctn_graph_t *graph);

#endif
