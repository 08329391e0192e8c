/* The public functions of the collectives of levels. */

#include <catena/coll.h>

#include "coll/ml/given.h"

CTN_HOT static catena_status_t enter(const ctn_given_t *given, ctn_mode_t mode,
                                     catena_request_t **request)
{
    ctn_call_t call;
    bool nothing;
    if (given->group == NULL || (mode != CTN_BLOCKING && request == NULL)) {
        return CATENA_ERR_ARG;
    }
    catena_status_t status = ctn_ml_understand(given, &call, &nothing);
    return status == CATENA_OK ? ctn_ml_enter(&call, nothing, mode, request)
                               : status;
}

/* Each has three forms of the same parameters: PUBLISH(name, (parameters but
 * the group), what they are in a ctn_given_t). */
#define LIST(...) __VA_ARGS__
#define PUBLISH(name, parameters, ...)                                         \
    CTN_HOT catena_status_t catena_##name(LIST parameters,                     \
                                          catena_group_t *group)               \
    {                                                                          \
        ctn_given_t given = {                                                  \
            .composition = &ctn_ml_##name, .group = group, __VA_ARGS__};       \
        return enter(&given, CTN_BLOCKING, NULL);                              \
    }                                                                          \
    catena_status_t catena_i##name(LIST parameters, catena_group_t *group,     \
                                   catena_request_t **request)                 \
    {                                                                          \
        ctn_given_t given = {                                                  \
            .composition = &ctn_ml_##name, .group = group, __VA_ARGS__};       \
        return enter(&given, CTN_NONBLOCKING, request);                        \
    }                                                                          \
    catena_status_t catena_##name##_init(                                      \
        LIST parameters, catena_group_t *group, catena_request_t **request)    \
    {                                                                          \
        ctn_given_t given = {                                                  \
            .composition = &ctn_ml_##name, .group = group, __VA_ARGS__};       \
        return enter(&given, CTN_PERSISTENT, request);                         \
    }

/* The sides that several of them have. */
#define SEND(of_count, of_type)                                                \
    .send = {.buffer = send, .count = of_count, .type = of_type}
#define RECV(of_count, of_type)                                                \
    .recv = {.buffer = recv, .count = of_count, .type = of_type}

PUBLISH(bcast, (void *buffer, size_t count, catena_datatype_t type, int root),
        .recv = {.buffer = buffer, .count = count, .type = type}, .root = root)

PUBLISH(reduce,
        (const void *send, void *recv, size_t count, catena_datatype_t type,
         catena_op_t op, int root),
        SEND(count, type), RECV(count, type), .op = op, .root = root)

#define COMBINED                                                               \
    (const void *send, void *recv, size_t count, catena_datatype_t type,       \
     catena_op_t op)

PUBLISH(allreduce, COMBINED, SEND(count, type), RECV(count, type), .op = op)
PUBLISH(scan, COMBINED, SEND(count, type), RECV(count, type), .op = op)
PUBLISH(exscan, COMBINED, SEND(count, type), RECV(count, type), .op = op)
