/* P2P-1: barrier, dissemination. Hensgen, Finkel, Manber: Two Algorithms for
 * Barrier Synchronization, International Journal of Parallel Programming 17,
 * 1988.
 * Rounds: ceil(log2 m). Messages: one per member and round, without data.
 * Memory: none. */

#include "coll/bcol/p2p/p2p.h"

/** State of the operation. */
typedef struct p2p_barrier {
    ctn_p2p_call_t call; /* first */
    unsigned round;
    bool sent; /* this member has sent in this round */
} p2p_barrier_t;

static ctn_step_t begin(ctn_op_t *op)
{
    p2p_barrier_t *barrier = ctn_op_state(op);
    ctn_p2p_begin_vector(op, CTN_P2P_NOTHING);
    barrier->round = 0;
    barrier->sent = false;
    return CTN_STEP_NEXT;
}

static ctn_step_t disseminate(ctn_op_t *op)
{
    p2p_barrier_t *barrier = ctn_op_state(op);
    const ctn_p2p_t *p2p = barrier->call.p2p;
    for (; barrier->round < p2p->rounds; barrier->round++) {
        uint32_t away = UINT32_C(1) << barrier->round;
        if (!barrier->sent) {
            uint32_t to = (uint32_t)(((uint64_t)p2p->me + away) % p2p->size);
            catena_status_t status =
                ctn_p2p_send_vector(op, to, barrier->round, NULL, 0);
            if (status != CATENA_OK) {
                return ctn_op_fail(op, status);
            }
            barrier->sent = true;
        }
        uint32_t from =
            (uint32_t)(((uint64_t)p2p->me + p2p->size - away) % p2p->size);
        unsigned char *nothing;
        ctn_step_t step =
            ctn_p2p_receive_vector(op, from, barrier->round, 0, &nothing);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        barrier->sent = false;
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"disseminate", disseminate}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "p2p/barrier, dissemination",
    .state_bytes = sizeof(p2p_barrier_t),
    .phases = phases,
    .synchronizing = true,
};

ctn_op_t *ctn_p2p_dissemination(ctn_module_t *module,
                                const ctn_basic_coll_t *basic)
{
    return ctn_p2p_create(module, &algorithm, basic);
}
