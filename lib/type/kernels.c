/* Kernels: the loops of the predefined operations, one for each operation and
 * fixed type, written so that the compiler vectorizes them. The build defines
 * CTN_KERNELS as the name of the table of kernels at the end (kernels.h). */

#include "type/kernels.h"

#include <stdint.h>
#include <string.h>

/* For element types: operands may be unaligned, in a user's buffer or in a
 * message. */
#define ANYWHERE __attribute__((aligned(1), may_alias))

/* The result may be one of the operands, but buffers do not overlap otherwise.
 * So no iteration reads what another one has written, and the compiler may
 * assume that. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/** Define the kernel of an operation and a type: out[i] = result, an expression
 * of a = left[i] and b = right[i]. */
#define KERNEL(op, name, ctype, result)                                        \
    static void op##_##name(const void *left, const void *right, void *out,    \
                            size_t count)                                      \
    {                                                                          \
        typedef ctype ANYWHERE element_t;                                      \
        const element_t *lefts = left;                                         \
        const element_t *rights = right;                                       \
        element_t *outs = out;                                                 \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < count; i++) {                                   \
            ctype a = lefts[i];                                                \
            ctype b = rights[i];                                               \
            outs[i] = (ctype)(result);                                         \
        }                                                                      \
    }

/* Converts an integer to an unsigned type at least as wide as `unsigned`.
 * Arithmetic then wraps, whereas signed overflow would be undefined. */
#define WRAPPING(ctype, a) (1u * (ctype##_unsigned)(a))
typedef uint8_t int8_t_unsigned, uint8_t_unsigned;
typedef uint16_t int16_t_unsigned, uint16_t_unsigned;
typedef uint32_t int32_t_unsigned, uint32_t_unsigned;
typedef uint64_t int64_t_unsigned, uint64_t_unsigned;

#define COMPARE(name, ctype, handle)                                           \
    KERNEL(max, name, ctype, a > b ? a : b)                                    \
    KERNEL(min, name, ctype, a < b ? a : b)
#define BITWISE(name, ctype, handle)                                           \
    KERNEL(band, name, ctype, a &b)                                            \
    KERNEL(bor, name, ctype, a | b)                                            \
    KERNEL(bxor, name, ctype, a ^ b)
#define LOGICAL(name, ctype, handle)                                           \
    KERNEL(land, name, ctype, (a != 0) & (b != 0))                             \
    KERNEL(lor, name, ctype, (a != 0) | (b != 0))                              \
    KERNEL(lxor, name, ctype, (a != 0) ^ (b != 0))
#define INTEGER(name, ctype, handle)                                           \
    KERNEL(sum, name, ctype, WRAPPING(ctype, a) + WRAPPING(ctype, b))          \
    KERNEL(prod, name, ctype, WRAPPING(ctype, a) * WRAPPING(ctype, b))
#define FLOAT(name, ctype, handle)                                             \
    KERNEL(sum, name, ctype, a + b)                                            \
    KERNEL(prod, name, ctype, a *b)

CTN_EACH_INTEGER_TYPE(COMPARE)
CTN_EACH_INTEGER_TYPE(INTEGER)
CTN_EACH_INTEGER_TYPE(LOGICAL)
CTN_EACH_INTEGER_TYPE(BITWISE)
BITWISE(byte, unsigned char, 0)
CTN_EACH_FLOAT_TYPE(COMPARE)
CTN_EACH_FLOAT_TYPE(FLOAT)

/** a * c - b * d. If the processor has fused multiply-add instructions, gcc 12
 * fuses a difference of products next to a sum of products even with
 * -ffp-contract=off, which changes the result. It does not fuse two sums. */
#if defined(__FMA__) || defined(__AVX512F__)
#define DIFFERENCE(a, c, b, d) ((a) * (c) + (b) * -(d))
#else
#define DIFFERENCE(a, c, b, d) ((a) * (c) - (b) * (d))
#endif

/* Products are computed from real and imaginary parts. C's complex product
 * instead calls a function for each element, to handle infinities. */
#define COMPLEX(name, part, handle)                                            \
    static void sum_complex_##name(const void *left, const void *right,        \
                                   void *out, size_t count)                    \
    {                                                                          \
        sum_##name(left, right, out, 2 * count);                               \
    }                                                                          \
    static void prod_complex_##name(const void *left, const void *right,       \
                                    void *out, size_t count)                   \
    {                                                                          \
        typedef part ANYWHERE part_t;                                          \
        const part_t *lefts = left;                                            \
        const part_t *rights = right;                                          \
        part_t *outs = out;                                                    \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < count; i++) {                                   \
            part a = lefts[2 * i], b = lefts[2 * i + 1];                       \
            part c = rights[2 * i], d = rights[2 * i + 1];                     \
            part real = DIFFERENCE(a, c, b, d);                                \
            part imaginary = a * d + b * c;                                    \
            outs[2 * i] = real;                                                \
            outs[2 * i + 1] = imaginary;                                       \
        }                                                                      \
    }
CTN_EACH_FLOAT_TYPE(COMPLEX)

/* Pairs are copied whole, with the padding of the operand that wins, so padding
 * is the same on all ranks. If both are equal in value and index, the left one
 * wins. */
#define LOCATE(op, name, ctype, better)                                        \
    static void op##_##name(const void *left, const void *right, void *out,    \
                            size_t count)                                      \
    {                                                                          \
        enum { WORDS = sizeof(ctype) / sizeof(uint64_t) };                     \
        union {                                                                \
            ctype pair;                                                        \
            uint64_t word[WORDS];                                              \
        } a, b;                                                                \
        _Static_assert(sizeof(a) == sizeof(ctype), "whole words");             \
        for (size_t i = 0; i < count; i++) {                                   \
            memcpy(&a, (const char *)left + i * sizeof(a), sizeof(a));         \
            memcpy(&b, (const char *)right + i * sizeof(b), sizeof(b));        \
            bool take_left = a.pair.value better b.pair.value ||               \
                             (a.pair.value == b.pair.value &&                  \
                              a.pair.index <= b.pair.index);                   \
            for (size_t w = 0; w < WORDS; w++) {                               \
                b.word[w] = take_left ? a.word[w] : b.word[w];                 \
            }                                                                  \
            memcpy((char *)out + i * sizeof(b), &b, sizeof(b));                \
        }                                                                      \
    }
#define PAIR(name, ctype, handle)                                              \
    LOCATE(minloc, name, ctype, <)                                             \
    LOCATE(maxloc, name, ctype, >)
CTN_EACH_PAIR_TYPE(PAIR)

/* The table has a row for each operation, with a kernel for each type that the
 * operation is defined for. */
#define ENTRY(op, name) [CTN_FIXED_##name] = op##_##name,
#define ENTRY_MAX(name, ctype, handle) ENTRY(max, name)
#define ENTRY_MIN(name, ctype, handle) ENTRY(min, name)
#define ENTRY_SUM(name, ctype, handle) ENTRY(sum, name)
#define ENTRY_PROD(name, ctype, handle) ENTRY(prod, name)
#define ENTRY_LAND(name, ctype, handle) ENTRY(land, name)
#define ENTRY_BAND(name, ctype, handle) ENTRY(band, name)
#define ENTRY_LOR(name, ctype, handle) ENTRY(lor, name)
#define ENTRY_BOR(name, ctype, handle) ENTRY(bor, name)
#define ENTRY_LXOR(name, ctype, handle) ENTRY(lxor, name)
#define ENTRY_BXOR(name, ctype, handle) ENTRY(bxor, name)
#define ENTRY_MINLOC(name, ctype, handle) ENTRY(minloc, name)
#define ENTRY_MAXLOC(name, ctype, handle) ENTRY(maxloc, name)

#define ORDERED(X) CTN_EACH_INTEGER_TYPE(X) CTN_EACH_FLOAT_TYPE(X)
#define NUMBERS(X) ORDERED(X) CTN_EACH_COMPLEX_TYPE(X)
#define BITS(X) X(byte, unsigned char, 0) CTN_EACH_INTEGER_TYPE(X)

const ctn_kernels_t CTN_KERNELS = {
    [CTN_PREDEFINED_max] = {ORDERED(ENTRY_MAX)},
    [CTN_PREDEFINED_min] = {ORDERED(ENTRY_MIN)},
    [CTN_PREDEFINED_sum] = {NUMBERS(ENTRY_SUM)},
    [CTN_PREDEFINED_prod] = {NUMBERS(ENTRY_PROD)},
    [CTN_PREDEFINED_land] = {CTN_EACH_INTEGER_TYPE(ENTRY_LAND)},
    [CTN_PREDEFINED_band] = {BITS(ENTRY_BAND)},
    [CTN_PREDEFINED_lor] = {CTN_EACH_INTEGER_TYPE(ENTRY_LOR)},
    [CTN_PREDEFINED_bor] = {BITS(ENTRY_BOR)},
    [CTN_PREDEFINED_lxor] = {CTN_EACH_INTEGER_TYPE(ENTRY_LXOR)},
    [CTN_PREDEFINED_bxor] = {BITS(ENTRY_BXOR)},
    [CTN_PREDEFINED_minloc] = {CTN_EACH_PAIR_TYPE(ENTRY_MINLOC)},
    [CTN_PREDEFINED_maxloc] = {CTN_EACH_PAIR_TYPE(ENTRY_MAXLOC)}};
