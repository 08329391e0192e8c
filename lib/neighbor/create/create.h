#ifndef CTN_NEIGHBOR_CREATE_CREATE_H
#define CTN_NEIGHBOR_CREATE_CREATE_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/* The steps of the creation of a neighborhood, which create/create.c runs. */

/** create/create.c: space for `count` sources and as many targets, all zeros;
 * the caller frees both, also after an error.
 * @return CATENA_OK or ERR_NO_MEMORY */
catena_status_t ctn_edge_lists(size_t count, ctn_graph_t *graph);

/** An edge on its way to the rank that gets it. */
typedef struct ctn_edge_record {
    uint32_t to, from;  /* for ctn_sparse_exchange */
    uint32_t is_target; /* it is of the list of targets */
    int32_t peer;       /* rank at the other end, or CATENA_PROC_NULL */
    uint32_t label;
    int32_t weight;
} ctn_edge_record_t;

/** create/create.c: sends edges, and sets both lists of a graph to those
 * received. The caller frees the lists. Collective; blocks.
 * @param status  this rank's so far
 * @param records ctn_edge_record_t; dropped
 * @return this rank's status, as of ctn_sparse_exchange */
catena_status_t ctn_edges_exchange(catena_group_t *group,
                                   catena_status_t status,
                                   ctn_vector_t *records, ctn_graph_t *graph);

/** The key by which each end sorts its edges, so that both ends find the same
 * order: by the rank at the other end, then by label, then by position in the
 * list. */
typedef struct ctn_edge_key {
    uint32_t rank;
    uint32_t label;
    uint32_t index; /* in the list */
} ctn_edge_key_t;

/** create/match.c: sorts keys. */
void ctn_edge_keys_sort(ctn_vector_t *keys);

/** The nodes of a group. */
typedef struct ctn_nodes {
    uint32_t own;     /* lowest rank of the group on this node */
    uint32_t on_node; /* number of ranks on this node */
    uint32_t nodes;   /* number of nodes */
} ctn_nodes_t;

/** create/facts.c: finds the nodes. Collective; blocks. */
catena_status_t ctn_neighbor_nodes(catena_group_t *group, ctn_nodes_t *nodes);

/** What a rank sends to rank 0: a record with its node, then one for each edge
 * to a target. */
typedef struct ctn_graph_record {
    uint32_t to, from; /* for ctn_sparse_exchange; to rank 0 */
    uint32_t of;       /* lowest rank on the node; of an edge: the target */
    uint64_t weight;
} ctn_graph_record_t;

/** create/mapping.c: gathers the graph at rank 0, with O(edges) memory there.
 * Collective; blocks.
 * @param status    this rank's so far
 * @param[out] came ctn_graph_record_t, by origin; the caller drops it
 * @return this rank's status, as of ctn_sparse_exchange */
catena_status_t ctn_graph_gather(catena_group_t *group, catena_status_t status,
                                 uint32_t node, const ctn_edge_t *target,
                                 uint32_t targets, ctn_vector_t *came);

/** create/facts.c: whether a rank is on this node. ctn_neighbor_nodes has run.
 */
bool ctn_neighbor_is_local(catena_group_t *group, uint32_t rank);

/** create/facts.c: sets neighborhood->graph_facts. The edges are matched.
 * Collective; blocks.
 * @param status this rank's so far
 * @return the worst status of all ranks */
catena_status_t ctn_neighbor_graph_facts(catena_neighborhood_t *neighborhood,
                                         const ctn_nodes_t *nodes,
                                         catena_status_t status);

/** create/components.c: number of connected components of the graph; ranks
 * without neighbors do not count. Collective; blocks. */
catena_status_t ctn_neighbor_components(catena_neighborhood_t *neighborhood,
                                        uint64_t *components);

/** create/agree.c: checks that all ranks give weights to their edges, or none
 * does. A rank without edges does not count. Collective; blocks.
 * @param status            this rank's so far
 * @param any               this rank has edges
 * @param weighted          this rank gives weights
 * @param[out] all_weighted the edges of the graph have weights
 * @return the worst status of all ranks, or ERR_ARG, which is logged */
catena_status_t ctn_neighbor_agree_weights(catena_group_t *group,
                                           catena_status_t status, bool any,
                                           bool weighted, bool *all_weighted);

/** create/match.c: matches both ends of each edge: sets peer_index, node and
 * the larger of both weights. Collective; blocks.
 * @param node of this rank, as in ctn_edge_t
 * @return this rank's status; the ranks still have to agree on it. ERR_ARG,
 *         which is logged: the lists of this rank and of a peer differ */
catena_status_t ctn_neighbor_match(catena_neighborhood_t *neighborhood,
                                   uint32_t node);

/** create/connect.c: makes and connects the links of all edges. edge->link is
 * set. Collective; blocks. */
catena_status_t ctn_neighbor_connect(catena_neighborhood_t *neighborhood);

/** create/connect.c: makes links for a schedule that does not use those of the
 * edges: this rank sends to the ranks in `to` and receives from those in
 * `from`. The k-th entry for a rank in `to` matches the k-th entry for this
 * rank in the `from` of that rank. Collective.
 * @param to, from      ctn_edge_key_t: rank, and index of the link; label 0
 * @param[out] schedule its links are set; it owns them */
catena_status_t ctn_schedule_connect(catena_neighborhood_t *neighborhood,
                                     ctn_vector_t *to, ctn_vector_t *from,
                                     ctn_schedule_t *schedule);

/** create/reorder.c: reorders the ranks to suit the graph, whose edges are
 * matched: replaces the group, and gives this rank the edges of its new rank.
 * Collective; blocks. */
catena_status_t ctn_neighbor_reorder(catena_neighborhood_t *neighborhood);

/** create/create.c: frees a neighborhood except for its group. No rank may put
 * into its links any more. */
void ctn_neighborhood_release(catena_neighborhood_t *neighborhood);

#endif
