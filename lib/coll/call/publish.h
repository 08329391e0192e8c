#ifndef CTN_COLL_CALL_PUBLISH_H
#define CTN_COLL_CALL_PUBLISH_H

#include <catena/coll.h>

#include "coll/call/call.h"

/* Defines the three forms of a collective, with the same parameters:
 * PUBLISH(name, (parameters except the group), members of its ctn_coll_args_t).
 */
#define LIST(...) __VA_ARGS__
#define PUBLISH(name, parameters, ...)                                         \
    CTN_HOT catena_status_t catena_##name(LIST parameters,                     \
                                          catena_group_t *group)               \
    {                                                                          \
        const ctn_coll_args_t args = {                                         \
            .composition = &ctn_ml_##name, .group = group, __VA_ARGS__};       \
        return ctn_ml_run(&args, CTN_BLOCKING, NULL);                          \
    }                                                                          \
    catena_status_t catena_i##name(LIST parameters, catena_group_t *group,     \
                                   catena_request_t **request)                 \
    {                                                                          \
        const ctn_coll_args_t args = {                                         \
            .composition = &ctn_ml_##name, .group = group, __VA_ARGS__};       \
        return ctn_ml_run(&args, CTN_NONBLOCKING, request);                    \
    }                                                                          \
    catena_status_t catena_##name##_init(                                      \
        LIST parameters, catena_group_t *group, catena_request_t **request)    \
    {                                                                          \
        const ctn_coll_args_t args = {                                         \
            .composition = &ctn_ml_##name, .group = group, __VA_ARGS__};       \
        return ctn_ml_run(&args, CTN_PERSISTENT, request);                     \
    }

/* Common forms of sides. */
#define SEND(of_count, of_type)                                                \
    .send = {.buffer = send, .count = of_count, .type = ctn_type_of(of_type)}
#define RECV(of_count, of_type)                                                \
    .recv = {.buffer = recv, .count = of_count, .type = ctn_type_of(of_type)}

#endif
