/* Memory of executions. Its size depends only on the schedule. The neighborhood
 * keeps executions for later operations: as many as were ever under way at
 * once. */

#include <stdlib.h>
#include <string.h>

#include "neighbor/schedule/aggregate.h"

/** Lengths of the arrays that follow an execution in its memory. */
typedef struct neighbor_sizes {
    size_t spans;
    size_t lengths;
    size_t pending_blocks;
    size_t bytes; /* of the execution and all its arrays */
} neighbor_sizes_t;

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

/** The lengths of all arrays of an execution. */
static neighbor_sizes_t measure(const catena_neighborhood_t *neighborhood,
                                const ctn_schedule_t *schedule)
{
    size_t messages = (size_t)schedule->sends + schedule->receives;
    size_t sent = blocks_of(schedule->send, schedule->sends);
    neighbor_sizes_t sizes = {
        .spans = sent + blocks_of(schedule->receive, schedule->receives),
        .lengths = schedule->forwards ? sent : 0,
        .pending_blocks = (size_t)schedule->staged + neighborhood->sources,
    };
    sizes.spans += (schedule->forwards ? messages : 0) +
                   2 * (size_t)schedule->local_copies;
    sizes.bytes =
        sizeof(ctn_execution_t) + schedule->sends * sizeof(ctn_outgoing_t) +
        schedule->receives * sizeof(ctn_incoming_t) +
        sizes.spans * sizeof(ctn_span_t) + sizes.lengths * sizeof(uint64_t) +
        sizes.pending_blocks * sizeof(ctn_pending_block_t) +
        (messages + neighborhood->targets + aggregates_of(schedule)) *
            sizeof(uint32_t);
    return sizes;
}

/** Takes the next array of this many bytes. */
static void *cut(unsigned char **at, size_t bytes)
{
    void *array = *at;
    *at += bytes;
    return array;
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

/** Counts one reader of a block that may be pending. */
static void count_reader(ctn_execution_t *execution, ctn_block_ref_t block)
{
    const ctn_schedule_t *schedule = execution->schedule;
    if (block.of == CTN_BLOCK_STAGED) {
        execution->pending[block.index].readers++;
    } else if (block.of == CTN_BLOCK_RECV) {
        execution->pending[schedule->staged + block.index].readers++;
    }
}

static void count_all_readers(ctn_execution_t *execution)
{
    const ctn_schedule_t *schedule = execution->schedule;
    for (uint32_t m = 0; m < schedule->sends; m++) {
        const ctn_schedule_message_t *message = &schedule->send[m];
        for (uint32_t k = 0; k < message->count; k++) {
            count_reader(execution, schedule->block[message->first + k]);
        }
    }
    for (uint32_t t = 0; t < schedule->local_copies; t++) {
        count_reader(execution, schedule->local_copy[t].from);
    }
}

static ctn_execution_t *create(const catena_neighborhood_t *neighborhood,
                               const ctn_schedule_t *schedule)
{
    neighbor_sizes_t sizes = measure(neighborhood, schedule);
    ctn_execution_t *execution = calloc(1, sizes.bytes);
    if (execution == NULL) {
        return NULL;
    }
    unsigned char *at = (unsigned char *)(execution + 1);
    execution->schedule = schedule;
    execution->send = cut(&at, schedule->sends * sizeof(ctn_outgoing_t));
    execution->receive = cut(&at, schedule->receives * sizeof(ctn_incoming_t));
    ctn_span_t *span = cut(&at, sizes.spans * sizeof(ctn_span_t));
    uint64_t *length = cut(&at, sizes.lengths * sizeof(uint64_t));
    execution->pending =
        cut(&at, sizes.pending_blocks * sizeof(ctn_pending_block_t));
    execution->open_send = cut(&at, schedule->sends * sizeof(uint32_t));
    execution->open_receive = cut(&at, schedule->receives * sizeof(uint32_t));
    execution->still_sent = cut(&at, neighborhood->targets * sizeof(uint32_t));
    execution->open_aggregate =
        cut(&at, aggregates_of(schedule) * sizeof(uint32_t));
    execution->remote =
        schedule->aggregates != NULL && schedule->aggregates->leads;
    deal_spans(execution, span, length);
    count_all_readers(execution);
    return execution;
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
        free(execution);
    }
}
