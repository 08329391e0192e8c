#ifndef CTN_NEIGHBOR_SCHEDULE_AGGREGATED_H
#define CTN_NEIGHBOR_SCHEDULE_AGGREGATED_H

#include "core/vector.h"
#include "neighbor/neighborhood.h"

/* The leaders of nodes; see aggregated.c. */

/** The records of the sparse exchanges: target, then origin. */
typedef struct ctn_lead_record {
    uint32_t rank;
    uint32_t what;
    uint32_t node;   /* the other node */
    uint32_t number; /* edges, or a leader */
    /* An edge. */
    uint32_t source;       /* rank */
    uint32_t source_index; /* in its targets */
    uint32_t target;       /* rank */
    uint32_t target_index; /* in its sources */
    int32_t weight;
    uint32_t unused;
} ctn_lead_record_t;

/** An edge, as the leader of one of its ends sees it. */
typedef struct ctn_led {
    ctn_lead_record_t edge;
    ctn_block_ref_t where; /* location of its block */
} ctn_led_t;

typedef struct ctn_leading {
    catena_neighborhood_t *neighborhood;
    catena_status_t status; /* this rank's */
    uint32_t rank;
    ctn_vector_t leaders; /* ctn_lead_record_t: the leaders on this node, for
                             each other node that this rank has edges with */
    ctn_vector_t chosen;  /* the same for all ranks of the node, at its
                             coordinator */
    ctn_vector_t others;  /* the leaders for this node on the nodes that this
                             rank leads for */
    ctn_vector_t led_out; /* ctn_led_t: edges that it leads for,
                             from its node */
    ctn_vector_t led_in;  /* to its node */
} ctn_leading_t;

/** Finds the leaders. Collective; leading->status is this rank's only. */
void ctn_leading_find(catena_neighborhood_t *neighborhood,
                      ctn_leading_t *leading);
void ctn_leading_drop(ctn_leading_t *leading);

/** Whether an edge leads to another node. */
static inline bool ctn_leading_is_remote(const ctn_leading_t *leading,
                                         const ctn_edge_t *edge)
{
    return edge->link != CTN_NO_LINK &&
           edge->node != leading->neighborhood->node;
}

/** The leader for a node, which is in the list. */
uint32_t ctn_leading_for(const ctn_vector_t *leaders, uint32_t node);

#endif
