#ifndef BENCH_GRAPH_H
#define BENCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/neighbor.h>

/* Neighborhoods to measure: every rank computes the edges of any rank without a
 * table. Created from --neighborhood and --weights. */

enum { BENCH_MOST_DIMS = 6, BENCH_MOST_WEIGHT = 1000000 };

enum bench_shape {
    BENCH_CART,    /* a grid with the edges of catena_cart_create */
    BENCH_STENCIL, /* a grid and a list of vectors, the same for all ranks */
    BENCH_RANDOM,  /* `degree` permutations of the ranks */
    BENCH_LISTED   /* from a file */
};

enum bench_weights {
    BENCH_UNIFORM, /* every edge weighs 1 */
    BENCH_FROM_FILE,
    BENCH_ANY,  /* 1 to `greatest`, at random */
    BENCH_HEAVY /* `greatest` between paired ranks, else 1 */
};

/* An edge in a file, and at one of its ends. */
struct bench_edge {
    int source;
    int target;
    int weight;
};

struct bench_end {
    int rank;  /* at the other end, or CATENA_PROC_NULL */
    int label; /* distinguishes edges of the same pair */
    int weight;
};

struct bench_graph {
    enum bench_shape shape;
    int ranks; /* set by bench_graph_fit */
    int ndims;
    int dims[BENCH_MOST_DIMS]; /* 0: left to catena_dims_create */
    bool periodic;
    bool box; /* stencil: includes diagonals */
    int degree;
    /* From a file: edges in the file's order. Those of source s are
     * edges[from[i]] for i from from_begin[s]; of target t likewise. */
    int vertices;
    size_t edge_count;
    struct bench_edge *edges;
    size_t *from, *from_begin, *to, *to_begin;
    enum bench_weights weights;
    int greatest;
};

/** Read options; NULL: not given.
 * @param[out] wrong the error, if any
 * @return whether they are valid; files then stay in memory until
 *   bench_graph_free */
bool bench_graph_read(const char *neighborhood, const char *weights,
                      struct bench_graph *graph, char *wrong, size_t bytes);
/** graph_file.c: edges in OSU's format, "source, target" and an optional weight
 * per line. */
bool bench_graph_read_file(const char *path, struct bench_graph *graph,
                           char *wrong, size_t bytes);
void bench_graph_free(struct bench_graph *graph);

/** Fit the graph to a number of ranks. Returns the reason if it does not fit;
 * NULL: it does. */
const char *bench_graph_fit(struct bench_graph *graph, int ranks);

/** The number of a rank's ends on one side, and the ends. */
int bench_graph_degree(const struct bench_graph *graph, int rank, bool targets);
void bench_graph_ends(const struct bench_graph *graph, int rank, bool targets,
                      struct bench_end *ends);

/** Vectors of a grid's edges, [degree][ndims]. */
int bench_graph_vectors(const struct bench_graph *graph, int *vectors);

/** "grid of 4x4 ranks, ..." */
void bench_graph_describe(const struct bench_graph *graph, char *text,
                          size_t bytes);

#endif
