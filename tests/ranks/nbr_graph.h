#ifndef NBR_GRAPH_H
#define NBR_GRAPH_H

#include "rank_test.h"

/* Graphs that every rank of a test knows as a whole, and neighborhoods made of
 * them. Which edge meets which is worked out from the lists alone. */

typedef enum nbr_way {
    NBR_ADJACENT, /* both lists of every rank */
    NBR_DIST,     /* edges contributed by any rank */
    NBR_CART,
    NBR_DERIVED,
    NBR_WAYS
} nbr_way_t;

enum { NBR_DIMS = 4, NBR_DIRS = 10 };

/** The neighbors of one rank, in order. */
typedef struct nbr_list {
    int count;
    int *rank;   /* or CATENA_PROC_NULL */
    int *weight; /* as this end says */
    int *mate;   /* of this rank's lists: where in the other end's list */
} nbr_list_t;

typedef struct nbr_edge {
    int from;
    int to;
    int weight;
    int contributor;
} nbr_edge_t;

typedef struct nbr_graph {
    nbr_way_t way;
    int size;  /* ranks that have a place in it */
    int ranks; /* of the group it is made on */
    bool weighted;
    nbr_list_t *sources; /* [size] */
    nbr_list_t *targets; /* [size] */
    int *color;          /* [size]: no edges join different ones */
    bool joined;         /* edges join all ranks that have any to others */
    bool full;           /* and all ranks have */
    int edges;
    nbr_edge_t *edge; /* NBR_DIST: by contributor, as listed */
    /* NBR_CART, NBR_DERIVED */
    int ndims;
    int dims[NBR_DIMS];
    int periods[NBR_DIMS];
    int ndirs;
    int displacements[NBR_DIRS * NBR_DIMS];
    int weights[NBR_DIRS];
} nbr_graph_t;

/** Draw one for so many ranks: sparse, dense, with hubs, of components,
 * asymmetric, empty, with edges to oneself, several of the same, and gaps; or a
 * grid of any shape. */
void nbr_graph_draw(nbr_graph_t *graph, nbr_way_t way, int ranks,
                    uint64_t seed);
/** A grid of one dimension that is closed. */
void nbr_graph_ring(nbr_graph_t *graph, int ranks);
void nbr_graph_free(nbr_graph_t *graph);

/** Change one entry of a list of NBR_ADJACENT: leave it out, put another in its
 * place, or add one. It may be as good as before. */
void nbr_graph_spoil(nbr_graph_t *graph, uint64_t seed);
/** Whether `from` names `to` as target as often as that names it as source. */
bool nbr_graph_agree(const nbr_graph_t *graph, int from, int to);

/** Where a rank of a grid is. */
void nbr_graph_coords(const nbr_graph_t *graph, int rank, int coords[]);

/** Find the other ends of the edges of a rank of the graph. */
void nbr_graph_settle(nbr_graph_t *graph, int rank);

/** Make a neighborhood of it; collective over all ranks of `group`. */
catena_status_t nbr_graph_make(const nbr_graph_t *graph, catena_group_t *group,
                               const catena_neighborhood_info_t *info,
                               catena_neighborhood_t **neighborhood);

/** Hold what a neighborhood tells of itself against the graph; settled. */
void nbr_graph_check(rank_test_t *test, const nbr_graph_t *graph,
                     const catena_neighborhood_t *neighborhood);

#endif
