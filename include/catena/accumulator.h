#ifndef CATENA_ACCUMULATOR_H
#define CATENA_ACCUMULATOR_H

#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An exact sum of floating-point numbers. Any numbers of type double or float
 * can be added, in any order and dealt to ranks in any way: the value is the
 * exact sum, rounded once, so it always has the same bits.
 *
 * It is a superaccumulator: a fixed-point number that has a digit for each bit
 * that a double can have. R. Neal, Fast exact summation using small and large
 * superaccumulators, arXiv:1505.05571, 2015; after U. Kulisch, Computer
 * Arithmetic and Validity, 2008.
 *
 * All words are integers that add: the accumulators of the ranks are combined
 * by a reduction of CATENA_ACCUMULATOR_WORDS elements CATENA_INT64 with
 * CATENA_SUM, of any kind and algorithm:
 *
 *     catena_accumulator_t mine, all;
 *     catena_accumulator_reset(&mine);
 *     catena_accumulator_add_doubles(&mine, values, n, 1);
 *     catena_accumulator_normalize(&mine);
 *     catena_allreduce(&mine, &all, CATENA_ACCUMULATOR_WORDS, CATENA_INT64,
 *                      CATENA_SUM, group);
 *     catena_accumulator_double(&all, &sum);
 *
 * If many are added without catena_accumulator_normalize, a digit may exceed
 * its word. The load tells that: the result is then unusable, and all functions
 * but catena_accumulator_reset refuse it with ERR_ARG.
 *
 * The layout does not change between releases. The members are the library's;
 * all bits 0 is a sum of no numbers. The value is digit[0] * 2^-1074 +
 * digit[1] * 2^-1042 + ..., 2^32 times as much for each further digit. */
typedef struct catena_accumulator {
    int64_t digit[67];
    int64_t load;     /**< no digit is beyond load * 2^32 */
    int64_t positive; /**< number of positive infinities that were added */
    int64_t negative; /**< number of negative infinities */
    int64_t nan;      /**< number of NaN */
    int64_t reserved; /**< 0 */
} catena_accumulator_t;

/** Number of 64-bit words of an accumulator. */
#define CATENA_ACCUMULATOR_WORDS                                               \
    (sizeof(catena_accumulator_t) / sizeof(int64_t))

/** Set an accumulator to a sum of no numbers.
 * @param[out] accumulator all words 0
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t
catena_accumulator_reset(catena_accumulator_t *accumulator);

/** Add numbers. Any thread, if no other one uses the accumulator. Of complex
 * numbers the real parts are added by a stride of 2, and the imaginary parts,
 * from the second number on, to a second accumulator.
 * @param[in,out] accumulator the sum so far
 * @param[in]     values [(count - 1) * stride + 1]; NULL if count is 0
 * @param[in]     count  of numbers that are added
 * @param[in]     stride distance of two numbers, 1 or more
 * @return CATENA_OK, ERR_ARG (NULL, stride 0, unusable) */
CATENA_API catena_status_t catena_accumulator_add_doubles(
    catena_accumulator_t *accumulator, const double *values, size_t count,
    size_t stride);

/** Add numbers of type float, as catena_accumulator_add_doubles does.
 * @param[in,out] accumulator the sum so far
 * @param[in]     values [(count - 1) * stride + 1]; NULL if count is 0
 * @param[in]     count  of numbers that are added
 * @param[in]     stride distance of two numbers, 1 or more
 * @return CATENA_OK, ERR_ARG (NULL, stride 0, unusable) */
CATENA_API catena_status_t
catena_accumulator_add_floats(catena_accumulator_t *accumulator,
                              const float *values, size_t count, size_t stride);

/** Add the sum of another accumulator, and normalize. Associative and
 * commutative: a normalized accumulator has the same bits, whatever the order
 * of additions and merges.
 * @param[in,out] accumulator the sum
 * @param[in]     other what is added; may be the same
 * @return CATENA_OK, ERR_ARG (NULL, unusable) */
CATENA_API catena_status_t catena_accumulator_merge(
    catena_accumulator_t *accumulator, const catena_accumulator_t *other);

/** Normalize: equal sums then have equal words, except for the three numbers of
 * infinities and NaN, which count. Call it before a reduction with CATENA_SUM,
 * which may then combine up to 2^30 accumulators; their result is not
 * normalized.
 * @param[in,out] accumulator its value stays
 * @return CATENA_OK, ERR_ARG (NULL, unusable) */
CATENA_API catena_status_t
catena_accumulator_normalize(catena_accumulator_t *accumulator);

/** Return the sum, rounded to the nearest double, ties to even: infinite if it
 * is beyond the largest double, which an intermediate sum may exceed. If a NaN
 * was added, or infinities of both signs, it is NaN, with the bits
 * 0x7ff8000000000000. An exact zero is positive.
 * @param[in]  accumulator the sum
 * @param[out] value set on success
 * @return CATENA_OK, ERR_ARG (NULL, unusable) */
CATENA_API catena_status_t catena_accumulator_double(
    const catena_accumulator_t *accumulator, double *value);

/** Return the sum, rounded once to the nearest float, as
 * catena_accumulator_double does; NaN has the bits 0x7fc00000.
 * @param[in]  accumulator the sum
 * @param[out] value set on success
 * @return CATENA_OK, ERR_ARG (NULL, unusable) */
CATENA_API catena_status_t
catena_accumulator_float(const catena_accumulator_t *accumulator, float *value);

#ifdef __cplusplus
}
#endif

#endif
