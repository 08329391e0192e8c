/* Maps from 64-bit keys to pointers. */

#include "core/hash_map.h"
#include "core/random.h"

#include "unit/unit.h"

enum { KEYS = 3000 };

/** Add KEYS keys, and find them and no others; values count from 1. */
static void check_keys(const uint64_t *key, const uint64_t *other)
{
    static unsigned char value[KEYS + 1];
    ctn_hash_map_t map = {0};
    ck_assert_ptr_null(ctn_hash_map_find(&map, key[0]));
    for (size_t i = 0; i < KEYS; i++) {
        ck_assert(ctn_hash_map_add(&map, key[i], &value[i + 1]));
        ck_assert_uint_eq(map.count, i + 1);
        ck_assert_uint_ge(map.slots, 2 * map.count);
        ck_assert_ptr_null(ctn_hash_map_find(&map, other[i]));
    }
    for (size_t i = 0; i < KEYS; i++) {
        ck_assert_ptr_eq(ctn_hash_map_find(&map, key[i]), &value[i + 1]);
        ck_assert_ptr_null(ctn_hash_map_find(&map, other[i]));
    }
    size_t visited = 0;
    for (size_t i = 0; i < map.slots; i++) {
        visited += map.entry[i].value != NULL;
    }
    ck_assert_uint_eq(visited, KEYS);
    ctn_hash_map_drop(&map);
    ck_assert_ptr_null(ctn_hash_map_find(&map, key[0]));
    ctn_hash_map_drop(&map);
}

/* Ranks are consecutive. */
START_TEST(consecutive_keys)
{
    uint64_t key[KEYS], other[KEYS];
    for (size_t i = 0; i < KEYS; i++) {
        key[i] = i;
        other[i] = KEYS + i;
    }
    check_keys(key, other);
}
END_TEST

/* All begin at one slot: the upper bits of the hash do not count. */
START_TEST(colliding_keys)
{
    uint64_t key[KEYS], other[KEYS], inverse = 1;
    for (int i = 0; i < 6; i++) { /* Newton: the bits that are right double */
        inverse *= 2 - CTN_HASH_STEP * inverse;
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        key[i] = (UINT64_C(7) << 32 | i) * inverse;
        other[i] = (UINT64_C(7) << 32 | (KEYS + i)) * inverse;
        ck_assert_uint_eq(ctn_hash_fibonacci(key[i]) >> 32, 7);
    }
    check_keys(key, other);
}
END_TEST

START_TEST(random_keys)
{
    uint64_t key[KEYS], other[KEYS], random = 1;
    for (size_t i = 0; i < KEYS; i++) {
        key[i] = ctn_random(&random);
        other[i] = ctn_random(&random);
    }
    check_keys(key, other);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, consecutive_keys);
    tcase_add_test(tcase, colliding_keys);
    tcase_add_test(tcase, random_keys);
}

UNIT_TEST(hash_map)
{
    return unit_main("hash_map", 60, add_cases);
}
