#ifndef ORACLE_RANDOM_H
#define ORACLE_RANDOM_H

#include "core/random.h"

/** A hash of three numbers. */
static inline uint64_t oracle_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t state = a * UINT64_C(0xff51afd7ed558ccd) +
                     b * UINT64_C(0xc4ceb9fe1a85ec53) +
                     c * UINT64_C(0x2545f4914f6cdd1d);
    return ctn_random(&state);
}

#endif
