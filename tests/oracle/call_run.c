/* Executes one call; see call.h. */

#include "oracle/call_parts.h"

void oracle_call_release_op(const oracle_t *oracle, oracle_call_t *call)
{
    if (call->function.t != NULL && call->op != NULL) {
        ORACLE_CHECK(oracle, catena_op_free(&call->op) == CATENA_OK);
    }
}

/* Blocking, nonblocking or prepared, with the same arguments. */
#define RUN(name, ...)                                                         \
    (mode == ORACLE_BLOCKING ? catena_##name(__VA_ARGS__)                      \
     : mode == ORACLE_NONBLOCKING                                              \
         ? catena_i##name(__VA_ARGS__, &call->request)                         \
         : catena_##name##_init(__VA_ARGS__, &call->request))

/** One type for all blocks; the other side's if this side has none. */
static catena_type_t type_of(const oracle_side_t *side,
                             const oracle_side_t *other)
{
    return side->blocks > 0    ? side->types[0]
           : other->blocks > 0 ? other->types[0]
                               : CATENA_BYTE;
}

static catena_status_t run_pairs(oracle_call_t *call, const void *send,
                                 void *recv)
{
    unsigned mode = oracle_value(call, ORACLE_MODE);
    const oracle_side_t *in = &call->send;
    const oracle_side_t *out = &call->receive;
    catena_group_t *group = call->group;
    /* In place the send arguments are ignored. */
    bool there = oracle_is_there(call, in);
    const size_t *counts = there ? in->counts : NULL;
    const ptrdiff_t *places = there ? in->displacements : NULL;
    const catena_type_t *types = there ? in->types : NULL;
    catena_type_t from = there ? type_of(in, out) : NULL;
    switch (call->view.kind) {
    case ORACLE_ALLTOALL:
        return RUN(alltoall, send, there ? in->counts[0] : 7, from, recv,
                   out->counts[0], out->types[0], group);
    case ORACLE_ALLTOALLV:
        return RUN(alltoallv, send, counts, places, from, recv, out->counts,
                   out->displacements, type_of(out, in), group);
    default:
        return RUN(alltoallw, send, counts, places, types, recv, out->counts,
                   out->displacements, out->types, group);
    }
}

static catena_status_t run(oracle_call_t *call, const void *send, void *recv)
{
    unsigned mode = oracle_value(call, ORACLE_MODE);
    const oracle_side_t *in = &call->send;
    const oracle_side_t *out = &call->receive;
    catena_type_t from = type_of(in, out);
    catena_type_t to = type_of(out, in);
    catena_op_t op = call->op;
    catena_group_t *group = call->group;
    int root = (int)call->view.root;
    size_t n = call->count / call->units; /* of a reduction */
    switch (call->view.kind) {
    case ORACLE_BARRIER:
        return RUN(barrier, group);
    case ORACLE_BCAST:
        return RUN(bcast, recv, out->counts[0], to, root, group);
    case ORACLE_REDUCE:
        return RUN(reduce, send, recv, n, from, op, root, group);
    case ORACLE_ALLREDUCE:
        return RUN(allreduce, send, recv, n, from, op, group);
    case ORACLE_GATHER:
        return RUN(gather, send, in->counts[0], from, recv, out->counts[0], to,
                   root, group);
    case ORACLE_GATHERV:
        return RUN(gatherv, send, in->counts[0], from, recv, out->counts,
                   out->displacements, to, root, group);
    case ORACLE_SCATTER:
        return RUN(scatter, send, in->counts[0], from, recv, out->counts[0], to,
                   root, group);
    case ORACLE_SCATTERV:
        return RUN(scatterv, send, in->counts, in->displacements, from, recv,
                   out->counts[0], to, root, group);
    case ORACLE_ALLGATHER:
        return RUN(allgather, send, in->counts[0], from, recv, out->counts[0],
                   to, group);
    case ORACLE_ALLGATHERV:
        return RUN(allgatherv, send, in->counts[0], from, recv, out->counts,
                   out->displacements, to, group);
    case ORACLE_REDUCE_SCATTER:
        return RUN(reduce_scatter, send, recv, call->elements, from, op, group);
    case ORACLE_REDUCE_SCATTER_BLOCK:
        return RUN(reduce_scatter_block, send, recv, n, from, op, group);
    case ORACLE_SCAN:
        return RUN(scan, send, recv, n, from, op, group);
    case ORACLE_EXSCAN:
        return RUN(exscan, send, recv, n, from, op, group);
    case ORACLE_ALLTOALL:
    case ORACLE_ALLTOALLV:
    case ORACLE_ALLTOALLW:
    case ORACLE_KINDS:
        break;
    }
    return run_pairs(call, send, recv);
}

/** The argument of a call for a buffer. */
static void *argument_of(const oracle_call_t *call, const oracle_side_t *side)
{
    bool matters = oracle_matters(&call->view, side == &call->receive);
    return !oracle_is_there(call, side) ? CATENA_IN_PLACE
           : matters                    ? side->base
                                        : NULL;
}

catena_status_t oracle_call_run(const oracle_t *oracle, oracle_call_t *call)
{
    void *send = argument_of(call, &call->send);
    void *recv = argument_of(call, &call->receive);
    catena_status_t status = run(call, send, recv);
    /* A blocking call may execute several times. */
    if (oracle_value(call, ORACLE_MODE) != ORACLE_BLOCKING) {
        oracle_side_release(oracle, &call->send);
        oracle_side_release(oracle, &call->receive);
        oracle_call_release_op(oracle, call);
    }
    return status;
}

void oracle_call_exercise(const oracle_t *oracle, oracle_call_t *call,
                          unsigned times)
{
    unsigned mode = oracle_value(call, ORACLE_MODE);
    oracle_call_open(oracle, call);
    for (unsigned i = 0; i < times; i++) {
        oracle_call_fill(call, call->shape + i);
        if (i == 0 || mode == ORACLE_BLOCKING) {
            ORACLE_CHECK(oracle, oracle_call_run(oracle, call) == CATENA_OK);
        }
        if (mode == ORACLE_PERSISTENT) {
            ORACLE_CHECK(oracle,
                         catena_request_start(call->request) == CATENA_OK);
        }
        if (mode != ORACLE_BLOCKING) {
            ORACLE_CHECK(oracle,
                         catena_request_wait(&call->request) == CATENA_OK);
        }
        oracle_call_check(oracle, call, i == 0 ? "" : "again: ");
        times = mode == ORACLE_NONBLOCKING ? 1 : times;
    }
    if (mode == ORACLE_PERSISTENT) {
        ORACLE_CHECK(oracle, catena_request_free(&call->request) == CATENA_OK);
    }
    oracle_call_close(oracle, call);
}
