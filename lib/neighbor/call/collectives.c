/* The public collectives: from the arguments to an operation that runs, or to a
 * request. */

#include <catena/neighbor.h>

#include "coll/ml/ml.h"
#include "neighbor/call/call.h"
#include "neighbor/call/persistent.h"

/** Creates the operation of a validated call. NULL: no memory. */
CTN_HOT static ctn_op_t *make(const ctn_exchange_t *x, ctn_mode_t mode)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_op_t *op = ctn_op_create(neighborhood->exec, &x->collective->algorithm,
                                 &neighborhood->sequence);
    if (op == NULL) {
        return NULL;
    }
    ctn_exchange_t *made = ctn_op_state(op);
    *made = *x;
    if ((mode != CTN_BLOCKING && ctn_neighbor_hold(made) != CATENA_OK) ||
        (mode == CTN_PERSISTENT ? ctn_neighbor_own_links(op)
                                : ctn_exchange_prepare(made)) != CATENA_OK) {
        ctn_op_release(op);
        return NULL;
    }
    return op;
}

/** The common path of all calls: checks the arguments, then runs the operation
 * or makes a request. */
CTN_COLD static catena_status_t enter_usual(const ctn_neighbor_call_t *call,
                                            ctn_mode_t mode,
                                            catena_request_t **request)
{
    ctn_exchange_t x = {.collective = call->collective};
    if (call->neighborhood == NULL ||
        (mode != CTN_BLOCKING && request == NULL)) {
        return CATENA_ERR_ARG;
    }
    catena_status_t status = ctn_neighbor_validate(call, &x);
    if (status != CATENA_OK ||
        (mode == CTN_BLOCKING && ctn_inline_call(&x, &status))) {
        return status;
    }
    ctn_op_t *op = make(&x, mode);
    if (op == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (mode == CTN_BLOCKING) {
        return ctn_exchange_run(op);
    }
    if (mode == CTN_PERSISTENT) {
        op->persistent = true;
    } else {
        ctn_op_start(op);
    }
    *request = op;
    return CATENA_OK;
}

/** A blocking call. Small uniform blocks take the inline path. */
static inline catena_status_t enter(const ctn_neighbor_call_t *call)
{
    catena_status_t status;
    return call->neighborhood != NULL && ctn_inline_small_call(call, &status)
               ? status
               : enter_usual(call, CTN_BLOCKING, NULL);
}

/* Each collective has three forms with the same parameters: PUBLISH(name,
 * (parameters without the neighborhood), their initializers in
 * ctn_neighbor_call_t). */
#define LIST(...) __VA_ARGS__
#define PUBLISH(name, parameters, ...)                                         \
    CTN_TURN_LAST catena_status_t catena_neighbor_##name(                      \
        LIST parameters, catena_neighborhood_t *neighborhood)                  \
    {                                                                          \
        const ctn_neighbor_call_t call = {                                     \
            .collective = &name, .neighborhood = neighborhood, __VA_ARGS__};   \
        return enter(&call);                                                   \
    }                                                                          \
    catena_status_t catena_ineighbor_##name(                                   \
        LIST parameters, catena_neighborhood_t *neighborhood,                  \
        catena_request_t **request)                                            \
    {                                                                          \
        const ctn_neighbor_call_t call = {                                     \
            .collective = &name, .neighborhood = neighborhood, __VA_ARGS__};   \
        return enter_usual(&call, CTN_NONBLOCKING, request);                   \
    }                                                                          \
    catena_status_t catena_neighbor_##name##_init(                             \
        LIST parameters, catena_neighborhood_t *neighborhood,                  \
        catena_request_t **request)                                            \
    {                                                                          \
        const ctn_neighbor_call_t call = {                                     \
            .collective = &name, .neighborhood = neighborhood, __VA_ARGS__};   \
        return enter_usual(&call, CTN_PERSISTENT, request);                    \
    }

/* Sides that several collectives share. */
#define ONE(side, of_count, of_type)                                           \
    .side = {.buffer = side, .count = of_count, .type = ctn_type_of(of_type)}
#define VECTOR(side, types_field, of_types)                                    \
    .side = {.buffer = side,                                                   \
             .counts = side##_counts,                                          \
             .displacements = side##_displacements,                            \
             .types_field = of_types}
#define SENT_UNIFORM                                                           \
    const void *send, size_t send_count, catena_type_t send_type
#define RECEIVED_UNIFORM void *recv, size_t recv_count, catena_type_t recv_type
#define SENT_VECTOR                                                            \
    const void *send, const size_t send_counts[],                              \
        const ptrdiff_t send_displacements[]
#define RECEIVED_VECTOR                                                        \
    void *recv, const size_t recv_counts[], const ptrdiff_t recv_displacements[]

static const ctn_neighbor_collective_t allgather = {
    .algorithm = CTN_EXCHANGE_ALGORITHM("neighbor_allgather"),
    .operation = CATENA_NEIGHBOR_ALLGATHER,
    .send = CTN_SIDE_ONE,
    .recv = CTN_SIDE_UNIFORM,
};
PUBLISH(allgather, (SENT_UNIFORM, RECEIVED_UNIFORM),
        ONE(send, send_count, send_type), ONE(recv, recv_count, recv_type))

static const ctn_neighbor_collective_t allgatherv = {
    .algorithm = CTN_EXCHANGE_ALGORITHM("neighbor_allgatherv"),
    .operation = CATENA_NEIGHBOR_ALLGATHER,
    .send = CTN_SIDE_ONE,
    .recv = CTN_SIDE_VECTOR,
};
PUBLISH(allgatherv, (SENT_UNIFORM, RECEIVED_VECTOR, catena_type_t recv_type),
        ONE(send, send_count, send_type),
        VECTOR(recv, type, ctn_type_of(recv_type)))

static const ctn_neighbor_collective_t alltoall = {
    .algorithm = CTN_EXCHANGE_ALGORITHM("neighbor_alltoall"),
    .operation = CATENA_NEIGHBOR_ALLTOALL,
    .send = CTN_SIDE_UNIFORM,
    .recv = CTN_SIDE_UNIFORM,
    .may_be_in_place = true,
};
PUBLISH(alltoall, (SENT_UNIFORM, RECEIVED_UNIFORM),
        ONE(send, send_count, send_type), ONE(recv, recv_count, recv_type))

static const ctn_neighbor_collective_t alltoallv = {
    .algorithm = CTN_EXCHANGE_ALGORITHM("neighbor_alltoallv"),
    .operation = CATENA_NEIGHBOR_ALLTOALL,
    .send = CTN_SIDE_VECTOR,
    .recv = CTN_SIDE_VECTOR,
    .may_be_in_place = true,
};
PUBLISH(alltoallv,
        (SENT_VECTOR, catena_type_t send_type, RECEIVED_VECTOR,
         catena_type_t recv_type),
        VECTOR(send, type, ctn_type_of(send_type)),
        VECTOR(recv, type, ctn_type_of(recv_type)))

static const ctn_neighbor_collective_t alltoallw = {
    .algorithm = CTN_EXCHANGE_ALGORITHM("neighbor_alltoallw"),
    .operation = CATENA_NEIGHBOR_ALLTOALL,
    .send = CTN_SIDE_VECTOR,
    .recv = CTN_SIDE_VECTOR,
    .typed = true,
    .may_be_in_place = true,
};
PUBLISH(alltoallw,
        (SENT_VECTOR, const catena_type_t send_types[], RECEIVED_VECTOR,
         const catena_type_t recv_types[]),
        VECTOR(send, types, send_types), VECTOR(recv, types, recv_types))

static const ctn_neighbor_collective_t reduce = {
    .algorithm = CTN_EXCHANGE_ALGORITHM("neighbor_reduce"),
    .operation = CATENA_NEIGHBOR_REDUCE,
    .send = CTN_SIDE_ONE,
    .recv = CTN_SIDE_ONE,
    .may_be_in_place = true,
};
PUBLISH(reduce,
        (const void *send, void *recv, size_t count, catena_type_t type,
         catena_op_t op),
        ONE(send, count, type), ONE(recv, count, type),
        .op = ctn_reduce_op_of(op))

static const ctn_neighbor_collective_t reducev = {
    .algorithm = CTN_EXCHANGE_ALGORITHM("neighbor_reducev"),
    .operation = CATENA_NEIGHBOR_REDUCE,
    .send = CTN_SIDE_VECTOR,
    .recv = CTN_SIDE_ONE,
};
PUBLISH(reducev,
        (SENT_VECTOR, void *recv, size_t recv_count, catena_type_t type,
         catena_op_t op),
        VECTOR(send, type, ctn_type_of(type)), ONE(recv, recv_count, type),
        .op = ctn_reduce_op_of(op))
