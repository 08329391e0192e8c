#ifndef BENCH_LEVELS_H
#define BENCH_LEVELS_H

#include "bench.h"

/* Shared by the files of collectives/: macros for functions and members of
 * struct bench_collective, and for arguments, which come from `call`. */

/* Of each collective NAME its traits, BENCH_TRAITS_NAME; of one of
 * neighborhoods also the operation of catena_neighborhood_create,
 * BENCH_PATTERN_NAME. */
enum {
#define CTN_CALL(NAME, name, send, recv, traits) BENCH_TRAITS_##name = (traits),
#define CTN_VARIANT(NAME, name, OF, send, recv, traits)                        \
    BENCH_TRAITS_##name = (traits),
#define CTN_ALLTOALL CTN_CALL
#define CTN_NEIGHBOR(NAME, name, PATTERN, send, recv, traits)                  \
    BENCH_TRAITS_##name = (traits),                                            \
    BENCH_PATTERN_##name = CATENA_NEIGHBOR_##PATTERN,
#include "core/calls.def"
};

/** Define the functions NAME_blocking, NAME_start and NAME_init, which call
 * catena_NAME, catena_iNAME and catena_NAME_init with the same arguments. */
#define BENCH_THREE_FORMS(name, ...)                                           \
    static catena_status_t name##_blocking(struct bench_call *call)            \
    {                                                                          \
        return catena_##name(__VA_ARGS__);                                     \
    }                                                                          \
    static catena_status_t name##_start(struct bench_call *call,               \
                                        catena_request_t **request)            \
    {                                                                          \
        return catena_i##name(__VA_ARGS__, request);                           \
    }                                                                          \
    static catena_status_t name##_init(struct bench_call *call,                \
                                       catena_request_t **request)             \
    {                                                                          \
        return catena_##name##_init(__VA_ARGS__, request);                     \
    }
/** The same on the measured group. */
#define BENCH_ON_GROUP(name, ...)                                              \
    BENCH_THREE_FORMS(name, __VA_ARGS__, call->group)

/** Members of a collective of calls.def. */
#define BENCH_CALL(collective)                                                 \
    .name = #collective, .traits = BENCH_TRAITS_##collective,                  \
    .blocking = collective##_blocking, .start = collective##_start,            \
    .init = collective##_init

/** The settings of a hierarchical collective. */
#define BENCH_BY_HIERARCHY(family)                                             \
    .algorithm = family "_algorithm",                                          \
    .algorithm_names = "auto, or one of a component of its hierarchy",         \
    .hierarchy = family "_hierarchy"

/** Members of a hierarchical collective `collective`. `family`: the collective
 * whose settings it uses; those of gatherv, for example, are gather's. */
#define BENCH_HIERARCHICAL(collective, family)                                 \
    BENCH_CALL(collective), .max = 1 << 20, .synced = true,                    \
                            BENCH_BY_HIERARCHY(family)

/** Members of a collective that moves blocks, and of one that reduces. */
#define BENCH_MOVES                                                            \
    .min = 1, .fill = bench_fill_blocks, .verify = bench_verify_blocks
#define BENCH_REDUCES                                                          \
    .min = 4, .fill = bench_fill_vector, .verify = bench_verify_vector

/** Members of an alltoall. */
#define BENCH_ALLTOALL(collective)                                             \
    BENCH_CALL(collective), BENCH_MOVES,                                       \
        .max = 65536, .synced = true, .algorithm = "alltoall_algorithm",       \
        .algorithm_names = "auto, direct, shift, bruck, morton, l-a2a, "       \
                           "mpml, nmpml, onmpml, l-a2a-plain, mpml-plain, "    \
                           "nmpml-plain",                                      \
        .leaders = "alltoall_leaders"

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
