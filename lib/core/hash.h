#ifndef CTN_CORE_HASH_H
#define CTN_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash functions. Not for input that an adversary chooses. */

/** 2^64 divided by the golden ratio: the step of splitmix64, and the factor of
 * Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). */
#define CTN_HASH_STEP UINT64_C(0x9e3779b97f4a7c15)

/** A permutation of 64-bit integers in which each bit of x affects all bits:
 * the finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators, OOPSLA 2014). Maps 0 to 0. */
static inline uint64_t ctn_hash_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/** Add a value to the hash of a list of values. The first `hash` may be any
 * number. Zeros change the hash, too. */
static inline uint64_t ctn_hash_add(uint64_t hash, uint64_t value)
{
    return ctn_hash_mix((hash + CTN_HASH_STEP) ^ value);
}

/** Add the characters of a text and its terminator. */
static inline uint64_t ctn_hash_add_text(uint64_t hash, const char *text)
{
    do {
        hash = ctn_hash_add(hash, (unsigned char)*text);
    } while (*text++ != '\0');
    return hash;
}

/** Fibonacci hashing. Each bit of the result depends on all bits of x up to the
 * same position, so users take the upper 32 bits. */
static inline uint64_t ctn_hash_fibonacci(uint64_t x)
{
    return x * CTN_HASH_STEP;
}

/** Jenkins's one-at-a-time hash (Algorithm Alley, Dr. Dobb's Journal 22(9),
 * 1997): add bytes to a hash, which is 0 at first. The bytes may be added in
 * any number of parts. */
static inline uint32_t ctn_hash_jenkins(uint32_t hash, const void *data,
                                        size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) {
        hash += byte[i];
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    return hash;
}

/** The final hash, after all bytes were added. */
static inline uint32_t ctn_hash_jenkins_end(uint32_t hash)
{
    hash += hash << 3;
    hash ^= hash >> 11;
    return hash + (hash << 15);
}

#endif
