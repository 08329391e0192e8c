/* Numbers in texts; hashes and random numbers by known values. */

#include <stdint.h>

#include "core/random.h"
#include "core/units.h"

#include "unit/unit.h"

START_TEST(sizes)
{
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = {{"0", 0},
                {"65536", 65536},
                {"64k", 65536},
                {"64KB", 65536},
                {"2m", 2 << 20},
                {"2Mb", 2 << 20},
                {"1g", 1 << 30},
                {"3T", (size_t)3 << 40},
                {"7b", 7},
                {"16777215t", (size_t)16777215 << 40},
                {"18446744073709551615", SIZE_MAX}};
    static const char *const bad[] = {
        "",     "k",    " 1",  "1 ",        "-1",
        "+1",   "0x10", "1kk", "1kbb",      "1.5k",
        "k1",   "1bk",  "1e3", "16777216t", "18446744073709551616",
        "12 k", "1\n"};
    size_t bytes = 1;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ck_assert_msg(ctn_units_bytes(good[i].text, &bytes), "%s",
                      good[i].text);
        ck_assert_uint_eq(bytes, good[i].bytes);
    }
    bytes = 77;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!ctn_units_bytes(bad[i], &bytes), "%s", bad[i]);
        ck_assert_uint_eq(bytes, 77);
    }
}
END_TEST

START_TEST(counts)
{
    uint64_t count = 77;
    ck_assert(!ctn_units_count("", 9, &count));
    ck_assert(!ctn_units_count("10", 9, &count));
    ck_assert(!ctn_units_count("-1", 9, &count));
    ck_assert(!ctn_units_count("1k", UINT64_MAX, &count));
    ck_assert(!ctn_units_count("18446744073709551616", UINT64_MAX, &count));
    ck_assert_uint_eq(count, 77);
    ck_assert(ctn_units_count("9", 9, &count));
    ck_assert_uint_eq(count, 9);
    ck_assert(ctn_units_count("0", 0, &count));
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(reals)
{
    static const char *const bad[] = {"",    "-1",  " 1",  "1 ", "inf", "nan",
                                      "0x1", "1e9", "1..", "e",  ".",   "1s"};
    double value = 77;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!ctn_units_real(bad[i], 1e6, &value), "%s", bad[i]);
        ck_assert(value == 77);
    }
    ck_assert(ctn_units_real("0", 1e6, &value) && value == 0);
    ck_assert(ctn_units_real("2.5", 1e6, &value) && value == 2.5);
    ck_assert(ctn_units_real(".5e-1", 1e6, &value) && value == .05);
    ck_assert(ctn_units_real("1e6", 1e6, &value) && value == 1e6);
}
END_TEST

START_TEST(known_values)
{
    /* The first numbers of splitmix64 with seed 1234567, as its authors'
     * program prints them. */
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821)};
    uint64_t state = 1234567;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        ck_assert_uint_eq(ctn_random(&state), expected[i]);
    }
    /* One-at-a-time of "a" and of a sentence, in one part or in two. */
    const char *text = "The quick brown fox jumps over the lazy dog";
    ck_assert_uint_eq(ctn_hash_jenkins_end(ctn_hash_jenkins(0, "a", 1)),
                      0xca2e9442u);
    ck_assert_uint_eq(ctn_hash_jenkins_end(ctn_hash_jenkins(0, text, 43)),
                      0x519e91f5u);
    ck_assert_uint_eq(ctn_hash_jenkins_end(ctn_hash_jenkins(
                          ctn_hash_jenkins(0, text, 9), text + 9, 34)),
                      0x519e91f5u);
}
END_TEST

START_TEST(hashes_of_sequences)
{
    ck_assert_uint_ne(ctn_hash_add(0, 0), 0);
    ck_assert_uint_ne(ctn_hash_add(0, 1), ctn_hash_add(1, 0));
    ck_assert_uint_ne(ctn_hash_add(ctn_hash_add(0, 1), 2),
                      ctn_hash_add(ctn_hash_add(0, 2), 1));
    /* The terminator separates texts. */
    ck_assert_uint_ne(ctn_hash_add_text(ctn_hash_add_text(0, "ab"), "c"),
                      ctn_hash_add_text(ctn_hash_add_text(0, "a"), "bc"));
    ck_assert_uint_ne(ctn_hash_add_text(0, ""), 0);
}
END_TEST

START_TEST(ranges)
{
    uint64_t state = 5;
    unsigned seen = 0;
    for (int i = 0; i < 1000; i++) {
        size_t below = ctn_random_below(&state, 7);
        ck_assert_uint_lt(below, 7);
        seen |= 1u << below;
        double real = ctn_random_real(&state);
        ck_assert(real >= 0 && real < 1);
    }
    ck_assert_uint_eq(seen, 0x7f);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, counts);
    tcase_add_test(tcase, reals);
    tcase_add_test(tcase, known_values);
    tcase_add_test(tcase, hashes_of_sequences);
    tcase_add_test(tcase, ranges);
}

UNIT_TEST(units)
{
    return unit_main("units", 60, add_cases);
}
