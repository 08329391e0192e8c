/* However ranks wait (CATENA_WAIT), all of them wait for one that is late, and
 * all leave when it has come. When they sleep and what wakes them is a unit
 * test's. */

#include "rank_test.h"

static const double late_us = 40000; /* longer than any rank stays awake */

static void exchange(rank_test_t *test, uint64_t seed, bool nonblocking)
{
    rank_exchange_t x = {
        .group = test->world, .count = 40, .type = CATENA_UINT64, .seed = seed};
    rank_exchange_open(test, &x);
    rank_exchange_fill(test, &x, seed);
    if (nonblocking) {
        catena_request_t *requests[2];
        RANK_CHECK(test,
                   catena_ibarrier(test->world, &requests[0]) == CATENA_OK);
        RANK_CHECK(test, catena_ialltoall(rank_exchange_source(&x), x.receive,
                                          x.count, x.type, x.group,
                                          &requests[1]) == CATENA_OK);
        rank_complete(test, requests, 2, (int)(seed % RANK_WAYS));
    } else {
        RANK_CHECK(test,
                   catena_alltoall(rank_exchange_source(&x), x.receive, x.count,
                                   x.type, x.group) == CATENA_OK);
    }
    rank_exchange_check(test, &x, "alltoall");
    rank_exchange_close(test, &x);
}

/** Nobody leaves a barrier before the late rank has come. */
static void barrier(rank_test_t *test, int late)
{
    double came = catena_time(test->context); /* one clock for a host */
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    double left = catena_time(test->context);
    RANK_CHECK(test, catena_bcast(&came, 1, CATENA_DOUBLE, late, test->world) ==
                         CATENA_OK);
    RANK_CHECK(test, left >= came);
}

/** The first rank is a root, the last is not, where its node has others. */
static void wait_for_the_late(rank_test_t *test)
{
    int last = test->place.size - 1;
    for (int i = 0; i < 6; i++) {
        int late = i % 2 == 0 ? 0 : last;
        if (test->place.rank == late) {
            rank_pause(test, late_us);
        }
        if (i < 2) {
            barrier(test, late);
        } else {
            exchange(test, (uint64_t)i, i < 4);
        }
    }
}

/** Soon after each other, so that most waits are short. */
static void wait_for_each_other(rank_test_t *test)
{
    for (uint64_t i = 0; i < 20; i++) {
        barrier(test, 0);
        exchange(test, i, i % 2 == 0);
    }
}

static const rank_case_t cases[] = {
    {"all wait for a late rank", wait_for_the_late},
    {"all wait for each other", wait_for_each_other},
    {NULL, NULL}};

int main(int argc, char **argv)
{
    return rank_main(argc, argv, cases);
}
