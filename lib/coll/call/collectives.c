/* Public functions of the hierarchical collectives, except barrier. */

#include <catena/coll.h>

#include "coll/call/call.h"
#include "coll/call/publish.h"

#define RUN(name, args, mode, request)                                         \
    ctn_ml_run(&ctn_ml_##name, args, group, mode, request)
#define PUBLISH(name, parameters, ...)                                         \
    CTN_PUBLISH(name, catena_group_t *group, RUN, parameters, __VA_ARGS__)

PUBLISH(bcast, (void *buffer, size_t count, catena_type_t type, int root),
        .recv = {.buffer = buffer, .count = count, .type = ctn_type_of(type)},
        .root = root)

/* ---- reductions ---- */

/* REDUCED: the parameters of all reductions; BOTH: their two sides, which have
 * the same count and type. */

#define REDUCED                                                                \
    const void *send, void *recv, size_t count, catena_type_t type,            \
        catena_op_t op
#define BOTH CTN_UNIFORM(send, count, type), CTN_UNIFORM(recv, count, type)

PUBLISH(reduce, (REDUCED, int root), BOTH, .op = ctn_reduce_op_of(op),
        .root = root)
PUBLISH(allreduce, (REDUCED), BOTH, .op = ctn_reduce_op_of(op))
PUBLISH(scan, (REDUCED), BOTH, .op = ctn_reduce_op_of(op))
PUBLISH(exscan, (REDUCED), BOTH, .op = ctn_reduce_op_of(op))
PUBLISH(reduce_scatter_block, (REDUCED), BOTH, .op = ctn_reduce_op_of(op))
PUBLISH(
    reduce_scatter,
    (const void *send, void *recv, const size_t recv_counts[],
     catena_type_t type, catena_op_t op),
    .send = {.buffer = send, .counts = recv_counts, .type = ctn_type_of(type)},
    .recv = {.buffer = recv, .counts = recv_counts, .type = ctn_type_of(type)},
    .op = ctn_reduce_op_of(op))

/* ---- blocks ---- */

PUBLISH(gather, (CTN_SEND_UNIFORM, CTN_RECV_UNIFORM, int root),
        CTN_UNIFORM(send, send_count, send_type),
        CTN_UNIFORM(recv, recv_count, recv_type), .root = root)
PUBLISH(gatherv,
        (CTN_SEND_UNIFORM, CTN_RECV_LENGTHS, catena_type_t recv_type, int root),
        CTN_UNIFORM(send, send_count, send_type), CTN_VECTOR(recv, recv_type),
        .root = root)
PUBLISH(scatter, (CTN_SEND_UNIFORM, CTN_RECV_UNIFORM, int root),
        CTN_UNIFORM(send, send_count, send_type),
        CTN_UNIFORM(recv, recv_count, recv_type), .root = root)
PUBLISH(scatterv,
        (CTN_SEND_LENGTHS, catena_type_t send_type, CTN_RECV_UNIFORM, int root),
        CTN_VECTOR(send, send_type), CTN_UNIFORM(recv, recv_count, recv_type),
        .root = root)
PUBLISH(allgather, (CTN_SEND_UNIFORM, CTN_RECV_UNIFORM),
        CTN_UNIFORM(send, send_count, send_type),
        CTN_UNIFORM(recv, recv_count, recv_type))
PUBLISH(allgatherv,
        (CTN_SEND_UNIFORM, CTN_RECV_LENGTHS, catena_type_t recv_type),
        CTN_UNIFORM(send, send_count, send_type), CTN_VECTOR(recv, recv_type))
