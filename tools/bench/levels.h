#ifndef BENCH_LEVELS_H
#define BENCH_LEVELS_H

#include "bench.h"

/* Shared by the rows of hierarchical collectives. */

/** catena_X, catena_iX and catena_X_init with the same arguments, built from
 * `call`; the last argument is `where` it is called. */
#define BENCH_THREE_FORMS_ON(where, name, ...)                                 \
    static catena_status_t name##_blocking(struct bench_call *call)            \
    {                                                                          \
        return catena_##name(__VA_ARGS__, where);                              \
    }                                                                          \
    static catena_status_t name##_start(struct bench_call *call,               \
                                        catena_request_t **request)            \
    {                                                                          \
        return catena_i##name(__VA_ARGS__, where, request);                    \
    }                                                                          \
    static catena_status_t name##_init(struct bench_call *call,                \
                                       catena_request_t **request)             \
    {                                                                          \
        return catena_##name##_init(__VA_ARGS__, where, request);              \
    }
#define BENCH_THREE_FORMS(name, ...)                                           \
    BENCH_THREE_FORMS_ON(call->group, name, __VA_ARGS__)

#define BENCH_BY_HIERARCHY(family)                                             \
    .algorithm = family "_algorithm",                                          \
    .algorithm_names = "auto, or one of a component of its hierarchy",         \
    .hierarchy = family "_hierarchy"

/** `family`: the collective whose settings it shares. */
#define BENCH_LEVELS_ROW(shown, family)                                        \
    .name = #shown, .max = 1 << 20, .synced = true,                            \
    BENCH_BY_HIERARCHY(family), .blocking = shown##_blocking,                  \
    .start = shown##_start, .init = shown##_init

#define BENCH_MOVES                                                            \
    .min = 1, .fill = bench_fill_blocks, .verify = bench_verify_blocks
#define BENCH_REDUCES                                                          \
    .min = 4, .reduces = true, .fill = bench_fill_vector,                      \
    .verify = bench_verify_vector

static inline const struct bench_options *
bench_options(const struct bench_call *call)
{
    return call->bench->options;
}

static inline bool bench_is_root(const struct bench_call *call)
{
    return call->rank == call->bench->options->root;
}

/* Arguments of calls. */
#define BENCH_ROOT bench_options(call)->root
#define BENCH_TYPE bench_options(call)->type->type
#define BENCH_OP bench_options(call)->op->op
#define BENCH_COUNT (call->bytes / bench_options(call)->type->bytes)

#endif
