/* Posted receives, only with `reorder`. As with an active message, the data of
 * a posted receive reach its handler when the target makes progress. Until then
 * the message waits at the target, and so do all later ones: words of a pair of
 * ranks stay in order. Whether a receive is posted is random, as with ucx,
 * where two words may share an entry. */

#include <stdlib.h>

#include "core/random.h"
#include "transports/sim/engine.h"

enum { POSTED = 16 }; /* entries of a rank */

struct sim_posted {
    const uint64_t *word; /* NULL: free */
    uint64_t value;
    size_t bytes;
    ctn_receive_handler_t handler;
    void *context;
};

/** The entry follows from the word's offset, which is the same in each run of a
 * seed; its address is not. */
static sim_posted_t *posted_at(const ctn_sim_rank_t *rank, const uint64_t *word)
{
    ptrdiff_t offset = (const unsigned char *)word - rank->arena;
    return &rank->posted[ctn_hash_fibonacci((uint64_t)offset) >> 60];
}

_Static_assert(POSTED == 1 << (64 - 60), "a word's hash has 4 bits");

bool sim_post_receive(ctn_transport_t *transport, const uint64_t *word,
                      uint64_t value, size_t bytes,
                      ctn_receive_handler_t handler, void *context)
{
    ctn_sim_rank_t *rank = sim_rank_of(transport);
    if (!rank->sim->params.reorder || ctn_random(&rank->random) % 4 == 0) {
        return false;
    }
    if (rank->posted == NULL) {
        rank->posted = calloc(POSTED, sizeof(*rank->posted));
    }
    if (rank->posted == NULL || posted_at(rank, word)->word != NULL) {
        return false;
    }
    *posted_at(rank, word) =
        (sim_posted_t){word, value, bytes, handler, context};
    return true;
}

void sim_cancel_receive(ctn_transport_t *transport, const uint64_t *word)
{
    const ctn_sim_rank_t *rank = sim_rank_of(transport);
    if (rank->posted != NULL && posted_at(rank, word)->word == word) {
        posted_at(rank, word)->word = NULL;
    }
}

bool sim_defer(ctn_sim_t *sim, ctn_sim_rank_t *target, sim_event_t *message)
{
    if (target->arrived == NULL &&
        (target->posted == NULL || message->word == NULL ||
         message->bytes == 0 ||
         posted_at(target, message->word)->word != message->word)) {
        return false;
    }
    sim_hold(sim, message);
    message->other = NULL;
    sim_event_t **end = &target->arrived;
    while (*end != NULL) {
        end = &(*end)->other;
    }
    *end = message;
    return true;
}

/** Store a message's data and word; the data go to a posted receive if there is
 * one. */
static void deliver(ctn_sim_rank_t *rank, sim_event_t *message)
{
    sim_posted_t posted = {.word = NULL};
    if (message->word != NULL && rank->posted != NULL) {
        posted = *posted_at(rank, message->word);
    }
    if (posted.word == NULL || posted.word != message->word ||
        posted.value != message->value) {
        sim_write(rank->sim, message);
        return;
    }
    sim_cancel_receive(&rank->base, posted.word);
    const void *data = sim_data(message);
    if (posted.bytes == message->bytes && data != NULL) {
        posted.handler(posted.context, data, message->bytes);
        message->bytes = 0;
    }
    sim_write(rank->sim, message);
}

bool sim_deliver(ctn_sim_rank_t *rank)
{
    bool any = false;
    while (rank->arrived != NULL) {
        sim_event_t *message = rank->arrived;
        any = true;
        if (rank->status == CATENA_OK && rank->state != SIM_ENDED) {
            deliver(rank, message); /* others may arrive meanwhile */
        }
        rank->arrived = message->other;
        message->kind = SIM_TAKEN;
        sim_push(rank->sim, rank->clock, message);
    }
    return any;
}

void sim_posted_release(ctn_sim_rank_t *rank)
{
    while (rank->arrived != NULL) {
        sim_event_t *message = rank->arrived;
        rank->arrived = message->other;
        sim_recycle(rank->sim, message);
    }
    free(rank->posted);
}
