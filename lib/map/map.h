#ifndef CTN_MAP_MAP_H
#define CTN_MAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#include "map/grid.h"

/* Maps processes to the vertices of a graph so that little traffic crosses
 * nodes. No communication: neighbor/create/mapping.c gathers and scatters, and
 * calls this at one rank. */

/** An edge, in one direction. */
typedef struct ctn_map_edge {
    uint32_t from;
    uint32_t to;
    uint64_t weight;
} ctn_map_edge_t;

/** There are as many vertices as processes. A mapping is part[v], the node of
 * vertex v; node b has capacity[b] vertices, as many as processes. */
typedef struct ctn_map_problem {
    uint32_t count;
    uint32_t nodes;
    const uint32_t
        *node;          /* [count] of process i, which has vertex i initially */
    uint32_t *capacity; /* [nodes] */
    /* The neighbors of vertex v, once each, and the weight of both directions:
     * to[first[v]] to to[first[v + 1] - 1]. */
    size_t *first;
    uint32_t *to;
    uint64_t *weight;
} ctn_map_problem_t;

/** Map all processes of a graph; never worse than the initial mapping.
 * @param[in]  node   [count] of each process, counted from 0
 * @param[in]  edge   both ends below count
 * @param[out] place  [count] the vertex of process i
 * @param[out] before weight between nodes when process i has vertex i
 * @param[out] after  weight between nodes with `place`
 * @return CATENA_OK, ERR_NO_MEMORY */
catena_status_t ctn_map_graph(uint32_t count, const uint32_t node[],
                              size_t edges, const ctn_map_edge_t edge[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after);

/** The same for a grid. Processes beyond the grid get vertices beyond it.
 * @param[in] weights by direction: [grid->ndirs] of a derived graph, else [2 *
 *                    ndims], towards lower coordinates first; or NULL */
catena_status_t ctn_map_grid(uint32_t count, const uint32_t node[],
                             const ctn_grid_t *grid, const int weights[],
                             uint32_t place[], uint64_t *before,
                             uint64_t *after);

/* ---- steps ---- */

catena_status_t ctn_map_open(ctn_map_problem_t *problem, uint32_t count,
                             const uint32_t node[], size_t edges,
                             const ctn_map_edge_t edge[]);
void ctn_map_close(ctn_map_problem_t *problem);

/** Return the weight of the edges between nodes. */
uint64_t ctn_map_cut_weight(const ctn_map_problem_t *problem,
                            const uint32_t part[]);

/** Build a mapping by greedy growth: vertices join the node being filled one
 * after the other, the one with the most weight to it first. */
catena_status_t ctn_map_grow(const ctn_map_problem_t *problem, uint32_t part[]);

/** Exchange vertices between nodes as long as this helps ([Kernighan]). */
catena_status_t ctn_map_refine(const ctn_map_problem_t *problem,
                               uint32_t part[]);

/** Map by SCOTCH, which respects capacities only roughly.
 * @return false: no mapping, or catena is built without SCOTCH */
bool ctn_map_scotch(const ctn_map_problem_t *problem, uint32_t part[]);

/** Repair a mapping that exceeds the capacity of a node. */
catena_status_t ctn_map_fit(const ctn_map_problem_t *problem, uint32_t part[]);

/** Build the mappings that suit a grid's shape, and take the best. */
catena_status_t ctn_map_blocks(const ctn_map_problem_t *problem,
                               const ctn_grid_t *grid, const int weights[],
                               uint32_t part[]);

/** Refine several mappings, take the best, and assign vertices to processes.
 * @param hint  an additional initial mapping, or NULL; may be changed */
catena_status_t ctn_map_place(const ctn_map_problem_t *problem, uint32_t hint[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after);

#endif
