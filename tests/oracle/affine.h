#ifndef ORACLE_AFFINE_H
#define ORACLE_AFFINE_H

#include <stddef.h>
#include <stdint.h>

/* Semantics of the user-defined operations, for the reference and for catena.
 */

/** Maps x to factor x + term, composed: the first word is the factor, all
 * others are terms. */
static inline void oracle_affine(const uint64_t *a, const uint64_t *b,
                                 size_t words, uint64_t *out)
{
    uint64_t factor = b[0];
    out[0] = a[0] * factor;
    for (size_t i = 1; i < words; i++) {
        out[i] = a[i] * factor + b[i];
    }
}

static inline uint64_t oracle_add_modulo(uint64_t a, uint64_t b)
{
    const uint64_t prime = 1000003;
    return (a % prime + b % prime) % prime;
}

#endif
