#ifndef CTN_NEIGHBOR_SCHEDULE_AGGREGATED_H
#define CTN_NEIGHBOR_SCHEDULE_AGGREGATED_H

#include "neighbor/create/vector.h"

/* Leaders of nodes for others, see aggregated.c. */

/** What ranks tell each other: who it is for, then who it is from. */
typedef struct ctn_lead_record {
    uint32_t rank;
    uint32_t what;
    uint32_t node;   /* the other one */
    uint32_t number; /* edges, or a leader */
    /* An edge: */
    uint32_t source;       /* rank */
    uint32_t source_index; /* in its targets */
    uint32_t target;       /* rank */
    uint32_t target_index; /* in its sources */
    int32_t weight;
    uint32_t unused;
} ctn_lead_record_t;

/** An edge as the leader of one of its ends knows it. */
typedef struct ctn_led {
    ctn_lead_record_t edge;
    ctn_block_ref_t where; /* its block is here */
} ctn_led_t;

typedef struct ctn_leading {
    catena_neighborhood_t *neighborhood;
    catena_status_t status; /* this rank's */
    uint32_t rank;
    ctn_vector_t leaders; /* ctn_lead_record_t: of this node, for each other one
                           that this rank has edges with */
    ctn_vector_t chosen;  /* likewise of all ranks of the node, at its clerk */
    ctn_vector_t others;  /* likewise of those nodes that this rank leads for,
                           for this one */
    ctn_vector_t
        led_out;         /* ctn_led_t: edges that it leads for, from its node */
    ctn_vector_t led_in; /* to its node */
} ctn_leading_t;

/** Find out who leads. Collective; leading->status is only this rank's. */
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

/** Who leads for a node, which is among them. */
uint32_t ctn_leading_for(const ctn_vector_t *leaders, uint32_t node);

#endif
