#ifndef CTN_MAP_MAP_H
#define CTN_MAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#include "core/region.h"
#include "map/grid.h"

/* Maps processes to the vertices of a graph so that little traffic crosses
 * nodes of the machine (ORD-1 to ORD-4). No communication:
 * neighbor/create/mapping.c gathers and scatters, and calls this at one rank.
 *
 * There are as many vertices as processes, and process i has vertex i
 * initially. A mapping is an array part[]: part[v] is the node of vertex v. It
 * puts as many vertices on a node as the node has processes. */

/** An edge, in one direction. */
typedef struct ctn_map_edge {
    uint32_t from;
    uint32_t to;
    uint64_t weight;
} ctn_map_edge_t;

/** A graph, and the nodes on which its vertices may be. */
typedef struct ctn_map_problem {
    uint32_t count;       /* of vertices and of processes */
    uint32_t nodes;       /* number of nodes */
    const uint32_t *node; /* [count]: the node of process i */
    uint32_t *capacity;   /* [nodes]: number of processes of a node */
    /* The neighbors of vertex v are to[first[v]] to to[first[v + 1] - 1], each
     * once; weight[] has the sum of the weights in both directions. */
    size_t *first;
    uint32_t *to;
    uint64_t *weight;
    ctn_region_t memory; /* of the arrays */
} ctn_map_problem_t;

/** Map all processes of a graph; never worse than the initial mapping.
 * @param[in]  node   [count] the node of each process, numbered from 0
 * @param[in]  edge   [edges] both ends below count
 * @param[out] place  [count] the vertex of process i
 * @param[out] before weight between nodes when process i has vertex i
 * @param[out] after  weight between nodes with `place`
 * @return CATENA_OK, ERR_NO_MEMORY */
catena_status_t ctn_map_graph(uint32_t count, const uint32_t node[],
                              size_t edges, const ctn_map_edge_t edge[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after);

/** The same for a grid, whose cells are the vertices in order of ranks. There
 * may be more processes than cells: the last vertices are then outside of the
 * grid and have no edges.
 * @param[in] weights by direction: [grid->ndirs] if cells have edges by
 *                    displacements (grid.h), else [2 *
 *                    ndims], for each dimension first towards lower
 *                    coordinates; NULL: all 1 */
catena_status_t ctn_map_grid(uint32_t count, const uint32_t node[],
                             const ctn_grid_t *grid, const int weights[],
                             uint32_t place[], uint64_t *before,
                             uint64_t *after);

/* ---- steps ---- */

/** Set up a problem; arguments as of ctn_map_graph. `node` must stay valid. */
catena_status_t ctn_map_open(ctn_map_problem_t *problem, uint32_t count,
                             const uint32_t node[], size_t edges,
                             const ctn_map_edge_t edge[]);
void ctn_map_close(ctn_map_problem_t *problem);

/** Return the weight of the edges between nodes. */
uint64_t ctn_map_cut_weight(const ctn_map_problem_t *problem,
                            const uint32_t part[]);

/** Build a mapping by greedy growth (ORD-1): nodes are filled one after the
 * other, each time with the vertex that has the most weight to the node. */
catena_status_t ctn_map_grow(const ctn_map_problem_t *problem, uint32_t part[]);

/** Exchange vertices between nodes to reduce the weight between nodes (ORD-2,
 * [Kernighan]). Exchanges may raise it for a while; those after the lowest
 * weight are taken back. */
catena_status_t ctn_map_refine(const ctn_map_problem_t *problem,
                               uint32_t part[]);

/** Map by SCOTCH (ORD-4), which respects capacities only roughly.
 * @return false: no mapping, or catena is built without SCOTCH */
bool ctn_map_scotch(const ctn_map_problem_t *problem, uint32_t part[]);

/** Repair a mapping that puts more vertices on a node than its capacity. */
catena_status_t ctn_map_fit(const ctn_map_problem_t *problem, uint32_t part[]);

/** Refine several mappings, take the best, and assign vertices to processes.
 * Other arguments as of ctn_map_graph.
 * @param hint an additional mapping to refine, or NULL; may be changed */
catena_status_t ctn_map_place(const ctn_map_problem_t *problem, uint32_t hint[],
                              uint32_t place[], uint64_t *before,
                              uint64_t *after);

#endif
