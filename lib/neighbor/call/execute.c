/* One operation from start to end: which messages its blocks go into, whether
 * it takes the inline path, its phases, and the count of complete operations
 * that it reports to senders. */

#include <stdlib.h>
#include <string.h>

#include "neighbor/schedule/aggregate.h"

/* ---- what stays the same over all starts ---- */

/** Bytes along each edge if they are uniform, else 0. Blocks from
 * CATENA_PROC_NULL or from the rank itself do not count: other ranks cannot
 * know their length. */
static size_t bytes_along(const ctn_exchange_t *x)
{
    return ctn_neighbor_varies(x->collective) ? 0
           : x->neighborhood->ins > 0         ? ctn_blocks_bytes(&x->recv, 0)
                                              : ctn_blocks_bytes(&x->send, 0);
}

/** Sets the span of a block that lies in a buffer of the caller. False: it is a
 * pending block; only the bytes of the span are set. */
static bool set_block(const ctn_exchange_t *x, ctn_block_ref_t block,
                      ctn_span_t *span)
{
    if (block.of == CTN_BLOCK_SEND) {
        *span = ctn_blocks_at(&x->send, block.index);
        return true;
    }
    if (block.of == CTN_BLOCK_RECV && !ctn_neighbor_reduces(x->collective)) {
        *span = ctn_blocks_at(&x->recv, block.index);
        return true;
    }
    /* An operand is as long as the result. */
    *span = (ctn_span_t){.bytes = block.of == CTN_BLOCK_RECV
                                      ? ctn_blocks_bytes(&x->recv, 0)
                                      : bytes_along(x)};
    return false;
}

/** Sets the spans of all messages and local copies. */
static void set_messages(ctn_exchange_t *x)
{
    ctn_execution_t *execution = x->execution;
    const ctn_schedule_t *schedule = execution->schedule;
    for (uint32_t m = 0; m < schedule->sends; m++) {
        const ctn_schedule_message_t *message = &schedule->send[m];
        ctn_outgoing_t *out = &execution->send[m];
        out->bytes = 0;
        out->late = false;
        for (uint32_t k = 0; k < message->count; k++) {
            ctn_block_ref_t block = schedule->block[message->first + k];
            set_block(x, block, &out->block[k]);
            out->late |= block.of != CTN_BLOCK_SEND;
            out->bytes += out->block[k].bytes;
        }
    }
    for (uint32_t m = 0; m < schedule->receives; m++) {
        const ctn_schedule_message_t *message = &schedule->receive[m];
        ctn_incoming_t *in = &execution->receive[m];
        in->bytes = 0;
        in->stays = false;
        for (uint32_t k = 0; k < message->count; k++) {
            in->stays |= !set_block(x, schedule->block[message->first + k],
                                    &in->block[k]);
            in->bytes += in->block[k].bytes;
        }
    }
    for (uint32_t t = 0; t < schedule->local_copies; t++) {
        set_block(x, schedule->local_copy[t].from,
                  &execution->local_copy[2 * t]);
        set_block(x, schedule->local_copy[t].to,
                  &execution->local_copy[2 * t + 1]);
    }
}

void ctn_exchange_set_buffers(ctn_exchange_t *x, unsigned char *send,
                              unsigned char *recv)
{
    x->send.base = send;
    x->recv.base = recv;
    set_messages(x);
}

const ctn_schedule_t *ctn_exchange_choose(ctn_exchange_t *x)
{
    return ctn_neighbor_choose(
        x->neighborhood, ctn_neighbor_pattern(x->collective), bytes_along(x),
        ctn_neighbor_reduces(x->collective), x->blocking, &x->rule);
}

catena_status_t ctn_exchange_prepare(ctn_exchange_t *x)
{
    return ctn_exchange_prepare_for(x, ctn_exchange_choose(x));
}

catena_status_t ctn_exchange_prepare_for(ctn_exchange_t *x,
                                         const ctn_schedule_t *schedule)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    x->execution = ctn_execution_take(neighborhood, schedule);
    if (x->execution == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    /* If blocks share a message, only the header tells which of them has a
     * wrong length. */
    bool may_differ = ctn_neighbor_varies(x->collective) || neighborhood->check;
    x->headers =
        may_differ && schedule->forwards && !neighborhood->exec->drop_data;
    set_messages(x);
    ctn_inline_set(x);
    return CATENA_OK;
}

/* ---- begin ---- */

/** Copies a block to be sent, so that another one can be received there.
 * @param[in,out] block then the copy */
static bool move_aside(ctn_op_t *op, ctn_span_t *block)
{
    unsigned char *copy = ctn_keep(op, block->bytes);
    if (copy != NULL) {
        ctn_span_read(op->exec, block, 0, block->bytes, copy);
        *block = (ctn_span_t){.base = copy, .bytes = block->bytes};
    }
    return copy != NULL;
}

/** In place: copies all blocks of the send buffer. A reduction does not need
 * it: the result is computed apart, see ctn_fold_arrived. */
static catena_status_t move_all_aside(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    const ctn_schedule_t *schedule = execution->schedule;
    bool done = true;
    set_messages(x);
    for (uint32_t m = 0; m < schedule->sends; m++) {
        const ctn_schedule_message_t *message = &schedule->send[m];
        for (uint32_t k = 0; k < message->count && done; k++) {
            done = schedule->block[message->first + k].of != CTN_BLOCK_SEND ||
                   move_aside(op, &execution->send[m].block[k]);
        }
    }
    for (uint32_t t = 0; t < schedule->local_copies && done; t++) {
        done = schedule->local_copy[t].from.of != CTN_BLOCK_SEND ||
               move_aside(op, &execution->local_copy[2 * t]);
    }
    return done ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

/** Marks all pending blocks as not arrived. */
static void forget_pending(ctn_exchange_t *x)
{
    const ctn_schedule_t *schedule = x->execution->schedule;
    uint32_t operands =
        ctn_neighbor_reduces(x->collective) || schedule->forwards
            ? x->neighborhood->sources
            : 0;
    memset(x->execution->pending, 0,
           (schedule->staged + operands) * sizeof(*x->execution->pending));
}

/** Reports to the senders which operations are complete here. */
static catena_status_t notify_senders(const catena_neighborhood_t *neighborhood,
                                      const ctn_schedule_t *schedule,
                                      uint64_t complete)
{
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; i < schedule->ins && status == CATENA_OK; i++) {
        status =
            ctn_link_complete(neighborhood->exec, &schedule->in[i], complete);
    }
    return status;
}

/** Marks all rounds as begun, since the inline path has sent all messages. */
static void skip_rounds(ctn_execution_t *execution)
{
    execution->round = execution->schedule->rounds;
    execution->next_send = execution->schedule->sends;
    execution->next_receive = execution->schedule->receives;
    execution->next_local_copy = execution->schedule->local_copies;
}

/** Sets the state of a start. */
static void begin_execution(ctn_execution_t *execution)
{
    execution->round = 0;
    execution->next_send = execution->next_receive =
        execution->next_local_copy = 0;
    execution->sends_open = execution->receives_open = 0;
    execution->folded = 0;
    execution->first = CTN_NO_OPERAND;
    execution->result = NULL;
    execution->status = CATENA_OK;
}

/** If the last operation used other links, the senders of these links may not
 * know which operations are complete here: tells them. */
static catena_status_t notify_first(catena_neighborhood_t *neighborhood,
                                    const ctn_schedule_t *schedule)
{
    if (neighborhood->ran == schedule->in) {
        return CATENA_OK;
    }
    neighborhood->ran = schedule->in;
    return notify_senders(neighborhood, schedule,
                          neighborhood->sequence.complete);
}

/** Sends all messages on the inline path. */
static ctn_step_t begin_inline(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    ctn_inline_send(op->exec, &x->inlined, op->seq);
    for (uint32_t t = 0;
         x->inlined.blocks != NULL && t < execution->schedule->local_copies;
         t++) {
        catena_status_t status = ctn_make_local_copy(op, t);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    skip_rounds(execution);
    x->rests = true;
    return CTN_STEP_NEXT;
}

/** Begins an operation: selects its path, and sends all messages if that is the
 * inline path. */
ctn_step_t ctn_exchange_begin(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    if (execution->schedule->aggregates != NULL &&
        !ctn_neighbor_aggregates_begin(op)) {
        ctn_op_set_network(op, execution->remote);
        return CTN_STEP_WAIT;
    }
    if (x->neighborhood->begun <= op->seq) {
        x->neighborhood->begun = op->seq + 1;
    }
    x->rests = false;
    x->inlined.zcopied = 0;
    begin_execution(execution);
    catena_status_t status = notify_first(x->neighborhood, execution->schedule);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    x->went_inline = x->path != NULL && ctn_inline_may_send(x->path, op->seq);
    if (x->went_inline) {
        return begin_inline(op);
    }
    if (x->neighborhood->path != NULL) {
        ctn_inline_sync(x->neighborhood->path);
    }
    forget_pending(x);
    if (x->in_place && !ctn_neighbor_reduces(x->collective)) {
        status = move_all_aside(op);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    if (execution->remote) {
        ctn_op_set_network(op, true);
    }
    return CTN_STEP_NEXT;
}

/** Receives the messages of the inline path. A message of an unexpected length
 * takes the general path, which reports the mismatch. */
ctn_step_t ctn_exchange_inlined(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (!x->went_inline) {
        return CTN_STEP_NEXT;
    }
    for (uint64_t left = ctn_inline_receive(op->exec, &x->inlined, op->seq);
         left != 0 && status == CATENA_OK; left &= left - 1) {
        status = ctn_exchange_open_receive(op, (uint32_t)__builtin_ctzll(left));
        x->rests = false;
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    if (x->inlined.missing == 0) {
        ctn_inline_all_received(x->path, op->seq);
        bool ends = x->execution->receives_open == 0 &&
                    x->inlined.zcopied == 0 &&
                    x->execution->status == CATENA_OK;
        return ends ? ctn_op_jump(op, CTN_EXCHANGE_END) : CTN_STEP_NEXT;
    }
    const ctn_schedule_t *schedule = x->execution->schedule;
    uint32_t m = (uint32_t)__builtin_ctzll(x->inlined.missing);
    op->waits_for = schedule->in[schedule->receive[m].link].peer.rank;
    return CTN_STEP_WAIT;
}

/** Waits until the zero-copy sends of the inline path have been read. Copies
 * the result of a reduction to its target if it was computed apart. An error of
 * this rank alone is reported only now, when no other rank needs its messages.
 */
ctn_step_t ctn_exchange_finalize(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    bool apart = execution->result != NULL && execution->result != x->recv.base;
    if (apart && op->pending != 0) {
        return CTN_STEP_WAIT;
    }
    if (!ctn_inline_is_read(&x->inlined, op->seq)) {
        uint32_t m = (uint32_t)__builtin_ctzll(x->inlined.zcopied);
        op->waits_for =
            execution->schedule->out[execution->schedule->send[m].link]
                .peer.rank;
        return CTN_STEP_WAIT;
    }
    if (apart) {
        ctn_span_t target = ctn_blocks_at(&x->recv, 0);
        ctn_span_write(op->exec, &target, 0, target.bytes, execution->result);
    }
    return execution->status == CATENA_OK ? CTN_STEP_NEXT
                                          : ctn_op_fail(op, execution->status);
}

const ctn_phase_t ctn_exchange_phases[] = {CTN_EXCHANGE_PHASES, {NULL, NULL}};

/** Frees what the operation has kept. */
static void drop_kept(ctn_op_t *op, ctn_execution_t *execution)
{
    while (execution->kept != NULL) {
        ctn_execution_memory_t *kept = execution->kept;
        execution->kept = kept->next;
        ctn_scratch_free(op->exec, kept, kept->taken);
    }
}

/** The number below which all operations are complete when this one is. */
static uint64_t complete_with(const ctn_op_t *op)
{
    const ctn_sequence_t *sequence = op->sequence;
    uint32_t done = sequence->done_mask | 1u << (op->seq - sequence->complete);
    return sequence->complete + (unsigned)__builtin_ctz(~done);
}

/** Reports to the senders what is complete with this operation. After inline
 * messages they learn from the messages in the other direction that this
 * operation is complete, but not that a later one completed before it. */
static void notify_all(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    uint64_t complete = complete_with(op);
    uint64_t more = complete - op->sequence->complete;
    if (more == 0 || (more == 1 && x->went_inline)) {
        return;
    }
    if (more > 1) {
        x->neighborhood->ran = NULL; /* other links are notified later */
    }
    catena_status_t status =
        notify_senders(x->neighborhood, x->execution->schedule, complete);
    if (status != CATENA_OK && op->status == CATENA_OK) {
        op->status = status == CATENA_ERR_NO_MEMORY ? ctn_op_give_up(op, status)
                                                    : status;
    }
}

/** Zeroes the words of all links of a neighborhood, see ctn_link_zeroes. Every
 * link belongs to a schedule. The neighborhood of a persistent request has only
 * the request's schedule, with links of its own. */
CTN_COLD static void zero_words(catena_neighborhood_t *neighborhood,
                                uint64_t seq)
{
    for (int algorithm = 0; algorithm < CTN_NEIGHBOR_ALGORITHMS; algorithm++) {
        for (int pattern = 0; pattern < CTN_PATTERNS; pattern++) {
            const ctn_schedule_t *schedule =
                neighborhood->schedule[algorithm][pattern];
            for (; schedule != NULL; schedule = schedule->uniform) {
                ctn_link_zero(schedule->in, schedule->ins, seq);
            }
        }
    }
}

void ctn_exchange_finish(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    if (execution == NULL) { /* the connection of its links failed */
        return;
    }
    for (uint32_t i = 0; i < execution->sends_open; i++) {
        ctn_link_send_handle_drop(
            &execution->send[execution->open_send[i]].sending);
    }
    for (uint32_t m = 0; op->status != CATENA_OK && m < execution->next_receive;
         m++) {
        ctn_link_receive_handle_drop(op, &execution->receive[m].receiving);
    }
    drop_kept(op, execution);
    if (ctn_link_zeroes(op->seq)) {
        zero_words(x->neighborhood, op->seq);
    }
    if (op->exec->status == CATENA_OK) {
        notify_all(op);
    }
    if (execution->schedule->copy_of != NULL) {
        ctn_neighbor_record(x->of, x->collective, execution->schedule->copy_of,
                            x->rule);
    } else if (!execution->schedule->is_hello) {
        ctn_neighbor_record(x->neighborhood, x->collective, execution->schedule,
                            x->rule);
    }
    if (!op->persistent) {
        ctn_execution_give(x->neighborhood, execution);
        x->execution = NULL;
    }
}

void ctn_exchange_release(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    for (size_t i = 0; i < x->held_count; i++) {
        ctn_type_drop(x->held[i]);
    }
    free(x->held);
    if (x->holds_op) {
        ctn_reduce_op_drop(x->by.op);
    }
    /* Only a persistent operation still has one. It does not go back to the
     * neighborhood, which may have been freed. */
    ctn_execution_free(x->execution);
    x->execution = NULL;
}
