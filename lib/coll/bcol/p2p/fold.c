#include "coll/bcol/p2p/fold.h"

/* Folding uses the slots after those of the rounds. Algorithms use at most two
 * slots for each round. */
static unsigned slot_in(const ctn_p2p_fold_t *fold)
{
    return 2 * fold->call.p2p->rounds;
}

static unsigned slot_out(const ctn_p2p_fold_t *fold)
{
    return 2 * fold->call.p2p->rounds + 1;
}

ctn_step_t ctn_p2p_fold_begin(ctn_op_t *op,
                              ctn_p2p_vector_algorithm_t algorithm)
{
    ctn_p2p_fold_t *fold = ctn_op_state(op);
    const ctn_p2p_t *p2p = fold->call.p2p;
    ctn_p2p_begin_vector(op, algorithm);
    fold->rounds = 0;
    while (UINT64_C(2) << fold->rounds <= p2p->size) {
        fold->rounds++;
    }
    fold->workers = UINT32_C(1) << fold->rounds;
    fold->pairs = p2p->size - fold->workers;
    bool paired = p2p->me < 2 * fold->pairs;
    fold->idle = paired && p2p->me % 2 == 0;
    fold->worker = paired ? p2p->me / 2 : p2p->me - fold->pairs;
    fold->value = fold->call.basic->in;
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_p2p_fold_in(ctn_op_t *op)
{
    ctn_p2p_fold_t *fold = ctn_op_state(op);
    const ctn_basic_coll_t *basic = fold->call.basic;
    uint32_t me = fold->call.p2p->me;
    catena_status_t status = CATENA_OK;
    if (fold->idle) {
        status = ctn_p2p_send_vector(op, me + 1, slot_in(fold), fold->value,
                                     basic->bytes);
    } else if (me < 2 * fold->pairs) {
        unsigned char *theirs;
        ctn_step_t step = ctn_p2p_receive_vector(op, me - 1, slot_in(fold),
                                                 basic->bytes, &theirs);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        status = ctn_p2p_reduce(op, theirs, fold->value, theirs, basic->bytes);
        fold->value = theirs;
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

ctn_step_t ctn_p2p_fold_out(ctn_op_t *op)
{
    ctn_p2p_fold_t *fold = ctn_op_state(op);
    const ctn_basic_coll_t *basic = fold->call.basic;
    uint32_t me = fold->call.p2p->me;
    if (fold->idle) {
        unsigned char *result;
        ctn_step_t step = ctn_p2p_receive_vector(op, me + 1, slot_out(fold),
                                                 basic->bytes, &result);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        if (!ctn_p2p_may_write(op)) {
            return CTN_STEP_WAIT;
        }
        ctn_p2p_copy(op, basic->out, result, basic->bytes);
        return CTN_STEP_NEXT;
    }
    if (me >= 2 * fold->pairs) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = ctn_p2p_send_vector(op, me - 1, slot_out(fold),
                                                 basic->out, basic->bytes);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}
