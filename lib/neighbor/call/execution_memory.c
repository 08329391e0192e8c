/* Memory of executions. Its size depends only on the schedule. The neighborhood
 * keeps executions for later operations: as many as were ever under way at
 * once. */

#include <stdlib.h>

#include "neighbor/schedule/aggregate.h"

/** Number of blocks in these messages. */
static size_t blocks_of(const ctn_schedule_message_t *message, uint32_t count)
{
    size_t blocks = 0;
    for (uint32_t m = 0; m < count; m++) {
        blocks += message[m].count;
    }
    return blocks;
}

/** Number of aggregates that this rank receives. */
static uint32_t aggregates_of(const ctn_schedule_t *schedule)
{
    return schedule->aggregates != NULL ? schedule->aggregates->in.count : 0;
}

/** Assigns spans to local copies and messages. In schedules that forward, each
 * message has a span for the header in front of its blocks. Sets `remote`. */
static void deal_spans(ctn_execution_t *execution, ctn_span_t *span,
                       uint64_t *length)
{
    const ctn_schedule_t *schedule = execution->schedule;
    execution->local_copy = span;
    span += 2 * (size_t)schedule->local_copies;
    uint32_t header = schedule->forwards ? 1 : 0;
    for (uint32_t m = 0; m < schedule->sends; m++) {
        execution->send[m].block = span + header;
        execution->send[m].length = length;
        span += header + schedule->send[m].count;
        length += schedule->forwards ? schedule->send[m].count : 0;
        execution->remote |= !schedule->out[schedule->send[m].link].peer.local;
    }
    for (uint32_t m = 0; m < schedule->receives; m++) {
        execution->receive[m].block = span + header;
        span += header + schedule->receive[m].count;
        execution->remote |=
            !schedule->in[schedule->receive[m].link].peer.local;
    }
}

static ctn_execution_t *create(const catena_neighborhood_t *neighborhood,
                               const ctn_schedule_t *schedule)
{
    ctn_region_t region = {0};
    ctn_execution_t *execution =
        ctn_region_take(&region, 1, sizeof(*execution));
    if (execution == NULL) {
        return NULL;
    }
    size_t messages = (size_t)schedule->sends + schedule->receives;
    size_t sent = blocks_of(schedule->send, schedule->sends);
    size_t spans = sent + blocks_of(schedule->receive, schedule->receives) +
                   (schedule->forwards ? messages : 0) +
                   2 * (size_t)schedule->local_copies;
    ctn_execution_t e = {.schedule = schedule};
    e.send = ctn_region_take(&region, schedule->sends, sizeof(*e.send));
    e.receive =
        ctn_region_take(&region, schedule->receives, sizeof(*e.receive));
    ctn_span_t *span = ctn_region_take(&region, spans, sizeof(*span));
    uint64_t *length = ctn_region_take(&region, schedule->forwards ? sent : 0,
                                       sizeof(*length));
    e.pending = ctn_region_take(
        &region, (size_t)schedule->staged + neighborhood->sources,
        sizeof(*e.pending));
    uint32_t *index = ctn_region_take(
        &region, messages + aggregates_of(schedule), sizeof(*index));
    e.region = region;
    if (region.failed) {
        (void)ctn_region_release(&region);
        return NULL;
    }
    e.open_send = index;
    e.open_receive = e.open_send + schedule->sends;
    e.open_aggregate = e.open_receive + schedule->receives;
    e.remote = schedule->aggregates != NULL && schedule->aggregates->leads;
    *execution = e;
    deal_spans(execution, span, length);
    return execution;
}

void ctn_execution_free(ctn_execution_t *execution)
{
    if (execution != NULL) {
        ctn_region_t region = execution->region; /* has the execution, too */
        (void)ctn_region_release(&region);
    }
}

ctn_execution_t *ctn_execution_take(catena_neighborhood_t *neighborhood,
                                    const ctn_schedule_t *schedule)
{
    ctn_execution_t **link = (ctn_execution_t **)&neighborhood->kept;
    for (ctn_execution_t *execution = *link; execution != NULL;
         execution = *link) {
        if (execution->schedule == schedule) {
            *link = execution->next;
            return execution;
        }
        link = &execution->next;
    }
    return create(neighborhood, schedule);
}

void ctn_execution_give(catena_neighborhood_t *neighborhood,
                        ctn_execution_t *execution)
{
    execution->next = neighborhood->kept;
    neighborhood->kept = execution;
}

void ctn_neighbor_forget(catena_neighborhood_t *neighborhood)
{
    ctn_inline_forget(neighborhood);
    free(neighborhood->path);
    neighborhood->path = NULL;
    while (neighborhood->kept != NULL) {
        ctn_execution_t *execution = neighborhood->kept;
        neighborhood->kept = execution->next;
        ctn_execution_free(execution);
    }
}
