/* One call, from its start to its end: what it sends and receives, what its
 * messages go through, and what is told when it is complete. */

#include <stdlib.h>
#include <string.h>

#include "neighbor/call/inline.h"
#include "neighbor/schedule/aggregate.h"

/* ---- what stays the same from start to start ---- */

/** Bytes along each edge, where all are alike; else 0. Of what comes from
 * nobody, or from the rank itself, others need not know. */
static size_t bytes_along(const ctn_exchange_t *x)
{
    return ctn_neighbor_varies(x->kind) ? 0
           : x->neighborhood->ins > 0   ? ctn_blocks_bytes(&x->recv, 0)
                                        : ctn_blocks_bytes(&x->send, 0);
}

/** Fill in a part that lies in a buffer of the caller. False: it does not. */
static bool set_part(const ctn_exchange_t *x, ctn_block_ref_t part,
                     ctn_span_t *span)
{
    if (part.of == CTN_BLOCK_SEND) {
        *span = ctn_blocks_at(&x->send, part.index);
        return true;
    }
    if (part.of == CTN_BLOCK_RECV && !ctn_neighbor_reduces(x->kind)) {
        *span = ctn_blocks_at(&x->recv, part.index);
        return true;
    }
    /* An operand is as long as the result. */
    *span = (ctn_span_t){.bytes = part.of == CTN_BLOCK_RECV
                                      ? ctn_blocks_bytes(&x->recv, 0)
                                      : bytes_along(x)};
    return false;
}

static void set_messages(ctn_exchange_t *x)
{
    ctn_execution_t *run = x->run;
    const ctn_schedule_t *plan = run->plan;
    for (uint32_t m = 0; m < plan->sends; m++) {
        const ctn_schedule_message_t *message = &plan->send[m];
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
        const ctn_schedule_message_t *message = &plan->receive[m];
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

/** Whether a message lies together. @param[in,out] most of all so far */
static bool is_plain(const ctn_span_t *part, size_t *most)
{
    *most = part->bytes > *most ? part->bytes : *most;
    return part->bytes > 0 && part->type == NULL;
}

/** Find out whether all messages are short, or may be lent; a blocking call may
 * go the short way also when they are not. */
static void set_quick(ctn_exchange_t *x)
{
    ctn_execution_t *run = x->run;
    ctn_inline_path_t *quick =
        run->far || x->in_place || run->plan->is_hello ||
                ctn_neighbor_reduces(x->kind)
            ? NULL
            : ctn_inline_path_of(x->neighborhood, run->plan);
    size_t most = 0;
    for (uint32_t m = 0; quick != NULL && m < quick->sends; m++) {
        quick = is_plain(run->send[m].part, &most) ? quick : NULL;
    }
    for (uint32_t m = 0; quick != NULL && m < quick->receives; m++) {
        quick = is_plain(run->receive[m].part, &most) ? quick : NULL;
    }
    x->lends = quick != NULL && most < CTN_LINK_POSTED &&
               ctn_inline_may_zcopy(x, quick, &x->lend_offset);
    x->quick =
        quick != NULL && (most <= quick->most_bytes || x->lends) ? quick : NULL;
    if (quick != NULL && !ctn_neighbor_varies(x->kind)) {
        ctn_inline_note(x, run->plan, bytes_along(x));
    }
}

const ctn_schedule_t *ctn_exchange_choose(const ctn_exchange_t *x)
{
    return ctn_neighbor_choose(x->neighborhood, ctn_neighbor_pattern(x->kind),
                               bytes_along(x), ctn_neighbor_reduces(x->kind));
}

catena_status_t ctn_exchange_prepare(ctn_exchange_t *x)
{
    return ctn_exchange_prepare_for(x, ctn_exchange_choose(x));
}

catena_status_t ctn_exchange_prepare_for(ctn_exchange_t *x,
                                         const ctn_schedule_t *plan)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    x->run = ctn_execution_take(neighborhood, plan);
    if (x->run == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    /* Of blocks that share a message only this tells which is of a length that
     * it should not have. */
    bool may_differ = ctn_neighbor_varies(x->kind) || neighborhood->check;
    x->headers =
        may_differ && plan->passes_on && !neighborhood->exec->drop_data;
    set_messages(x);
    set_quick(x);
    return CATENA_OK;
}

/* ---- before ---- */

/** How often each block is to be read before it may be replaced. */
static void count_still_sent(ctn_exchange_t *x)
{
    ctn_execution_t *run = x->run;
    const ctn_schedule_t *plan = run->plan;
    memset(run->still_sent, 0,
           x->neighborhood->targets * sizeof(*run->still_sent));
    for (uint32_t m = 0; m < plan->sends; m++) {
        for (uint32_t k = 0; k < plan->send[m].count; k++) {
            const ctn_block_ref_t *part = &plan->part[plan->send[m].first + k];
            if (part->of == CTN_BLOCK_SEND) {
                run->still_sent[part->index]++;
            }
        }
    }
    for (uint32_t t = 0; t < plan->transfers; t++) {
        if (plan->transfer[t].from.of == CTN_BLOCK_SEND) {
            run->still_sent[plan->transfer[t].from.index]++;
        }
    }
}

static void forget_items(ctn_exchange_t *x)
{
    uint32_t operands = ctn_neighbor_reduces(x->kind) || x->headers
                            ? x->neighborhood->sources
                            : 0;
    for (uint32_t i = 0; i < x->run->plan->stages + operands; i++) {
        ctn_pending_block_t *item = &x->run->item[i];
        item->from = CTN_NO_MESSAGE;
        item->here = false;
        item->unfit = false;
    }
}

/** Tell the senders what is complete here. */
static catena_status_t tell(const catena_neighborhood_t *neighborhood,
                            const ctn_schedule_t *plan, uint64_t complete)
{
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; i < plan->ins && status == CATENA_OK; i++) {
        status = ctn_link_complete(neighborhood->exec, &plan->in[i], complete);
    }
    return status;
}

/** As if everything had been begun. */
static void skip_rounds(ctn_execution_t *run)
{
    run->round = run->plan->rounds;
    run->next_send = run->plan->sends;
    run->next_receive = run->plan->receives;
    run->next_transfer = run->plan->transfers;
}

static void begin_run(ctn_execution_t *run)
{
    run->round = 0;
    run->next_send = run->next_receive = run->next_transfer = 0;
    run->sends_open = run->receives_open = 0;
    run->ended = run->folded = 0;
    run->first = CTN_NO_OPERAND;
    run->result = NULL;
    run->status = CATENA_OK;
}

/** After operations that went through other links these know least. */
static catena_status_t tell_first(catena_neighborhood_t *neighborhood,
                                  const ctn_schedule_t *plan)
{
    if (neighborhood->ran == plan->in) {
        return CATENA_OK;
    }
    neighborhood->ran = plan->in;
    return tell(neighborhood, plan, neighborhood->sequence.complete);
}

/** Send all messages, which are short or may be lent. */
CTN_HOT static ctn_step_t begin_quick(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *run = x->run;
    const ctn_inline_path_t *quick = x->quick;
    for (uint32_t m = 0; m < quick->receives; m++) {
        ctn_inline_post(op->exec, quick, m, op->seq, run->receive[m].part->base,
                        run->receive[m].bytes);
    }
    if (x->lends) {
        x->lent = ctn_inline_send_all(x, quick, run->plan, op->seq, true,
                                      x->lend_offset);
    }
    for (uint32_t m = 0; !x->lends && m < quick->sends; m++) {
        ctn_inline_send(op->exec, quick, m, op->seq, run->send[m].part->base,
                        run->send[m].bytes);
    }
    op->exec->local->stored = true;
    for (uint32_t t = 0; !x->lends && t < run->plan->transfers; t++) {
        catena_status_t status = ctn_make_local_copy(op, t);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    skip_rounds(run);
    x->rests = true;
    x->missing = ctn_inline_mask(quick->receives);
    return CTN_STEP_NEXT;
}

CTN_HOT static ctn_step_t begin(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *run = x->run;
    if (run->plan->bundles != NULL && !ctn_neighbor_aggregates_begin(op)) {
        ctn_op_set_network(op, run->far);
        return CTN_STEP_WAIT;
    }
    if (x->neighborhood->begun <= op->seq) {
        x->neighborhood->begun = op->seq + 1;
    }
    x->rests = x->alone = false;
    x->lent = 0;
    begin_run(run);
    catena_status_t status = tell_first(x->neighborhood, run->plan);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    x->went_quick =
        x->quick != NULL && ctn_inline_may_send(x->neighborhood, op->seq);
    if (x->went_quick) {
        return begin_quick(op);
    }
    if (x->neighborhood->quick != NULL) {
        ctn_inline_sync(x->neighborhood);
    }
    if (x->in_place) {
        count_still_sent(x);
    }
    forget_items(x);
    if (run->far) {
        ctn_op_set_network(op, true);
    }
    return CTN_STEP_NEXT;
}

/** Short messages. One of another length than it should have goes the usual
 * way, on which that is found out. */
CTN_HOT static ctn_step_t receive_quick(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (!x->went_quick) {
        return CTN_STEP_NEXT;
    }
    for (uint64_t left = x->missing; left != 0 && status == CATENA_OK;
         left &= left - 1) {
        uint32_t m = (uint32_t)__builtin_ctzll(left);
        const ctn_span_t *part = x->run->receive[m].part;
        bool fits;
        if (ctn_inline_receive(op->exec, x->quick, m, op->seq, part->base,
                               part->bytes, &fits)) {
            x->missing &= ~(left & -left);
            if (!fits) {
                status = ctn_exchange_open_receive(op, m);
                x->rests = false;
            }
        }
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    if (x->missing == 0) {
        ctn_inline_all_received(x->neighborhood, op->seq);
        bool ends = x->run->receives_open == 0 && x->lent == 0 &&
                    x->run->status == CATENA_OK;
        return ends ? ctn_op_jump(op, CTN_EXCHANGE_END) : CTN_STEP_NEXT;
    }
    const ctn_schedule_t *plan = x->run->plan;
    uint32_t m = (uint32_t)__builtin_ctzll(x->missing);
    x->alone = false; /* to be ended by its phases, which clear this: */
    op->waits_for = plan->in[plan->receive[m].link].peer.rank;
    return CTN_STEP_WAIT;
}

/** What is lent has been read. In place: what was kept aside goes where it
 * belongs, when nothing is read there any more. And now an error may be
 * reported that concerns nobody else. */
static ctn_step_t settle(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *run = x->run;
    if (run->substitute != NULL && op->pending != 0) {
        return CTN_STEP_WAIT;
    }
    x->lent =
        x->lent != 0 ? ctn_inline_still_zcopied(x->quick, op->seq, x->lent) : 0;
    if (x->lent != 0) {
        uint32_t m = (uint32_t)__builtin_ctzll(x->lent);
        op->waits_for = run->plan->out[run->plan->send[m].link].peer.rank;
        return CTN_STEP_WAIT;
    }
    for (const ctn_substitute_t *s = run->substitute; s != NULL; s = s->next) {
        ctn_span_write(op->exec, &s->target, 0, s->target.bytes, s->data);
    }
    return run->status == CATENA_OK ? CTN_STEP_NEXT
                                    : ctn_op_fail(op, run->status);
}

const ctn_phase_t ctn_exchange_phases[] = {{"begin", begin},
                                           {"short messages", receive_quick},
                                           {"exchange", ctn_exchange_rounds},
                                           {"settle", settle},
                                           {NULL, NULL}};

static void drop_substitutes(ctn_op_t *op, ctn_execution_t *run)
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
    const ctn_sequence_t *sequence = op->sequence;
    uint32_t done = sequence->done_mask | 1u << (op->seq - sequence->complete);
    return sequence->complete + (unsigned)__builtin_ctz(~done);
}

/** Senders of short messages know from those that went the other way that this
 * operation is complete, but not that one is which has ended before it. */
static void tell_all(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    uint64_t complete = complete_with(op);
    uint64_t more = complete - op->sequence->complete;
    if (more == 0 || (more == 1 && x->went_quick)) {
        return;
    }
    if (more > 1) {
        x->neighborhood->ran = NULL; /* those of another plan are told later */
    }
    catena_status_t status = tell(x->neighborhood, x->run->plan, complete);
    if (status != CATENA_OK && op->status == CATENA_OK) {
        op->status = status;
    }
}

/** See ctn_link_zeroes. Every link belongs to a plan. `neighborhood` of a
 * request has no plan but the request's, whose links are its own. */
CTN_COLD static void zero_words(catena_neighborhood_t *neighborhood,
                                uint64_t seq)
{
    for (int scheme = 0; scheme < CTN_NEIGHBOR_ALGORITHMS; scheme++) {
        for (int pattern = 0; pattern < CTN_PATTERNS; pattern++) {
            const ctn_schedule_t *plan = neighborhood->plan[scheme][pattern];
            for (; plan != NULL; plan = plan->alike) {
                ctn_link_zero(plan->in, plan->ins, seq);
            }
        }
    }
}

CTN_HOT void ctn_exchange_finish(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *run = x->run;
    if (run == NULL) { /* all failed before its links were connected */
        return;
    }
    for (uint32_t i = 0; i < run->sends_open; i++) {
        ctn_link_send_handle_drop(op, &run->send[run->open_send[i]].sending);
    }
    for (uint32_t m = 0; op->status != CATENA_OK && m < run->next_receive;
         m++) {
        ctn_link_receive_handle_drop(op, &run->receive[m].receiving);
    }
    drop_substitutes(op, run);
    if (op->status == CATENA_ERR_NO_MEMORY) { /* neighbors wait for it */
        ctn_exec_abort(op->exec, op->status);
    }
    if (ctn_link_zeroes(op->seq)) {
        zero_words(x->neighborhood, op->seq);
    }
    if (op->exec->status == CATENA_OK) {
        tell_all(op);
    }
    if (run->plan->copy_of != NULL) {
        x->of->last = run->plan->copy_of;
    } else if (!run->plan->is_hello) {
        x->neighborhood->last = run->plan;
    }
    if (!op->persistent) {
        ctn_execution_give(x->neighborhood, run);
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

/** The same phases, but nobody has to find the operation. */
static void run_alone(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    ctn_backoff_t backoff = {0};
    op->state = CTN_OP_ACTIVE;
    while (ctn_exchange_phases[op->phase].run != NULL &&
           op->status == CATENA_OK) {
        ctn_step_t step = ctn_exchange_phases[op->phase].run(op);
        op->phase += step == CTN_STEP_NEXT;
        if (step == CTN_STEP_WAIT && !ctn_inline_wait(exec, &backoff)) {
            break;
        }
        if (step != CTN_STEP_WAIT) {
            backoff = (ctn_backoff_t){0};
        }
    }
    while (op->pending != 0 && ctn_inline_wait(exec, &backoff)) {
    }
    op->status = op->status == CATENA_OK ? exec->status : op->status;
    ctn_op_set_network(op, false);
    ctn_exchange_finish(op);
    op->state = CTN_OP_DONE;
}

catena_status_t ctn_exchange_rest(const ctn_exchange_t *x, uint64_t seq,
                                  uint64_t missing)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_op_t *op = ctn_op_create(neighborhood->exec, &x->kind->algorithm,
                                 &neighborhood->sequence);
    if (op == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_exchange_t *rest = ctn_op_state(op);
    *rest = *x;
    catena_status_t status = ctn_exchange_prepare(rest);
    if (status == CATENA_OK) {
        op->seq = seq;
        op->phase = CTN_EXCHANGE_SHORT;
        begin_run(rest->run);
        skip_rounds(rest->run);
        rest->quick = neighborhood->quick; /* also in place */
        rest->went_quick = true;
        rest->missing = missing;
        run_alone(op);
        status = op->status;
    }
    ctn_op_release(op);
    return status;
}

CTN_HOT catena_status_t ctn_exchange_run(ctn_op_t *op)
{
    if (!ctn_inline_begin(op->exec, op->sequence, &op->seq)) {
        return ctn_op_run(op);
    }
    run_alone(op);
    (void)ctn_inline_end(op->exec, op->sequence);
    catena_status_t status = op->status;
    ctn_op_release(op);
    return status;
}
