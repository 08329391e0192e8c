#ifndef CTN_NEIGHBOR_GRID_DISPLACEMENTS_H
#define CTN_NEIGHBOR_GRID_DISPLACEMENTS_H

#include "neighbor/neighborhood.h"

/* The displacements of a grid's edges: displacement i leads from each rank to
 * its target i. Its component along a dimension is a *hop*. Displacements are
 * the same on all ranks; where one would cross an open border, the target is
 * CATENA_PROC_NULL. Along a periodic dimension of n places a hop is reduced to
 * the shortest one to the same place. */

/** The displacements of a neighborhood's grid. */
typedef struct ctn_displacements {
    const ctn_grid_t *grid;
    uint32_t count; /* number of targets of each rank, and of sources */
    int ndims;
    int *hop; /* [count][ndims]; along a periodic dimension of n places from
                 -(n - 1) / 2 to n / 2 */
    uint64_t *weight; /* [count]: that of the heaviest edge of any rank */
} ctn_displacements_t;

/** Finds the displacements, and agrees on their weights; free them with
 * ctn_displacements_free. Collective.
 * @return the worst status of all ranks */
catena_status_t
ctn_displacements_make(const catena_neighborhood_t *neighborhood,
                       ctn_displacements_t *displacements);
void ctn_displacements_free(ctn_displacements_t *displacements);

/** The hops of displacement i by dimension. */
static inline const int *
ctn_displacement(const ctn_displacements_t *displacements, uint32_t i)
{
    return &displacements->hop[(size_t)i * (size_t)displacements->ndims];
}

/** The index of displacement i in the receiver's list of sources. */
static inline uint32_t
ctn_displacement_source(const ctn_displacements_t *displacements, uint32_t i)
{
    /* In a grid that is not derived, targets and sources are listed as lower
     * and upper neighbor of each dimension. A message to the upper neighbor
     * comes there from the lower one, and the other way round. */
    return displacements->grid->ndirs == 0 ? i ^ 1u : i;
}

/** Whether displacement i leads back to the same rank. */
bool ctn_displacement_is_zero(const ctn_displacements_t *displacements,
                              uint32_t i);

/** Whether displacement i joins two ranks anywhere in the grid. */
bool ctn_displacement_fits_anywhere(const ctn_displacements_t *displacements,
                                    uint32_t i);

#endif
