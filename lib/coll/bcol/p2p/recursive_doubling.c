/* P2P-3: allreduce of short vectors, recursive doubling. Thakur, Rabenseifner,
 * Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA
 * 19, 2005, section 4.5.
 * Rounds: floor(log2 m), and two more unless m is a power of two (fold.h).
 * Messages: one per member and round. Memory: none; the result of a round
 * overwrites the message received in it, the last one goes to the receive
 * buffer. Both partners of a round reduce the same two vectors, that of the
 * lower members on the left, so all members get the same bits. */

#include "coll/bcol/p2p/fold.h"

/** State of the operation. */
typedef struct doubling {
    ctn_p2p_fold_t fold; /* first */
    unsigned round;
    bool sent; /* this member has sent in this round */
} doubling_t;

static ctn_step_t begin(ctn_op_t *op)
{
    doubling_t *doubling = ctn_op_state(op);
    doubling->round = 0;
    doubling->sent = false;
    return ctn_p2p_fold_begin(op, CTN_P2P_DOUBLING);
}

/** One round: exchange partial results with the partner, and reduce them.
 * MOVED: the round has ended. */
static ctn_step_t exchange(ctn_op_t *op, doubling_t *doubling)
{
    ctn_p2p_fold_t *fold = &doubling->fold;
    const ctn_basic_coll_t *basic = fold->call.basic;
    uint32_t other = fold->worker ^ UINT32_C(1) << doubling->round;
    uint32_t partner = ctn_p2p_worker(fold, other);
    catena_status_t status = CATENA_OK;
    if (!doubling->sent) {
        status = ctn_p2p_send_vector(op, partner, doubling->round, fold->value,
                                     basic->bytes);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        doubling->sent = true;
    }
    unsigned char *theirs;
    ctn_step_t step = ctn_p2p_receive_vector(op, partner, doubling->round,
                                             basic->bytes, &theirs);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    bool is_last = doubling->round + 1 == fold->rounds;
    if (is_last && !ctn_p2p_may_write(op)) {
        return CTN_STEP_WAIT;
    }
    bool is_left = other < fold->worker;
    void *out = is_last ? basic->out : theirs;
    status = ctn_p2p_reduce(op, is_left ? theirs : fold->value,
                            is_left ? fold->value : theirs, out, basic->bytes);
    fold->value = out;
    doubling->sent = false;
    doubling->round++;
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

static ctn_step_t double_up(ctn_op_t *op)
{
    doubling_t *doubling = ctn_op_state(op);
    ctn_p2p_fold_t *fold = &doubling->fold;
    while (!fold->idle && doubling->round < fold->rounds) {
        ctn_step_t step = exchange(op, doubling);
        if (step != CTN_STEP_MOVED) {
            return step;
        }
    }
    if (fold->rounds == 0) { /* the only member */
        ctn_p2p_copy(op, fold->call.basic->out, fold->value,
                     fold->call.basic->bytes);
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"fold in", ctn_p2p_fold_in},
                                     {"double", double_up},
                                     {"fold out", ctn_p2p_fold_out},
                                     {"end", ctn_p2p_end_vector},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "p2p/allreduce, recursive-doubling",
    .state_bytes = sizeof(doubling_t),
    .phases = phases,
    .synchronizing = true,
};

ctn_op_t *ctn_p2p_doubling(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    return ctn_p2p_create(module, &algorithm, basic);
}
