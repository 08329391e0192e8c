#include "split/shift.h"

#include "exec/schedule.h"

typedef struct shift {
    ctn_shift_t by; /* arguments */
    /* working */
    ctn_rounds_t rounds;
} shift_t;

static bool set_round(ctn_op_t *op, unsigned index)
{
    shift_t *shift = ctn_op_state(op);
    const ctn_shift_t *by = &shift->by;
    if (index > 0) {
        return false;
    }
    if (ctn_address_exists(by->to)) {
        ctn_rounds_send(&shift->rounds, 0, by->to, 0, by->data, by->bytes);
    }
    if (by->receives) {
        ctn_rounds_receive(&shift->rounds, 0, by->from, 0, -1);
    }
    return true;
}

static catena_status_t take(ctn_op_t *op, unsigned index)
{
    const shift_t *shift = ctn_op_state(op);
    (void)index;
    shift->by.receive(shift->by.context, shift->rounds.handle[0].data);
    return CATENA_OK;
}

static ctn_step_t run(ctn_op_t *op)
{
    static const ctn_rounds_schedule_t schedule = {.round = set_round,
                                                   .take = take};
    shift_t *shift = ctn_op_state(op);
    return ctn_rounds_run(op, &shift->rounds, &schedule);
}

static void finish(ctn_op_t *op)
{
    shift_t *shift = ctn_op_state(op);
    ctn_rounds_release(op, &shift->rounds);
}

static const ctn_phase_t phases[] = {{"exchange", run}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "split/shift",
    .state_bytes = sizeof(shift_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_shift_create(ctn_exec_t *exec, ctn_sequence_t *sequence,
                           const ctn_shift_t *shift)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, sequence);
    if (op != NULL) {
        ((shift_t *)ctn_op_state(op))->by = *shift;
    }
    return op;
}

ctn_op_t *ctn_shift_right_create(ctn_exec_t *exec, ctn_chain_t *chain,
                                 const ctn_record_t *own,
                                 ctn_shift_receive_t consume, void *context)
{
    const ctn_shift_t shift = {.to = chain->place.right,
                               .data = own,
                               .bytes = ctn_record_bytes(own),
                               .receives = chain->place.rank > 0,
                               .from = chain->place.left,
                               .receive = consume,
                               .context = context};
    return ctn_shift_create(exec, &chain->sequence, &shift);
}
