#ifndef CTN_MAP_MAP_H
#define CTN_MAP_MAP_H

#include "neighbor/neighborhood.h"

/* Which process takes which vertex of a graph, so that little travels between
 * nodes. Without communication: neighbor/create/mapping.c gathers and scatters,
 * and calls this at one rank. */

/** An edge, in one direction. */
typedef struct ctn_map_edge {
    uint32_t from;
    uint32_t to;
    uint64_t weight;
} ctn_map_edge_t;

/** As many vertices as processes. A mapping is part[v], the node that vertex v
 * lives on; node b has room[b] of them, as many as processes. */
typedef struct ctn_map_problem {
    uint32_t count;
    uint32_t nodes;
    const uint32_t *node; /* [count] of process i, which has vertex i before */
    uint32_t *capacity;   /* [nodes] */
    /* Who shares edges with vertex v, once each, and what both directions
     * weigh: to[first[v]] to to[first[v + 1] - 1]. */
    size_t *first;
    uint32_t *to;
    uint64_t *weight;
} ctn_map_problem_t;

/** New places for all processes of a graph; never worse than all staying.
 * @param[in]  node   [count] of each process, counted from 0
 * @param[in]  edge   both ends below count
 * @param[out] place  [count] the vertex that process i takes
 * @param[out] before weight between nodes when process i has vertex i
 * @param[out] after  the same as placed
 * @return CATENA_OK, ERR_NO_MEMORY */
catena_status_t ctn_map_graph(uint32_t count, const uint32_t node[],
                              size_t edges, const ctn_map_edge_t edge[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after);

/** The same for a grid. Processes beyond it get places beyond it.
 * @param[in] weights by direction: [grid->ndirs] of a derived graph, else
 *                    [2 * ndims], towards lower coordinates first; or NULL */
catena_status_t ctn_map_grid(uint32_t count, const uint32_t node[],
                             const ctn_grid_t *grid, const int weights[],
                             uint32_t place[], uint64_t *before,
                             uint64_t *after);

/* ---- parts of it ---- */

catena_status_t ctn_map_open(ctn_map_problem_t *problem, uint32_t count,
                             const uint32_t node[], size_t edges,
                             const ctn_map_edge_t edge[]);
void ctn_map_close(ctn_map_problem_t *problem);

/** Weight of the edges whose ends are on two nodes. */
uint64_t ctn_map_cut_weight(const ctn_map_problem_t *problem,
                            const uint32_t part[]);

/** Begin a mapping: one vertex after the other joins the node that is being
 * filled, the one first that weighs most with those there. */
catena_status_t ctn_map_grow(const ctn_map_problem_t *problem, uint32_t part[]);

/** Exchange vertices between nodes as long as that helps ([Kernighan]). */
catena_status_t ctn_map_refine(const ctn_map_problem_t *problem,
                               uint32_t part[]);

/** A mapping by SCOTCH, which keeps nodes' room only roughly.
 * @return false: it has none, or catena is built without it */
bool ctn_map_scotch(const ctn_map_problem_t *problem, uint32_t part[]);

/** Mend a mapping with more on a node than it has room for. */
catena_status_t ctn_map_fit(const ctn_map_problem_t *problem, uint32_t part[]);

/** The mappings that are good for a grid's shape, the best one of them. */
catena_status_t ctn_map_blocks(const ctn_map_problem_t *problem,
                               const ctn_grid_t *grid, const int weights[],
                               uint32_t part[]);

/** The best of several mappings, refined, and who takes what.
 * @param hint  one more to begin with, or NULL; may be changed */
catena_status_t ctn_map_place(const ctn_map_problem_t *problem, uint32_t hint[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after);

#endif
