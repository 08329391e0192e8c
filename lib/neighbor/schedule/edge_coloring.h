#ifndef CTN_NEIGHBOR_SCHEDULE_EDGE_COLORING_H
#define CTN_NEIGHBOR_SCHEDULE_EDGE_COLORING_H

#include <catena/status.h>

#include <stddef.h>
#include <stdint.h>

/* Edge coloring of a bipartite multigraph, whose vertices are the ranks as
 * senders and the ranks as receivers. */

/** An edge. */
typedef struct ctn_bipartite_edge {
    uint32_t from, to; /* ranks */
    uint32_t weight;
    uint32_t color;
} ctn_bipartite_edge_t;

/** The greatest number of edges from one rank or to one rank: no coloring has
 * fewer colors.
 * @param     ranks  their number
 * @param[in] edge   [count]
 * @param[out] degree [2 * ranks] edges from each rank, then to each rank */
uint32_t ctn_edge_degrees(size_t ranks, const ctn_bipartite_edge_t edge[],
                          size_t count, uint32_t degree[]);

/** Gives each edge a color. Edges from one rank have different colors, and so
 * have edges to one rank. There are as many colors as the greatest degree.
 * Heavy edges share colors, and colors with heavier edges come first.
 * @param         ranks  their number
 * @param[in,out] edge   [count] the heaviest first; color is set
 * @param[out]    colors their number
 * @return CATENA_OK, ERR_NO_MEMORY */
catena_status_t ctn_edge_coloring(size_t ranks, ctn_bipartite_edge_t edge[],
                                  size_t count, uint32_t *colors);

/** Numbers the colors again: those with heavier edges come first, by their
 * heaviest edge, then by the sum of their weights. Parameters and result as of
 * ctn_edge_coloring. */
catena_status_t ctn_edge_colors_order(ctn_bipartite_edge_t edge[], size_t count,
                                      uint32_t colors);

#endif
