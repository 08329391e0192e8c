#ifndef CTN_NEIGHBOR_SCHEDULE_AGGREGATED_H
#define CTN_NEIGHBOR_SCHEDULE_AGGREGATED_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/* NBR-4. The leaders of each node: for each other node with which a node has
 * edges, one of its ranks is the leader, which sends and receives for all edges
 * between the two nodes; it *leads for* that node and for these edges. */

/** A record of the sparse exchanges that find the leaders. */
typedef struct ctn_lead_record {
    uint32_t to, from; /* for ctn_sparse_exchange */
    uint32_t what;     /* HAS_EDGES ... EDGE_IN of aggregated_leaders.c */
    uint32_t node;     /* the other node, as in ctn_edge_t */
    uint32_t number; /* of edges; or the rank of a leader; depends on `what` */
    /* An edge. */
    uint32_t source;       /* rank */
    uint32_t source_index; /* in the list of targets of the source */
    uint32_t target;       /* rank */
    uint32_t target_index; /* in the list of sources of the target */
    int32_t weight;
} ctn_lead_record_t;

/** The leaders that a rank knows, and the edges that it leads for itself. The
 * vectors contain ctn_lead_record_t: `node` is the other node, in the first
 * three `number` the rank of the leader. */
typedef struct ctn_leading {
    catena_neighborhood_t *neighborhood;
    catena_status_t status; /* this rank's */
    uint32_t rank;          /* this rank */
    ctn_vector_t leaders; /* the leaders on this node, for each other node that
                             this rank has edges with */
    ctn_vector_t chosen;  /* only at the node coordinator: the leaders on this
                             node, for all other nodes */
    ctn_vector_t others;  /* for each node that this rank leads for: the leader
                             on that node for this node */
    /* The edges from this node, and those to this node, that this rank leads
     * for. */
    ctn_vector_t led_out;
    ctn_vector_t led_in;
} ctn_leading_t;

/** Finds the leaders. Collective; leading->status is this rank's only. */
void ctn_leading_find(catena_neighborhood_t *neighborhood,
                      ctn_leading_t *leading);
/** Frees the vectors. */
void ctn_leading_drop(ctn_leading_t *leading);

/** Whether an edge joins this node and another one. */
static inline bool ctn_leading_is_remote(const ctn_leading_t *leading,
                                         const ctn_edge_t *edge)
{
    return edge->link != CTN_NO_LINK &&
           edge->node != leading->neighborhood->node;
}

/** The leader for a node. The node has a record in the vector. */
uint32_t ctn_leading_for(const ctn_vector_t *leaders, uint32_t node);

#endif
