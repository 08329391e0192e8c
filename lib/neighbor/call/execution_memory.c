/* Memory of calls. It depends on the plan alone, so it is kept with the
 * neighborhood and used again; a few at a time are, as many as operations were
 * under way at once. */

#include <stdlib.h>
#include <string.h>

#include "neighbor/schedule/aggregate.h"

/** Sizes of what lies behind a run, one after the other. */
typedef struct room {
    size_t spans;
    size_t lengths;
    size_t items;
    size_t bytes;
} room_t;

static size_t parts_of(const ctn_schedule_message_t *message, uint32_t count)
{
    size_t parts = 0;
    for (uint32_t m = 0; m < count; m++) {
        parts += message[m].count;
    }
    return parts;
}

static uint32_t bundles_of(const ctn_schedule_t *plan)
{
    return plan->bundles != NULL ? plan->bundles->in.count : 0;
}

static room_t measure(const catena_neighborhood_t *neighborhood,
                      const ctn_schedule_t *plan)
{
    size_t messages = (size_t)plan->sends + plan->receives;
    size_t sent = parts_of(plan->send, plan->sends);
    room_t room = {
        .spans = sent + parts_of(plan->receive, plan->receives),
        .lengths = plan->passes_on ? sent : 0,
        .items = (size_t)plan->stages + neighborhood->sources,
    };
    room.spans +=
        (plan->passes_on ? messages : 0) + 2 * (size_t)plan->transfers;
    room.bytes =
        sizeof(ctn_execution_t) + plan->sends * sizeof(ctn_outgoing_t) +
        plan->receives * sizeof(ctn_incoming_t) +
        room.spans * sizeof(ctn_span_t) + room.lengths * sizeof(uint64_t) +
        room.items * sizeof(ctn_pending_block_t) +
        (messages + neighborhood->targets + bundles_of(plan)) *
            sizeof(uint32_t);
    return room;
}

static void *cut(unsigned char **at, size_t bytes)
{
    void *array = *at;
    *at += bytes;
    return array;
}

/** Parts of messages, each with a place for a header in front of them where
 * there may be one. */
static void deal_parts(ctn_execution_t *run, ctn_span_t *span, uint64_t *length)
{
    const ctn_schedule_t *plan = run->plan;
    run->transfer = span;
    span += 2 * (size_t)plan->transfers;
    uint32_t header = plan->passes_on ? 1 : 0;
    for (uint32_t m = 0; m < plan->sends; m++) {
        run->send[m].part = span + header;
        run->send[m].length = length;
        span += header + plan->send[m].count;
        length += plan->passes_on ? plan->send[m].count : 0;
        run->far |= !plan->out[plan->send[m].link].peer.near;
    }
    for (uint32_t m = 0; m < plan->receives; m++) {
        run->receive[m].part = span + header;
        span += header + plan->receive[m].count;
        run->far |= !plan->in[plan->receive[m].link].peer.near;
    }
}

static void count_readers(ctn_execution_t *run, ctn_block_ref_t part)
{
    const ctn_schedule_t *plan = run->plan;
    if (part.of == CTN_BLOCK_STAGED) {
        run->item[part.index].readers++;
    } else if (part.of == CTN_BLOCK_RECV) {
        run->item[plan->stages + part.index].readers++;
    }
}

static void count_all_readers(ctn_execution_t *run)
{
    const ctn_schedule_t *plan = run->plan;
    for (uint32_t m = 0; m < plan->sends; m++) {
        const ctn_schedule_message_t *message = &plan->send[m];
        for (uint32_t k = 0; k < message->count; k++) {
            count_readers(run, plan->part[message->first + k]);
        }
    }
    for (uint32_t t = 0; t < plan->transfers; t++) {
        count_readers(run, plan->transfer[t].from);
    }
}

static ctn_execution_t *create(const catena_neighborhood_t *neighborhood,
                               const ctn_schedule_t *plan)
{
    room_t room = measure(neighborhood, plan);
    ctn_execution_t *run = calloc(1, room.bytes);
    if (run == NULL) {
        return NULL;
    }
    unsigned char *at = (unsigned char *)(run + 1);
    run->plan = plan;
    run->send = cut(&at, plan->sends * sizeof(ctn_outgoing_t));
    run->receive = cut(&at, plan->receives * sizeof(ctn_incoming_t));
    ctn_span_t *span = cut(&at, room.spans * sizeof(ctn_span_t));
    uint64_t *length = cut(&at, room.lengths * sizeof(uint64_t));
    run->item = cut(&at, room.items * sizeof(ctn_pending_block_t));
    run->open_send = cut(&at, plan->sends * sizeof(uint32_t));
    run->open_receive = cut(&at, plan->receives * sizeof(uint32_t));
    run->still_sent = cut(&at, neighborhood->targets * sizeof(uint32_t));
    run->open_bundle = cut(&at, bundles_of(plan) * sizeof(uint32_t));
    run->far = plan->bundles != NULL && plan->bundles->leads;
    deal_parts(run, span, length);
    count_all_readers(run);
    return run;
}

ctn_execution_t *ctn_execution_take(catena_neighborhood_t *neighborhood,
                                    const ctn_schedule_t *plan)
{
    ctn_execution_t **link = (ctn_execution_t **)&neighborhood->kept;
    for (ctn_execution_t *run = *link; run != NULL; run = *link) {
        if (run->plan == plan) {
            *link = run->next;
            return run;
        }
        link = &run->next;
    }
    return create(neighborhood, plan);
}

void ctn_execution_give(catena_neighborhood_t *neighborhood,
                        ctn_execution_t *run)
{
    run->next = neighborhood->kept;
    neighborhood->kept = run;
}

void ctn_neighbor_forget(catena_neighborhood_t *neighborhood)
{
    free(neighborhood->quick);
    neighborhood->quick = NULL;
    while (neighborhood->kept != NULL) {
        ctn_execution_t *run = neighborhood->kept;
        neighborhood->kept = run->next;
        free(run);
    }
}
