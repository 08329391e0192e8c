/* Public functions of the hierarchical collectives, except those of blocks. */

#include "coll/call/publish.h"

PUBLISH(bcast, (void *buffer, size_t count, catena_type_t type, int root),
        .recv = {.buffer = buffer, .count = count, .type = ctn_type_of(type)},
        .root = root)

PUBLISH(reduce,
        (const void *send, void *recv, size_t count, catena_type_t type,
         catena_op_t op, int root),
        SEND(count, type), RECV(count, type), .op = ctn_reduce_op_of(op),
        .root = root)

#define COMBINED                                                               \
    (const void *send, void *recv, size_t count, catena_type_t type,           \
     catena_op_t op)

PUBLISH(allreduce, COMBINED, SEND(count, type), RECV(count, type),
        .op = ctn_reduce_op_of(op))
PUBLISH(scan, COMBINED, SEND(count, type), RECV(count, type),
        .op = ctn_reduce_op_of(op))
PUBLISH(exscan, COMBINED, SEND(count, type), RECV(count, type),
        .op = ctn_reduce_op_of(op))
