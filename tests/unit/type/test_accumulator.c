/* Exact sums. The reference adds integers of 2560 bits, and checks a value by
 * its distance from the sum: at most half of that to the next number, and at
 * just half only if the value is even. */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include <catena/accumulator.h>

#include "oracle/random.h"
#include "unit/unit.h"

/* ---- the reference: two's complement, in units of 2^-1076 ---- */

enum { WORDS = 40, UNIT = 1076 };

typedef struct big {
    uint64_t word[WORDS];
} big_t;

static void add_big(big_t *sum, const big_t *other, bool subtract)
{
    unsigned carry = subtract;
    for (int i = 0; i < WORDS; i++) {
        uint64_t next = subtract ? ~other->word[i] : other->word[i];
        uint64_t first = sum->word[i] + next;
        sum->word[i] = first + carry;
        carry = first < next || sum->word[i] < first;
    }
}

static int sign_of(const big_t *x)
{
    int sign = 0;
    for (int i = 0; i < WORDS; i++) {
        sign |= x->word[i] != 0;
    }
    return x->word[WORDS - 1] >> 63 ? -1 : sign;
}

/** Add or subtract mantissa * 2^exponent. */
static void add_scaled(big_t *sum, uint64_t mantissa, int exponent,
                       bool subtract)
{
    big_t term = {{0}};
    for (int bit = 0; bit < 64; bit++) {
        int at = bit + exponent + UNIT;
        if (mantissa >> bit & 1) {
            term.word[at / 64] |= UINT64_C(1) << at % 64;
        }
    }
    add_big(sum, &term, subtract);
}

static void add_double(big_t *sum, double value, bool subtract)
{
    int exponent;
    double fraction = frexp(fabs(value), &exponent);
    uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
    while (mantissa != 0 && (mantissa & 1) == 0) {
        mantissa >>= 1;
        exponent++;
    }
    add_scaled(sum, mantissa, exponent - 53, subtract != (value < 0));
}

/** Sign of 2 * |sum - value| - the distance to the next number on the side of
 * the sum, which is 2^`exponent`. */
static int compare(const big_t *sum, double value, int exponent)
{
    big_t off = *sum;
    add_double(&off, value, true);
    if (sign_of(&off) < 0) {
        big_t negated = {{0}};
        add_big(&negated, &off, true);
        off = negated;
    }
    big_t twice = off;
    add_big(&twice, &off, false);
    add_scaled(&twice, 1, exponent, true);
    return sign_of(&twice);
}

/** Check a value of a format with so many bits, and this least exponent. */
static void check_rounded(const big_t *sum, double value, int bits, int least,
                          double largest)
{
    big_t off = *sum;
    int exponent;
    if (isinf(value)) { /* the largest number is at least half a unit away */
        double limit = value > 0 ? largest : -largest;
        (void)frexp(limit, &exponent);
        add_double(&off, limit, true);
        ck_assert_int_eq(sign_of(&off), value > 0 ? 1 : -1);
        ck_assert_int_ge(compare(sum, limit, exponent - bits), 0);
        return;
    }
    add_double(&off, value, true);
    (void)frexp(value, &exponent);
    /* Toward zero a power of two is only half as far from the next number. */
    bool toward_zero = sign_of(&off) * (value > 0 ? 1 : -1) < 0;
    bool power = frexp(fabs(value), &exponent) == 0.5;
    int step = exponent - bits - (toward_zero && power);
    step = step < least || value == 0 ? least : step;
    int found = compare(sum, value, step);
    ck_assert_int_le(found, 0);
    if (found == 0) { /* a tie */
        double quotient = fmod(fabs(ldexp(value, -step)), 2);
        ck_assert(quotient == 0 || (toward_zero && power));
    }
}

static void check(const catena_accumulator_t *accumulator, const big_t *sum)
{
    double value;
    float single;
    ck_assert_int_eq(catena_accumulator_double(accumulator, &value), CATENA_OK);
    check_rounded(sum, value, 53, -1074, DBL_MAX);
    ck_assert_int_eq(catena_accumulator_float(accumulator, &single), CATENA_OK);
    check_rounded(sum, single, 24, -149, FLT_MAX);
}

/* ---- cases ---- */

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/** A random number of a style: any finite one, subnormal, near 1, huge. */
static double draw(uint64_t seed, uint64_t i, int style)
{
    uint64_t bits = oracle_hash(seed, i, 3);
    uint64_t sign = bits & UINT64_C(1) << 63;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    uint64_t exponent = style == 0   ? (bits >> 52 & 0x7ff) % 2047
                        : style == 1 ? (bits >> 52) % 3
                        : style == 2 ? 1023 + (bits >> 52) % 4
                        : style == 3 ? 2046 - (bits >> 52) % 2
                                     : 870 + (bits >> 52) % 60;
    return from_bits(sign | exponent << 52 | fraction);
}

enum { STYLES = 5 };

/** Prefixes of random sequences, and the sequence taken away again. */
START_TEST(random_values)
{
    big_t sum = {{0}};
    catena_accumulator_t a;
    ck_assert_int_eq(catena_accumulator_reset(&a), CATENA_OK);
    for (uint64_t turn = 0; turn < 2; turn++) {
        for (uint64_t i = 0; i < 800; i++) {
            double value = draw(11, i, _i) * (turn > 0 ? -1 : 1);
            add_double(&sum, value, false);
            ck_assert_int_eq(catena_accumulator_add_doubles(&a, &value, 1, 1),
                             CATENA_OK);
            if (i % 7 == 0 || i > 790) {
                check(&a, &sum);
            }
        }
    }
    double zero = 1;
    ck_assert_int_eq(catena_accumulator_double(&a, &zero), CATENA_OK);
    ck_assert(zero == 0 && !signbit(zero));
}
END_TEST

static const struct {
    double value[4];
    double sum;
    float single;
} exact[] = {
    {{0}, 0, 0},
    {{-0.0, -0.0}, 0, 0},
    {{1, 0x1p-53}, 1, 1}, /* a tie, to even */
    {{1, 0x1p-53, 0x1p-1074}, 0x1.0000000000001p0, 1},
    {{0x1.0000000000001p0, 0x1p-53}, 0x1.0000000000002p0, 1},
    {{DBL_MAX, DBL_MAX, -DBL_MAX}, DBL_MAX, HUGE_VALF}, /* exceeds it between */
    {{DBL_MAX, 0x1p970}, HUGE_VAL, HUGE_VALF},          /* the tie */
    {{DBL_MAX, 0x1p970, -0x1p-1074}, DBL_MAX, HUGE_VALF},
    {{-DBL_MAX, -DBL_MAX}, -HUGE_VAL, -HUGE_VALF},
    {{0x1p-1074, 0x1p-1074}, 0x1p-1073, 0},
    {{0x1p-1022, -0x1p-1074}, 0x0.fffffffffffffp-1022, 0},
    {{1e300, 1, -1e300}, 1, 1},
    {{-1e-300}, -1e-300, -0.0f}, /* not an exact zero */
    {{0x1p-150}, 0x1p-150, 0},   /* half of the least float */
    {{0x1p-150, 0x1p-1000}, 0x1p-150, 0x1p-149f},
    {{1, 0x1p-24, 0x1p-80}, 1 + 0x1p-24, 0x1.000002p0f}, /* rounded once */
    {{INFINITY, 1}, INFINITY, INFINITY},
    {{-INFINITY, DBL_MAX}, -INFINITY, -INFINITY},
};

START_TEST(exact_values)
{
    catena_accumulator_t a = {.load = 0};
    double sum;
    float single;
    ck_assert_int_eq(catena_accumulator_add_doubles(&a, exact[_i].value, 4, 1),
                     CATENA_OK);
    ck_assert_int_eq(catena_accumulator_double(&a, &sum), CATENA_OK);
    ck_assert_int_eq(catena_accumulator_float(&a, &single), CATENA_OK);
    ck_assert(memcmp(&sum, &exact[_i].sum, sizeof(sum)) == 0);
    ck_assert(memcmp(&single, &exact[_i].single, sizeof(single)) == 0);
}
END_TEST

START_TEST(not_a_number)
{
    const double sums[][3] = {
        {1, NAN, 2}, {INFINITY, 1, -INFINITY}, {-NAN, INFINITY, 0}};
    for (size_t i = 0; i < 3; i++) {
        catena_accumulator_t a = {.load = 0};
        double value;
        float single;
        catena_accumulator_add_doubles(&a, sums[i], 3, 1);
        catena_accumulator_double(&a, &value);
        catena_accumulator_float(&a, &single);
        uint64_t bits = 0x7ff8000000000000;
        uint32_t single_bits = 0x7fc00000;
        ck_assert(memcmp(&value, &bits, sizeof(bits)) == 0);
        ck_assert(memcmp(&single, &single_bits, sizeof(single_bits)) == 0);
    }
}
END_TEST

/** The words of the sum of values dealt to accumulators: rank of value i is a
 * hash; merged in an order that depends on `seed`. `by_words`: as CATENA_SUM of
 * CATENA_INT64 does. */
static void deal(const double *values, size_t count, uint64_t ranks,
                 uint64_t seed, bool by_words, catena_accumulator_t *all)
{
    catena_accumulator_t *each = calloc(ranks, sizeof(*each));
    for (size_t i = 0; i < count; i++) {
        uint64_t rank = oracle_hash(seed, i, 5) % ranks;
        catena_accumulator_add_doubles(&each[rank], &values[i], 1, 1);
    }
    catena_accumulator_reset(all);
    for (uint64_t i = 0; i < ranks; i++) {
        uint64_t rank = (i * 37 + seed) % ranks; /* 37: prime */
        catena_accumulator_normalize(&each[rank]);
        if (!by_words) {
            catena_accumulator_merge(all, &each[rank]);
            continue;
        }
        int64_t *to = (int64_t *)all;
        const int64_t *from = (const int64_t *)&each[rank];
        for (size_t word = 0; word < CATENA_ACCUMULATOR_WORDS; word++) {
            to[word] += from[word];
        }
    }
    catena_accumulator_normalize(all);
    free(each);
}

/** 2^20 values dealt to 1 to 64 ranks in different ways: the same words. */
START_TEST(dealt)
{
    enum { VALUES = 1 << 20 };
    double *values = malloc(VALUES * sizeof(*values));
    catena_accumulator_t first, other;
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = draw(7, i, i % 16 == 0 ? 0 : 2);
    }
    catena_accumulator_reset(&first);
    catena_accumulator_add_doubles(&first, values, VALUES, 1);
    catena_accumulator_normalize(&first);
    for (uint64_t ranks = 1; ranks <= 64;
         ranks = ranks < 8 ? ranks + 1 : ranks * 2) {
        deal(values, VALUES, ranks, 100 + ranks, ranks % 2, &other);
        ck_assert(memcmp(&first, &other, sizeof(first)) == 0);
    }
    /* The plain sum depends on the order. */
    double forward = 0, backward = 0;
    for (size_t i = 0; i < VALUES; i++) {
        forward += i % 16 == 0 ? 0 : values[i];
        backward += i % 16 == 15 ? 0 : values[VALUES - 1 - i];
    }
    ck_assert(forward != backward);
    free(values);
}
END_TEST

START_TEST(strides_and_floats)
{
    enum { PAIRS = 3000 };
    float single[2 * PAIRS];
    catena_accumulator_t real = {.load = 0}, imaginary = {.load = 0},
                         both = {.load = 0};
    big_t sum[2] = {{{0}}, {{0}}};
    for (uint64_t i = 0; i < 2 * PAIRS; i++) {
        single[i] = (float)draw(5, i, 2);
        add_double(&sum[i % 2], single[i], false);
    }
    catena_accumulator_add_floats(&real, single, PAIRS, 2);
    catena_accumulator_add_floats(&imaginary, single + 1, PAIRS, 2);
    check(&real, &sum[0]);
    check(&imaginary, &sum[1]);
    catena_accumulator_add_floats(&both, single, 2 * PAIRS, 1);
    add_big(&sum[0], &sum[1], false);
    check(&both, &sum[0]);
    catena_accumulator_merge(&real, &imaginary);
    catena_accumulator_normalize(&both);
    ck_assert(memcmp(&real, &both, sizeof(both)) == 0);
    catena_accumulator_merge(&real, &real); /* twice the sum */
    add_big(&sum[0], &(big_t){.word = {0}}, false);
    big_t again = sum[0];
    add_big(&sum[0], &again, false);
    check(&real, &sum[0]);
}
END_TEST

/** Sums that were added as words, again and again, keep their room. */
START_TEST(carries)
{
    catena_accumulator_t a = {.load = 0};
    double most = DBL_MAX, value;
    for (int i = 0; i < 200; i++) {
        catena_accumulator_add_doubles(&a, &most, 1, 1);
        for (int64_t *word = (int64_t *)&a;
             word < (int64_t *)&a + CATENA_ACCUMULATOR_WORDS && i % 30 == 29;
             word++) {
            *word *= 2; /* the sum with itself */
        }
        catena_accumulator_normalize(&a);
    }
    most = -DBL_MAX;
    catena_accumulator_double(&a, &value);
    ck_assert(value == HUGE_VAL);
    for (uint64_t i = 0; i < 100000 && value > 0; i++) {
        catena_accumulator_add_doubles(&a, &most, 1, 1);
        catena_accumulator_double(&a, &value);
    }
    ck_assert(value == 0);
}
END_TEST

/** Accumulators of 8 ranks, added as words without normalization: refused if
 * digits may have overflowed, and exact otherwise. */
START_TEST(not_normalized)
{
    enum { RANKS = 8 };
    const size_t counts[] = {2000, 200};
    for (int few = 0; few < 2; few++) {
        catena_accumulator_t a = {.load = 0}, all = {.load = 0}, other;
        catena_accumulator_t zero = {.load = 0};
        double two = 0x1.fffffffffffffp0, value = -1;
        float single = -1;
        for (size_t i = 0; i < counts[few]; i++) {
            catena_accumulator_add_doubles(&a, &two, 1, 1);
        }
        for (size_t word = 0; word < CATENA_ACCUMULATOR_WORDS; word++) {
            uint64_t *to = (uint64_t *)&all + word;
            *to = RANKS * ((const uint64_t *)&a)[word];
        }
        other = all;
        catena_status_t expected = few ? CATENA_OK : CATENA_ERR_ARG;
        ck_assert_int_eq(catena_accumulator_double(&all, &value), expected);
        ck_assert_int_eq(catena_accumulator_float(&all, &single), expected);
        ck_assert(value == (few ? 1600 * two : -1));
        ck_assert(single == (few ? 3200 : -1));
        ck_assert_int_eq(catena_accumulator_merge(&zero, &all), expected);
        ck_assert_int_eq(catena_accumulator_add_doubles(&all, &two, 1, 1),
                         expected);
        ck_assert_int_eq(catena_accumulator_add_floats(&all, &single, 1, 1),
                         expected);
        ck_assert_int_eq(catena_accumulator_merge(&all, &zero), expected);
        ck_assert_int_eq(catena_accumulator_normalize(&other), expected);
        ck_assert_int_eq(catena_accumulator_reset(&all), CATENA_OK);
        ck_assert_int_eq(catena_accumulator_double(&all, &value), CATENA_OK);
        ck_assert(value == 0);
    }
}
END_TEST

/** Subnormal floats, also where the processor takes them as zeros. */
START_TEST(subnormal_floats)
{
    catena_accumulator_t a = {.load = 0};
    uint32_t bits[] = {1, 0x007fffff, 0x80000002, 0x00800000}, sum;
    float values[4], single;
    memcpy(values, bits, sizeof(values));
#ifdef __SSE__
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | (_i ? 0x8040 : 0)); /* flush to zero, and take as zeros */
#endif
    catena_accumulator_add_floats(&a, values, 4, 1);
    catena_accumulator_float(&a, &single);
#ifdef __SSE__
    _mm_setcsr(mode);
#endif
    memcpy(&sum, &single, sizeof(sum));
    ck_assert_uint_eq(sum, 1 + 0x007fffff - 2 + 0x00800000);
}
END_TEST

START_TEST(bad_arguments)
{
    catena_accumulator_t a = {.load = 0};
    double one = 1;
    ck_assert_int_eq(catena_accumulator_add_doubles(&a, NULL, 0, 1), CATENA_OK);
    ck_assert_int_eq(catena_accumulator_add_doubles(&a, NULL, 1, 1),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(catena_accumulator_add_doubles(&a, &one, 1, 0),
                     CATENA_ERR_ARG);
    ck_assert_int_eq(catena_accumulator_merge(&a, NULL), CATENA_ERR_ARG);
    ck_assert_uint_eq(CATENA_ACCUMULATOR_WORDS, 72);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, random_values, 0, STYLES);
    tcase_add_loop_test(tcase, exact_values, 0,
                        sizeof(exact) / sizeof(exact[0]));
    tcase_add_test(tcase, not_a_number);
    tcase_add_test(tcase, dealt);
    tcase_add_test(tcase, strides_and_floats);
    tcase_add_test(tcase, carries);
    tcase_add_test(tcase, not_normalized);
    tcase_add_loop_test(tcase, subnormal_floats, 0, 2);
    tcase_add_test(tcase, bad_arguments);
}

UNIT_TEST(accumulator)
{
    return unit_main("accumulator", 60, add_cases);
}
