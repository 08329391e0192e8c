#ifndef BENCH_GRAPH_H
#define BENCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/neighbor.h>

/* Process graphs for neighborhood collectives, from --neighborhood and
 * --weights. Every rank can compute the edges of any rank. Only a graph from a
 * file has a table of edges. */

enum { BENCH_MOST_DIMS = 6, BENCH_MOST_WEIGHT = 1000000 };

/* Where the edges come from. */
enum bench_shape {
    BENCH_CART,    /* a grid with the edges of catena_cart_create */
    BENCH_STENCIL, /* a grid, and a list of vectors from each rank to its
                    * targets, which is the same for all ranks */
    BENCH_RANDOM,  /* target i of each rank is its image under permutation i */
    BENCH_LISTED   /* the edges are listed in a file */
};

/* The weights of the edges. */
enum bench_weights {
    BENCH_UNIFORM, /* every edge weighs 1 */
    BENCH_FROM_FILE,
    BENCH_ANY,  /* 1 to `greatest`, at random */
    BENCH_HEAVY /* `greatest` on edges of a matching, 1 on all others */
};

/* An edge of a file. */
struct bench_edge {
    int source;
    int target;
    int weight;
};

/* An end of an edge, as the rank at this end sees it. */
struct bench_end {
    int rank;  /* at the other end, or CATENA_PROC_NULL */
    int label; /* distinguishes edges from one rank to another; the same at
                * both ends */
    int weight;
};

/* A process graph. */
struct bench_graph {
    enum bench_shape shape;
    int ranks; /* set by bench_graph_fit */
    /* Of BENCH_CART and BENCH_STENCIL. */
    int ndims;
    int dims[BENCH_MOST_DIMS]; /* 0: left to catena_dims_create */
    bool periodic;             /* in all dimensions */
    bool box;                  /* the stencil includes diagonals */
    int degree; /* of BENCH_RANDOM: targets of each rank, and sources */
    /* Of BENCH_LISTED: edges in the file's order. The edges from source s are
     * edges[from[i]], where i runs from from_begin[s] to before
     * from_begin[s + 1]. Those to target t are edges[to[i]] likewise. */
    int vertices; /* greatest rank in the file + 1 */
    size_t edge_count;
    struct bench_edge *edges;
    size_t *from, *from_begin, *to, *to_begin;
    enum bench_weights weights;
    int greatest; /* weight, of BENCH_ANY and BENCH_HEAVY */
};

/** Set `graph` from the values of the options; NULL: not given.
 * @param[out] wrong the error, if any; `bytes`: its size
 * @return whether the options are valid; then the caller owns the graph */
bool bench_graph_read(const char *neighborhood, const char *weights,
                      struct bench_graph *graph, char *wrong, size_t bytes);
/** Read edges from a file in OSU's format: in each line "source, target", here
 * with an optional ", weight" (graph_file.c). */
bool bench_graph_read_file(const char *path, struct bench_graph *graph,
                           char *wrong, size_t bytes);
void bench_graph_free(struct bench_graph *graph);

/** Set the number of ranks, and dimensions that are left to catena. Returns why
 * the graph does not fit this number of ranks; NULL: it fits. */
const char *bench_graph_fit(struct bench_graph *graph, int ranks);

/** The number of a rank's edges: to its targets, or from its sources. */
int bench_graph_degree(const struct bench_graph *graph, int rank, bool targets);
/** This rank's ends of these edges: ends[degree]. */
void bench_graph_ends(const struct bench_graph *graph, int rank, bool targets,
                      struct bench_end *ends);

/** Write the vectors from a rank of a grid to its targets: [degree][ndims].
 * Returns the degree. */
int bench_graph_vectors(const struct bench_graph *graph, int *vectors);

/** Write a description, such as "grid of 4x4 ranks, ...". */
void bench_graph_describe(const struct bench_graph *graph, char *text,
                          size_t bytes);

#endif
