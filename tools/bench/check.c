/* Message contents, which the functions of tests/oracle define; and the random
 * numbers for lengths, graphs and permutations. */

#include "oracle/content.h"
#include "oracle/random.h"

#include "bench.h"

/* Differs only in detail from ctn_hash_mix, which must not replace it: other
 * random numbers would change lengths and graphs, and new results could not be
 * compared with earlier ones. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 29);
}

uint64_t bench_seed(uint64_t stamp, int source, int target)
{
    uint64_t x = mix(stamp * CTN_RANDOM_STEP + 1);

    x = mix(x + (uint64_t)(unsigned)source * CTN_RANDOM_STEP);
    return mix(x + (uint64_t)(unsigned)target * CTN_RANDOM_STEP + 1);
}

void bench_fill(void *block, size_t bytes, uint64_t seed)
{
    oracle_fill(seed, bytes, block);
}

uint64_t bench_compare(const void *block, size_t bytes, uint64_t seed,
                       struct bench_mismatch *first)
{
    const unsigned char *found = block;
    uint64_t wrong = oracle_count_wrong(seed, bytes, block, &first->offset);
    uint64_t expected;

    if (wrong > 0) {
        size_t word = first->offset / 8;

        /* Word i of a block is word 0 of a block whose seed is i steps on. */
        oracle_fill(seed + word * CTN_RANDOM_STEP, 8, &expected);
        first->expected = (unsigned char)(expected >> first->offset % 8 * 8);
        first->found = found[first->offset];
    }
    return wrong;
}
