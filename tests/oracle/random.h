#ifndef ORACLE_RANDOM_H
#define ORACLE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The random number generator of all tests: splitmix64. A seed gives the same
 * values on every rank. */

/** The value of one state; `state` is a counter times an odd number. */
static inline uint64_t oracle_mix(uint64_t state)
{
    uint64_t z = state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#define ORACLE_STEP UINT64_C(0x9e3779b97f4a7c15)

/** The next value of a sequence. */
static inline uint64_t oracle_random(uint64_t *state)
{
    return oracle_mix(*state += ORACLE_STEP);
}

/** The next value of a sequence, below `limit`. */
static inline size_t oracle_below(uint64_t *state, size_t limit)
{
    return (size_t)((oracle_random(state) >> 16) % limit);
}

/** A hash of three numbers. */
static inline uint64_t oracle_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t state = a * UINT64_C(0xff51afd7ed558ccd) +
                     b * UINT64_C(0xc4ceb9fe1a85ec53) +
                     c * UINT64_C(0x2545f4914f6cdd1d);
    return oracle_random(&state);
}

#endif
