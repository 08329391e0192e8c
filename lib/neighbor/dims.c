/* Dimensions of a grid, as even as possible: the largest is as small as it can
 * be, then the next one, and so on. */

#include <catena/neighbor.h>

enum { MOST_DIVISORS = 1600 }; /* of a number below 2^31: 2095133040 */

typedef struct divisors {
    int count;
    int value[MOST_DIVISORS]; /* ascending */
} divisors_t;

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

/** Whether `count` factors of at most d can make n or more. */
static int can_reach(int n, int count, int d)
{
    int64_t product = 1;
    for (int i = 0; i < count && product < n; i++) {
        product *= d;
    }
    return product >= n;
}

/** n as a product of `count` factors that do not increase, none above `most`.
 * The first factor is tried in ascending order. */
static int factor(const divisors_t *divisors, int n, int count, int most,
                  int *factors)
{
    if (count == 0) {
        return n == 1;
    }
    for (int i = 0; i < divisors->count; i++) {
        int d = divisors->value[i];
        if (d > most || d > n) {
            return 0;
        }
        if (n % d == 0 && can_reach(n, count, d) &&
            factor(divisors, n / d, count - 1, d, factors + 1)) {
            factors[0] = d;
            return 1;
        }
    }
    return 0;
}

/** Factors that are left over are 1: more than these are never above 1. */
enum { MOST_FACTORS = 31 };

catena_status_t catena_dims_create(int ranks, int ndims, int dims[])
{
    divisors_t divisors;
    int factors[MOST_FACTORS + 1];
    int open = 0;
    int rest = ranks;
    if (ranks < 1 || ndims < 0 || (dims == NULL && ndims > 0)) {
        return CATENA_ERR_ARG;
    }
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 0 || (dims[d] > 0 && rest % dims[d] != 0)) {
            return CATENA_ERR_ARG;
        }
        open += dims[d] == 0;
        rest /= dims[d] > 0 ? dims[d] : 1;
    }
    int count = open < MOST_FACTORS ? open : MOST_FACTORS;
    find_divisors(rest, &divisors);
    if (!factor(&divisors, rest, count, rest, factors)) {
        return CATENA_ERR_ARG;
    }
    for (int d = 0, i = 0; d < ndims; d++) {
        if (dims[d] == 0) {
            dims[d] = i < count ? factors[i] : 1;
            i++;
        }
    }
    return CATENA_OK;
}
