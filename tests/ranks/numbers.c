/* Words that stay: an operation, then as many others that leave its words alone
 * as bring its number again, then the same with other data. A build with few
 * numbers (-Dtiny) has 240. Epoch barriers and fences take numbers, too, so a
 * range of distances is tried. */

#include <stdlib.h>
#include <string.h>

#include "rank_test.h"

enum { NUMBERS = 240 };

typedef struct call {
    catena_group_t *group;
    catena_neighborhood_t *ring;
    size_t count;
    int me, p;
    uint32_t *send, *recv;
} call_t;

static void open_call(rank_test_t *test, call_t *c, size_t count)
{
    *c = (call_t){.count = count, .p = catena_group_size(test->world)};
    RANK_CHECK(test, catena_group_dup(test->world, &c->group) == CATENA_OK);
    c->me = catena_group_rank(c->group);
    c->send = (void *)rank_take(test, RANK_MALLOC, c->p * count * 4);
    c->recv = (void *)rank_take(test, RANK_MALLOC, c->p * count * 4);
}

static void close_call(rank_test_t *test, call_t *c)
{
    rank_give(test, RANK_MALLOC, (void *)c->send);
    rank_give(test, RANK_MALLOC, (void *)c->recv);
    RANK_CHECK(test, catena_group_free(c->group) == CATENA_OK);
}

static uint32_t word(uint32_t salt, int from, int to)
{
    return salt << 16 | (uint32_t)from << 8 | (uint32_t)to;
}

static void alltoall(rank_test_t *test, const call_t *c, uint32_t salt)
{
    size_t n = c->count;
    for (size_t i = 0; i < n * (size_t)c->p; i++) {
        c->send[i] = word(salt, c->me, (int)(i / n));
    }
    RANK_CHECK(test, catena_alltoall(c->send, c->recv, n, CATENA_UINT32,
                                     c->group) == CATENA_OK);
    for (size_t i = 0; i < n * (size_t)c->p; i++) {
        RANK_CHECK(test, c->recv[i] == word(salt, (int)(i / n), c->me));
    }
}

static void allreduce(rank_test_t *test, const call_t *c, uint32_t salt)
{
    uint32_t own = word(salt, c->me, 1);
    uint32_t all = 0;
    RANK_CHECK(test, catena_allreduce(&own, &all, 1, CATENA_UINT32, CATENA_MAX,
                                      c->group) == CATENA_OK);
    RANK_CHECK(test, all == word(salt, c->p - 1, 1));
}

/** To the next rank, from the one before. */
static void neighbors(rank_test_t *test, const call_t *c, uint32_t salt,
                      size_t count)
{
    const size_t counts[] = {count};
    const ptrdiff_t places[] = {0};
    int before = (c->me + c->p - 1) % c->p;
    for (size_t i = 0; i < count; i++) {
        c->send[i] = word(salt, c->me, 2);
    }
    RANK_CHECK(test, catena_neighbor_alltoallv(
                         c->send, counts, places, CATENA_UINT32, c->recv,
                         counts, places, CATENA_UINT32, c->ring) == CATENA_OK);
    for (size_t i = 0; i < count; i++) {
        RANK_CHECK(test, c->recv[i] == word(salt, before, 2));
    }
}

static void alltoalls(rank_test_t *test, const char *algorithm, size_t count)
{
    call_t c;
    open_call(test, &c, count);
    RANK_CHECK(test, catena_group_set(c.group, "alltoall_algorithm",
                                      algorithm) == CATENA_OK);
    for (uint32_t between = NUMBERS - 16; between < NUMBERS; between++) {
        alltoall(test, &c, 2 * between);
        for (uint32_t i = 0; i < between; i++) {
            RANK_CHECK(test, catena_barrier(c.group) == CATENA_OK);
        }
        alltoall(test, &c, 2 * between + 1);
    }
    close_call(test, &c);
}

static void run_direct(rank_test_t *test)
{
    static const size_t counts[] = {2, 20, 100, 2000};
    for (int i = 0; i < 4; i++) {
        alltoalls(test, "direct", counts[i]);
    }
}

static void run_leaders(rank_test_t *test)
{
    alltoalls(test, "onmpml", 2);
    alltoalls(test, "onmpml", 700);
}

static void run_messages(rank_test_t *test)
{
    call_t c;
    open_call(test, &c, 1);
    RANK_CHECK(test, catena_group_set(c.group, "hierarchy", "network:p2p") ==
                         CATENA_OK);
    for (uint32_t between = NUMBERS - 64; between < NUMBERS; between++) {
        allreduce(test, &c, 2 * between);
        for (uint32_t i = 0; i < between; i++) {
            RANK_CHECK(test, catena_bcast(c.send, 1, CATENA_UINT32, 0,
                                          c.group) == CATENA_OK);
        }
        allreduce(test, &c, 2 * between + 1);
    }
    close_call(test, &c);
}

static void run_neighbors(rank_test_t *test)
{
    static const size_t counts[] = {1, 40, 300};
    call_t c;
    open_call(test, &c, 300);
    int from = (c.me + c.p - 1) % c.p;
    int to = (c.me + 1) % c.p;
    RANK_CHECK(test, catena_neighborhood_create_for(
                         CATENA_NEIGHBOR_ALLTOALL, c.group, 1, &from,
                         CATENA_UNWEIGHTED, 1, &to, CATENA_UNWEIGHTED, NULL,
                         &c.ring) == CATENA_OK);
    for (int k = 0; k < 3; k++) {
        for (uint32_t between = NUMBERS - 3; between < NUMBERS; between++) {
            neighbors(test, &c, 2 * between, counts[k]);
            for (uint32_t i = 0; i < between; i++) {
                neighbors(test, &c, 0, 0);
            }
            neighbors(test, &c, 2 * between + 1, counts[k]);
        }
    }
    RANK_CHECK(test, catena_neighborhood_free(c.ring) == CATENA_OK);
    close_call(test, &c);
}

static const rank_case_t cases[] = {{"numbers direct", run_direct},
                                    {"numbers leaders", run_leaders},
                                    {"numbers messages", run_messages},
                                    {"numbers neighbors", run_neighbors},
                                    {NULL, NULL}};
const rank_suite_t rank_suite_numbers = {
    .name = "numbers", .cases = cases, .ranks = 2, .most = 9};
