#include "split/shift.h"

#include "exec/schedule.h"

typedef struct shift {
    /* arguments */
    const ctn_chain_place_t *place; /* of this member in the chain */
    const ctn_record_t *own;        /* the record to send */
    ctn_shift_receive_t receive;
    void *context; /* argument of `receive` */
    /* working */
    ctn_rounds_t rounds;
} shift_t;

static bool set_round(ctn_op_t *op, unsigned index)
{
    shift_t *shift = ctn_op_state(op);
    if (index > 0) {
        return false;
    }
    if (ctn_address_exists(shift->place->right)) {
        ctn_rounds_send(&shift->rounds, 0, shift->place->right, 0, shift->own,
                        ctn_record_bytes(shift->own));
    }
    if (ctn_address_exists(shift->place->left)) {
        ctn_rounds_receive(&shift->rounds, 0, shift->place->left, 0, -1);
    }
    return true;
}

static catena_status_t take(ctn_op_t *op, unsigned index)
{
    const shift_t *shift = ctn_op_state(op);
    (void)index;
    shift->receive(shift->context, (const void *)shift->rounds.handle[0].data);
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

ctn_op_t *ctn_shift_create(ctn_exec_t *exec, ctn_chain_t *chain,
                           const ctn_record_t *own, ctn_shift_receive_t receive,
                           void *context)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        shift_t *shift = ctn_op_state(op);
        shift->place = &chain->place;
        shift->own = own;
        shift->receive = receive;
        shift->context = context;
    }
    return op;
}
