#ifndef BENCH_GRAPH_H
#define BENCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/neighbor.h>

/* Neighborhoods to measure on: who sends to whom, known to every rank for every
 * rank without a table. Made from --neighborhood and --weights. */

enum { BENCH_MOST_DIMS = 6, BENCH_MOST_WEIGHT = 1000000 };

enum bench_shape {
    BENCH_CART,    /* a grid: edges as catena_cart_create has them */
    BENCH_STENCIL, /* a grid and a list of vectors, the same for all ranks */
    BENCH_RANDOM,  /* `degree` permutations of the ranks */
    BENCH_LISTED   /* out of a file */
};

enum bench_weights {
    BENCH_UNIFORM, /* every edge weighs 1 */
    BENCH_FROM_FILE,
    BENCH_ANY,  /* 1 to `greatest`, at random */
    BENCH_HEAVY /* `greatest` between ranks that are paired, else 1 */
};

/* An edge as a file has it, and as one of its ends does. */
struct bench_edge {
    int source;
    int target;
    int weight;
};

struct bench_end {
    int rank;  /* at the other end, or CATENA_PROC_NULL */
    int label; /* which of the edges between the two */
    int weight;
};

struct bench_graph {
    enum bench_shape shape;
    int ranks; /* set by bench_graph_fit */
    int ndims;
    int dims[BENCH_MOST_DIMS]; /* 0: left to catena_dims_create */
    bool periodic;
    bool box; /* stencil: diagonals, too */
    int degree;
    /* Of a file: edges in its order, those of source s being edges[from[i]]
     * with i from from_begin[s] on, of target t likewise. */
    int vertices;
    size_t edge_count;
    struct bench_edge *edges;
    size_t *from, *from_begin, *to, *to_begin;
    enum bench_weights weights;
    int greatest;
};

/** Read options; NULL: not given.
 * @param[out] wrong what is wrong with them
 * @return whether nothing is; files are in memory then, until
 *         bench_graph_free */
bool bench_graph_read(const char *neighborhood, const char *weights,
                      struct bench_graph *graph, char *wrong, size_t bytes);
/** graph_file.c: edges as OSU has them, "source, target" a line, and maybe a
 * weight. */
bool bench_graph_read_file(const char *path, struct bench_graph *graph,
                           char *wrong, size_t bytes);
void bench_graph_free(struct bench_graph *graph);

/** Why it is no graph for so many ranks; NULL: it is, and knows them now. */
const char *bench_graph_fit(struct bench_graph *graph, int ranks);

/** How many ends a rank has on one side; the ends, [that many]. */
int bench_graph_degree(const struct bench_graph *graph, int rank, bool targets);
void bench_graph_ends(const struct bench_graph *graph, int rank, bool targets,
                      struct bench_end *ends);

/** Vectors of a grid's edges, [degree][ndims]. */
int bench_graph_vectors(const struct bench_graph *graph, int *vectors);

/** "grid of 4x4 ranks, ..." */
void bench_graph_describe(const struct bench_graph *graph, char *text,
                          size_t bytes);

#endif
