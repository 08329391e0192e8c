#include "split/shift.h"

#include "exec/message.h"

typedef struct show {
    /* arguments */
    const ctn_chain_place_t *place;
    const ctn_record_t *own;
    ctn_showing_see_t see;
    void *context;
    /* working */
    ctn_send_handle_t parcel;
    ctn_receive_handle_t letter;
} show_t;

static ctn_step_t show_own(ctn_op_t *op)
{
    show_t *show = ctn_op_state(op);
    ctn_address_t right = show->place->right;
    catena_status_t status = CATENA_OK;
    if (ctn_address_exists(right)) {
        status = ctn_message_send(op, right, 0, 0, show->own,
                                  ctn_record_bytes(show->own), &show->parcel);
    }
    op->exec->tally.rounds++;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t look_left(ctn_op_t *op)
{
    show_t *show = ctn_op_state(op);
    ctn_address_t left = show->place->left;
    if (!ctn_address_exists(left)) {
        show->see(show->context, NULL);
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = ctn_message_receive(op, left, 0, 0, &show->letter);
    if (step == CTN_STEP_NEXT) {
        show->see(show->context, (const void *)show->letter.data);
        ctn_receive_handle_release(op, &show->letter);
    }
    return step;
}

static ctn_step_t until_seen(ctn_op_t *op)
{
    show_t *show = ctn_op_state(op);
    return ctn_message_send_done(op, &show->parcel) ? CTN_STEP_NEXT
                                                    : CTN_STEP_WAIT;
}

static void finish(ctn_op_t *op)
{
    show_t *show = ctn_op_state(op);
    ctn_receive_handle_release(op, &show->letter);
    ctn_send_handle_release(op, &show->parcel);
}

static const ctn_phase_t phases[] = {{"show", show_own},
                                     {"look left", look_left},
                                     {"until seen", until_seen},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "split/show",
    .state_bytes = sizeof(show_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_showing_create(ctn_exec_t *exec, ctn_chain_t *chain,
                             const ctn_record_t *own, ctn_showing_see_t see,
                             void *context)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        show_t *show = ctn_op_state(op);
        show->place = &chain->place;
        show->own = own;
        show->see = see;
        show->context = context;
    }
    return op;
}
