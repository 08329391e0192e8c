#ifndef CTN_NEIGHBOR_GRID_EDGES_H
#define CTN_NEIGHBOR_GRID_EDGES_H

#include "neighbor/create/create.h"

/** The edges of the rank at grid->coords. Of a derived graph
 * (catena_cart_derive_graph): one for each displacement vector; of a grid: to
 * both neighbors in each dimension. Edges with the same direction of travel
 * have the same label, so both ends match the same edges.
 * @param weights    by displacement, or CATENA_UNWEIGHTED
 * @param[out] graph sources and targets are set; the caller frees them
 * @return CATENA_OK or ERR_NO_MEMORY */
catena_status_t ctn_grid_edges(const ctn_grid_t *grid, const int *weights,
                               ctn_graph_t *graph);

/** Gives weights to the edges of a grid.
 * @param weights [2 * ndims] of the neighbors; those of CATENA_PROC_NULL are
 *                not significant
 * @return CATENA_OK, or ERR_ARG, which is logged: a weight is negative, or the
 *         graph is not a grid, or is derived from one */
catena_status_t ctn_grid_weigh(const char *function, const ctn_log_t *log,
                               const int weights[], ctn_graph_t *graph);

#endif
