#include "split/shift.h"

#include "exec/message.h"

typedef struct shift {
    /* arguments */
    const ctn_chain_place_t *place; /* of this member in the chain */
    const ctn_record_t *own;        /* the record to send */
    ctn_shift_receive_t receive;
    void *context; /* argument of `receive` */
    /* working */
    ctn_send_handle_t send_handle;
    ctn_receive_handle_t receive_handle;
} shift_t;

static ctn_step_t send_own(ctn_op_t *op)
{
    shift_t *shift = ctn_op_state(op);
    ctn_address_t right = shift->place->right;
    catena_status_t status = CATENA_OK;
    if (ctn_address_exists(right)) {
        status =
            ctn_message_send(op, right, 0, 0, shift->own,
                             ctn_record_bytes(shift->own), &shift->send_handle);
    }
    op->exec->tally.rounds++;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t receive_left(ctn_op_t *op)
{
    shift_t *shift = ctn_op_state(op);
    ctn_address_t left = shift->place->left;
    if (!ctn_address_exists(left)) {
        shift->receive(shift->context, NULL);
        return CTN_STEP_NEXT;
    }
    ctn_step_t step =
        ctn_message_receive(op, left, 0, 0, &shift->receive_handle);
    if (step == CTN_STEP_NEXT) {
        shift->receive(shift->context,
                       (const void *)shift->receive_handle.data);
        ctn_receive_handle_release(op, &shift->receive_handle);
    }
    return step;
}

static ctn_step_t await_sent(ctn_op_t *op)
{
    shift_t *shift = ctn_op_state(op);
    return ctn_message_send_done(op, &shift->send_handle) ? CTN_STEP_NEXT
                                                          : CTN_STEP_WAIT;
}

static void finish(ctn_op_t *op)
{
    shift_t *shift = ctn_op_state(op);
    ctn_receive_handle_release(op, &shift->receive_handle);
    ctn_send_handle_release(op, &shift->send_handle);
}

static const ctn_phase_t phases[] = {{"send", send_own},
                                     {"receive", receive_left},
                                     {"await sent", await_sent},
                                     {NULL, NULL}};

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
