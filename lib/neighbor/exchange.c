/* The executor of plans: which messages are under way, round by round. All of a
 * round are, at once; what a message is made of was there before the round.
 *
 * Nobody waits in a circle: that a message arrives depends on messages of
 * earlier rounds alone, and that one is given back, which its sender may wait
 * for, on what is sent of it in later rounds, and on arrivals. In place, what
 * would overwrite a block that is still to be read is copied aside, so that it
 * can be given back at once. */

#include <stdlib.h>
#include <string.h>

#include "neighbor/exchange.h"

/* ---- what stays the same from start to start ---- */

static bool sends_empty(const ctn_exchange_t *x)
{
    return x->run->plan->passes_on || x->neighborhood->check;
}

/** Fill in a part that lies in a buffer of the caller. False: it does not. */
static bool set_part(const ctn_exchange_t *x, ctn_part_t part, ctn_span_t *span)
{
    if (part.of == CTN_OF_SEND) {
        *span = ctn_blocks_at(&x->send, part.index);
        return true;
    }
    if (part.of == CTN_OF_RECV && !ctn_kind_reduces(x->kind)) {
        *span = ctn_blocks_at(&x->recv, part.index);
        return true;
    }
    /* An operand is as long as the result. */
    *span = (ctn_span_t){
        .bytes = part.of == CTN_OF_RECV ? ctn_blocks_bytes(&x->recv, 0) : 0};
    return false;
}

static void set_messages(ctn_exchange_t *x)
{
    ctn_run_t *run = x->run;
    const ctn_plan_t *plan = run->plan;
    for (uint32_t m = 0; m < plan->sends; m++) {
        const ctn_message_t *message = &plan->send[m];
        ctn_outgoing_t *out = &run->send[m];
        out->bytes = 0;
        out->late = false;
        for (uint32_t k = 0; k < message->count; k++) {
            out->late |=
                !set_part(x, plan->part[message->first + k], &out->part[k]);
            out->bytes += out->part[k].bytes;
        }
    }
    for (uint32_t m = 0; m < plan->receives; m++) {
        const ctn_message_t *message = &plan->receive[m];
        ctn_incoming_t *in = &run->receive[m];
        in->bytes = 0;
        for (uint32_t k = 0; k < message->count; k++) {
            set_part(x, plan->part[message->first + k], &in->part[k]);
            in->bytes += in->part[k].bytes;
        }
    }
    for (uint32_t t = 0; t < plan->transfers; t++) {
        set_part(x, plan->transfer[t].from, &run->transfer[2 * t]);
        set_part(x, plan->transfer[t].to, &run->transfer[2 * t + 1]);
    }
}

catena_status_t ctn_exchange_prepare(ctn_exchange_t *x)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    size_t bytes = ctn_kind_varies(x->kind)    ? 0
                   : neighborhood->sources > 0 ? ctn_blocks_bytes(&x->recv, 0)
                                               : ctn_blocks_bytes(&x->send, 0);
    const ctn_plan_t *plan =
        ctn_neighbor_choose(neighborhood, ctn_kind_pattern(x->kind), bytes);
    x->run = ctn_run_take(neighborhood, plan);
    if (x->run == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    x->headers = ctn_kind_varies(x->kind) && plan->passes_on &&
                 !neighborhood->exec->drop_data;
    set_messages(x);
    return CATENA_OK;
}

/* ---- sending ---- */

/** Fill in what was not known before the round. */
static void fill_late(ctn_exchange_t *x, uint32_t m)
{
    const ctn_plan_t *plan = x->run->plan;
    const ctn_message_t *message = &plan->send[m];
    ctn_outgoing_t *out = &x->run->send[m];
    out->bytes = 0;
    for (uint32_t k = 0; k < message->count; k++) {
        const ctn_item_t *item = ctn_item_of(x, plan->part[message->first + k]);
        if (item != NULL) {
            out->part[k] = item->span;
        }
        out->bytes += out->part[k].bytes;
    }
}

static void set_header(ctn_outgoing_t *out, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        out->length[k] = out->part[k].bytes;
    }
    out->part[-1] = (ctn_span_t){.base = (unsigned char *)out->length,
                                 .bytes = count * sizeof(uint64_t)};
}

static ctn_step_t send_message(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_plan_t *plan = x->run->plan;
    const ctn_message_t *message = &plan->send[m];
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
            ctn_part_read(op, plan->part[message->first + k]);
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
    ctn_run_t *run = x->run;
    ctn_outgoing_t *out = &run->send[m];
    if (out->late) {
        fill_late(x, m);
    }
    if (out->bytes == 0 && !sends_empty(x)) {
        return CTN_STEP_NEXT;
    }
    if (x->headers) {
        set_header(out, run->plan->send[m].count);
    }
    out->sending = (ctn_sending_t){0};
    ctn_step_t step = send_message(op, m);
    if (step == CTN_STEP_WAIT || step == CTN_STEP_MOVED) {
        run->open_send[run->sends_open++] = m;
    }
    return step == CTN_STEP_FAIL ? step : CTN_STEP_NEXT;
}

/** Those under way. MOVED: one is through, maybe not all. */
static ctn_step_t advance_sends(ctn_op_t *op)
{
    ctn_run_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
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
                      const ctn_message_t *message)
{
    uint64_t offset;
    return message->count == 1 && !x->in_place && !x->headers &&
                   in->part[0].base != NULL && in->part[0].type == NULL &&
                   ctn_heap_contains(x->neighborhood->exec->heap,
                                     in->part[0].base, in->bytes, &offset)
               ? in->part[0].base
               : NULL;
}

/** Begin to wait for one. */
static catena_status_t open_receive(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_run_t *run = x->run;
    const ctn_message_t *message = &run->plan->receive[m];
    ctn_incoming_t *in = &run->receive[m];
    ctn_link_in_t *link = &run->plan->in[message->link];
    in->receiving = (ctn_receiving_t){0};
    in->uses = 0;
    in->ended = false;
    if (in->bytes == 0 && !sends_empty(x)) {
        return CATENA_OK;
    }
    run->open_receive[run->receives_open++] = m;
    return link->peer.near || run->plan->passes_on
               ? CATENA_OK
               : ctn_link_expect(op, link, in->bytes, place_of(x, in, message),
                                 &in->receiving);
}

/** Those under way, as advance_sends. */
static ctn_step_t advance_receives(ctn_op_t *op)
{
    ctn_run_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    const ctn_plan_t *plan = run->plan;
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
    ctn_run_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    const ctn_plan_t *plan = run->plan;
    uint32_t last = plan->in_step ? run->round : UINT32_MAX;
    catena_status_t status = CATENA_OK;
    run->round = plan->in_step ? run->round + 1 : plan->rounds;
    while (run->next_receive < plan->receives && status == CATENA_OK &&
           plan->receive[run->next_receive].round <= last) {
        status = open_receive(op, run->next_receive++);
    }
    while (run->next_transfer < plan->transfers && status == CATENA_OK &&
           plan->transfer[run->next_transfer].round <= last) {
        status = ctn_transfer(op, run->next_transfer++);
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
static bool all_begun(const ctn_run_t *run)
{
    return run->round >= run->plan->rounds &&
           run->next_transfer == run->plan->transfers;
}

/** For whom this rank waits. */
static ctn_step_t await(ctn_op_t *op)
{
    const ctn_run_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    const ctn_plan_t *plan = run->plan;
    if (run->receives_open > 0) {
        op->waits_for =
            plan->in[plan->receive[run->open_receive[0]].link].peer.rank;
    } else if (run->sends_open > 0) {
        op->waits_for = plan->out[plan->send[run->open_send[0]].link].peer.rank;
    }
    return CTN_STEP_WAIT;
}

static ctn_step_t exchange(ctn_op_t *op)
{
    ctn_run_t *run = ((ctn_exchange_t *)ctn_op_state(op))->run;
    if (run->receives_open == 0 && !all_begun(run)) {
        return open_round(op);
    }
    ctn_step_t received = advance_receives(op);
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
        run->ended == 0) {
        return CTN_STEP_NEXT;
    }
    return received == CTN_STEP_MOVED || sent == CTN_STEP_MOVED ? CTN_STEP_MOVED
                                                                : await(op);
}

/* ---- before and after ---- */

/** How often each block is to be read before it may be replaced. */
static void count_still_sent(ctn_exchange_t *x)
{
    ctn_run_t *run = x->run;
    const ctn_plan_t *plan = run->plan;
    memset(run->still_sent, 0,
           x->neighborhood->targets * sizeof(*run->still_sent));
    for (uint32_t m = 0; m < plan->sends; m++) {
        for (uint32_t k = 0; k < plan->send[m].count; k++) {
            const ctn_part_t *part = &plan->part[plan->send[m].first + k];
            if (part->of == CTN_OF_SEND) {
                run->still_sent[part->index]++;
            }
        }
    }
    for (uint32_t t = 0; t < plan->transfers; t++) {
        if (plan->transfer[t].from.of == CTN_OF_SEND) {
            run->still_sent[plan->transfer[t].from.index]++;
        }
    }
}

static void forget_items(ctn_exchange_t *x)
{
    uint32_t operands =
        ctn_kind_reduces(x->kind) ? x->neighborhood->sources : 0;
    for (uint32_t i = 0; i < x->run->plan->stages + operands; i++) {
        ctn_item_t *item = &x->run->item[i];
        item->from = CTN_NO_MESSAGE;
        item->here = false;
        item->unfit = false;
    }
}

/** Tell the senders what is complete here. */
static catena_status_t tell(const catena_neighborhood_t *neighborhood,
                            const ctn_plan_t *plan, uint64_t complete)
{
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; i < plan->ins && status == CATENA_OK; i++) {
        status = ctn_link_complete(neighborhood->exec, &plan->in[i], complete);
    }
    return status;
}

static ctn_step_t begin(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_run_t *run = x->run;
    run->round = 0;
    run->next_send = run->next_receive = run->next_transfer = 0;
    run->sends_open = run->receives_open = 0;
    run->ended = run->folded = 0;
    run->first = CTN_NO_OPERAND;
    run->result = NULL;
    run->status = CATENA_OK;
    if (x->in_place) {
        count_still_sent(x);
    }
    forget_items(x);
    if (run->far) {
        ctn_op_set_network(op, true);
    }
    if (neighborhood->ran != run->plan) {
        /* After other operations the links of this plan know least. */
        neighborhood->ran = run->plan;
        catena_status_t status =
            tell(neighborhood, run->plan, neighborhood->channel.complete);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

/** In place: what was kept aside goes where it belongs, when nothing is read
 * there any more. And now an error may be reported that concerns nobody else.
 */
static ctn_step_t settle(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_run_t *run = x->run;
    if (run->substitute != NULL && op->pending != 0) {
        return CTN_STEP_WAIT;
    }
    for (const ctn_substitute_t *s = run->substitute; s != NULL; s = s->next) {
        ctn_span_write(op->exec, &s->target, 0, s->target.bytes, s->data);
    }
    return run->status == CATENA_OK ? CTN_STEP_NEXT
                                    : ctn_op_fail(op, run->status);
}

const ctn_phase_t ctn_exchange_phases[] = {
    {"begin", begin}, {"exchange", exchange}, {"settle", settle}, {NULL, NULL}};

static void drop_substitutes(ctn_op_t *op, ctn_run_t *run)
{
    while (run->substitute != NULL) {
        ctn_substitute_t *s = run->substitute;
        run->substitute = s->next;
        ctn_scratch_free(op->exec, s, s->taken);
    }
}

/** All operations below are complete when this one is. */
static uint64_t complete_with(const ctn_op_t *op)
{
    const ctn_channel_t *channel = op->channel;
    uint32_t done = channel->done_mask | 1u << (op->seq - channel->complete);
    return channel->complete + (unsigned)__builtin_ctz(~done);
}

static void tell_all(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    uint64_t complete = complete_with(op);
    if (complete == op->channel->complete) {
        return;
    }
    if (complete - op->channel->complete > 1) {
        x->neighborhood->ran = NULL; /* those of another plan are told later */
    }
    catena_status_t status = tell(x->neighborhood, x->run->plan, complete);
    if (status != CATENA_OK && op->status == CATENA_OK) {
        op->status = status;
    }
}

void ctn_exchange_finish(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_run_t *run = x->run;
    for (uint32_t i = 0; i < run->sends_open; i++) {
        ctn_sending_drop(op, &run->send[run->open_send[i]].sending);
    }
    for (uint32_t m = 0; op->status != CATENA_OK && m < run->next_receive;
         m++) {
        ctn_receiving_drop(op, &run->receive[m].receiving);
    }
    drop_substitutes(op, run);
    if (op->exec->status == CATENA_OK) {
        tell_all(op);
    }
    x->neighborhood->last = run->plan->algorithm;
    if (!op->persistent) {
        ctn_run_give(x->neighborhood, run);
        x->run = NULL;
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
        ctn_op_drop(x->by.op);
    }
    /* One of a persistent operation: the neighborhood may be gone. */
    free(x->run);
    x->run = NULL;
}

/* ---- blocking calls ---- */

/** Alone: the same phases, but nobody has to find the operation. */
static void run_alone(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    ctn_patience_t patience = {0};
    op->state = CTN_OP_ACTIVE;
    while (ctn_exchange_phases[op->phase].run != NULL &&
           op->status == CATENA_OK) {
        ctn_step_t step = ctn_exchange_phases[op->phase].run(op);
        op->phase += step == CTN_STEP_NEXT;
        if (step == CTN_STEP_WAIT && !ctn_alone_wait(exec, &patience)) {
            break;
        }
        if (step != CTN_STEP_WAIT) {
            patience = (ctn_patience_t){0};
        }
    }
    while (op->pending != 0 && ctn_alone_wait(exec, &patience)) {
    }
    op->status = op->status == CATENA_OK ? exec->status : op->status;
    ctn_op_set_network(op, false);
    ctn_exchange_finish(op);
    op->state = CTN_OP_DONE;
}

CTN_HOT catena_status_t ctn_exchange_run(ctn_op_t *op)
{
    if (!ctn_alone_begin(op->exec, op->channel, &op->seq)) {
        return ctn_op_run(op);
    }
    run_alone(op);
    (void)ctn_alone_end(op->exec, op->channel);
    catena_status_t status = op->status;
    ctn_op_release(op);
    return status;
}
