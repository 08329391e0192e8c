#ifndef UNIT_GRAPH_H
#define UNIT_GRAPH_H

#include <catena/catena.h>

#include "job.h"

/* Graphs that all ranks of a job know in full, for tests of neighborhoods. */

typedef struct graph_edge {
    int from, to;
    int from_weight, to_weight; /* as the two ends have it */
} graph_edge_t;

typedef struct graph {
    int size; /* ranks */
    int count;
    graph_edge_t *edge;
    bool nulls; /* CATENA_PROC_NULL stands between the neighbors */
} graph_t;

enum graph_shape {
    GRAPH_EMPTY,
    GRAPH_SELF, /* some to themselves, once or twice */
    GRAPH_RING,
    GRAPH_DOUBLE, /* a ring with every edge twice */
    GRAPH_FAN_IN, /* all to one */
    GRAPH_FAN_OUT,
    GRAPH_COMPLETE,
    GRAPH_PAIRS,  /* of ranks far from each other: many components */
    GRAPH_SPARSE, /* any, one or two for each rank */
    GRAPH_DENSE,  /* any, many, also several of the same ends */
    GRAPH_SHAPES
};

/** Of a shape, for so many ranks; free with graph_free. */
graph_t graph_make(enum graph_shape shape, int size, uint64_t seed);
void graph_free(graph_t *graph);

/** Entries that a list has room for besides its own. */
enum { GRAPH_SPARE = 2 };

/** One end's list: in an order of its own but for edges with the same ends. */
typedef struct graph_list {
    int count;
    int *rank;
    int *weight;
} graph_list_t;

/** The sources or the targets of a rank; free with graph_list_free. */
graph_list_t graph_list(const graph_t *graph, int rank, bool targets,
                        uint64_t seed);
void graph_list_free(graph_list_t *list);

/** The neighborhood of a graph on the world. */
catena_status_t graph_create(job_t *job, const graph_t *graph, bool weighted,
                             bool reorder, catena_neighborhood_t **out);

/** How often `from` leads to `to`. */
int graph_edges(const graph_t *graph, int from, int to);

/** Whether the ranks that have neighbors are all joined. */
bool graph_connected(const graph_t *graph);

#endif
