/* Contents of messages: a counter through a mixing function, eight bytes at
 * a time, so that every block of every call differs from every other. */

#include <string.h>

#include "bench.h"

static const uint64_t step = 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */

/* Half of splitmix64's finish: enough to make neighbours differ in all
 * bytes, and cheap enough to fill at memory speed. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 29);
}

uint64_t bench_seed(uint64_t stamp, int source, int target)
{
    uint64_t x = mix(stamp * step + 1);

    x = mix(x + (uint64_t)(unsigned)source * step);
    return mix(x + (uint64_t)(unsigned)target * step + 1);
}

uint64_t bench_word(uint64_t seed, size_t index)
{
    return mix(seed + index * step);
}

void bench_fill(void *block, size_t bytes, uint64_t seed)
{
    unsigned char *out = block;
    uint64_t word;
    size_t i = 0;

    for (; i + 8 <= bytes; i += 8, seed += step) {
        word = mix(seed);
        memcpy(out + i, &word, 8);
    }
    word = mix(seed);
    if (i < bytes)
        memcpy(out + i, &word, bytes - i);
}

/* Compare at most eight bytes one by one. */
static uint64_t compare_bytes(const unsigned char *found, size_t bytes,
                              uint64_t expected_word, size_t offset,
                              bool is_first, struct bench_mismatch *first)
{
    unsigned char expected[8];
    uint64_t wrong = 0;

    memcpy(expected, &expected_word, 8);
    for (size_t i = 0; i < bytes; i++) {
        if (found[i] == expected[i])
            continue;
        if (wrong++ == 0 && is_first) {
            first->offset = offset + i;
            first->expected = expected[i];
            first->found = found[i];
        }
    }
    return wrong;
}

uint64_t bench_compare(const void *block, size_t bytes, uint64_t seed,
                       struct bench_mismatch *first)
{
    const unsigned char *in = block;
    uint64_t wrong = 0, word;
    size_t i = 0;

    for (; i + 8 <= bytes; i += 8, seed += step) {
        memcpy(&word, in + i, 8);
        if (word != mix(seed))
            wrong += compare_bytes(in + i, 8, mix(seed), i, wrong == 0, first);
    }
    if (i < bytes)
        wrong +=
            compare_bytes(in + i, bytes - i, mix(seed), i, wrong == 0, first);
    return wrong;
}
