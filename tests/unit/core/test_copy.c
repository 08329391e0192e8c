/* Copies between cores, and past the caches: any address, any length. */

#include <stdlib.h>
#include <string.h>

#include "core/copy.h"

#include "unit/unit.h"

enum { MOST = 5 * 16384, MARGIN = 128 };

static unsigned char source[MOST + 2 * MARGIN];
static unsigned char target[MOST + 2 * MARGIN];

typedef void (*copy_t)(void *target, const void *source, size_t bytes);
static const copy_t copies[] = {ctn_copy_past_caches, ctn_copy_shared};

/** Copy, and check every byte of the target and around it. */
static void copy_one(copy_t copy, size_t to, size_t from, size_t bytes)
{
    memset(target, 0xee, sizeof(target));
    copy(target + to, source + from, bytes);
    ck_assert_mem_eq(target + to, source + from, bytes);
    for (size_t i = 0; i < to; i++) {
        ck_assert_uint_eq(target[i], 0xee);
    }
    for (size_t i = to + bytes; i < to + bytes + 64; i++) {
        ck_assert_uint_eq(target[i], 0xee);
    }
}

START_TEST(test_lengths)
{
    static const size_t lengths[] = {
        0,    1,    63,   64,   65,   128,   129,   130,   144,   145,
        1000, 2047, 2048, 2049, 4095, 16383, 16384, 16385, 16448, MOST - 1};
    for (size_t i = 0; i < sizeof(source); i++) {
        source[i] = (unsigned char)(i * 2654435761u >> 13);
    }
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        for (size_t to = 0; to < 64; to += 21) {
            for (size_t from = 0; from < 64; from += 13) {
                copy_one(copies[_i], to, from, lengths[l]);
            }
        }
    }
}
END_TEST

START_TEST(test_exceeds)
{
    ck_assert(!ctn_copy_exceeds_caches(0));
    ck_assert(!ctn_copy_exceeds_caches(4096));
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_lengths, 0, 2);
    tcase_add_test(tcase, test_exceeds);
}

UNIT_TEST(copy)
{
    return unit_main("copy", 60, add_cases);
}
