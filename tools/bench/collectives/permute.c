/* Pseudo-random permutations without a table: every rank computes the position
 * of any rank, and the rank at its own position. */

#include "bench.h"

enum { ROUNDS = 4 };

/* Half the number of bits that values are permuted in: 4^half >= n. */
static unsigned half_bits(uint64_t n)
{
    unsigned half = 1;

    while ((uint64_t)1 << 2 * half < n)
        half++;
    return half;
}

/* The round function of the Feistel network. */
static uint64_t mixed(uint64_t seed, int round, uint64_t bits)
{
    return bench_seed(seed, round, (int)bits) >> 32;
}

/* A Feistel network permutes 0 to 4^half - 1. It is repeated until the value is
 * below n, which makes it a permutation of 0 to n - 1. */
uint64_t bench_permute(uint64_t value, uint64_t n, uint64_t seed)
{
    unsigned half = half_bits(n);
    uint64_t mask = ((uint64_t)1 << half) - 1;

    do {
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t right = value & mask;

            value = right << half |
                    ((value >> half ^ mixed(seed, round, right)) & mask);
        }
    } while (value >= n);
    return value;
}

uint64_t bench_unpermute(uint64_t value, uint64_t n, uint64_t seed)
{
    unsigned half = half_bits(n);
    uint64_t mask = ((uint64_t)1 << half) - 1;

    do {
        for (int round = ROUNDS - 1; round >= 0; round--) {
            uint64_t right = value >> half;

            value =
                ((value ^ mixed(seed, round, right)) & mask) << half | right;
        }
    } while (value >= n);
    return value;
}
