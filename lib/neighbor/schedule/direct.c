/* NBR-1. Each edge has a message of its own, and all are under way at once: one
 * round, as many messages as a rank has targets, no memory besides that of the
 * links. A program with nonblocking sends and receives does the same
 * ([Hoefler]: "start all isend, irecv + waitall"). */

#include "neighbor/neighborhood.h"

/** Counts the edges of a list to other ranks, and those from a rank to itself.
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

/** Sets a local copy for each edge from this rank to itself. */
static void set_local_copies(const catena_neighborhood_t *neighborhood,
                             ctn_schedule_t *schedule)
{
    bool gathers = schedule->pattern == CTN_PATTERN_ALLGATHER;
    ctn_local_copy_t *local_copy = schedule->local_copy;
    for (uint32_t i = 0; i < neighborhood->targets; i++) {
        const ctn_edge_t *edge = &neighborhood->target[i];
        if (edge->link == CTN_NO_LINK && edge->rank != CATENA_PROC_NULL) {
            *local_copy++ = (ctn_local_copy_t){
                .from = {CTN_BLOCK_SEND, gathers ? 0 : i},
                .to = {CTN_BLOCK_RECV, edge->peer_index},
            };
        }
    }
}

/** The schedule being filled in. */
typedef struct filling {
    const ctn_schedule_t *schedule;
    ctn_schedule_message_t *message; /* where the next message goes */
    ctn_block_ref_t *block;          /* where the next block reference goes */
} filling_t;

/** Adds a message of one block. */
static void add_message(filling_t *filling, uint32_t link,
                        ctn_block_ref_t block)
{
    *filling->message++ = (ctn_schedule_message_t){
        .link = link,
        .first = (uint32_t)(filling->block - filling->schedule->block),
        .count = 1,
    };
    *filling->block++ = block;
}

/** A message to each target on this node, or to each target on another node. */
static void add_sends(const catena_neighborhood_t *neighborhood,
                      filling_t *filling, bool local)
{
    bool gathers = filling->schedule->pattern == CTN_PATTERN_ALLGATHER;
    for (uint32_t i = 0; i < neighborhood->targets; i++) {
        uint32_t link = neighborhood->target[i].link;
        if (link != CTN_NO_LINK &&
            neighborhood->out[link].peer.local == local) {
            add_message(filling, link,
                        (ctn_block_ref_t){CTN_BLOCK_SEND, gathers ? 0 : i});
        }
    }
}

static void add_receives(const catena_neighborhood_t *neighborhood,
                         filling_t *filling)
{
    for (uint32_t i = 0; i < neighborhood->sources; i++) {
        uint32_t link = neighborhood->source[i].link;
        if (link != CTN_NO_LINK) {
            add_message(filling, link, (ctn_block_ref_t){CTN_BLOCK_RECV, i});
        }
    }
}

catena_status_t ctn_schedule_direct(catena_neighborhood_t *neighborhood,
                                    ctn_pattern_t pattern,
                                    ctn_schedule_t **schedule)
{
    uint32_t from_self;
    uint32_t to_self;
    uint32_t receives =
        count_edges(neighborhood->source, neighborhood->sources, &from_self);
    uint32_t sends =
        count_edges(neighborhood->target, neighborhood->targets, &to_self);
    ctn_schedule_t *made =
        ctn_schedule_create(sends, receives, to_self, sends + receives);
    *schedule = made;
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
    set_local_copies(neighborhood, made);
    filling_t filling = {made, made->send, made->block};
    add_sends(neighborhood, &filling, false); /* first: they take longer */
    add_sends(neighborhood, &filling, true);
    filling.message = made->receive;
    add_receives(neighborhood, &filling);
    return CATENA_OK;
}
