/* Process graphs: reads the options and computes the edges of a rank. */

#include "graph.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { MOST_DEGREE = 100000 };

/* First argument of bench_seed: random numbers for different purposes. */
enum purpose { PERMUTATIONS, WEIGHTS, PAIRS };

/* ---- options ---- */

/* The text after a prefix; NULL: no such prefix. */
static const char *after(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* Read a number from 1 to `most` that is followed by one of the characters
 * `ends` or by the end of the text. Returns the place behind the number; NULL:
 * no such number. */
static const char *read_number(const char *text, int most, const char *ends,
                               int *number)
{
    size_t digits = strspn(text, "0123456789");
    const char *end = text + digits;

    if (digits == 0 || digits > 9 || (*end != '\0' && !strchr(ends, *end)))
        return NULL;
    *number = atoi(text);
    return *number >= 1 && *number <= most ? end : NULL;
}

/* Read "auto", or dimensions such as "4x4"; ":periodic" may follow.
 * `auto_dims`: the number of dimensions that "auto" stands for. */
static bool read_grid(const char *text, int auto_dims,
                      struct bench_graph *graph)
{
    const char *rest = after(text, "auto");

    if (rest != NULL) {
        graph->ndims = auto_dims;
    } else {
        for (rest = text; graph->ndims < BENCH_MOST_DIMS; rest++) {
            rest =
                read_number(rest, INT_MAX, "x:", &graph->dims[graph->ndims++]);
            if (rest == NULL || *rest != 'x')
                break;
        }
    }
    graph->periodic = rest != NULL && strcmp(rest, ":periodic") == 0;
    return rest != NULL && (graph->periodic || *rest == '\0');
}

static int power_of_three(int exponent)
{
    return exponent == 0 ? 1 : 3 * power_of_three(exponent - 1);
}

/* Read a stencil such as "9:4x4": the number of its points, which includes the
 * center, and the grid. */
static bool read_stencil(const char *text, struct bench_graph *graph)
{
    int points = 0;
    const char *rest = read_number(text, INT_MAX, ":", &points);
    bool three_dims = points == 7 || points == 27;

    if (rest == NULL || *rest != ':' ||
        !read_grid(rest + 1, three_dims ? 3 : 2, graph))
        return false;
    graph->box = points != 2 * graph->ndims + 1;
    return !graph->box || points == power_of_three(graph->ndims);
}

static bool read_shape(const char *text, struct bench_graph *graph, char *wrong,
                       size_t bytes)
{
    const char *grid = after(text, "cart:"), *file = after(text, "graph:");
    const char *stencil = after(text, "stencil:");
    const char *degree = after(text, "random:");
    bool good = false;

    if (file != NULL) {
        graph->shape = BENCH_LISTED;
        return bench_graph_read_file(file, graph, wrong, bytes);
    }
    if (grid != NULL) {
        graph->shape = BENCH_CART;
        good = read_grid(grid, 2, graph);
    } else if (stencil != NULL) {
        graph->shape = BENCH_STENCIL;
        good = read_stencil(stencil, graph);
    } else if (degree != NULL) {
        graph->shape = BENCH_RANDOM;
        good = read_number(degree, MOST_DEGREE, "", &graph->degree) != NULL;
    }
    if (!good)
        snprintf(wrong, bytes,
                 "--neighborhood: expected cart:DIMS[:periodic], "
                 "stencil:POINTS:DIMS[:periodic] (5 or 9 points in two "
                 "dimensions, 7 or 27 in three), graph:FILE or random:DEGREE, "
                 "with DIMS as 4x4 or auto, found \"%s\"",
                 text);
    return good;
}

static bool read_weights(const char *text, struct bench_graph *graph,
                         char *wrong, size_t bytes)
{
    const char *any = after(text, "random:"), *heavy = after(text, "heavy:");
    const char *most = any != NULL ? any : heavy;

    graph->weights = any != NULL     ? BENCH_ANY
                     : heavy != NULL ? BENCH_HEAVY
                                     : BENCH_UNIFORM;
    if (most != NULL
            ? read_number(most, BENCH_MOST_WEIGHT, "", &graph->greatest) != NULL
            : strcmp(text, "uniform") == 0)
        return true;
    snprintf(wrong, bytes,
             "--weights: expected uniform, random:MAX or heavy:WEIGHT, up to "
             "%d, found \"%s\"",
             (int)BENCH_MOST_WEIGHT, text);
    return false;
}

bool bench_graph_read(const char *neighborhood, const char *weights,
                      struct bench_graph *graph, char *wrong, size_t bytes)
{
    *graph = (struct bench_graph){0};
    if (!read_shape(neighborhood != NULL ? neighborhood : "cart:auto", graph,
                    wrong, bytes))
        return false;
    if (weights != NULL && !read_weights(weights, graph, wrong, bytes)) {
        bench_graph_free(graph);
        return false;
    }
    /* In a grid both edges of two neighbors have the same weight. A stencil has
     * the same edges, and any weights. */
    if (graph->shape == BENCH_CART && graph->weights == BENCH_ANY)
        graph->shape = BENCH_STENCIL;
    return true;
}

void bench_graph_free(struct bench_graph *graph)
{
    free(graph->edges);
    free(graph->from);
    free(graph->from_begin);
    free(graph->to);
    free(graph->to_begin);
    *graph = (struct bench_graph){0};
}

static bool is_grid(const struct bench_graph *graph)
{
    return graph->shape == BENCH_CART || graph->shape == BENCH_STENCIL;
}

const char *bench_graph_fit(struct bench_graph *graph, int ranks)
{
    long long points = 1;

    graph->ranks = ranks;
    if (is_grid(graph)) {
        if (graph->dims[0] == 0 &&
            catena_dims_create(ranks, graph->ndims, graph->dims) != CATENA_OK)
            return "--neighborhood: no dimensions for so many ranks";
        for (int d = 0; d < graph->ndims && points <= ranks; d++)
            points *= graph->dims[d];
        if (points != ranks)
            return "--neighborhood: expected a grid of as many points as "
                   "there are ranks";
    }
    return graph->vertices > ranks
               ? "--neighborhood: expected all ranks that the file names"
               : NULL;
}

/* ---- grids ---- */

static void to_coords(const struct bench_graph *graph, int rank, int *coords)
{
    for (int d = graph->ndims - 1; d >= 0; d--) {
        coords[d] = rank % graph->dims[d];
        rank /= graph->dims[d];
    }
}

/* The rank at the place of `rank` plus `sign` times a vector. */
static int at_vector(const struct bench_graph *graph, int rank,
                     const int *vector, int sign)
{
    int coords[BENCH_MOST_DIMS], other = 0;

    to_coords(graph, rank, coords);
    for (int d = 0; d < graph->ndims; d++) {
        int size = graph->dims[d], coord = coords[d] + sign * vector[d];

        if (graph->periodic)
            coord = (coord + size) % size;
        if (coord < 0 || coord >= size)
            return CATENA_PROC_NULL;
        other = other * size + coord;
    }
    return other;
}

/* Vector `which` to a neighbor in one dimension, in MPI's order: for each
 * dimension the lower neighbor, then the higher. */
static void star_vector(const struct bench_graph *graph, int which, int *vector)
{
    for (int d = 0; d < graph->ndims; d++)
        vector[d] = d != which / 2 ? 0 : which % 2 == 0 ? -1 : 1;
}

/* Vector `which` from the center to another point of the box of 3^ndims
 * points. */
static void box_vector(const struct bench_graph *graph, int which, int *vector)
{
    int number = which + (which >= power_of_three(graph->ndims) / 2 ? 1 : 0);

    for (int d = graph->ndims - 1; d >= 0; d--, number /= 3)
        vector[d] = number % 3 - 1;
}

int bench_graph_vectors(const struct bench_graph *graph, int *vectors)
{
    int count = bench_graph_degree(graph, 0, true);

    for (int i = 0; i < count; i++)
        (graph->box ? box_vector : star_vector)(graph, i,
                                                vectors + i * graph->ndims);
    return count;
}

/* end_of for a grid or a stencil. Source i of a stencil lies opposite of
 * target i, so both ends of an edge have the same number i. In a grid sources
 * are in the order of targets: the lower neighbor comes first. What this rank
 * receives from the lower neighbor is what that sent to its higher one, so the
 * label of source i is the number of the opposite direction, i ^ 1. */
static struct bench_end grid_end(const struct bench_graph *graph, int rank,
                                 bool targets, int i)
{
    bool opposite = graph->shape == BENCH_STENCIL && !targets;
    int vector[BENCH_MOST_DIMS];

    (graph->box ? box_vector : star_vector)(graph, i, vector);
    return (struct bench_end){
        .rank = at_vector(graph, rank, vector, opposite ? -1 : 1),
        .label = graph->shape == BENCH_CART && !targets ? i ^ 1 : i};
}

/* ---- any graph ---- */

static struct bench_end random_end(const struct bench_graph *graph, int rank,
                                   bool targets, int i)
{
    uint64_t seed = bench_seed(PERMUTATIONS, i, graph->degree);

    return (struct bench_end){
        .rank = (int)(targets ? bench_permute : bench_unpermute)(
            (uint64_t)rank, (uint64_t)graph->ranks, seed),
        .label = i};
}

static struct bench_end listed_end(const struct bench_graph *graph, int rank,
                                   bool targets, int i)
{
    size_t index = targets ? graph->from[graph->from_begin[rank] + (size_t)i]
                           : graph->to[graph->to_begin[rank] + (size_t)i];
    const struct bench_edge *edge = &graph->edges[index];

    return (struct bench_end){.rank = targets ? edge->target : edge->source,
                              .label = (int)index,
                              .weight = edge->weight};
}

/* A rank's end of edge i to its targets, or of edge i from its sources. The
 * weight is set only if it comes from a file. */
static struct bench_end end_of(const struct bench_graph *graph, int rank,
                               bool targets, int i)
{
    if (is_grid(graph))
        return grid_end(graph, rank, targets, i);
    return (graph->shape == BENCH_RANDOM ? random_end : listed_end)(graph, rank,
                                                                    targets, i);
}

int bench_graph_degree(const struct bench_graph *graph, int rank, bool targets)
{
    const size_t *begin = targets ? graph->from_begin : graph->to_begin;

    if (graph->shape == BENCH_RANDOM)
        return graph->degree;
    if (graph->shape == BENCH_LISTED)
        return rank < graph->vertices ? (int)(begin[rank + 1] - begin[rank])
                                      : 0;
    return graph->box ? power_of_three(graph->ndims) - 1 : 2 * graph->ndims;
}

/* ---- weights ---- */

/* A random number for every pair of ranks, less than UINT64_MAX. */
static uint64_t pair_key(int a, int b)
{
    return bench_seed(PAIRS, a < b ? a : b, a < b ? b : a) >> 1;
}

/* The least pair_key of a rank with any of its neighbors. Two ranks are matched
 * if the key of their pair is the least of both. */
static uint64_t least_key(const struct bench_graph *graph, int rank)
{
    uint64_t least = UINT64_MAX;

    for (int targets = 0; targets < 2; targets++) {
        int degree = bench_graph_degree(graph, rank, targets != 0);

        for (int i = 0; i < degree; i++) {
            int other = end_of(graph, rank, targets != 0, i).rank;

            if (other != CATENA_PROC_NULL && other != rank &&
                pair_key(rank, other) < least)
                least = pair_key(rank, other);
        }
    }
    return least;
}

static int weight_of(const struct bench_graph *graph, int rank, bool targets,
                     const struct bench_end *end)
{
    int source = targets ? rank : end->rank,
        target = targets ? end->rank : rank;
    uint64_t pair;

    switch (graph->weights) {
    case BENCH_FROM_FILE:
        return end->weight;
    case BENCH_ANY:
        pair = bench_seed(WEIGHTS, source, target);
        return 1 + (int)(bench_seed(pair, end->label, 0) %
                         (uint64_t)graph->greatest);
    case BENCH_HEAVY:
        pair = pair_key(source, target);
        return pair == least_key(graph, source) &&
                       pair == least_key(graph, target)
                   ? graph->greatest
                   : 1;
    default:
        return 1;
    }
}

void bench_graph_ends(const struct bench_graph *graph, int rank, bool targets,
                      struct bench_end *ends)
{
    int degree = bench_graph_degree(graph, rank, targets);

    for (int i = 0; i < degree; i++) {
        ends[i] = end_of(graph, rank, targets, i);
        ends[i].weight = ends[i].rank == CATENA_PROC_NULL
                             ? 1
                             : weight_of(graph, rank, targets, &ends[i]);
    }
}

/* ---- description ---- */

void bench_graph_describe(const struct bench_graph *graph, char *text,
                          size_t bytes)
{
    static const char *const weights[] = {
        [BENCH_UNIFORM] = "edges weigh the same",
        [BENCH_FROM_FILE] = "weights of the file",
        [BENCH_ANY] = "random weights",
        [BENCH_HEAVY] = "heavy edges between paired ranks"};
    size_t used = 0;

    if (graph->shape == BENCH_RANDOM)
        used = (size_t)snprintf(
            text, bytes, "%d random targets and sources each", graph->degree);
    else if (graph->shape == BENCH_LISTED)
        used = (size_t)snprintf(text, bytes, "%zu edges of a file",
                                graph->edge_count);
    for (int d = 0; is_grid(graph) && d < graph->ndims && used < bytes; d++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d",
                                 d > 0 ? "x" : "grid of ", graph->dims[d]);
    if (is_grid(graph) && used < bytes)
        used += (size_t)snprintf(text + used, bytes - used,
                                 " ranks, %s borders, %d neighbors each",
                                 graph->periodic ? "periodic" : "open",
                                 bench_graph_degree(graph, 0, true));
    if (used < bytes)
        snprintf(text + used, bytes - used, "; %s", weights[graph->weights]);
}
