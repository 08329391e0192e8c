/* SUM-1: exact sums of floating-point numbers. R. Neal, Fast exact summation
 * using small and large superaccumulators, arXiv:1505.05571, 2015: the small
 * one. A double is an integer of 53 bits, shifted; it is added to two digits,
 * as the low 32 bits and the rest, of at most 52 bits. So a digit takes 2^11
 * additions before carries must be propagated.
 *
 * Differs from the paper: the words of several accumulators may be added, as
 * integers, by any reduction. For that each has a bound of its digits, its
 * load, which is added, too. Infinities and NaN are counted.
 *
 * Normalized: digits are in [0, 2^32), except the last one, which has the sign.
 * That is the only such representation of a number. */

#include <catena/accumulator.h>
#include <stdbool.h>
#include <string.h>

#include "core/refuse.h"

enum {
    DIGITS = 67,
    LAST = DIGITS - 1,
    /* What an addition adds to the load: it changes a digit by less than 2^52.
     */
    LOAD_OF_ONE = 1 << 20,
    /* Additions between two propagations of carries. */
    TOGETHER = 2046,
    /* Where the lowest bit of the least float is. */
    LEAST_FLOAT = 1074 - 149
};
/* A load of at most this keeps digits below 2^63. */
static const int64_t most_load = INT32_MAX;
_Static_assert((int64_t)TOGETHER *LOAD_OF_ONE + 1 <= INT32_MAX,
               "so many additions fit a normalized accumulator");

_Static_assert(sizeof(catena_accumulator_t) == 72 * sizeof(int64_t),
               "the layout is fixed");

/** Propagate carries. */
static void normalize(catena_accumulator_t *a)
{
    int64_t carry = 0;
    for (int i = 0; i < LAST; i++) {
        int64_t digit = a->digit[i] + carry;
        a->digit[i] = digit & UINT32_MAX;
        carry = digit >> 32; /* rounds down */
    }
    a->digit[LAST] += carry;
    /* The last digit is not bounded by the load, nor does it need to be: it has
     * room for 2^62 of the largest numbers. */
    a->load = 1;
}

/** Whether the load tells that digits may have exceeded their words, in a
 * reduction of accumulators that were not normalized. Logged. */
static bool overflowed(const catena_accumulator_t *a, const char *function)
{
    if (a->load >= 0 && a->load <= most_load) {
        return false;
    }
    (void)ctn_refuse(NULL, CATENA_ERR_ARG, function,
                     "the load of the accumulator is %lld; expected 0 to %lld: "
                     "it was not normalized before a reduction with "
                     "CATENA_SUM, so its sum may be wrong; call "
                     "catena_accumulator_normalize on each rank before it",
                     (long long)a->load, (long long)most_load);
    return true;
}

/** Make room for additions of this load. */
static void reserve(catena_accumulator_t *a, int64_t load)
{
    if (a->load > most_load - load) {
        normalize(a);
    }
    a->load += load;
}

/** Count a number that is not finite. */
static void add_special(catena_accumulator_t *a, bool nan, bool negative)
{
    if (nan) {
        a->nan++;
    } else if (negative) {
        a->negative++;
    } else {
        a->positive++;
    }
}

/** Add a mantissa of at most 53 bits, shifted to the left, or subtract it. */
static inline void add_shifted(catena_accumulator_t *a, uint64_t mantissa,
                               unsigned shift, bool negative)
{
    unsigned low = shift % 32;
    int64_t sign = -(int64_t)negative; /* 0 or -1 */
    int64_t *digit = &a->digit[shift / 32];
    int64_t first = (int64_t)(mantissa << low & UINT32_MAX);
    int64_t rest = (int64_t)(mantissa >> (32 - low));
    digit[0] += (first ^ sign) - sign;
    digit[1] += (rest ^ sign) - sign;
}

static inline void add_double(catena_accumulator_t *a, const double *value)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof(bits));
    unsigned exponent = (unsigned)(bits >> 52) & 0x7ff;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    uint64_t normal = exponent != 0;
    if (exponent == 0x7ff) {
        add_special(a, fraction != 0, bits >> 63 != 0);
        return;
    }
    add_shifted(a, fraction | normal << 52, exponent - (unsigned)normal,
                bits >> 63 != 0);
}

/** By its bits: where the processor takes subnormal numbers as zeros, so does a
 * conversion to double. */
static inline void add_float(catena_accumulator_t *a, const float *value)
{
    uint32_t bits;
    memcpy(&bits, value, sizeof(bits));
    unsigned exponent = bits >> 23 & 0xff;
    uint64_t fraction = bits & ((UINT32_C(1) << 23) - 1);
    uint64_t normal = exponent != 0;
    if (exponent == 0xff) {
        add_special(a, fraction != 0, bits >> 31 != 0);
        return;
    }
    add_shifted(a, fraction | normal << 23,
                LEAST_FLOAT + exponent - (unsigned)normal, bits >> 31 != 0);
}

static const char stride_text[] = "stride is 0; expected 1 or more";

#define ADD(add, accumulator, values, count, stride)                           \
    do {                                                                       \
        if ((accumulator) == NULL || ((values) == NULL && (count) > 0)) {      \
            return CTN_REFUSE_NULL(NULL, accumulator, values);                 \
        }                                                                      \
        if ((stride) == 0) {                                                   \
            return ctn_refuse(NULL, CATENA_ERR_ARG, __func__, stride_text);    \
        }                                                                      \
        if (overflowed(accumulator, __func__)) {                               \
            return CATENA_ERR_ARG;                                             \
        }                                                                      \
        while ((count) > 0) {                                                  \
            size_t some = (count) < TOGETHER ? (count) : TOGETHER;             \
            reserve(accumulator, (int64_t)some *LOAD_OF_ONE);                  \
            for (size_t i = 0; i < some; i++) {                                \
                (add)(accumulator, &(values)[i * (stride)]);                   \
            }                                                                  \
            (count) -= some;                                                   \
            if ((count) > 0) {                                                 \
                (values) += some * (stride);                                   \
            }                                                                  \
        }                                                                      \
        return CATENA_OK;                                                      \
    } while (0)

catena_status_t
catena_accumulator_add_doubles(catena_accumulator_t *accumulator,
                               const double *values, size_t count,
                               size_t stride)
{
    ADD(add_double, accumulator, values, count, stride);
}

catena_status_t catena_accumulator_add_floats(catena_accumulator_t *accumulator,
                                              const float *values, size_t count,
                                              size_t stride)
{
    ADD(add_float, accumulator, values, count, stride);
}

catena_status_t catena_accumulator_reset(catena_accumulator_t *accumulator)
{
    if (accumulator == NULL) {
        return CTN_REFUSE_NULL(NULL, accumulator);
    }
    memset(accumulator, 0, sizeof(*accumulator));
    return CATENA_OK;
}

catena_status_t catena_accumulator_normalize(catena_accumulator_t *accumulator)
{
    if (accumulator == NULL) {
        return CTN_REFUSE_NULL(NULL, accumulator);
    }
    if (overflowed(accumulator, __func__)) {
        return CATENA_ERR_ARG;
    }
    normalize(accumulator);
    return CATENA_OK;
}

catena_status_t catena_accumulator_merge(catena_accumulator_t *accumulator,
                                         const catena_accumulator_t *other)
{
    if (accumulator == NULL || other == NULL) {
        return CTN_REFUSE_NULL(NULL, accumulator, other);
    }
    if (overflowed(accumulator, __func__) || overflowed(other, __func__)) {
        return CATENA_ERR_ARG;
    }
    catena_accumulator_t from = *other; /* it may be `accumulator` */
    normalize(&from);
    normalize(accumulator);
    for (int i = 0; i < DIGITS; i++) {
        accumulator->digit[i] += from.digit[i];
    }
    accumulator->positive += from.positive;
    accumulator->negative += from.negative;
    accumulator->nan += from.nan;
    normalize(accumulator);
    return CATENA_OK;
}

/* ---- values ---- */

/** Magnitude of a sum: digits of 32 bits. */
typedef struct magnitude {
    uint32_t digit[LAST];
    bool negative;
    bool beyond; /* more than the digits hold: an infinity */
} magnitude_t;

static void take_magnitude(const catena_accumulator_t *accumulator,
                           magnitude_t *m)
{
    catena_accumulator_t a = *accumulator;
    normalize(&a);
    m->negative = a.digit[LAST] < 0;
    if (m->negative) {
        for (int i = 0; i < DIGITS; i++) {
            a.digit[i] = -a.digit[i];
        }
        normalize(&a);
    }
    for (int i = 0; i < LAST; i++) {
        m->digit[i] = (uint32_t)a.digit[i];
    }
    m->beyond = a.digit[LAST] != 0;
}

/** Number of bits up to the highest one that is 1. */
static unsigned length_of(const magnitude_t *m)
{
    for (unsigned i = LAST; i-- > 0;) {
        if (m->digit[i] != 0) {
            return 32 * i + 32 - (unsigned)__builtin_clz(m->digit[i]);
        }
    }
    return 0;
}

/** The magnitude without its `dropped` low bits, rounded to the nearest, ties
 * to even. At most 53 bits are left. */
static uint64_t round_off(const magnitude_t *m, unsigned dropped)
{
    unsigned from = dropped / 32;
    unsigned low = dropped % 32;
    uint64_t kept = 0;
    for (unsigned i = from; i < LAST && i < from + 3; i++) {
        unsigned at = 32 * (i - from);
        kept |= at >= low
                    ? (at - low < 64 ? (uint64_t)m->digit[i] << (at - low) : 0)
                    : m->digit[i] >> (low - at);
    }
    if (dropped == 0) {
        return kept;
    }
    unsigned half = dropped - 1; /* the highest bit that is dropped */
    if ((m->digit[half / 32] >> half % 32 & 1) == 0) {
        return kept;
    }
    bool more = (m->digit[half / 32] & ((UINT32_C(1) << half % 32) - 1)) != 0;
    for (unsigned i = 0; i < half / 32; i++) {
        more |= m->digit[i] != 0;
    }
    return kept + (more || (kept & 1) != 0);
}

/** A format of IEEE 754. */
typedef struct format {
    unsigned precision; /* bits of the significand */
    unsigned bits;      /* of a number */
    unsigned least;     /* the position of the lowest bit in an accumulator */
} format_t;

static const format_t of_double = {53, 64, 0};
static const format_t of_float = {24, 32, LEAST_FLOAT};

/** The bits of the sum in a format. */
static uint64_t encode(const catena_accumulator_t *a, const format_t *format)
{
    unsigned fraction = format->precision - 1;
    uint64_t sign = UINT64_C(1) << (format->bits - 1);
    uint64_t infinity = sign - (UINT64_C(1) << fraction);
    magnitude_t m;
    if (a->nan != 0 || (a->positive != 0 && a->negative != 0)) {
        return infinity | UINT64_C(1) << (fraction - 1);
    }
    if (a->positive != 0 || a->negative != 0) {
        return infinity | (a->negative != 0 ? sign : 0);
    }
    take_magnitude(a, &m);
    unsigned length = length_of(&m);
    unsigned dropped =
        length > format->precision ? length - format->precision : 0;
    dropped = dropped > format->least ? dropped : format->least;
    /* A significand of full precision has its highest bit where it adds 1 to
     * the exponent, and so has one that rounding made longer. */
    uint64_t bits = round_off(&m, dropped) +
                    ((uint64_t)(dropped - format->least) << fraction);
    bits = m.beyond || bits > infinity ? infinity : bits;
    return bits | (m.negative ? sign : 0);
}

catena_status_t
catena_accumulator_double(const catena_accumulator_t *accumulator,
                          double *value)
{
    if (accumulator == NULL || value == NULL) {
        return CTN_REFUSE_NULL(NULL, accumulator, value);
    }
    if (overflowed(accumulator, __func__)) {
        return CATENA_ERR_ARG;
    }
    uint64_t bits = encode(accumulator, &of_double);
    memcpy(value, &bits, sizeof(bits));
    return CATENA_OK;
}

catena_status_t
catena_accumulator_float(const catena_accumulator_t *accumulator, float *value)
{
    if (accumulator == NULL || value == NULL) {
        return CTN_REFUSE_NULL(NULL, accumulator, value);
    }
    if (overflowed(accumulator, __func__)) {
        return CATENA_ERR_ARG;
    }
    uint32_t bits = (uint32_t)encode(accumulator, &of_float);
    memcpy(value, &bits, sizeof(bits));
    return CATENA_OK;
}
