/* The executor of plans: which messages are under way, round by round. All of a
 * round are, at once; what a message is made of was there before the round.
 *
 * Nobody waits in a circle: that a message arrives depends on messages of
 * earlier rounds alone, and that one is given back, which its sender may wait
 * for, on what is sent of it in later rounds, and on arrivals. In place, what
 * would overwrite a block that is still to be read is copied aside, so that it
 * can be given back at once. */

#include "neighbor/schedule/aggregate.h"

/** Whether messages are sent also if they have no data. */
static bool sends_empty(const ctn_exchange_t *x)
{
    return x->run->plan->passes_on || x->neighborhood->check;
}

/* ---- sending ---- */

/** Fill in what was not known before the round. */
static void fill_late(ctn_exchange_t *x, uint32_t m)
{
    const ctn_schedule_t *plan = x->run->plan;
    const ctn_schedule_message_t *message = &plan->send[m];
    ctn_outgoing_t *out = &x->run->send[m];
    out->bytes = 0;
    for (uint32_t k = 0; k < message->count; k++) {
        const ctn_pending_block_t *item =
            ctn_pending_block_of(x, plan->part[message->first + k]);
        if (item != NULL) {
            out->part[k] = item->span;
        }
        out->bytes += out->part[k].bytes;
    }
}

static void set_header(const ctn_exchange_t *x, uint32_t m)
{
    const ctn_schedule_t *plan = x->run->plan;
    ctn_outgoing_t *out = &x->run->send[m];
    uint32_t count = plan->send[m].count;
    for (uint32_t k = 0; k < count; k++) {
        ctn_block_ref_t part = plan->part[plan->send[m].first + k];
        bool unfit = part.of != CTN_BLOCK_SEND &&
                     ctn_pending_block_at(x->run, part)->unfit;
        out->length[k] = out->part[k].bytes | (unfit ? CTN_LENGTH_UNFIT : 0);
    }
    out->part[-1] = (ctn_span_t){.base = (unsigned char *)out->length,
                                 .bytes = count * sizeof(uint64_t)};
}

static ctn_step_t send_message(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_schedule_t *plan = x->run->plan;
    const ctn_schedule_message_t *message = &plan->send[m];
    ctn_outgoing_t *out = &x->run->send[m];
    uint32_t header = x->headers ? 1 : 0;
    ctn_step_t step = ctn_link_send(
        op, &plan->out[message->link], out->part - header,
        message->count + header,
        out->bytes + (header > 0 ? out->part[-1].bytes : 0), &out->sending);
    if (step != CTN_STEP_NEXT || !(out->late || x->in_place)) {
        return step;
    }
    for (uint32_t k = 0; k < message->count; k++) {
        catena_status_t status =
            ctn_block_was_read(op, plan->part[message->first + k]);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return step;
}

/** Begin to send one. NEXT: it is under way, or through. */
static ctn_step_t open_send(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *run = x->run;
    ctn_outgoing_t *out = &run->send[m];
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
        run->open_send[run->sends_open++] = m;
    }
    return step == CTN_STEP_FAIL ? step : CTN_STEP_NEXT;
}

/** Those under way. MOVED: one is through, maybe not all. */
static ctn_step_t advance_sends(ctn_op_t *op)
{
    ctn_execution_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    ctn_step_t result = CTN_STEP_WAIT;
    uint32_t left = 0;
    for (uint32_t i = 0; i < run->sends_open; i++) {
        uint32_t m = run->open_send[i];
        ctn_step_t step = send_message(op, m);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step != CTN_STEP_NEXT) {
            run->open_send[left++] = m;
        }
        result = step == CTN_STEP_WAIT ? result : CTN_STEP_MOVED;
    }
    run->sends_open = left;
    return result;
}

/* ---- receiving ---- */

/** Where a message may go as a whole; NULL: nowhere. */
static void *place_of(const ctn_exchange_t *x, const ctn_incoming_t *in,
                      const ctn_schedule_message_t *message)
{
    return message->count == 1 && !x->in_place && !x->headers &&
                   in->part[0].type == NULL
               ? in->part[0].base
               : NULL;
}

catena_status_t ctn_exchange_open_receive(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *run = x->run;
    const ctn_schedule_message_t *message = &run->plan->receive[m];
    ctn_incoming_t *in = &run->receive[m];
    ctn_link_in_t *link = &run->plan->in[message->link];
    in->receiving = (ctn_link_receive_handle_t){0};
    in->uses = 0;
    in->ended = false;
    if (in->bytes == 0 && !sends_empty(x)) {
        return CATENA_OK;
    }
    run->open_receive[run->receives_open++] = m;
    return run->plan->passes_on && x->headers
               ? CATENA_OK
               : ctn_link_post_receive(op, link, in->bytes,
                                       place_of(x, in, message),
                                       &in->receiving);
}

/** Those under way, as advance_sends. */
static ctn_step_t advance_receives(ctn_op_t *op)
{
    ctn_execution_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    const ctn_schedule_t *plan = run->plan;
    ctn_step_t result = CTN_STEP_WAIT;
    uint32_t left = 0;
    for (uint32_t i = 0; i < run->receives_open; i++) {
        uint32_t m = run->open_receive[i];
        ctn_step_t step = ctn_link_receive(op, &plan->in[plan->receive[m].link],
                                           &run->receive[m].receiving);
        if (step == CTN_STEP_NEXT) {
            catena_status_t status = ctn_arrive(op, m);
            step = status == CATENA_OK ? step : ctn_op_fail(op, status);
        }
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step != CTN_STEP_NEXT) {
            run->open_receive[left++] = m;
        }
        result = step == CTN_STEP_WAIT ? result : CTN_STEP_MOVED;
    }
    run->receives_open = left;
    return result;
}

/* ---- rounds ---- */

/** Begin the round that is next, or all of them where they are not in step. */
static ctn_step_t open_round(ctn_op_t *op)
{
    ctn_execution_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    const ctn_schedule_t *plan = run->plan;
    uint32_t last = plan->in_step ? run->round : UINT32_MAX;
    catena_status_t status =
        plan->bundles != NULL ? ctn_neighbor_aggregates_send(op) : CATENA_OK;
    run->round = plan->in_step ? run->round + 1 : plan->rounds;
    while (run->next_receive < plan->receives && status == CATENA_OK &&
           plan->receive[run->next_receive].round <= last) {
        status = ctn_exchange_open_receive(op, run->next_receive++);
    }
    while (run->next_transfer < plan->transfers && status == CATENA_OK &&
           plan->transfer[run->next_transfer].round <= last) {
        status = ctn_make_local_copy(op, run->next_transfer++);
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    while (run->next_send < plan->sends &&
           plan->send[run->next_send].round <= last) {
        if (open_send(op, run->next_send++) == CTN_STEP_FAIL) {
            return CTN_STEP_FAIL;
        }
    }
    return CTN_STEP_MOVED;
}

/** There may be transfers after the last round. */
static bool all_begun(const ctn_execution_t *run)
{
    return run->round >= run->plan->rounds &&
           run->next_transfer == run->plan->transfers;
}

/** For whom this rank waits. */
static ctn_step_t await(ctn_op_t *op)
{
    const ctn_execution_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    const ctn_schedule_t *plan = run->plan;
    if (run->receives_open > 0) {
        op->waits_for =
            plan->in[plan->receive[run->open_receive[0]].link].peer.rank;
    } else if (run->sends_open > 0) {
        op->waits_for = plan->out[plan->send[run->open_send[0]].link].peer.rank;
    } else if (run->bundles_open > 0) {
        const ctn_neighbor_aggregate_in_t *in = plan->bundles->in.item;
        op->waits_for = in[run->open_bundle[0]].leader;
    }
    return CTN_STEP_WAIT;
}

ctn_step_t ctn_exchange_rounds(ctn_op_t *op)
{
    ctn_execution_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    if (run->receives_open == 0 && !all_begun(run)) {
        return open_round(op);
    }
    ctn_step_t received = advance_receives(op);
    if (run->bundles_open > 0 && received != CTN_STEP_FAIL) {
        ctn_step_t taken = ctn_neighbor_aggregates_receive(op);
        received = taken == CTN_STEP_WAIT ? received : taken;
    }
    ctn_step_t sent = received == CTN_STEP_FAIL ? received : advance_sends(op);
    if (sent == CTN_STEP_FAIL) {
        return sent;
    }
    if (run->ended > 0 && op->pending == 0) {
        catena_status_t status = ctn_give_ended(op);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    if (all_begun(run) && run->receives_open == 0 && run->sends_open == 0 &&
        run->bundles_open == 0 && run->ended == 0) {
        return CTN_STEP_NEXT;
    }
    return received == CTN_STEP_MOVED || sent == CTN_STEP_MOVED ? CTN_STEP_MOVED
                                                                : await(op);
}
