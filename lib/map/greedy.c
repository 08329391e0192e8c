/* ORD-1: an initial mapping by greedy growth, and the repair of a mapping that
 * exceeds the capacity of a node. */

#include "map/map.h"

#include "core/region.h"

#define NONE UINT32_MAX /* no vertex, or no node */

/* At most so many vertices of the frontier are compared before one is taken: a
 * vertex with very many neighbors makes the frontier so large that comparing
 * all of it each time would take too long. */
enum { FRONTIER_MOST = 4096 };

typedef struct growth {
    const ctn_map_problem_t *problem;
    uint32_t *part; /* the mapping; NONE: the vertex has no node yet */
    uint64_t *here; /* by vertex: weight of its edges to the node that is being
                       filled */
    uint64_t *open; /* by vertex: weight of its edges to vertices without a
                       node */
    uint32_t *frontier; /* the vertices without a node that have edges to the
                           node being filled */
    uint32_t frontier_size;
    uint32_t lowest; /* all vertices below this one have a node */
    bool scattered;  /* no two vertices without a node share an edge */
} growth_t;

/** Remove a vertex from the frontier and return it: the one with the most
 * weight to the node being filled; of equals the one with the least weight to
 * vertices without a node. NONE: the frontier is empty. */
static uint32_t take_next(growth_t *growth)
{
    uint32_t best = NONE; /* index in the frontier */
    uint32_t compared = growth->frontier_size < FRONTIER_MOST
                            ? growth->frontier_size
                            : FRONTIER_MOST;
    for (uint32_t i = 0; i < compared; i++) {
        uint32_t v = growth->frontier[i];
        uint32_t best_v = best == NONE ? v : growth->frontier[best];
        if (best == NONE || growth->here[v] > growth->here[best_v] ||
            (growth->here[v] == growth->here[best_v] &&
             growth->open[v] < growth->open[best_v])) {
            best = i;
        }
    }
    if (best == NONE) {
        return NONE;
    }
    uint32_t v = growth->frontier[best];
    growth->frontier[best] = growth->frontier[--growth->frontier_size];
    return v;
}

/** Return the vertex to take while the frontier is empty, as at the beginning
 * of a node. It is a corner of what is left: of the vertices that have edges to
 * others without a node, the one with the least weight of these edges. If none
 * has such edges, it is the lowest vertex. */
static uint32_t take_corner(growth_t *growth)
{
    const uint32_t *part = growth->part;
    while (part[growth->lowest] != NONE) {
        growth->lowest++;
    }
    uint32_t best = growth->lowest;
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

/** Put vertex v on the node being filled. */
static void join(growth_t *growth, uint32_t v, uint32_t node)
{
    const ctn_map_problem_t *problem = growth->problem;
    growth->part[v] = node;
    for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
        uint32_t to = problem->to[i];
        growth->open[to] -= problem->weight[i];
        if (growth->part[to] == NONE) {
            if (growth->here[to] == 0) {
                growth->frontier[growth->frontier_size++] = to;
            }
            growth->here[to] += problem->weight[i];
        }
    }
}

/** Fill a node; then empty the frontier. */
static void fill(growth_t *growth, uint32_t node)
{
    for (uint32_t taken = 0; taken < growth->problem->capacity[node]; taken++) {
        uint32_t v = take_next(growth);
        join(growth, v != NONE ? v : take_corner(growth), node);
    }
    while (growth->frontier_size > 0) {
        growth->here[growth->frontier[--growth->frontier_size]] = 0;
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

/** Fill all nodes. filled[] is false for every node before. */
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
    size_t count = problem->count;
    ctn_region_t memory = {0};
    growth_t growth = {
        .problem = problem,
        .part = part,
        .here = ctn_region_take(&memory, count, sizeof(*growth.here)),
        .open = ctn_region_take(&memory, count, sizeof(*growth.open)),
        .frontier = ctn_region_take(&memory, count, sizeof(*growth.frontier)),
    };
    bool *filled = ctn_region_take(&memory, problem->nodes, sizeof(*filled));
    if (!memory.failed) {
        grow(&growth, filled);
    }
    return ctn_region_release(&memory);
}

/** Return the node with free capacity to which vertex v has the most weight.
 * @param held     number of vertices on each node
 * @param adjacent [nodes] working memory, 0 before and after */
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
    ctn_region_t memory = {0};
    uint32_t *held = ctn_region_take(&memory, problem->nodes, sizeof(*held));
    uint64_t *adjacent =
        ctn_region_take(&memory, problem->nodes, sizeof(*adjacent));
    for (uint32_t v = 0; !memory.failed && v < problem->count; v++) {
        held[part[v]]++;
    }
    for (uint32_t v = 0; !memory.failed && v < problem->count; v++) {
        uint32_t from = part[v];
        if (held[from] > problem->capacity[from]) {
            part[v] = nearest_free_node(problem, part, held, adjacent, v);
            held[from]--;
            held[part[v]]++;
        }
    }
    return ctn_region_release(&memory);
}
