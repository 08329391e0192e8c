#ifndef CTN_NEIGHBOR_CREATE_CREATE_H
#define CTN_NEIGHBOR_CREATE_CREATE_H

#include "neighbor/neighborhood.h"

/* The steps of making a neighborhood, which create.c puts together. */

/** create.c: room for so many sources and as many targets, all zeros. Both are
 * malloc'd, the caller's. */
catena_status_t ctn_edge_lists(size_t count, ctn_edge_t **source,
                               ctn_edge_t **target);

/** An edge in the order in which both ends find it: by the rank at the other
 * end, then label, then as it was listed. */
typedef struct ctn_edge_key {
    uint32_t rank;
    uint32_t label;
    uint32_t index; /* in the list */
} ctn_edge_key_t;

/** Keys of a list in order; of CATENA_PROC_NULL there is none. malloc'd, the
 * caller's. NULL: no memory. */
ctn_edge_key_t *ctn_edge_keys(const ctn_edge_t *edge, uint32_t edges,
                              uint32_t *count);

/** Where the ranks of a group are. */
typedef struct ctn_nodes {
    uint32_t own;     /* lowest rank of the group on this node */
    uint32_t on_node; /* ranks */
    uint32_t nodes;
} ctn_nodes_t;

/** create/facts.c: find out. Collective; blocks. */
catena_status_t ctn_neighbor_nodes(catena_group_t *group, ctn_nodes_t *nodes);

/** Whether a rank is on this one's node, once that has been found out. */
bool ctn_neighbor_is_local(catena_group_t *group, uint32_t rank);

/** create/facts.c: fill in the census, from edges that are matched. Collective;
 * blocks.
 * @param status this rank's so far
 * @return the worst of all ranks' */
catena_status_t ctn_neighbor_graph_facts(catena_neighborhood_t *neighborhood,
                                         const ctn_nodes_t *nodes,
                                         catena_status_t status);

/** create/components.c: how many parts the graph has that no edge joins, ranks
 * without neighbors left out. Collective; blocks. */
catena_status_t ctn_neighbor_components(catena_neighborhood_t *neighborhood,
                                        uint64_t *components);

/** create/agree.c: all give weights to their edges or nobody does; who has none
 * says nothing. Collective; blocks.
 * @param status this rank's so far
 * @param any    this rank has edges
 * @return the worst of all ranks', or ERR_ARG, which is logged */
catena_status_t ctn_neighbor_agree_weights(catena_group_t *group,
                                           catena_status_t status, bool any,
                                           bool weighted, bool *all_weighted);

/** create/match.c: both ends of each edge find each other: sets peer_index,
 * node, and the weight that counts. Collective; blocks.
 * @return ERR_ARG where this rank or one that it names said something else,
 *         which is logged; the caller tells all */
catena_status_t ctn_neighbor_match(catena_neighborhood_t *neighborhood,
                                   uint32_t node);

/** create/connect.c: the links of all edges, whose numbers are set. Collective;
 * blocks. */
catena_status_t ctn_neighbor_connect(catena_neighborhood_t *neighborhood);

/** create/reorder.c: put the ranks in an order that suits the graph: the group
 * becomes another one, and this rank gets the edges of its new number.
 * Collective; blocks. Edges have to match. */
catena_status_t ctn_neighbor_reorder(catena_neighborhood_t *neighborhood);

/** Release a neighborhood but for its group, which nobody may put into any
 * more. */
void ctn_neighborhood_release(catena_neighborhood_t *neighborhood);

#endif
