/* The executor of schedules: which messages are under way, round by round. All
 * messages of a round are under way at once. The blocks of a message are
 * available before its round begins.
 *
 * No cycle of waits exists. The arrival of a message depends only on messages
 * of earlier rounds. A message is released, which its sender may wait for, on
 * arrival, since blocks to be forwarded are copied; one that holds an operand,
 * when the operands of earlier sources have arrived. In place, the blocks to be
 * sent are copied before the first round. */

#include "neighbor/schedule/aggregate.h"

/** Whether empty messages are sent, too. */
static bool sends_empty(const ctn_exchange_t *x)
{
    return x->execution->schedule->forwards || x->neighborhood->check;
}

/* ---- sending ---- */

/** Sets the spans of forwarded blocks, which were not known before the round. A
 * block with a mismatch becomes empty, so that the message has another length
 * than the ranks behind expect. */
static void fill_late(ctn_exchange_t *x, uint32_t m)
{
    const ctn_schedule_t *schedule = x->execution->schedule;
    const ctn_schedule_message_t *message = &schedule->send[m];
    ctn_outgoing_t *out = &x->execution->send[m];
    out->bytes = 0;
    for (uint32_t k = 0; k < message->count; k++) {
        ctn_block_ref_t block = schedule->block[message->first + k];
        const ctn_pending_block_t *pending = ctn_pending_block_of(x, block);
        if (pending != NULL) {
            out->block[k] = pending->span;
        } else if (block.of == CTN_BLOCK_RECV) {
            out->block[k] = ctn_blocks_at(&x->recv, block.index);
        }
        if (block.of != CTN_BLOCK_SEND &&
            ctn_pending_block_at(x->execution, block)->mismatch) {
            out->block[k].bytes = 0;
        }
        out->bytes += out->block[k].bytes;
    }
}

/** Sets the header of a message: the lengths of its blocks. */
static void set_header(const ctn_exchange_t *x, uint32_t m)
{
    const ctn_schedule_t *schedule = x->execution->schedule;
    ctn_outgoing_t *out = &x->execution->send[m];
    uint32_t count = schedule->send[m].count;
    for (uint32_t k = 0; k < count; k++) {
        ctn_block_ref_t block = schedule->block[schedule->send[m].first + k];
        bool mismatch = block.of != CTN_BLOCK_SEND &&
                        ctn_pending_block_at(x->execution, block)->mismatch;
        out->length[k] =
            out->block[k].bytes | (mismatch ? CTN_LENGTH_MISMATCH : 0);
    }
    out->block[-1] = (ctn_span_t){.base = (unsigned char *)out->length,
                                  .bytes = count * sizeof(uint64_t)};
}

/** Advances a send. NEXT: it is done. */
static ctn_step_t send_message(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_schedule_t *schedule = x->execution->schedule;
    const ctn_schedule_message_t *message = &schedule->send[m];
    ctn_outgoing_t *out = &x->execution->send[m];
    uint32_t header = x->headers ? 1 : 0;
    return ctn_link_send(op, &schedule->out[message->link], out->block - header,
                         message->count + header,
                         out->bytes + (header > 0 ? out->block[-1].bytes : 0),
                         &out->sending);
}

/** Begins to send a message. NEXT: it is under way or done. */
static ctn_step_t open_send(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    ctn_outgoing_t *out = &execution->send[m];
    if (out->late) {
        fill_late(x, m);
    }
    if (out->bytes == 0 && !sends_empty(x)) {
        return CTN_STEP_NEXT;
    }
    if (x->headers) {
        set_header(x, m);
    }
    out->sending = (ctn_link_send_handle_t){0};
    ctn_step_t step = send_message(op, m);
    if (step == CTN_STEP_WAIT || step == CTN_STEP_MOVED) {
        execution->open_send[execution->sends_open++] = m;
    }
    return step == CTN_STEP_FAIL ? step : CTN_STEP_NEXT;
}

/** Advances the sends under way. MOVED: at least one is done, maybe not all. */
static ctn_step_t advance_sends(ctn_op_t *op)
{
    ctn_execution_t *execution = ctn_execution_of(op);
    ctn_step_t result = CTN_STEP_WAIT;
    uint32_t still_open = 0;
    for (uint32_t i = 0; i < execution->sends_open; i++) {
        uint32_t m = execution->open_send[i];
        ctn_step_t step = send_message(op, m);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step != CTN_STEP_NEXT) {
            execution->open_send[still_open++] = m;
        }
        result = step == CTN_STEP_WAIT ? result : CTN_STEP_MOVED;
    }
    execution->sends_open = still_open;
    return result;
}

/* ---- receiving ---- */

/** The target of a message if it may be received directly there, else NULL. */
static void *place_of(const ctn_exchange_t *x, const ctn_incoming_t *in,
                      const ctn_schedule_message_t *message)
{
    return message->count == 1 && !x->headers && in->block[0].type == NULL
               ? in->block[0].base
               : NULL;
}

catena_status_t ctn_exchange_open_receive(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    const ctn_schedule_message_t *message = &execution->schedule->receive[m];
    ctn_incoming_t *in = &execution->receive[m];
    ctn_link_in_t *link = &execution->schedule->in[message->link];
    in->receiving = (ctn_link_receive_handle_t){0};
    if (in->bytes == 0 && !sends_empty(x)) {
        return CATENA_OK;
    }
    execution->open_receive[execution->receives_open++] = m;
    return execution->schedule->forwards && x->headers
               ? CATENA_OK
               : ctn_link_post_receive(op, link, in->bytes,
                                       place_of(x, in, message),
                                       &in->receiving);
}

/** Advances the receives under way, like advance_sends. */
static ctn_step_t advance_receives(ctn_op_t *op)
{
    ctn_execution_t *execution = ctn_execution_of(op);
    const ctn_schedule_t *schedule = execution->schedule;
    ctn_step_t result = CTN_STEP_WAIT;
    uint32_t still_open = 0;
    for (uint32_t i = 0; i < execution->receives_open; i++) {
        uint32_t m = execution->open_receive[i];
        ctn_step_t step =
            ctn_link_receive(op, &schedule->in[schedule->receive[m].link],
                             &execution->receive[m].receiving);
        if (step == CTN_STEP_NEXT) {
            catena_status_t status = ctn_arrive(op, m);
            step = status == CATENA_OK ? step : ctn_op_fail(op, status);
        }
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step != CTN_STEP_NEXT) {
            execution->open_receive[still_open++] = m;
        }
        result = step == CTN_STEP_WAIT ? result : CTN_STEP_MOVED;
    }
    execution->receives_open = still_open;
    return result;
}

/* ---- rounds ---- */

/** Begins the next round, or all rounds if they are not in step. */
static ctn_step_t open_round(ctn_op_t *op)
{
    ctn_execution_t *execution = ctn_execution_of(op);
    const ctn_schedule_t *schedule = execution->schedule;
    uint32_t last = schedule->in_step ? execution->round : UINT32_MAX;
    catena_status_t status = schedule->aggregates != NULL
                                 ? ctn_neighbor_aggregates_send(op)
                                 : CATENA_OK;
    execution->round =
        schedule->in_step ? execution->round + 1 : schedule->rounds;
    while (execution->next_receive < schedule->receives &&
           status == CATENA_OK &&
           schedule->receive[execution->next_receive].round <= last) {
        status = ctn_exchange_open_receive(op, execution->next_receive++);
    }
    while (execution->next_local_copy < schedule->local_copies &&
           status == CATENA_OK &&
           schedule->local_copy[execution->next_local_copy].round <= last) {
        status = ctn_make_local_copy(op, execution->next_local_copy++);
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    while (execution->next_send < schedule->sends &&
           schedule->send[execution->next_send].round <= last) {
        if (open_send(op, execution->next_send++) == CTN_STEP_FAIL) {
            return CTN_STEP_FAIL;
        }
    }
    return CTN_STEP_MOVED;
}

/** Whether all rounds have begun, and the local copies after the last one have
 * been made. */
static bool all_begun(const ctn_execution_t *execution)
{
    return execution->round >= execution->schedule->rounds &&
           execution->next_local_copy == execution->schedule->local_copies;
}

/** WAIT. Sets the rank that the operation waits for, for reports. */
static ctn_step_t await(ctn_op_t *op)
{
    const ctn_execution_t *execution = ctn_execution_of(op);
    const ctn_schedule_t *schedule = execution->schedule;
    if (execution->receives_open > 0) {
        op->waits_for =
            schedule->in[schedule->receive[execution->open_receive[0]].link]
                .peer.rank;
    } else if (execution->sends_open > 0) {
        op->waits_for =
            schedule->out[schedule->send[execution->open_send[0]].link]
                .peer.rank;
    } else if (execution->aggregates_open > 0) {
        const ctn_neighbor_aggregate_t *in = schedule->aggregates->in.item;
        op->waits_for = in[execution->open_aggregate[0]].leader;
    }
    return CTN_STEP_WAIT;
}

ctn_step_t ctn_exchange_rounds(ctn_op_t *op)
{
    ctn_execution_t *execution = ctn_execution_of(op);
    if (execution->receives_open == 0 && !all_begun(execution)) {
        return open_round(op);
    }
    ctn_step_t received = advance_receives(op);
    if (execution->aggregates_open > 0 && received != CTN_STEP_FAIL) {
        ctn_step_t taken = ctn_neighbor_aggregates_receive(op);
        received = taken == CTN_STEP_WAIT ? received : taken;
    }
    ctn_step_t sent = received == CTN_STEP_FAIL ? received : advance_sends(op);
    if (sent == CTN_STEP_FAIL) {
        return sent;
    }
    if (all_begun(execution) && execution->receives_open == 0 &&
        execution->sends_open == 0 && execution->aggregates_open == 0) {
        return CTN_STEP_NEXT;
    }
    return received == CTN_STEP_MOVED || sent == CTN_STEP_MOVED ? CTN_STEP_MOVED
                                                                : await(op);
}
