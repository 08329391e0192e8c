#include "map/map.h"

#include <string.h>

#include "core/random.h"

/* The steps of ORD-1 to ORD-4 in their order: several mappings of a graph to
 * nodes are refined, and the best is taken. */

/* The row of vertex v is to[first[v]] to to[first[v + 1] - 1] of a problem. */

/** Put every edge into the rows of both its ends.
 * @param cursor [count]: where the next entry of a row goes; first[v] at the
 *               beginning */
static void fill_rows(ctn_map_problem_t *problem, size_t edges,
                      const ctn_map_edge_t edge[], size_t cursor[])
{
    for (size_t i = 0; i < edges; i++) {
        uint32_t end[2] = {edge[i].from, edge[i].to};
        if (end[0] != end[1] && edge[i].weight > 0) {
            for (int side = 0; side < 2; side++) {
                size_t at = cursor[end[side]]++;
                problem->to[at] = end[1 - side];
                problem->weight[at] = edge[i].weight;
            }
        }
    }
}

/** Merge the entries of a row for the same neighbor.
 * @param seen [count]: 1 + index of a vertex's entry in the current row, or 0;
 *             all 0 before and after */
static void merge_rows(ctn_map_problem_t *problem, size_t seen[])
{
    size_t filled = 0;
    for (uint32_t v = 0; v < problem->count; v++) {
        size_t begin = filled;
        size_t end = problem->first[v + 1];
        for (size_t i = problem->first[v]; i < end; i++) {
            uint32_t to = problem->to[i];
            if (seen[to] == 0) {
                problem->to[filled] = to;
                problem->weight[filled] = problem->weight[i];
                seen[to] = ++filled;
            } else {
                problem->weight[seen[to] - 1] += problem->weight[i];
            }
        }
        for (size_t i = begin; i < filled; i++) {
            seen[problem->to[i]] = 0;
        }
        problem->first[v] = begin;
    }
    problem->first[problem->count] = filled;
}

/** Build the rows from a list of edges. Edges from a vertex to itself and
 * without weight are left out. `work`: [count], zero. */
static void make_rows(ctn_map_problem_t *problem, size_t edges,
                      const ctn_map_edge_t edge[], size_t work[])
{
    uint32_t count = problem->count;
    for (size_t i = 0; i < edges; i++) {
        if (edge[i].from != edge[i].to && edge[i].weight > 0) {
            problem->first[edge[i].from + 1]++;
            problem->first[edge[i].to + 1]++;
        }
    }
    for (uint32_t v = 0; v < count; v++) {
        problem->first[v + 1] += problem->first[v];
    }
    memcpy(work, problem->first, count * sizeof(*work));
    fill_rows(problem, edges, edge, work);
    memset(work, 0, count * sizeof(*work));
    merge_rows(problem, work);
}

catena_status_t ctn_map_open(ctn_map_problem_t *problem, uint32_t count,
                             const uint32_t node[], size_t edges,
                             const ctn_map_edge_t edge[])
{
    *problem = (ctn_map_problem_t){.count = count, .node = node};
    for (uint32_t i = 0; i < count; i++) {
        if (node[i] >= problem->nodes) {
            problem->nodes = node[i] + 1;
        }
    }
    ctn_region_t *memory = &problem->memory;
    problem->capacity =
        ctn_region_take(memory, problem->nodes, sizeof(*problem->capacity));
    problem->first =
        ctn_region_take(memory, (size_t)count + 1, sizeof(*problem->first));
    problem->to = ctn_region_take(memory, 2 * edges, sizeof(*problem->to));
    problem->weight =
        ctn_region_take(memory, 2 * edges, sizeof(*problem->weight));
    size_t *work = ctn_region_take(memory, count, sizeof(*work));
    if (memory->failed) {
        return ctn_region_release(memory);
    }
    for (uint32_t i = 0; i < count; i++) {
        problem->capacity[node[i]]++;
    }
    make_rows(problem, edges, edge, work);
    return CATENA_OK;
}

void ctn_map_close(ctn_map_problem_t *problem)
{
    (void)ctn_region_release(&problem->memory);
}

uint64_t ctn_map_cut_weight(const ctn_map_problem_t *problem,
                            const uint32_t part[])
{
    uint64_t between = 0;
    for (uint32_t v = 0; v < problem->count; v++) {
        for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
            if (problem->to[i] > v && part[problem->to[i]] != part[v]) {
                between += problem->weight[i];
            }
        }
    }
    return between;
}

/** Assign vertices to processes. A process keeps its initial vertex if that is
 * on its node; the other processes take the remaining vertices of their node,
 * in order. */
static catena_status_t place_all(const ctn_map_problem_t *problem,
                                 const uint32_t part[], uint32_t place[])
{
    /* remaining[] has capacity[b] entries for node b; the remaining vertices of
     * the node are the last of these. next[b + 1]: index of the first of them
     * that no process has taken yet. */
    ctn_region_t memory = {0};
    uint32_t *next =
        ctn_region_take(&memory, (size_t)problem->nodes + 1, sizeof(*next));
    uint32_t *remaining =
        ctn_region_take(&memory, problem->count, sizeof(*remaining));
    if (memory.failed) {
        return ctn_region_release(&memory);
    }
    for (uint32_t b = 0; b < problem->nodes; b++) {
        next[b + 1] = next[b] + problem->capacity[b];
    }
    for (uint32_t v = problem->count; v-- > 0;) {
        if (part[v] != problem->node[v]) {
            remaining[--next[part[v] + 1]] = v;
        }
    }
    for (uint32_t i = 0; i < problem->count; i++) {
        uint32_t b = problem->node[i];
        place[i] = part[i] == b ? i : remaining[next[b + 1]++];
    }
    return ctn_region_release(&memory);
}

/** Refine `part`, and copy it to `best` if it is better.
 * @param[in,out] least weight between nodes of `best` */
static catena_status_t try_mapping(const ctn_map_problem_t *problem,
                                   uint32_t part[], uint32_t best[],
                                   uint64_t *least)
{
    catena_status_t status = ctn_map_refine(problem, part);
    uint64_t between = ctn_map_cut_weight(problem, part);
    if (status == CATENA_OK && between < *least) {
        memcpy(best, part, problem->count * sizeof(*best));
        *least = between;
    }
    return status;
}

/* Random mappings of small graphs are tried, too: at most this many, and so
 * many that their vertices and edges together are not more than this. */
enum { RANDOM_TRIES = 32, RANDOM_WORK = 16384 };

/** Assign vertices to nodes randomly: a shuffle of the initial mapping.
 * @param state of the random numbers */
static void shuffle(const ctn_map_problem_t *problem, uint64_t *state,
                    uint32_t part[])
{
    for (uint32_t v = 0; v < problem->count; v++) {
        uint32_t with = (uint32_t)ctn_random_below(state, v + 1);
        part[v] = part[with];
        part[with] = problem->node[v];
    }
}

/** Try random mappings, the same ones every time. */
static catena_status_t try_random(const ctn_map_problem_t *problem,
                                  uint32_t part[], uint32_t best[],
                                  uint64_t *least)
{
    size_t times =
        RANDOM_WORK / (problem->count + problem->first[problem->count] + 1);
    times = times < RANDOM_TRIES ? times : RANDOM_TRIES;
    uint64_t state = 1;
    catena_status_t status = CATENA_OK;
    for (size_t i = 0; i < times && *least != 0 && status == CATENA_OK; i++) {
        shuffle(problem, &state, part);
        status = try_mapping(problem, part, best, least);
    }
    return status;
}

catena_status_t ctn_map_place(const ctn_map_problem_t *problem, uint32_t hint[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after)
{
    size_t bytes = problem->count * sizeof(uint32_t);
    ctn_region_t memory = {0};
    uint32_t *part = ctn_region_take(&memory, bytes, 1);
    uint32_t *best = ctn_region_take(&memory, bytes, 1);
    if (memory.failed) {
        return ctn_region_release(&memory);
    }
    memcpy(best, problem->node, bytes);
    memcpy(part, problem->node, bytes);
    *before = ctn_map_cut_weight(problem, best);
    *after = *before;
    catena_status_t status = try_mapping(problem, part, best, after);
    if (status == CATENA_OK && hint != NULL) {
        status = try_mapping(problem, hint, best, after);
    }
    if (status == CATENA_OK) {
        status = ctn_map_grow(problem, part);
    }
    if (status == CATENA_OK) {
        status = try_mapping(problem, part, best, after);
    }
    if (status == CATENA_OK) {
        status = try_random(problem, part, best, after);
    }
    if (status == CATENA_OK && ctn_map_scotch(problem, part)) {
        status = ctn_map_fit(problem, part);
        if (status == CATENA_OK) {
            status = try_mapping(problem, part, best, after);
        }
    }
    if (status == CATENA_OK) {
        status = place_all(problem, best, place);
    }
    (void)ctn_region_release(&memory);
    return status;
}

catena_status_t ctn_map_graph(uint32_t count, const uint32_t node[],
                              size_t edges, const ctn_map_edge_t edge[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after)
{
    ctn_map_problem_t problem;
    catena_status_t status = ctn_map_open(&problem, count, node, edges, edge);
    if (status == CATENA_OK) {
        status = ctn_map_place(&problem, NULL, place, before, after);
        ctn_map_close(&problem);
    }
    return status;
}
