/* catena_dims_create: dimensions of a grid, as even as possible. Of all
 * factorizations, in falling order of their factors: those with the smallest
 * difference between the first and the last factor; of those, the one with the
 * smallest first factor, then the smallest second, and so on. */

#include <catena/neighbor.h>
#include <stdbool.h>
#include <string.h>

#include "core/refuse.h"

/* 1600: of 2095133040; no number below 2^31 has more divisors. */
enum { MOST_DIVISORS = 1600 };

/** All divisors of a number. */
typedef struct divisors {
    int count;
    int value[MOST_DIVISORS]; /* ascending */
} divisors_t;

/** Finds the divisors up to the root of n, then those above it. */
static void find_divisors(int n, divisors_t *divisors)
{
    divisors->count = 0;
    for (int d = 1; d <= n / d; d++) {
        if (n % d == 0) {
            divisors->value[divisors->count++] = d;
        }
    }
    for (int i = divisors->count; i-- > 0;) {
        int d = divisors->value[i];
        if (n / d != d) {
            divisors->value[divisors->count++] = n / d;
        }
    }
}

/** d to the power of `count`, or a number above n if it is above n. */
static int64_t power(int d, int count, int n)
{
    int64_t product = 1;
    for (int i = 0; i < count && product <= n; i++) {
        product *= d;
    }
    return product;
}

/** Writes n as a product of `count` factors from `least` to `most` in falling
 * order, with the smallest first factor, then the smallest second, and so on.
 * @return false: there is no such product */
static bool factor(const divisors_t *divisors, int n, int count, int least,
                   int most, int *factors)
{
    if (count == 0) {
        return n == 1;
    }
    for (int i = 0; i < divisors->count; i++) {
        int d = divisors->value[i];
        if (d > most || d > n || power(least, count - 1, n) > n / d) {
            return false;
        }
        if (d >= least && n % d == 0 && power(d, count, n) >= n &&
            factor(divisors, n / d, count - 1, least, d, factors + 1)) {
            factors[0] = d;
            return true;
        }
    }
    return false;
}

/** Of a number below 2^31, at most this many factors are above 1. */
enum { MOST_FACTORS = 31 };

/** Finds the factors of n. Tries the largest factor d in ascending order. The
 * smallest factor is at most the count-th root of n, so the search ends when
 * even that root differs from d by more than the best difference so far.
 * @return false: there are none, since `count` is 0 and n is not 1 */
static bool most_even(const divisors_t *divisors, int n, int count, int *best)
{
    int factors[MOST_FACTORS];
    int difference = n; /* above any possible difference */
    if (count == 0) {
        return n == 1;
    }
    for (int i = 0; i < divisors->count; i++) {
        int d = divisors->value[i];
        int least = d >= difference ? d - difference + 1 : 1;
        if (power(d, count, n) < n) {
            continue;
        }
        while (power(least, count, n) <= n &&
               factor(divisors, n / d, count - 1, least, d, factors + 1)) {
            factors[0] = d;
            memcpy(best, factors, (size_t)count * sizeof(*best));
            difference = d - factors[count - 1];
            if (difference == 0) {
                return true;
            }
            least = d - difference + 1;
        }
        if (power(least, count, n) > n) {
            break;
        }
    }
    return true;
}

catena_status_t catena_dims_create(int ranks, int ndims, int dims[])
{
    divisors_t divisors;
    int factors[MOST_FACTORS];
    int open = 0;     /* dimensions to be found */
    int rest = ranks; /* their product */
    if (dims == NULL && ndims > 0) {
        return CTN_REFUSE_NULL(NULL, dims);
    }
    if (ranks < 1 || ndims < 0) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, __func__,
                          "%d ranks and %d dimensions; expected 1 or more "
                          "ranks, and 0 or more dimensions",
                          ranks, ndims);
    }
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 0 || (dims[d] > 0 && rest % dims[d] != 0)) {
            return ctn_refuse(NULL, CATENA_ERR_ARG, __func__,
                              "dims[%d] is %d; expected 0, or a divisor of the "
                              "%d ranks that are left",
                              d, dims[d], rest);
        }
        open += dims[d] == 0;
        rest /= dims[d] > 0 ? dims[d] : 1;
    }
    int count = open < MOST_FACTORS ? open : MOST_FACTORS;
    find_divisors(rest, &divisors);
    if (!most_even(&divisors, rest, count, factors)) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, __func__,
                          "%d ranks do not fit the dimensions given; set a "
                          "dimension to 0",
                          ranks);
    }
    for (int d = 0, i = 0; d < ndims; d++) {
        if (dims[d] == 0) {
            dims[d] = i < count ? factors[i] : 1;
            i++;
        }
    }
    return CATENA_OK;
}
