#ifndef ORACLE_GRAPH_H
#define ORACLE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

/* Graphs that every rank of a test knows as a whole. Which edge meets which is
 * worked out from the lists alone. */

/** How a neighborhood is made of one. */
typedef enum oracle_graph_way {
    ORACLE_WAY_ADJACENT, /* both lists of every rank */
    ORACLE_WAY_DIST,     /* edges contributed by any rank */
    ORACLE_WAY_CART,
    ORACLE_WAY_DERIVED, /* from a grid, along vectors */
    ORACLE_GRAPH_WAYS
} oracle_graph_way_t;

/** Which edges there are, where it is no grid. */
typedef enum oracle_shape {
    ORACLE_SHAPE_EMPTY,
    ORACLE_SHAPE_SELF,   /* some to themselves, once or twice */
    ORACLE_SHAPE_RING,   /* to the next two, some to themselves */
    ORACLE_SHAPE_DOUBLE, /* a ring with every edge twice */
    ORACLE_SHAPE_FAN_IN,
    ORACLE_SHAPE_FAN_OUT,
    ORACLE_SHAPE_HUB, /* both ways, some several times */
    ORACLE_SHAPE_COMPLETE,
    ORACLE_SHAPE_PAIRS,      /* of ranks far from each other */
    ORACLE_SHAPE_LONELY,     /* two ranks; the others have nobody */
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
    int *weight; /* as this end has it */
    int *mate;   /* where in the other end's list, once that is settled */
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
    int size;  /* ranks that have a place in it */
    int ranks; /* of the group it is made on */
    bool weighted;
    oracle_list_t *sources; /* [size] */
    oracle_list_t *targets; /* [size] */
    int *color;             /* [size]: no edges join different ones */
    int components;         /* of two or more ranks that edges join */
    bool full;              /* one, of all ranks */
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

/** Draw one for so many ranks. Lists have an order of their own, gaps
 * (CATENA_PROC_NULL) and, if weighted, weights that the two ends do not share.
 * A grid may have fewer ranks. */
void oracle_graph_draw(oracle_graph_t *graph, oracle_graph_way_t way,
                       oracle_shape_t shape, int ranks, uint64_t seed);
/** As before; the shape follows from the seed, too. */
void oracle_graph_draw_any(oracle_graph_t *graph, oracle_graph_way_t way,
                           int ranks, uint64_t seed);
/** A grid of so many dimensions of a size, closed in all of them, with edges
 * to the next on both sides or, with `diagonals`, to all that touch. */
void oracle_graph_torus(oracle_graph_t *graph, int ndims, int side,
                        bool diagonals);
/** The ranks so far away on either side, as sources and as targets. */
void oracle_graph_ring(oracle_graph_t *graph, int ranks, int away);
void oracle_graph_free(oracle_graph_t *graph);

/** Change one entry of a list of ORACLE_WAY_ADJACENT: leave it out, put another
 * in its place, or add one. The graph may be as good as before. */
void oracle_graph_spoil(oracle_graph_t *graph, uint64_t seed);
/** Whether `from` names `to` as target as often as that names it as source. */
bool oracle_graph_agrees(const oracle_graph_t *graph, int from, int to);

/** Where a rank of a grid is. */
void oracle_graph_coords(const oracle_graph_t *graph, int rank, int coords[]);
/** The rank that is `sign` times a vector away, or CATENA_PROC_NULL. */
int oracle_graph_beside(const oracle_graph_t *graph, int rank,
                        const int vector[], int sign);

/** Find the other ends of the edges of a rank; once for each rank. */
void oracle_graph_settle(oracle_graph_t *graph, int rank);

#endif
