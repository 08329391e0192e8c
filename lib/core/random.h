#ifndef CTN_CORE_RANDOM_H
#define CTN_CORE_RANDOM_H

#include "core/hash.h"

/* The random number generator of library, simulator and tests: splitmix64 (see
 * core/hash.h). The state is one number; its first value, the seed, may be any.
 * The same seed gives the same numbers everywhere. Not for secrets. */

/** Each call adds this to the state, so adding n times this skips n numbers. */
#define CTN_RANDOM_STEP CTN_HASH_STEP

/** The next number of a sequence. */
static inline uint64_t ctn_random(uint64_t *state)
{
    return ctn_hash_mix(*state += CTN_RANDOM_STEP);
}

/** The next number of a sequence, below `limit`, which is above 0. */
static inline size_t ctn_random_below(uint64_t *state, size_t limit)
{
    return (size_t)((ctn_random(state) >> 16) % limit);
}

/** The next number of a sequence, from 0 to below 1. */
static inline double ctn_random_real(uint64_t *state)
{
    return (double)(ctn_random(state) >> 11) * 0x1p-53;
}

#endif
