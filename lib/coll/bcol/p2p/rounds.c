#include "coll/bcol/p2p/rounds.h"

static const ctn_p2p_schedule_t *schedule_of(const ctn_op_t *op)
{
    return (const ctn_p2p_schedule_t *)op->algorithm;
}

void ctn_p2p_rounds_begin(ctn_op_t *op)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_basic_coll_t *basic =
        rounds->call.basic; /* NULL: a generation barrier */
    rounds->index = 0;
    rounds->begun = false;
    rounds->handle = (ctn_receive_handle_t){.data = NULL};
    rounds->value = basic != NULL ? basic->in : NULL;
}

static ctn_step_t begin(ctn_op_t *op)
{
    const ctn_p2p_schedule_t *schedule = schedule_of(op);
    if (schedule->begin != NULL) {
        schedule->begin(op);
    } else {
        ctn_p2p_begin_vector(op, schedule->signature);
        ctn_p2p_rounds_begin(op);
    }
    return CTN_STEP_NEXT;
}

/** Do with the message of a round what the round says. */
static catena_status_t take(ctn_op_t *op, unsigned char *message)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_p2p_round_t *round = &rounds->round;
    const void *own = round->own;
    switch (round->take) {
    case CTN_P2P_DROP:
        return CATENA_OK;
    case CTN_P2P_KEEP:
        rounds->value = message;
        return CATENA_OK;
    case CTN_P2P_COPY:
        ctn_p2p_copy(op, round->out, message != NULL ? message : rounds->value,
                     round->from_bytes);
        return CATENA_OK;
    default:
        rounds->value = round->out != NULL ? round->out : message;
        bool left = round->from < rounds->call.p2p->me;
        return ctn_p2p_reduce(op, left ? message : own, left ? own : message,
                              (void *)(uintptr_t)rounds->value,
                              round->from_bytes);
    }
}

/** Set the next round. NEXT: there are no more. */
static ctn_step_t begin_round(ctn_op_t *op)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    rounds->round =
        (ctn_p2p_round_t){.to = CTN_P2P_NOBODY, .from = CTN_P2P_NOBODY};
    rounds->begun = schedule_of(op)->round(op, rounds->index, &rounds->round);
    rounds->sent = rounds->round.to == CTN_P2P_NOBODY;
    return rounds->begun ? CTN_STEP_MOVED : CTN_STEP_NEXT;
}

/** Send the message of a round. WAIT: the network has no buffer for it. */
static ctn_step_t send_message(ctn_op_t *op)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_p2p_round_t *round = &rounds->round;
    const ctn_p2p_call_t *call = &rounds->call;
    catena_status_t status;
    if (round->tail_bytes > 0 && call->status == CATENA_OK) {
        ctn_span_t spans[] = {
            {(void *)(uintptr_t)round->data, round->bytes, 0},
            {(void *)(uintptr_t)round->tail, round->tail_bytes, 0}};
        int sent = ctn_message_send_spans(
            op, call->p2p->module.sbgp->member[round->to].memory,
            round->to_slot, call->signature, spans,
            round->bytes + round->tail_bytes);
        if (sent == 0) {
            return CTN_STEP_WAIT;
        }
        status = sent > 0 ? CATENA_OK : (catena_status_t)sent;
    } else {
        status = round->as_is
                     ? ctn_p2p_send(op, round->to, round->to_slot,
                                    call->signature, round->data, round->bytes)
                     : ctn_p2p_send_vector(op, round->to, round->to_slot,
                                           round->data, round->bytes);
    }
    rounds->sent = true;
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** End a round: receive its message, and take it. */
static ctn_step_t end_round(ctn_op_t *op)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_p2p_round_t *round = &rounds->round;
    const ctn_p2p_schedule_t *schedule = schedule_of(op);
    if (round->from != CTN_P2P_NOBODY && rounds->handle.data == NULL) {
        ctn_step_t step =
            ctn_p2p_receive_blocks(op, round->from, round->from_slot,
                                   round->from_bytes, &rounds->handle);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
    }
    if (round->overwrites && op->pending > 0) {
        return CTN_STEP_WAIT;
    }
    unsigned char *message = (unsigned char *)(uintptr_t)rounds->handle.data;
    catena_status_t status =
        schedule->take != NULL
            ? schedule->take(op, rounds->index, round, message)
            : take(op, message);
    ctn_receive_handle_release(op, &rounds->handle);
    rounds->begun = false;
    rounds->index++;
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

ctn_step_t ctn_p2p_rounds_run(ctn_op_t *op)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    ctn_step_t step = CTN_STEP_MOVED;
    while (step == CTN_STEP_MOVED) {
        step = rounds->begun ? CTN_STEP_MOVED : begin_round(op);
        if (step == CTN_STEP_MOVED && !rounds->sent) {
            step = send_message(op);
        }
        if (step == CTN_STEP_MOVED) {
            step = end_round(op);
        }
    }
    return step;
}

void ctn_p2p_rounds_finish(ctn_op_t *op)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    ctn_receive_handle_release(op, &rounds->handle);
}

const ctn_phase_t ctn_p2p_rounds_phases[] = {{"begin", begin},
                                             {"rounds", ctn_p2p_rounds_run},
                                             {"end", ctn_p2p_end_vector},
                                             {NULL, NULL}};
