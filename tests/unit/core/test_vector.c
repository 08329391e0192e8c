/* Arrays that grow. */

#include <stdint.h>
#include <stdlib.h>

#include "core/vector.h"

#include "unit/unit.h"

START_TEST(items_stay)
{
    ctn_vector_t vector = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t *item = ctn_vector_add(&vector, sizeof(*item));
        ck_assert_ptr_nonnull(item);
        ck_assert_uint_eq(*item, 0);
        *item = i + 1;
        ck_assert_uint_eq(vector.count, i + 1);
        ck_assert_uint_ge(vector.capacity, vector.count);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert_uint_eq(((uint32_t *)vector.item)[i], i + 1);
    }
    ctn_vector_drop(&vector);
    ck_assert_ptr_null(vector.item);
    ck_assert_uint_eq(vector.count + vector.capacity, 0);
    ctn_vector_drop(&vector);
}
END_TEST

START_TEST(reserved)
{
    ctn_vector_t vector = {0};
    ck_assert(ctn_vector_reserve(&vector, 0, 8));
    ck_assert_ptr_null(vector.item);
    ck_assert(ctn_vector_reserve(&vector, 1000, 8));
    void *item = vector.item;
    ck_assert_uint_ge(vector.capacity, 1000);
    ck_assert_uint_eq(vector.count, 0);
    for (int i = 0; i < 1000; i++) {
        ck_assert_ptr_nonnull(ctn_vector_add(&vector, 8));
    }
    ck_assert_ptr_eq(vector.item, item);
    ctn_vector_drop(&vector);
}
END_TEST

START_TEST(too_large)
{
    ctn_vector_t vector = {0};
    ck_assert_ptr_nonnull(ctn_vector_add(&vector, 8));
    const ctn_vector_t before = vector;
    ck_assert(!ctn_vector_reserve(&vector, SIZE_MAX, 8));
    ck_assert(!ctn_vector_reserve(&vector, SIZE_MAX / 8, 8));
    ck_assert(!ctn_vector_reserve(&vector, SIZE_MAX / 16, 8));
    ck_assert_ptr_eq(vector.item, before.item);
    ck_assert_uint_eq(vector.count, 1);
    ck_assert_uint_eq(vector.capacity, before.capacity);
    ctn_vector_drop(&vector);
}
END_TEST

START_TEST(typed_arrays)
{
    size_t capacity = 0;
    int *item = ctn_vector_grow(NULL, &capacity, 0, sizeof(*item));
    ck_assert_ptr_nonnull(item);
    size_t first = capacity;
    ck_assert_uint_ge(first, 16);
    item[first - 1] = 5;
    item = ctn_vector_grow(item, &capacity, 0, sizeof(*item));
    ck_assert_ptr_nonnull(item);
    ck_assert_uint_eq(capacity, 2 * first);
    ck_assert_int_eq(item[first - 1], 5);
    item = ctn_vector_grow(item, &capacity, 1000, sizeof(*item));
    ck_assert_ptr_nonnull(item);
    ck_assert_uint_eq(capacity, 1000);
    free(item);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, items_stay);
    tcase_add_test(tcase, reserved);
    tcase_add_test(tcase, too_large);
    tcase_add_test(tcase, typed_arrays);
}

UNIT_TEST(vector)
{
    return unit_main("vector", 60, add_cases);
}
