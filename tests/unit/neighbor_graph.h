#ifndef UNIT_NEIGHBOR_GRAPH_H
#define UNIT_NEIGHBOR_GRAPH_H

#include <catena/neighbor.h>

#include "job.h"

/* A graph that every rank knows as a whole, so that each can tell what any rank
 * sends. */

typedef struct list {
    int count;
    int *rank;  /* in order; some are CATENA_PROC_NULL */
    int *other; /* index of the edge in the list at its other end */
} list_t;

#define GRAPH_MOST_DIMS 3

typedef struct graph {
    uint32_t ranks;
    list_t *targets; /* [ranks] */
    list_t *sources; /* [ranks] */
    /* One derived from a grid; else ndims is 0. */
    int ndims;
    int dims[GRAPH_MOST_DIMS];
    int periods[GRAPH_MOST_DIMS];
    int ndirs;
    int *displacements; /* [ndirs][ndims] */
} graph_t;

/** Any graph: some ranks have many neighbors, some none; edges occur several
 * times, and lead to oneself. The same on all ranks.
 * @param balanced each rank has as many sources as targets */
void graph_draw(graph_t *graph, uint32_t ranks, bool balanced,
                uint64_t *random);
/** Any grid of so many ranks, and any vectors. */
void graph_draw_grid(graph_t *graph, uint32_t ranks, uint64_t *random);
void graph_release(graph_t *graph);

/** The neighborhood of this rank's lists. */
catena_neighborhood_t *
graph_neighborhood(const graph_t *graph, job_t *job,
                   const catena_neighborhood_info_t *info);

#endif
