#ifndef CTN_COLL_CALL_PUBLISH_H
#define CTN_COLL_CALL_PUBLISH_H

#include "coll/call/arguments.h"
#include "core/entry.h"

/* CTN_PUBLISH defines the three public functions of a collective: blocking,
 * nonblocking and persistent.
 *
 *   name        of the collective
 *   on          the declaration of the last parameter that all three have: the
 *               group or the neighborhood
 *   run         called as run(name, arguments, mode, request)
 *   parameters  the parameters before it, in parentheses
 *   ...         initializers of the members of ctn_arguments_t */
#define CTN_LIST(...) __VA_ARGS__
#define CTN_PUBLISH(name, on, run, parameters, ...)                            \
    catena_status_t catena_##name(CTN_LIST parameters, on)                     \
    {                                                                          \
        CTN_ENTRY;                                                             \
        const ctn_arguments_t args = {.collective = &ctn_call_##name,          \
                                      __VA_ARGS__};                            \
        return run(name, &args, CTN_BLOCKING, NULL);                           \
    }                                                                          \
    catena_status_t catena_i##name(CTN_LIST parameters, on,                    \
                                   catena_request_t **request)                 \
    {                                                                          \
        CTN_ENTRY;                                                             \
        const ctn_arguments_t args = {.collective = &ctn_call_##name,          \
                                      __VA_ARGS__};                            \
        return run(name, &args, CTN_NONBLOCKING, request);                     \
    }                                                                          \
    catena_status_t catena_##name##_init(CTN_LIST parameters, on,              \
                                         catena_request_t **request)           \
    {                                                                          \
        CTN_ENTRY;                                                             \
        const ctn_arguments_t args = {.collective = &ctn_call_##name,          \
                                      __VA_ARGS__};                            \
        return run(name, &args, CTN_PERSISTENT, request);                      \
    }

/* Sides that several collectives have: their parameters (CTN_SEND_...,
 * CTN_RECV_...), and their initializers in ctn_arguments_t, by the shape of the
 * side. */
#define CTN_SEND_UNIFORM                                                       \
    const void *send, size_t send_count, catena_type_t send_type
#define CTN_RECV_UNIFORM void *recv, size_t recv_count, catena_type_t recv_type
#define CTN_SEND_LENGTHS                                                       \
    const void *send, const size_t send_counts[],                              \
        const ptrdiff_t send_displacements[]
#define CTN_RECV_LENGTHS                                                       \
    void *recv, const size_t recv_counts[], const ptrdiff_t recv_displacements[]

#define CTN_UNIFORM(side, of_count, of_type)                                   \
    .side = {.buffer = side, .count = of_count, .type = ctn_type_of(of_type)}
#define CTN_VECTOR(side, of_type)                                              \
    .side = {.buffer = side,                                                   \
             .counts = side##_counts,                                          \
             .displacements = side##_displacements,                            \
             .type = ctn_type_of(of_type)}
#define CTN_TYPED(side)                                                        \
    .side = {.buffer = side,                                                   \
             .counts = side##_counts,                                          \
             .displacements = side##_displacements,                            \
             .types = side##_types}

#endif
