#ifndef BENCH_LEVELS_H
#define BENCH_LEVELS_H

#include "bench.h"

/* Shared by the files of collectives/: macros for functions and members of
 * struct bench_collective, and for arguments, which come from `call`. */

/** Define the functions NAME_blocking, NAME_start and NAME_init, which call
 * catena_NAME, catena_iNAME and catena_NAME_init with the same arguments.
 * `where`: the group or neighborhood, the last of these arguments. */
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
/** The same on the measured group. */
#define BENCH_THREE_FORMS(name, ...)                                           \
    BENCH_THREE_FORMS_ON(call->group, name, __VA_ARGS__)

/** The settings of a hierarchical collective. */
#define BENCH_BY_HIERARCHY(family)                                             \
    .algorithm = family "_algorithm",                                          \
    .algorithm_names = "auto, or one of a component of its hierarchy",         \
    .hierarchy = family "_hierarchy"

/** Members of a hierarchical collective `collective`. `family`: the collective
 * whose settings it uses; those of gatherv, for example, are gather's. */
#define BENCH_HIERARCHICAL(collective, family)                                 \
    .name = #collective, .max = 1 << 20, .synced = true,                       \
    BENCH_BY_HIERARCHY(family), .blocking = collective##_blocking,             \
    .start = collective##_start, .init = collective##_init

/** Members of a collective that moves blocks, and of one that reduces. */
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

/* Arguments of calls. The count is that of elements in a block. */
#define BENCH_ROOT bench_options(call)->root
#define BENCH_TYPE bench_options(call)->type->type
#define BENCH_OP bench_options(call)->op->op
#define BENCH_COUNT (call->bytes / bench_options(call)->type->bytes)

#endif
