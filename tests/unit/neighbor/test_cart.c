/* Dimensions of grids, compared with an exhaustive search. */

#include <catena/catena.h>
#include <stdbool.h>
#include <string.h>

#include "unit/unit.h"

enum { MOST_DIMS = 4 };

/** Whether `now` is better than `best`: closer together, then smaller at the
 * first difference. */
static bool is_better(const int *now, const int *best, int ndims)
{
    int difference = (now[0] - now[ndims - 1]) - (best[0] - best[ndims - 1]);
    for (int d = 0; difference == 0 && d < ndims; d++) {
        difference = now[d] - best[d];
    }
    return best[0] == 0 || difference < 0;
}

/** The best product of n, by exhaustive search. */
static void search(int n, int ndims, int most, int at, int *now, int *best)
{
    if (at == ndims) {
        if (n == 1 && is_better(now, best, ndims)) {
            memcpy(best, now, (size_t)ndims * sizeof(*now));
        }
        return;
    }
    for (int d = 1; d <= most; d++) {
        if (n % d == 0) {
            now[at] = d;
            search(n / d, ndims, d, at + 1, now, best);
        }
    }
}

START_TEST(dims_are_even)
{
    for (int i = 1; i <= 400; i++) {
        int n = i < 400 ? i : 7488; /* 26 18 16, not 24 24 13 */
        for (int ndims = 1; ndims <= MOST_DIMS; ndims++) {
            int dims[MOST_DIMS] = {0};
            int now[MOST_DIMS] = {0};
            int best[MOST_DIMS] = {0};
            search(n, ndims, n, 0, now, best);
            ck_assert_int_eq(catena_dims_create(n, ndims, dims), CATENA_OK);
            ck_assert_msg(memcmp(dims, best, sizeof(dims)) == 0,
                          "%d in %d: %d %d %d %d, expected %d %d %d %d", n,
                          ndims, dims[0], dims[1], dims[2], dims[3], best[0],
                          best[1], best[2], best[3]);
        }
    }
}
END_TEST

/** All factors are equal, so nothing is left to search. */
START_TEST(dims_all_equal)
{
    int one[1] = {0};
    int two[2] = {0, 0};
    ck_assert_int_eq(catena_dims_create(INT32_MAX, 1, one), CATENA_OK);
    ck_assert_int_eq(one[0], INT32_MAX);
    ck_assert_int_eq(catena_dims_create(46340 * 46340, 2, two), CATENA_OK);
    ck_assert_int_eq(two[0], 46340);
    ck_assert_int_eq(two[1], 46340);
}
END_TEST

START_TEST(dims_that_are_kept)
{
    int dims[4] = {0, 3, 0, 2};
    ck_assert_int_eq(catena_dims_create(72, 4, dims), CATENA_OK);
    ck_assert_int_eq(dims[0], 4);
    ck_assert_int_eq(dims[1], 3);
    ck_assert_int_eq(dims[2], 3);
    ck_assert_int_eq(dims[3], 2);
    int beside[4] = {0, 0, 5, 0};
    int closest[4] = {26, 18, 5, 16};
    ck_assert_int_eq(catena_dims_create(5 * 7488, 4, beside), CATENA_OK);
    ck_assert_mem_eq(beside, closest, sizeof(beside));
    int indivisible[2] = {0, 5};
    ck_assert_int_eq(catena_dims_create(72, 2, indivisible), CATENA_ERR_ARG);
    ck_assert_int_eq(indivisible[0], 0);
    int other[2] = {3, 4};
    ck_assert_int_eq(catena_dims_create(24, 2, other), CATENA_ERR_ARG);
    ck_assert_int_eq(catena_dims_create(12, 2, other), CATENA_OK);
    int negative[1] = {-2};
    ck_assert_int_eq(catena_dims_create(4, 1, negative), CATENA_ERR_ARG);
    ck_assert_int_eq(catena_dims_create(0, 1, negative), CATENA_ERR_ARG);
    ck_assert_int_eq(catena_dims_create(1, 0, NULL), CATENA_OK);
    ck_assert_int_eq(catena_dims_create(4, 1, NULL), CATENA_ERR_ARG);
}
END_TEST

/** Large numbers and many dimensions do not take long. */
START_TEST(dims_of_large_numbers)
{
    int prime[3] = {0};
    ck_assert_int_eq(catena_dims_create(2147483647, 3, prime), CATENA_OK);
    ck_assert_int_eq(prime[0], 2147483647);
    ck_assert_int_eq(prime[1], 1);
    int smooth[40] = {0};
    ck_assert_int_eq(catena_dims_create(1 << 30, 40, smooth), CATENA_OK);
    for (int d = 0; d < 40; d++) {
        ck_assert_int_eq(smooth[d], d < 30 ? 2 : 1);
    }
    int many[5] = {0};
    int64_t product = 1;
    ck_assert_int_eq(catena_dims_create(2095133040, 5, many), CATENA_OK);
    for (int d = 0; d < 5; d++) {
        product *= many[d];
        ck_assert_int_ge(many[d > 0 ? d - 1 : 0], many[d]);
    }
    ck_assert_int_eq(product, 2095133040);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_test(tcase, dims_are_even);
    tcase_add_test(tcase, dims_that_are_kept);
    tcase_add_test(tcase, dims_all_equal);
    tcase_add_test(tcase, dims_of_large_numbers);
}

UNIT_TEST(cart)
{
    return unit_main("cart", 100, add_cases);
}
