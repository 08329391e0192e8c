/* Requests: several in flight on a group, groups started in different orders
 * on different ranks, persistent ones, and a random mixture of everything. */

#include "rank_test.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT = 6 };

static const char *const algorithms[] = {"direct", "l-a2a", "mpml", "nmpml",
                                         "onmpml"};

static void start(rank_test_t *test, rank_exchange_t *x)
{
    RANK_CHECK(test,
               catena_ialltoall(rank_exchange_source(x), x->receive, x->count,
                                x->type, x->group, &x->request) == CATENA_OK);
}

static void open_several(rank_test_t *test, rank_exchange_t *x,
                         catena_group_t *const *group)
{
    static const size_t counts[IN_FLIGHT] = {8, 3000, 0, 200, 20000, 1};
    for (int i = 0; i < IN_FLIGHT; i++) {
        x[i] = (rank_exchange_t){.group = group[i],
                                 .count = counts[i],
                                 .type = CATENA_BYTE,
                                 .send_memory = (rank_memory_t)(i % 2),
                                 .receive_memory = (rank_memory_t)(i / 2 % 2),
                                 .in_place = i == 3};
        rank_exchange_open(test, &x[i]);
        rank_exchange_fill(test, &x[i], (uint64_t)i + 77);
    }
}

static void check_several(rank_test_t *test, rank_exchange_t *x,
                          const char *what)
{
    for (int i = 0; i < IN_FLIGHT; i++) {
        rank_exchange_check(test, &x[i], what);
        RANK_CHECK(test, x[i].request == NULL);
        rank_exchange_close(test, &x[i]);
    }
}

static void several_in_flight(rank_test_t *test)
{
    catena_group_t *groups[IN_FLIGHT];
    for (int i = 0; i < IN_FLIGHT; i++) {
        groups[i] = test->world;
    }
    for (int way = 0; way < RANK_WAYS; way++) {
        for (int a = 0; a < 5; a++) {
            rank_exchange_t x[IN_FLIGHT];
            catena_request_t *requests[IN_FLIGHT + 1];
            open_several(test, x, groups);
            catena_group_set(test->world, "alltoall_algorithm", algorithms[a]);
            for (int i = 0; i < IN_FLIGHT; i++) {
                start(test, &x[i]);
                requests[i] = x[i].request;
                x[i].request = NULL;
            }
            RANK_CHECK(test,
                       catena_ibarrier(test->world, &requests[IN_FLIGHT]) ==
                           CATENA_OK);
            rank_complete(test, requests, IN_FLIGHT + 1, way);
            for (int i = 0; i <= IN_FLIGHT; i++) {
                RANK_CHECK(test, requests[i] == NULL);
            }
            check_several(test, x, algorithms[a]);
        }
    }
}

/** Even ranks start on group 0 first, odd ones on group 2 first. */
static void different_orders(rank_test_t *test)
{
    catena_group_t *group[3];
    RANK_CHECK(test, catena_group_dup(test->world, &group[0]) == CATENA_OK);
    RANK_CHECK(test, catena_group_dup(test->world, &group[1]) == CATENA_OK);
    RANK_CHECK(test, catena_group_dup(group[0], &group[2]) == CATENA_OK);
    catena_group_t *groups[IN_FLIGHT];
    for (int i = 0; i < IN_FLIGHT; i++) {
        groups[i] = group[i % 3];
    }
    for (int round = 0; round < 5; round++) {
        rank_exchange_t x[IN_FLIGHT];
        open_several(test, x, groups);
        for (int step = 0; step < 3; step++) {
            int g = test->place.rank % 2 == 0 ? step : 2 - step;
            start(test, &x[g]);
            start(test, &x[g + 3]);
        }
        for (int i = 0; i < IN_FLIGHT; i++) {
            RANK_CHECK(test, catena_wait(&x[i].request) == CATENA_OK);
        }
        check_several(test, x, "different orders");
    }
    for (int g = 0; g < 3; g++) {
        RANK_CHECK(test, catena_group_free(group[g]) == CATENA_OK);
    }
}

/** A small blocking alltoall that is alone on some ranks only, of an algorithm
 * that was set. */
static void alone_on_some(rank_test_t *test, catena_group_t *group,
                          const char *algorithm)
{
    catena_request_t *barrier = NULL;
    char told[300] = "";
    rank_exchange_t x = {.group = group, .count = 8, .type = CATENA_BYTE};
    rank_exchange_open(test, &x);
    rank_exchange_fill(test, &x, 5);
    if (test->place.rank == 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    RANK_CHECK(test, catena_alltoall(x.send, x.receive, x.count, x.type,
                                     group) == CATENA_OK);
    RANK_CHECK(test, catena_group_explain(group, "alltoall", told,
                                          sizeof(told)) == CATENA_OK);
    if (strstr(told, "reason=\"as asked for\"") != NULL) {
        RANK_CHECK(test, strstr(told, algorithm) != NULL);
    }
    if (test->place.rank != 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    RANK_CHECK(test, catena_wait(&barrier) == CATENA_OK);
    rank_exchange_check(test, &x, "alone on some ranks");
    rank_exchange_close(test, &x);
}

/** What ran last, with other settings or in place, is not what is to run. */
static void settings_of_now(rank_test_t *test)
{
    static const char *const set[] = {"bruck", "shift", "morton"};
    for (int i = 0; i < 6; i++) {
        catena_group_t *group = NULL;
        catena_request_t *request = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        rank_exchange_t x = {.group = group,
                             .count = 8,
                             .type = CATENA_BYTE,
                             .in_place = i % 2 == 0};
        rank_exchange_open(test, &x);
        rank_exchange_fill(test, &x, 6);
        if (!x.in_place) { /* prepared before */
            RANK_CHECK(test,
                       catena_alltoall_init(x.send, x.receive, x.count, x.type,
                                            group, &request) == CATENA_OK);
        }
        catena_group_set(group, "alltoall_algorithm", set[i / 2]);
        RANK_CHECK(test,
                   (x.in_place ? catena_alltoall(CATENA_IN_PLACE, x.receive,
                                                 x.count, x.type, group)
                               : catena_start(request)) == CATENA_OK);
        RANK_CHECK(test, catena_wait(&request) == CATENA_OK);
        rank_exchange_check(test, &x, "settings of now");
        alone_on_some(test, group, set[i / 2]);
        RANK_CHECK(test, request == NULL ||
                             catena_request_free(&request) == CATENA_OK);
        rank_exchange_close(test, &x);
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
}

/** The right one: that of the last rank. */
static void keep_right(const void *in, void *inout, size_t count,
                       catena_datatype_t type, void *argument)
{
    (void)in, (void)inout, (void)count, (void)type, (void)argument;
}

/** The first reduction of a group that has to go in the order of ranks runs at
 * once on most ranks, on rank 0 beside something else. */
static void in_order_alone_on_some(rank_test_t *test)
{
    catena_group_t *group = NULL;
    catena_request_t *barrier = NULL;
    catena_op_t right = NULL;
    int64_t rank = test->place.rank;
    int64_t got = -1;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test,
               catena_op_create(keep_right, NULL, 0, &right) == CATENA_OK);
    RANK_CHECK(test, catena_allreduce(&rank, &got, 1, CATENA_INT64, CATENA_MAX,
                                      group) == CATENA_OK);
    if (rank == 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    RANK_CHECK(test, catena_allreduce(&rank, &got, 1, CATENA_INT64, right,
                                      group) == CATENA_OK);
    RANK_CHECK(test, got == test->place.size - 1);
    if (rank != 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    RANK_CHECK(test, catena_wait(&barrier) == CATENA_OK);
    RANK_CHECK(test, catena_op_free(&right) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
}

static void persistent(rank_test_t *test)
{
    rank_exchange_t x[2];
    catena_request_t *requests[3];
    static const size_t counts[2] = {40, 9000};
    for (int i = 0; i < 2; i++) {
        x[i] = (rank_exchange_t){.group = test->world,
                                 .count = counts[i],
                                 .type = CATENA_BYTE,
                                 .in_place = i == 1};
        rank_exchange_open(test, &x[i]);
        catena_group_set(test->world, "alltoall_algorithm",
                         i == 0 ? "onmpml" : "direct");
        RANK_CHECK(test, catena_alltoall_init(rank_exchange_source(&x[i]),
                                              x[i].receive, x[i].count,
                                              x[i].type, test->world,
                                              &requests[i]) == CATENA_OK);
    }
    RANK_CHECK(test,
               catena_barrier_init(test->world, &requests[2]) == CATENA_OK);
    for (uint64_t round = 0; round < 20; round++) {
        rank_exchange_fill(test, &x[0], round);
        rank_exchange_fill(test, &x[1], round + 1000);
        RANK_CHECK(test, catena_startall(3, requests) == CATENA_OK);
        RANK_CHECK(test, catena_start(requests[0]) == CATENA_ERR_STATE);
        RANK_CHECK(test, catena_request_free(&requests[0]) == CATENA_ERR_STATE);
        RANK_CHECK(test, catena_waitall(3, requests) == CATENA_OK);
        rank_exchange_check(test, &x[0], "persistent");
        rank_exchange_check(test, &x[1], "persistent, in place");
    }
    for (int i = 0; i < 3; i++) {
        RANK_CHECK(test, catena_request_free(&requests[i]) == CATENA_OK);
        RANK_CHECK(test, requests[i] == NULL);
    }
    rank_exchange_close(test, &x[0]);
    rank_exchange_close(test, &x[1]);
}

static void handles(rank_test_t *test)
{
    catena_request_t *none = NULL;
    size_t index = 99;
    int done = 0;
    char text[128];
    RANK_CHECK(test, catena_wait(&none) == CATENA_OK);
    RANK_CHECK(test, catena_test(&none, &done) == CATENA_OK && done);
    RANK_CHECK(test, catena_waitany(1, &none, &index) == CATENA_OK);
    RANK_CHECK(test, index == 1);
    RANK_CHECK(test, catena_request_free(&none) == CATENA_ERR_ARG);
    catena_request_t *barrier = NULL;
    RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    RANK_CHECK(test, catena_request_describe(barrier, text, sizeof(text)) ==
                         CATENA_OK);
    RANK_CHECK(test, strncmp(text, "barrier", 7) == 0);
    RANK_CHECK(test, catena_start(barrier) == CATENA_ERR_STATE);
    RANK_CHECK(test, catena_wait(&barrier) == CATENA_OK && barrier == NULL);
    /* Nothing to do, but a request all the same. */
    RANK_CHECK(test, catena_alltoall_init(NULL, NULL, 0, CATENA_INT8,
                                          test->world, &none) == CATENA_OK);
    RANK_CHECK(test, catena_start(none) == CATENA_OK);
    RANK_CHECK(test, catena_wait(&none) == CATENA_OK && none != NULL);
    RANK_CHECK(test, catena_request_free(&none) == CATENA_OK);
}

/* ---- a random mixture, the same on all ranks but for the pauses ---- */

typedef struct mixture {
    uint64_t shared;  /* generator of what is done */
    uint64_t private; /* generator of when */
    catena_group_t *group[3];
    rank_exchange_t x[IN_FLIGHT];
    bool busy[IN_FLIGHT];
} mixture_t;

static void pause_a_little(rank_test_t *test, mixture_t *m)
{
    uint64_t turns = rank_random(&m->private) % 4;
    if (test->simulated) {
        rank_pause(test, (double)turns);
        return;
    }
    for (; turns > 0; turns--) {
        sched_yield();
    }
}

static void finish_one(rank_test_t *test, mixture_t *m, int i)
{
    if (m->busy[i]) {
        RANK_CHECK(test, catena_wait(&m->x[i].request) == CATENA_OK);
        rank_exchange_check(test, &m->x[i], "random");
        rank_exchange_close(test, &m->x[i]);
        m->busy[i] = false;
    }
}

static void start_one(rank_test_t *test, mixture_t *m, int i)
{
    uint64_t what = rank_random(&m->shared);
    uint64_t place = rank_random(&m->private);
    static const size_t most[] = {20, 300, 9000, 30000};
    rank_exchange_t *x = &m->x[i];
    *x = (rank_exchange_t){.group = m->group[what % 3],
                           .count = (size_t)(what >> 8) % most[what >> 4 & 3],
                           .type = CATENA_BYTE,
                           .send_memory = (rank_memory_t)(place & 1),
                           .receive_memory = (rank_memory_t)(place >> 1 & 1),
                           .in_place = (what >> 40) % 4 == 0};
    char leaders[8];
    snprintf(leaders, sizeof(leaders), "%d", (int)(what >> 44 & 3) + 1);
    catena_group_set(x->group, "alltoall_algorithm",
                     algorithms[(what >> 48) % 5]);
    catena_group_set(x->group, "alltoall_leaders", leaders);
    rank_exchange_open(test, x);
    rank_exchange_fill(test, x, what);
    start(test, x);
    m->busy[i] = true;
}

static void random_mixture(rank_test_t *test)
{
    const char *given = getenv("RANK_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 20260101;
    mixture_t m = {.shared = seed,
                   .private = seed + 31 * (uint64_t)test->place.rank};
    m.group[0] = test->world;
    RANK_CHECK(test, catena_group_dup(test->world, &m.group[1]) == CATENA_OK);
    RANK_CHECK(test, catena_group_dup(test->world, &m.group[2]) == CATENA_OK);
    for (int step = 0; step < 120; step++) {
        int i = (int)(rank_random(&m.shared) % IN_FLIGHT);
        finish_one(test, &m, i);
        pause_a_little(test, &m);
        start_one(test, &m, i);
        if (step % 16 == 15) {
            RANK_CHECK(test,
                       catena_barrier(m.group[step / 16 % 3]) == CATENA_OK);
        }
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        finish_one(test, &m, i);
    }
    RANK_CHECK(test, catena_group_free(m.group[2]) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(m.group[1]) == CATENA_OK);
}

static const rank_case_t cases[] = {
    {"several_in_flight", several_in_flight},
    {"different_orders", different_orders},
    {"persistent", persistent},
    {"settings_of_now", settings_of_now},
    {"in_order_alone_on_some", in_order_alone_on_some},
    {"handles", handles},
    {"random_mixture", random_mixture},
    {NULL, NULL}};

int main(int argc, char **argv)
{
    return rank_main(argc, argv, cases);
}
