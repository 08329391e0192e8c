/* Pools of objects of one size. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/pool.h"
#include "core/region.h"

#include "unit/unit.h"

enum { OBJECTS = 1000, PER_SLAB = 7 };

typedef struct object {
    uint64_t link;
    uint64_t value;
    unsigned char rest[48];
} object_t;

/** Take OBJECTS objects: all zero but for the link, aligned, and distinct. */
static void take_all(ctn_pool_t *pool, object_t **object)
{
    for (uint64_t i = 0; i < OBJECTS; i++) {
        object[i] = ctn_pool_get(pool, sizeof(object_t), PER_SLAB);
        ck_assert_ptr_nonnull(object[i]);
        ck_assert_uint_eq((uintptr_t)object[i] % 64, 0);
        ck_assert_uint_eq(object[i]->value, 0);
        memset(object[i], 0xff, sizeof(*object[i]));
        object[i]->value = i + 1;
    }
    for (uint64_t i = 0; i < OBJECTS; i++) {
        ck_assert_uint_eq(object[i]->value, i + 1);
        ck_assert_uint_eq(object[i]->link, UINT64_MAX);
    }
}

START_TEST(objects_return)
{
    static object_t *object[OBJECTS];
    ctn_pool_t pool = {0};
    ck_assert_ptr_null(ctn_pool_take(&pool));
    take_all(&pool, object);
    for (size_t i = 0; i < OBJECTS; i++) {
        ctn_pool_put(&pool, object[i]);
    }
    const struct ctn_pool_slab *slabs = pool.slabs;
    for (size_t i = OBJECTS; i-- > 0;) { /* the last one put is next */
        object_t *taken = ctn_pool_take(&pool);
        ck_assert_ptr_eq(taken, object[i]);
        ck_assert_uint_eq(taken->value, i + 1); /* as it was put */
    }
    ck_assert_ptr_eq(pool.slabs, slabs);
    ctn_pool_drop(&pool);
    ck_assert_ptr_null(ctn_pool_take(&pool));
    ctn_pool_drop(&pool);
}
END_TEST

static void add_value(void *object, void *argument)
{
    *(uint64_t *)argument += ((const object_t *)object)->value;
}

START_TEST(visits_free_and_used)
{
    static object_t *object[OBJECTS];
    ctn_pool_t pool = {0};
    uint64_t sum = 0;
    ctn_pool_visit(&pool, add_value, &sum);
    ck_assert_uint_eq(sum, 0);
    take_all(&pool, object);
    ctn_pool_put(&pool, object[0]);
    ctn_pool_put(&pool, object[5]);
    ctn_pool_visit(&pool, add_value, &sum);
    ck_assert_uint_eq(sum, (uint64_t)OBJECTS * (OBJECTS + 1) / 2);
    ctn_pool_drop(&pool);
}
END_TEST

START_TEST(no_memory)
{
    ctn_pool_t pool = {0};
    ck_assert_ptr_null(ctn_pool_get(&pool, 64, SIZE_MAX / 64 / 4));
    ck_assert_ptr_null(pool.slabs);
    ck_assert_ptr_null(pool.free);
}
END_TEST

/** A region: zeroed items, nothing for absurd counts, and then a failure. */
START_TEST(regions_release_all)
{
    ctn_region_t region = {0};
    for (size_t count = 0; count < 100; count++) {
        unsigned char *item = ctn_region_take(&region, count, 24);
        ck_assert_ptr_nonnull(item);
        ck_assert_uint_eq((uintptr_t)item % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < 24 * count; i++) {
            ck_assert_uint_eq(item[i], 0);
        }
        memset(item, 0xff, 24 * count);
    }
    ck_assert_int_eq(ctn_region_release(&region), CATENA_OK);
    ck_assert_ptr_null(ctn_region_take(&region, SIZE_MAX / 8, 9));
    ck_assert(region.failed);
    ck_assert_ptr_nonnull(ctn_region_take(&region, 1, 8));
    ck_assert_int_eq(ctn_region_release(&region), CATENA_ERR_NO_MEMORY);
    ck_assert_int_eq(ctn_region_release(&region), CATENA_OK);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, objects_return);
    tcase_add_test(tcase, regions_release_all);
    tcase_add_test(tcase, visits_free_and_used);
    tcase_add_test(tcase, no_memory);
}

UNIT_TEST(pool)
{
    return unit_main("pool", 60, add_cases);
}
