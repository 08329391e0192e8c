#ifndef CTN_NEIGHBOR_GRID_DISPLACEMENTS_H
#define CTN_NEIGHBOR_GRID_DISPLACEMENTS_H

#include "neighbor/neighborhood.h"

/* The displacement vectors of a grid's edges, the same at all ranks; open
 * borders cut some of the edges. Along rings a displacement is one of the
 * n - 1 ways to another place, or none. */

typedef struct ctn_displacements {
    const ctn_grid_t *grid;
    uint32_t count; /* targets of each rank, as many sources */
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

/** Where in its list the receiver has what is sent along vector i. */
static inline uint32_t
ctn_displacement_source(const ctn_displacements_t *displacements, uint32_t i)
{
    /* In plain grids what goes up comes from below, and the other way round. */
    return displacements->grid->ndirs == 0 ? i ^ 1u : i;
}

/** Whether it leads to where it begins. */
bool ctn_displacement_is_zero(const ctn_displacements_t *displacements,
                              uint32_t i);

/** Whether there is a rank at coordinates, which are inside, plus vector i. */
bool ctn_displacement_fits(const ctn_displacements_t *displacements, uint32_t i,
                           const int coords[]);

/** Whether there is anybody from whom it leads to somebody. */
bool ctn_displacement_fits_anywhere(const ctn_displacements_t *displacements,
                                    uint32_t i);

#endif
