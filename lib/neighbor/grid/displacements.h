#ifndef CTN_NEIGHBOR_GRID_DISPLACEMENTS_H
#define CTN_NEIGHBOR_GRID_DISPLACEMENTS_H

#include "neighbor/neighborhood.h"

/* The displacements of a grid's edges, the same on all ranks; open borders cut
 * some of the edges. Along a ring of n places there are n different
 * displacements. */

typedef struct ctn_displacements {
    const ctn_grid_t *grid;
    uint32_t count; /* targets of each rank, and sources */
    int ndims;
    int *hop;    /* [count][ndims] along rings from -(n - 1) / 2 to n / 2 */
    int *weight; /* [count] agreed: that of the heaviest edge */
} ctn_displacements_t;

/** Collective. @return ERR_NO_MEMORY on all ranks; free with
 * ctn_displacements_free */
catena_status_t
ctn_displacements_make(const catena_neighborhood_t *neighborhood,
                       ctn_displacements_t *displacements);
void ctn_displacements_free(ctn_displacements_t *displacements);

static inline const int *
ctn_displacement(const ctn_displacements_t *displacements, uint32_t i)
{
    return &displacements->hop[(size_t)i * (size_t)displacements->ndims];
}

/** The index of displacement i in the receiver's list of sources. */
static inline uint32_t
ctn_displacement_source(const ctn_displacements_t *displacements, uint32_t i)
{
    /* In plain grids a message to the upper neighbor comes from its lower one,
     * and the other way round. */
    return displacements->grid->ndirs == 0 ? i ^ 1u : i;
}

/** Whether displacement i leads back to the same rank. */
bool ctn_displacement_is_zero(const ctn_displacements_t *displacements,
                              uint32_t i);

/** Whether there is a rank at `coords`, which are in the grid, plus
 * displacement i. */
bool ctn_displacement_fits(const ctn_displacements_t *displacements, uint32_t i,
                           const int coords[]);

/** Whether displacement i joins any two ranks of the grid. */
bool ctn_displacement_fits_anywhere(const ctn_displacements_t *displacements,
                                    uint32_t i);

#endif
