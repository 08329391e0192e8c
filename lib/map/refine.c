/* ORD-2: Kernighan, Lin, An Efficient Heuristic Procedure for Partitioning
 * Graphs, Bell System Technical Journal 49(2), 1970, on one pair of nodes (of
 * the machine) after the other. The vertices of the two nodes are exchanged in
 * pairs, each time those whose exchange reduces the weight between nodes most,
 * or raises it least; then all exchanges after the best point are taken back.
 * Differences from the paper: nodes may have different sizes, and the exchanges
 * of a pair of nodes end when many in a row have not led to a new best point.
 * O(n^2 + edges) for a pair of nodes with n vertices each. */

#include "map/map.h"

#include <string.h>

#include "core/region.h"

enum {
    PASSES = 16,        /* over all pairs of nodes; few are needed */
    UNHELPFUL_MOST = 32 /* exchanges in a row without a new best point */
};

/** An exchange: the vertex of node a that moves to node b, and the vertex of
 * node b that moves to node a. */
typedef struct swap {
    uint32_t first, second;
} swap_t;

typedef struct work {
    const ctn_map_problem_t *problem;
    uint32_t *part;   /* the mapping */
    uint32_t *begin;  /* [nodes + 1]: where the vertices of a node begin in
                         `member` */
    uint32_t *member; /* the vertices, by node */
    uint32_t *at;     /* by vertex: its index in `member` */
    int64_t *gain; /* by vertex of the pair: by how much its move to the other
                      node reduces the weight between nodes */
    uint64_t *mutual; /* by vertex: weight of its edge to the vertex that was
                         marked last, or 0 */
    bool *moved;      /* by vertex: exchanged already in this refine_pair */
    bool *met;        /* by node: adjacent to the node of refine_with */
    swap_t *swap;     /* the exchanges of this refine_pair */
} work_t;

/** Return the weight of the edges of `v` to node b minus that to node a. */
static int64_t gain_of(const work_t *work, uint32_t v, uint32_t a, uint32_t b)
{
    const ctn_map_problem_t *problem = work->problem;
    int64_t gain = 0;
    for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
        uint32_t part = work->part[problem->to[i]];
        if (part == b) {
            gain += (int64_t)problem->weight[i];
        } else if (part == a) {
            gain -= (int64_t)problem->weight[i];
        }
    }
    return gain;
}

#define NONE UINT32_MAX /* no vertex */

/** Return the vertex of a node with the largest gain; NONE: all are moved. If a
 * vertex is marked, the gain is that of an exchange with it. */
static uint32_t best_of(const work_t *work, uint32_t b)
{
    uint32_t best = NONE;
    int64_t most = 0;
    for (uint32_t i = work->begin[b]; i < work->begin[b + 1]; i++) {
        uint32_t v = work->member[i];
        if (!work->moved[v]) {
            int64_t gain = work->gain[v] - 2 * (int64_t)work->mutual[v];
            if (best == NONE || gain > most) {
                best = v;
                most = gain;
            }
        }
    }
    return best;
}

/** Move vertex v to `part`, and update the gains of its neighbors in the
 * pair. */
static void move(work_t *work, uint32_t v, uint32_t part)
{
    const ctn_map_problem_t *problem = work->problem;
    uint32_t from = work->part[v];
    for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
        uint32_t to = problem->to[i];
        int64_t twice = 2 * (int64_t)problem->weight[i];
        if (work->part[to] == from) {
            work->gain[to] += twice;
        } else if (work->part[to] == part) {
            work->gain[to] -= twice;
        }
    }
    work->part[v] = part;
    work->moved[v] = true;
}

/** Mark vertex v: set mutual[] of its neighbors. Or clear that. */
static void mark(work_t *work, uint32_t v, bool set)
{
    const ctn_map_problem_t *problem = work->problem;
    for (size_t i = problem->first[v]; i < problem->first[v + 1]; i++) {
        work->mutual[problem->to[i]] = set ? problem->weight[i] : 0;
    }
}

/** Make the best exchange between nodes a and b, even if it raises the weight
 * between nodes.
 * @param[out] gain by how much the weight is reduced
 * @return false: all vertices of one node have been exchanged */
static bool exchange(work_t *work, uint32_t a, uint32_t b, swap_t *swap,
                     int64_t *gain)
{
    swap->first = best_of(work, a);
    if (swap->first == NONE) {
        return false;
    }
    mark(work, swap->first, true);
    swap->second = best_of(work, b);
    bool found = swap->second != NONE;
    if (found) {
        *gain = work->gain[swap->first] + work->gain[swap->second] -
                2 * (int64_t)work->mutual[swap->second];
    }
    mark(work, swap->first, false);
    if (found) {
        move(work, swap->first, b);
        move(work, swap->second, a);
    }
    return found;
}

/** Exchange the positions of the two vertices in work->member. */
static void commit(work_t *work, const swap_t *swap)
{
    uint32_t first = work->at[swap->first];
    uint32_t second = work->at[swap->second];
    work->member[first] = swap->second;
    work->member[second] = swap->first;
    work->at[swap->first] = second;
    work->at[swap->second] = first;
}

/** Refine a pair of nodes. @return by how much the weight between nodes is
 * reduced */
static int64_t refine_pair(work_t *work, uint32_t a, uint32_t b)
{
    const uint32_t pair[2] = {a, b};
    for (int side = 0; side < 2; side++) {
        uint32_t own = pair[side];
        for (uint32_t i = work->begin[own]; i < work->begin[own + 1]; i++) {
            uint32_t v = work->member[i];
            work->gain[v] = gain_of(work, v, own, pair[1 - side]);
            work->moved[v] = false;
        }
    }
    int64_t sum = 0;   /* of the gains of all exchanges made */
    int64_t best = 0;  /* its largest value so far */
    int64_t gain = 0;  /* of the last exchange */
    uint32_t made = 0; /* number of exchanges */
    uint32_t kept = 0; /* number of exchanges up to the best point */
    while (made - kept < UNHELPFUL_MOST &&
           exchange(work, a, b, &work->swap[made], &gain)) {
        made++;
        sum += gain;
        if (sum > best) {
            best = sum;
            kept = made;
        }
    }
    for (uint32_t i = 0; i < made; i++) {
        const swap_t *swap = &work->swap[i];
        if (i < kept) {
            commit(work, swap);
        } else {
            work->part[swap->first] = a;
            work->part[swap->second] = b;
        }
    }
    return best;
}

/** Refine the pairs of node a with all later nodes that share edges with it.
 * @return by how much the weight between nodes is reduced */
static int64_t refine_with(work_t *work, uint32_t a)
{
    const ctn_map_problem_t *problem = work->problem;
    int64_t gained = 0;
    memset(work->met, 0, problem->nodes * sizeof(*work->met));
    for (uint32_t i = work->begin[a]; i < work->begin[a + 1]; i++) {
        uint32_t v = work->member[i];
        for (size_t k = problem->first[v]; k < problem->first[v + 1]; k++) {
            work->met[work->part[problem->to[k]]] = true;
        }
    }
    for (uint32_t b = a + 1; b < problem->nodes; b++) {
        if (work->met[b]) {
            gained += refine_pair(work, a, b);
        }
    }
    return gained;
}

/** List the vertices of each node in work->member. */
static void list_members(work_t *work)
{
    const ctn_map_problem_t *problem = work->problem;
    for (uint32_t b = 0; b < problem->nodes; b++) {
        work->begin[b + 1] = work->begin[b] + problem->capacity[b];
    }
    for (uint32_t v = problem->count; v-- > 0;) {
        work->at[v] = --work->begin[work->part[v] + 1];
        work->member[work->at[v]] = v;
    }
    for (uint32_t b = 0; b < problem->nodes; b++) {
        work->begin[b + 1] = work->begin[b] + problem->capacity[b];
    }
}

/** Refine the mapping; all memory is allocated. */
static void refine(work_t *work)
{
    list_members(work);
    int64_t gained = 1;
    for (int pass = 0; pass < PASSES && gained > 0; pass++) {
        gained = 0;
        for (uint32_t a = 0; a < work->problem->nodes; a++) {
            gained += refine_with(work, a);
        }
    }
}

catena_status_t ctn_map_refine(const ctn_map_problem_t *problem,
                               uint32_t part[])
{
    size_t count = problem->count;
    size_t nodes = problem->nodes;
    ctn_region_t memory = {0};
    work_t work = {
        .problem = problem,
        .part = part,
        .begin = ctn_region_take(&memory, nodes + 1, sizeof(*work.begin)),
        .member = ctn_region_take(&memory, count, sizeof(*work.member)),
        .at = ctn_region_take(&memory, count, sizeof(*work.at)),
        .gain = ctn_region_take(&memory, count, sizeof(*work.gain)),
        .mutual = ctn_region_take(&memory, count, sizeof(*work.mutual)),
        .moved = ctn_region_take(&memory, count, sizeof(*work.moved)),
        .met = ctn_region_take(&memory, nodes, sizeof(*work.met)),
        .swap = ctn_region_take(&memory, count, sizeof(*work.swap)),
    };
    if (!memory.failed) {
        refine(&work);
    }
    return ctn_region_release(&memory);
}
