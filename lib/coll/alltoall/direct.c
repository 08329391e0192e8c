/* A2A-1: direct alltoall. Peng, Liu, Xie: GLEX-Alltoall, section 6.2
 * (pairwise). Rounds: p. Messages: one per pair and direction, and a CTS for
 * each large block and for each round beyond the first of its slot; staged
 * blocks take one per fragment. Memory: one CTS entry per pair.
 * Differs from the paper: round j pairs member i with j - i instead of shifting
 * by j, so that CATENA_IN_PLACE needs no second buffer; as many rounds run
 * concurrently as there are slots; small blocks for the members of another node
 * are aggregated (aggregated.c).
 *
 * A2A-7: linear shift exchange (reference 6 of the same paper): in round j
 * member i sends to i + j and receives from i - j. The messages are those of
 * A2A-1 in another order; at most `window` rounds run concurrently. It cannot
 * run in place: a block would arrive before the one in its place has been sent.
 */

#include "coll/alltoall/aggregated.h"
#include "coll/alltoall/alltoall.h"

/** State of the operation. */
typedef struct direct {
    ctn_alltoall_t call;
    bool aggregated;         /* the blocks for other nodes are aggregated */
    ctn_aggregated_t remote; /* these aggregates */
    ctn_pairwise_t exchange; /* with all members, or with those of the node */
} direct_t;

/** Whether the blocks for other nodes are aggregated: the same on all members.
 * An alltoall whose order or window of rounds was requested does not aggregate.
 */
static bool is_aggregated(direct_t *direct)
{
    const ctn_alltoall_t *call = &direct->call;
    if (call->vector || call->order != CTN_ORDER_PAIRED || call->window > 0 ||
        call->topo->nodes == 1) {
        return false;
    }
    direct->remote = (ctn_aggregated_t){.topo = call->topo,
                                        .send = call->send,
                                        .receive = call->receive,
                                        .in_place = call->in_place};
    return ctn_aggregated_set(&direct->remote);
}

static ctn_step_t begin(ctn_op_t *op)
{
    direct_t *direct = ctn_op_state(op);
    ctn_alltoall_t *call = &direct->call;
    ctn_topo_t *topo = call->topo;
    ctn_pairwise_t *x = &direct->exchange;
    direct->aggregated = is_aggregated(direct);
    ctn_alltoall_exchange(call, !direct->aggregated, x);
    ctn_pairwise_begin(x);
    if (direct->aggregated &&
        ctn_aggregated_begin(op, &direct->remote) != CATENA_OK) {
        /* the other members wait for this one */
        return ctn_op_fail(op, ctn_op_give_up(op, CATENA_ERR_NO_MEMORY));
    }
    ctn_op_set_network(op, topo->nodes > 1);
    return CTN_STEP_NEXT;
}

/** Advance the aggregates and the exchange. NEXT: both are over, phase `end`
 * must run; DONE: both are over and there is no error. */
static ctn_step_t exchange(ctn_op_t *op)
{
    direct_t *direct = ctn_op_state(op);
    ctn_step_t remote = direct->aggregated
                            ? ctn_aggregated_advance(op, &direct->remote)
                            : CTN_STEP_NEXT;
    if (remote == CTN_STEP_FAIL) {
        return remote;
    }
    ctn_step_t local = ctn_pairwise_advance(op, &direct->exchange);
    if (local == CTN_STEP_NEXT && !direct->aggregated &&
        direct->exchange.status == CATENA_OK && op->pending == 0 &&
        !op->staged) {
        return CTN_STEP_DONE; /* else this phase would run in each poll */
    }
    if (local == CTN_STEP_FAIL || remote == CTN_STEP_NEXT) {
        return local;
    }
    return local == CTN_STEP_MOVED ? local : remote;
}

static ctn_step_t end(ctn_op_t *op)
{
    direct_t *direct = ctn_op_state(op);
    ctn_pairwise_t *x = &direct->exchange;
    x->status = direct->aggregated && x->status == CATENA_OK
                    ? direct->remote.status
                    : x->status;
    ctn_step_t step = direct->aggregated && x->status != CATENA_OK
                          ? ctn_aggregated_end_mismatch(op, &direct->remote)
                          : CTN_STEP_NEXT;
    return step == CTN_STEP_NEXT ? ctn_pairwise_end(op, x) : step;
}

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"exchange", exchange}, {"end", end}, {NULL, NULL}};

static void finish(ctn_op_t *op)
{
    direct_t *direct = ctn_op_state(op);
    ctn_alltoall_finish(op);
    ctn_pairwise_finish(op, &direct->exchange);
}

const ctn_algorithm_t ctn_alltoall_direct = {
    .name = "alltoall/direct",
    .state_bytes = sizeof(direct_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
    .release = ctn_alltoall_release,
};

const ctn_algorithm_t ctn_alltoallv_direct = {
    .name = "alltoallv/direct",
    .state_bytes = sizeof(direct_t),
    .phases = phases,
    .finish = finish,
    .release = ctn_alltoall_release,
};

_Static_assert(sizeof(direct_t) <= CTN_OP_STATE_BYTES, "fits an operation");
