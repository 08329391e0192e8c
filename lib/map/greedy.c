#include "map/map.h"

#include <stdlib.h>
#include <string.h>

/* ORD-1: an initial mapping by greedy growth, and the repair of a mapping that
 * exceeds the capacity of a node. */

#define NONE UINT32_MAX

/* At most so many candidates are compared for each vertex: a hub has too
 * many. */
enum { FRONTIER = 4096 };

typedef struct growth {
    const ctn_map_problem_t *problem;
    uint32_t *part;
    uint64_t *here; /* weight of a vertex's edges to the node being filled */
    uint64_t *open; /* to vertices without a node */
    uint32_t *frontier; /* vertices with edges to the node being filled */
    uint32_t frontiers;
    uint32_t left;  /* all lower vertices have a node */
    bool scattered; /* no two vertices without a node share an edge */
} growth_t;

/** Return the vertex with the most weight to the node being filled, then with
 * the least to vertices without a node; it is removed from the frontier. */
static uint32_t take_next(growth_t *growth)
{
    uint32_t best = NONE;
    uint32_t looked =
        growth->frontiers < FRONTIER ? growth->frontiers : FRONTIER;
    for (uint32_t i = 0; i < looked; i++) {
        uint32_t v = growth->frontier[i];
        uint32_t than = best == NONE ? v : growth->frontier[best];
        if (best == NONE || growth->here[v] > growth->here[than] ||
            (growth->here[v] == growth->here[than] &&
             growth->open[v] < growth->open[than])) {
            best = i;
        }
    }
    if (best == NONE) {
        return NONE;
    }
    uint32_t v = growth->frontier[best];
    growth->frontier[best] = growth->frontier[--growth->frontiers];
    return v;
}

/** Return a vertex to start with: a corner of the rest. */
static uint32_t take_corner(growth_t *growth)
{
    const uint32_t *part = growth->part;
    while (part[growth->left] != NONE) {
        growth->left++;
    }
    uint32_t best = growth->left;
    for (uint32_t v = best; !growth->scattered && v < growth->problem->count;
         v++) {
        if (part[v] == NONE && growth->open[v] > 0 &&
            (growth->open[best] == 0 || growth->open[v] < growth->open[best])) {
            best = v;
        }
    }
    growth->scattered = growth->open[best] == 0;
    return best;
}

static void join(growth_t *growth, uint32_t v, uint32_t node)
{
    const ctn_map_problem_t *problem = growth->problem;
    growth->part[v] = node;
    for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
        uint32_t to = problem->to[i];
        growth->open[to] -= problem->weight[i];
        if (growth->part[to] == NONE) {
            if (growth->here[to] == 0) {
                growth->frontier[growth->frontiers++] = to;
            }
            growth->here[to] += problem->weight[i];
        }
    }
}

static void fill(growth_t *growth, uint32_t node)
{
    for (uint32_t taken = 0; taken < growth->problem->capacity[node]; taken++) {
        uint32_t v = take_next(growth);
        join(growth, v != NONE ? v : take_corner(growth), node);
    }
    while (growth->frontiers > 0) {
        growth->here[growth->frontier[--growth->frontiers]] = 0;
    }
}

/** Return the largest node that is not filled yet. */
static uint32_t largest(const ctn_map_problem_t *problem, const bool filled[])
{
    uint32_t best = NONE;
    for (uint32_t b = 0; b < problem->nodes; b++) {
        if (!filled[b] &&
            (best == NONE || problem->capacity[b] > problem->capacity[best])) {
            best = b;
        }
    }
    return best;
}

static void grow(growth_t *growth, bool filled[])
{
    const ctn_map_problem_t *problem = growth->problem;
    for (uint32_t v = 0; v < problem->count; v++) {
        growth->part[v] = NONE;
        for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
            growth->open[v] += problem->weight[i];
        }
    }
    for (uint32_t i = 0; i < problem->nodes; i++) {
        uint32_t node = largest(problem, filled);
        fill(growth, node);
        filled[node] = true;
    }
}

catena_status_t ctn_map_grow(const ctn_map_problem_t *problem, uint32_t part[])
{
    size_t count = (size_t)problem->count + 1;
    growth_t growth = {.problem = problem, .part = part};
    growth.here = calloc(count, sizeof(*growth.here));
    growth.open = calloc(count, sizeof(*growth.open));
    growth.frontier = malloc(count * sizeof(*growth.frontier));
    bool *filled = calloc((size_t)problem->nodes + 1, sizeof(*filled));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (growth.here != NULL && growth.open != NULL && growth.frontier != NULL &&
        filled != NULL) {
        grow(&growth, filled);
        status = CATENA_OK;
    }
    free(growth.here);
    free(growth.open);
    free(growth.frontier);
    free(filled);
    return status;
}

/** Return the node with free capacity to which `v` has the most weight.
 * `adjacent` is 0 for every node before and after. */
static uint32_t nearest_free_node(const ctn_map_problem_t *problem,
                                  const uint32_t part[], const uint32_t held[],
                                  uint64_t adjacent[], uint32_t v)
{
    for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
        adjacent[part[problem->to[i]]] += problem->weight[i];
    }
    uint32_t best = NONE;
    for (uint32_t b = 0; b < problem->nodes; b++) {
        if (held[b] < problem->capacity[b] &&
            (best == NONE || adjacent[b] > adjacent[best])) {
            best = b;
        }
    }
    for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
        adjacent[part[problem->to[i]]] = 0;
    }
    return best;
}

catena_status_t ctn_map_fit(const ctn_map_problem_t *problem, uint32_t part[])
{
    uint32_t *held = calloc((size_t)problem->nodes + 1, sizeof(*held));
    uint64_t *adjacent = calloc((size_t)problem->nodes + 1, sizeof(*adjacent));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (held != NULL && adjacent != NULL) {
        for (uint32_t v = 0; v < problem->count; v++) {
            held[part[v]]++;
        }
        for (uint32_t v = 0; v < problem->count; v++) {
            uint32_t from = part[v];
            if (held[from] > problem->capacity[from]) {
                part[v] = nearest_free_node(problem, part, held, adjacent, v);
                held[from]--;
                held[part[v]]++;
            }
        }
        status = CATENA_OK;
    }
    free(held);
    free(adjacent);
    return status;
}
