/* Public functions of the collectives of blocks. */

#include "coll/call/publish.h"

#define RECV_BLOCKS                                                            \
    .recv = {.buffer = recv,                                                   \
             .counts = recv_counts,                                            \
             .displacements = recv_displacements,                              \
             .type = ctn_type_of(recv_type)}
#define SEND_BLOCKS                                                            \
    .send = {.buffer = send,                                                   \
             .counts = send_counts,                                            \
             .displacements = send_displacements,                              \
             .type = ctn_type_of(send_type)}

PUBLISH(gather,
        (const void *send, size_t send_count, catena_type_t send_type,
         void *recv, size_t recv_count, catena_type_t recv_type, int root),
        SEND(send_count, send_type), RECV(recv_count, recv_type), .root = root)

PUBLISH(gatherv,
        (const void *send, size_t send_count, catena_type_t send_type,
         void *recv, const size_t recv_counts[],
         const ptrdiff_t recv_displacements[], catena_type_t recv_type,
         int root),
        SEND(send_count, send_type), RECV_BLOCKS, .root = root)

PUBLISH(scatter,
        (const void *send, size_t send_count, catena_type_t send_type,
         void *recv, size_t recv_count, catena_type_t recv_type, int root),
        SEND(send_count, send_type), RECV(recv_count, recv_type), .root = root)

PUBLISH(scatterv,
        (const void *send, const size_t send_counts[],
         const ptrdiff_t send_displacements[], catena_type_t send_type,
         void *recv, size_t recv_count, catena_type_t recv_type, int root),
        SEND_BLOCKS, RECV(recv_count, recv_type), .root = root)

PUBLISH(allgather,
        (const void *send, size_t send_count, catena_type_t send_type,
         void *recv, size_t recv_count, catena_type_t recv_type),
        SEND(send_count, send_type), RECV(recv_count, recv_type))

PUBLISH(allgatherv,
        (const void *send, size_t send_count, catena_type_t send_type,
         void *recv, const size_t recv_counts[],
         const ptrdiff_t recv_displacements[], catena_type_t recv_type),
        SEND(send_count, send_type), RECV_BLOCKS)

PUBLISH(reduce_scatter,
        (const void *send, void *recv, const size_t recv_counts[],
         catena_type_t type, catena_op_t op),
        .send = {.buffer = send, .type = ctn_type_of(type)},
        .recv = {.buffer = recv,
                 .counts = recv_counts,
                 .type = ctn_type_of(type)},
        .op = ctn_reduce_op_of(op))

PUBLISH(reduce_scatter_block,
        (const void *send, void *recv, size_t count, catena_type_t type,
         catena_op_t op),
        .send = {.buffer = send, .type = ctn_type_of(type)}, RECV(count, type),
        .op = ctn_reduce_op_of(op))
