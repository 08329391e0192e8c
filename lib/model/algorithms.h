#ifndef CTN_MODEL_ALGORITHMS_H
#define CTN_MODEL_ALGORITHMS_H

#include <stdbool.h>
#include <stdint.h>

/* The names of all algorithms that rules or settings can select. Some
 * collectives share names. An algorithm that is added to a collective needs its
 * name here and in that collective's list in tuning.c. */

#define CTN_EACH_ALLTOALL(DO)                                                  \
    DO(DIRECT, "direct")                                                       \
    DO(SHIFT, "shift")                                                         \
    DO(BRUCK, "bruck")                                                         \
    DO(MORTON, "morton")                                                       \
    DO(L_A2A, "l-a2a")                                                         \
    DO(MPML, "mpml")                                                           \
    DO(NMPML, "nmpml")                                                         \
    DO(ONMPML, "onmpml")                                                       \
    DO(L_A2A_PLAIN, "l-a2a-plain")                                             \
    DO(MPML_PLAIN, "mpml-plain")                                               \
    DO(NMPML_PLAIN, "nmpml-plain")

/* Of basic collectives: on a node, or by messages. */
#define CTN_EACH_BASIC(DO)                                                     \
    DO(FLAT, "flat")                                                           \
    DO(ROOT, "root")                                                           \
    DO(STAGED, "staged")                                                       \
    DO(ZERO_COPY, "zero-copy")                                                 \
    DO(SHARED, "shared")                                                       \
    DO(LAST, "last")                                                           \
    DO(CHAIN, "chain")                                                         \
    DO(DISSEMINATION, "dissemination")                                         \
    DO(TREE, "tree")                                                           \
    DO(BINOMIAL, "binomial")                                                   \
    DO(LINEAR, "linear")                                                       \
    DO(RECURSIVE_DOUBLING, "recursive-doubling")                               \
    DO(RABENSEIFNER, "rabenseifner")                                           \
    DO(RING, "ring")                                                           \
    DO(RECURSIVE_HALVING, "recursive-halving")

#define CTN_EACH_SPLIT(DO)                                                     \
    DO(ALLGATHER, "allgather")                                                 \
    DO(ALLGATHER_FAST, "allgather-fast")                                       \
    DO(GATHER_SCATTER, "gather-scatter")                                       \
    DO(CHENG, "cheng")                                                         \
    DO(BITONIC, "bitonic")                                                     \
    DO(RADIX, "radix")                                                         \
    DO(RADIX_PLAIN, "radix-plain")                                             \
    DO(HASH, "hash")                                                           \
    DO(HASH_PLAIN, "hash-plain")                                               \
    DO(HASH64, "hash64")

/* Of neighborhoods, beside direct. */
#define CTN_EACH_NEIGHBOR(DO)                                                  \
    DO(COLORED, "colored")                                                     \
    DO(COMBINING, "combining")                                                 \
    DO(AGGREGATED, "aggregated")

#define CTN_EACH_ALGORITHM(DO)                                                 \
    CTN_EACH_ALLTOALL(DO)                                                      \
    CTN_EACH_BASIC(DO) CTN_EACH_SPLIT(DO) CTN_EACH_NEIGHBOR(DO)

#define CTN_ALGORITHM_ENUM(NAME, text) CTN_ALGORITHM_##NAME,

/** CTN_ALGORITHM_AUTO: none is named. */
typedef enum ctn_algorithm_name {
    CTN_ALGORITHM_AUTO,
    CTN_EACH_ALGORITHM(CTN_ALGORITHM_ENUM) CTN_ALGORITHMS
} ctn_algorithm_name_t;

_Static_assert(CTN_ALGORITHMS <= 64, "a set has a bit for each");

/** A set of algorithms. */
typedef uint64_t ctn_algorithm_set_t;
#define CTN_ALGORITHM_BIT(NAME) (UINT64_C(1) << CTN_ALGORITHM_##NAME)

static inline bool ctn_algorithm_in(ctn_algorithm_set_t set,
                                    ctn_algorithm_name_t name)
{
    return (set >> name & 1) != 0;
}

/** Their names, as users write them. */
extern const char *const ctn_algorithm_names[CTN_ALGORITHMS];

#endif
