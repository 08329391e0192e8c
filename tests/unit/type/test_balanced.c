/* The balanced tree of operands, against pairs combined round by round. */

#include <stdlib.h>
#include <string.h>

#include "type/balanced.h"
#include "unit/unit.h"

enum { MOST = 70, LONGEST = 9000 };

static const uint32_t numbers[] = {2,  3,  4,  5,  6,  7,  8, 9,
                                   12, 13, 24, 31, 64, 65, 70};
static const size_t lengths[] = {0, 1, 2, 7, 64, 129, 512, 513, LONGEST};

static double (*value)[LONGEST + 1]; /* [MOST] */

static const unsigned char *operand(void *from, uint32_t i)
{
    ck_assert_ptr_eq(from, &value);
    return (const unsigned char *)value[i];
}

/** Element e of the operands. */
static double naive(uint32_t count, size_t e)
{
    double part[MOST];
    uint32_t power = 1;
    for (uint32_t i = 0; i < count; i++) {
        part[i] = value[i][e];
    }
    while (2 * power <= count) {
        power *= 2;
    }
    /* The last units are single operands. */
    uint32_t pairs = count - power;
    for (uint32_t i = 0; i < power; i++) {
        part[i] = i < pairs ? part[2 * i] + part[2 * i + 1] : part[i + pairs];
    }
    for (; power > 1; power /= 2) {
        for (uint32_t i = 0; i < power / 2; i++) {
            part[i] = part[2 * i] + part[2 * i + 1];
        }
    }
    return part[0];
}

/** @param where number of the operand that is overwritten; MOST: none */
static void compare(uint32_t count, size_t length, uint32_t where)
{
    static double expected[LONGEST], other[LONGEST + 1];
    ctn_reducer_t by = {.op = ctn_reduce_op_of(CATENA_SUM),
                        .type = ctn_type_fixed[CTN_FIXED_double]};
    for (size_t e = 0; e < length; e++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t drawn = (uint32_t)rand();
            value[i][e] = (double)drawn * (drawn % 3 == 0 ? 1e-9 : 1.7e3);
        }
        expected[e] = naive(count, e);
    }
    double *out = where < MOST ? value[where] : other;
    out[length] = -1;
    ctn_balanced_reduce(&by, count, operand, &value, length * sizeof(double),
                        (unsigned char *)out);
    ck_assert_int_eq(memcmp(out, expected, length * sizeof(double)), 0);
    ck_assert(out[length] == -1);
}

START_TEST(same_as_rounds_of_pairs)
{
    value = calloc(MOST, sizeof(*value));
    ck_assert_ptr_nonnull(value);
    srand(5);
    for (size_t n = 0; n < sizeof(numbers) / sizeof(*numbers); n++) {
        for (size_t l = 0; l < sizeof(lengths) / sizeof(*lengths); l++) {
            compare(numbers[n], lengths[l], MOST);
            compare(numbers[n], lengths[l], 0);
            compare(numbers[n], lengths[l], 1);
        }
    }
    free(value);
}
END_TEST

/** The tree of blocks of 2^c operands is that of all operands: what hierarchies
 * rely on. */
START_TEST(blocks_of_a_power_of_two)
{
    for (uint32_t blocks = 2; blocks < 100; blocks++) {
        for (uint32_t c = 1; c < 6; c++) {
            uint32_t all = blocks << c;
            ck_assert_uint_eq(ctn_balanced_levels(all),
                              ctn_balanced_levels(blocks) + c);
            /* The units of the blocks begin where units of operands do. */
            uint32_t pairs = ctn_balanced_pairs(blocks);
            for (uint32_t u = 0; u < 1u << ctn_balanced_levels(blocks); u++) {
                ck_assert_uint_eq(
                    ctn_balanced_first(ctn_balanced_pairs(all), u << c),
                    ctn_balanced_first(pairs, u) << c);
            }
        }
    }
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, same_as_rounds_of_pairs);
    tcase_add_test(tcase, blocks_of_a_power_of_two);
}

UNIT_TEST(balanced)
{
    return unit_main("balanced", 60, add_cases);
}
