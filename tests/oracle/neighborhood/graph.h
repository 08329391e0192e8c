#ifndef ORACLE_GRAPH_H
#define ORACLE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

/* Graphs known to every rank of a test as a whole. The mates of edges are
 * derived from the lists only. */

/** How a neighborhood is created from a graph. */
typedef enum oracle_graph_way {
    ORACLE_WAY_ADJACENT, /* both lists of every rank */
    ORACLE_WAY_DIST,     /* edges contributed by any rank */
    ORACLE_WAY_CART,
    ORACLE_WAY_DERIVED, /* from a grid, along vectors */
    ORACLE_GRAPH_WAYS
} oracle_graph_way_t;

/** The edges of graphs other than grids. */
typedef enum oracle_shape {
    ORACLE_SHAPE_EMPTY,
    ORACLE_SHAPE_SELF,   /* some to themselves, once or twice */
    ORACLE_SHAPE_RING,   /* to the next two, some to themselves */
    ORACLE_SHAPE_DOUBLE, /* a ring with every edge twice */
    ORACLE_SHAPE_FAN_IN,
    ORACLE_SHAPE_FAN_OUT,
    ORACLE_SHAPE_HUB, /* both directions, some several times */
    ORACLE_SHAPE_COMPLETE,
    ORACLE_SHAPE_PAIRS,      /* of distant ranks */
    ORACLE_SHAPE_LONELY,     /* two ranks; the others have no neighbors */
    ORACLE_SHAPE_COMPONENTS, /* by color */
    ORACLE_SHAPE_SPARSE,
    ORACLE_SHAPE_DENSE,
    ORACLE_SHAPE_SYMMETRIC, /* sources and targets are the same list */
    ORACLE_GRAPH_SHAPES
} oracle_shape_t;

enum { ORACLE_DIMS = 4, ORACLE_DIRS = 82 };

/** The neighbors of one rank, in order. */
typedef struct oracle_list {
    int count;
    int *rank;   /* or CATENA_PROC_NULL */
    int *weight; /* weight at this end */
    int *mate;   /* index in the other end's list; set by oracle_graph_settle */
} oracle_list_t;

typedef struct oracle_edge {
    int from;
    int to;
    int weight;
    int contributor;
} oracle_edge_t;

typedef struct oracle_graph {
    oracle_graph_way_t way;
    oracle_shape_t shape;
    int size;  /* ranks in the graph */
    int ranks; /* of the group it is created on */
    bool weighted;
    oracle_list_t *sources; /* [size] */
    oracle_list_t *targets; /* [size] */
    int *color;             /* [size]: no edges between different colors */
    int components;         /* of two or more connected ranks */
    bool full;              /* one component of all ranks */
    int edges;
    oracle_edge_t *edge; /* ORACLE_WAY_DIST: by contributor, as listed */
    /* ORACLE_WAY_CART, ORACLE_WAY_DERIVED */
    int ndims;
    int dims[ORACLE_DIMS];
    int periods[ORACLE_DIMS];
    int ndirs;
    int displacements[ORACLE_DIRS * ORACLE_DIMS];
    int weights[ORACLE_DIRS];
} oracle_graph_t;

/** Draw a graph for this number of ranks. Lists are in random order with gaps
 * (CATENA_PROC_NULL) and, if weighted, with different weights at the two ends.
 * A grid may have fewer ranks. */
void oracle_graph_draw(oracle_graph_t *graph, oracle_graph_way_t way,
                       oracle_shape_t shape, int ranks, uint64_t seed);
/** As before; the shape follows from the seed too. */
void oracle_graph_draw_any(oracle_graph_t *graph, oracle_graph_way_t way,
                           int ranks, uint64_t seed);
/** A grid of equal dimensions, periodic in all of them, with edges to the next
 * point on both sides or, with `diagonals`, to all adjacent points. */
void oracle_graph_torus(oracle_graph_t *graph, int ndims, int side,
                        bool diagonals);
/** The ranks at these distances on either side, as sources and as targets. */
void oracle_graph_ring(oracle_graph_t *graph, int ranks, int away);
void oracle_graph_free(oracle_graph_t *graph);

/** Change one entry of a list of ORACLE_WAY_ADJACENT: remove it, replace it, or
 * add one. The graph may stay valid. */
void oracle_graph_spoil(oracle_graph_t *graph, uint64_t seed);
/** Whether `from` names `to` as target as often as `to` names `from` as source.
 */
bool oracle_graph_agrees(const oracle_graph_t *graph, int from, int to);

/** The coordinates of a rank in a grid. */
void oracle_graph_coords(const oracle_graph_t *graph, int rank, int coords[]);
/** The rank at `sign` times a vector, or CATENA_PROC_NULL. */
int oracle_graph_beside(const oracle_graph_t *graph, int rank,
                        const int vector[], int sign);

/** Find the other ends of a rank's edges; call it once per rank. */
void oracle_graph_settle(oracle_graph_t *graph, int rank);

#endif
