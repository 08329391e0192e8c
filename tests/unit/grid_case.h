#ifndef UNIT_GRID_CASE_H
#define UNIT_GRID_CASE_H

#include "job.h"
#include "neighbor/neighborhood.h"

/* Grids with edges along some vectors, for tests of plans. */

enum { GRID_DIMS = 4, GRID_VECTORS = 82 };

typedef struct grid_case {
    int ndims;
    int dims[GRID_DIMS];
    int periods[GRID_DIMS];
    int vectors; /* 0: a plain grid, to both sides in each dimension */
    int vector[GRID_VECTORS][GRID_DIMS];
    int weight[GRID_VECTORS];
} grid_case_t;

/** Of 1 to 4 dimensions of 1, 2, 3 or 5, of few ranks, with any vectors. */
grid_case_t grid_case_draw(uint64_t seed);
/** Rings with all neighbors that touch, diagonals included. */
grid_case_t grid_case_moore(int ndims, int extent);
int grid_case_ranks(const grid_case_t *grid);

/** Make the neighborhood of it. */
catena_status_t grid_case_make(job_t *job, const grid_case_t *grid,
                               catena_neighborhood_t **out);

/** What combining promises. */
void grid_case_check(job_t *job, const grid_case_t *grid,
                     catena_neighborhood_t *const made[],
                     ctn_pattern_t pattern);

#endif
