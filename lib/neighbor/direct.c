/* NBR-1. Each edge has a message of its own, and all are under way at once: one
 * round, as many messages as a rank has targets, no scratch memory. What a
 * program with nonblocking sends and receives does ([Hoefler], section 3,
 * "start all isend, irecv + waitall"). */

#include "neighbor/neighborhood.h"

/** Edges of a list that lead to other ranks, and those from a rank to itself.
 */
static uint32_t count_edges(const ctn_edge_t *edge, uint32_t count,
                            uint32_t *to_self)
{
    uint32_t others = 0;
    *to_self = 0;
    for (uint32_t i = 0; i < count; i++) {
        others += edge[i].link != CTN_NO_LINK;
        *to_self +=
            edge[i].link == CTN_NO_LINK && edge[i].rank != CATENA_PROC_NULL;
    }
    return others;
}

static void set_transfers(const catena_neighborhood_t *neighborhood,
                          ctn_plan_t *plan)
{
    bool gathers = plan->pattern == CTN_PATTERN_GATHER;
    ctn_transfer_t *transfer = plan->transfer;
    for (uint32_t i = 0; i < neighborhood->targets; i++) {
        const ctn_edge_t *edge = &neighborhood->target[i];
        if (edge->link == CTN_NO_LINK && edge->rank != CATENA_PROC_NULL) {
            *transfer++ = (ctn_transfer_t){
                .from = {CTN_OF_SEND, gathers ? 0 : i},
                .to = {CTN_OF_RECV, edge->peer_index},
            };
        }
    }
}

/** A message for each edge with a link, of one part each.
 * @param part   the next free of the plan's parts
 * @param of     where the parts lie
 * @param shared all parts are the same block, 0 */
static ctn_part_t *set_messages(const ctn_plan_t *plan, const ctn_edge_t *edge,
                                uint32_t count, ctn_message_t *message,
                                ctn_part_t *part, ctn_part_of_t of, bool shared)
{
    for (uint32_t i = 0; i < count; i++) {
        if (edge[i].link != CTN_NO_LINK) {
            *message++ = (ctn_message_t){
                .link = edge[i].link,
                .first = (uint32_t)(part - plan->part),
                .count = 1,
            };
            *part++ = (ctn_part_t){of, shared ? 0 : i};
        }
    }
    return part;
}

catena_status_t ctn_plan_direct(catena_neighborhood_t *neighborhood,
                                ctn_pattern_t pattern, ctn_plan_t **plan)
{
    uint32_t from_self;
    uint32_t to_self;
    uint32_t receives =
        count_edges(neighborhood->source, neighborhood->sources, &from_self);
    uint32_t sends =
        count_edges(neighborhood->target, neighborhood->targets, &to_self);
    ctn_plan_t *made =
        ctn_plan_create(sends, receives, to_self, sends + receives);
    *plan = made;
    if (made == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    made->algorithm = "direct";
    made->pattern = pattern;
    made->rounds = 1;
    made->heavy_rounds = 1;
    made->out = neighborhood->out;
    made->in = neighborhood->in;
    made->outs = neighborhood->outs;
    made->ins = neighborhood->ins;
    set_transfers(neighborhood, made);
    ctn_part_t *part = set_messages(
        made, neighborhood->target, neighborhood->targets, made->send,
        made->part, CTN_OF_SEND, pattern == CTN_PATTERN_GATHER);
    set_messages(made, neighborhood->source, neighborhood->sources,
                 made->receive, part, CTN_OF_RECV, false);
    return CATENA_OK;
}
