/* Requests: several in flight on a group, groups started in different orders
 * on different ranks, and what ran before beside what is to run. */

#include <string.h>

#include "rank_test.h"

enum { IN_FLIGHT = 6 };

/** Alltoalls of either sort, of different lengths. */
static void open_several(rank_test_t *test, oracle_call_t *call,
                         catena_group_t *const *group, int round)
{
    static const size_t bytes[IN_FLIGHT] = {8, 3000, 0, 200, 20000, 1};
    for (int i = 0; i < IN_FLIGHT; i++) {
        int kind = ORACLE_ALLTOALL + (i + round) % 3;
        call[i] = rank_alltoall(test, group[i], bytes[i]);
        call[i].c.value[ORACLE_KIND] = (uint8_t)kind;
        call[i].c.value[ORACLE_MEMORY] = (uint8_t)(i % ORACLE_MEMORIES);
        call[i].c.value[ORACLE_PLACE] = i == 3;
        call[i].shape = (uint64_t)(i + round);
        oracle_call_open(&test->oracle, &call[i]);
        oracle_call_fill(&call[i], (uint64_t)i + 77);
    }
}

static void check_several(rank_test_t *test, oracle_call_t *call,
                          const char *what)
{
    for (int i = 0; i < IN_FLIGHT; i++) {
        oracle_call_check(&test->oracle, &call[i], what);
        oracle_call_close(&test->oracle, &call[i]);
    }
}

static void several_in_flight(rank_test_t *test)
{
    catena_group_t *groups[IN_FLIGHT];
    RANK_CHECK(test, catena_group_dup(test->world, &groups[0]) == CATENA_OK);
    for (int i = 1; i < IN_FLIGHT; i++) {
        groups[i] = groups[0];
    }
    unsigned algorithms = oracle_algorithms(ORACLE_ALLTOALL);
    for (unsigned round = 0; round < RANK_WAYS * algorithms; round += 2) {
        oracle_call_t call[IN_FLIGHT];
        catena_request_t *requests[IN_FLIGHT + 1];
        open_several(test, call, groups, (int)round);
        call[0].c.value[ORACLE_ALGORITHM] = (uint8_t)(round / RANK_WAYS);
        call[0].c.value[ORACLE_HIERARCHY] = (uint8_t)(round % 4);
        oracle_choose_algorithm(&test->oracle, &call[0].c, groups[0]);
        for (int i = 0; i < IN_FLIGHT; i++) {
            RANK_CHECK(test,
                       oracle_call_run(&test->oracle, &call[i]) == CATENA_OK);
            requests[i] = call[i].request;
        }
        RANK_CHECK(test, catena_ibarrier(groups[0], &requests[IN_FLIGHT]) ==
                             CATENA_OK);
        rank_complete(test, requests, IN_FLIGHT + 1,
                      (int)((round + round / RANK_WAYS) % RANK_WAYS));
        for (int i = 0; i <= IN_FLIGHT; i++) {
            RANK_CHECK(test, requests[i] == NULL);
        }
        check_several(test, call, "in flight: ");
    }
    RANK_CHECK(test, catena_group_free(groups[0]) == CATENA_OK);
}

/** Even ranks start on group 0 first, odd ones on group 2 first. */
static void different_orders(rank_test_t *test)
{
    catena_group_t *groups[IN_FLIGHT];
    RANK_CHECK(test, catena_group_dup(test->world, &groups[0]) == CATENA_OK);
    RANK_CHECK(test, catena_group_split(test->world, 0, -test->place.rank,
                                        &groups[1]) == CATENA_OK);
    RANK_CHECK(test, catena_group_dup(groups[0], &groups[2]) == CATENA_OK);
    for (int i = 3; i < IN_FLIGHT; i++) {
        groups[i] = groups[i % 3];
    }
    for (int round = 0; round < 5; round++) {
        oracle_call_t call[IN_FLIGHT];
        open_several(test, call, groups, round);
        for (int step = 0; step < IN_FLIGHT; step++) {
            int i = test->place.rank % 2 == 0 ? step / 2 : 2 - step / 2;
            RANK_CHECK(test,
                       oracle_call_run(&test->oracle,
                                       &call[i + step % 2 * 3]) == CATENA_OK);
        }
        for (int i = 0; i < IN_FLIGHT; i++) {
            RANK_CHECK(test, catena_wait(&call[i].request) == CATENA_OK);
        }
        check_several(test, call, "different orders: ");
    }
    for (int g = 0; g < 3; g++) {
        RANK_CHECK(test, catena_group_free(groups[g]) == CATENA_OK);
    }
}

/** A small blocking alltoall that is alone on some ranks only, of an algorithm
 * that was set. */
static void alone_on_some(rank_test_t *test, catena_group_t *group,
                          const char *algorithm)
{
    catena_request_t *barrier = NULL;
    char told[300] = "";
    if (test->place.rank == 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    rank_exchange(test, group, 8, 1);
    RANK_CHECK(test, catena_group_explain(group, "alltoall", told,
                                          sizeof(told)) == CATENA_OK);
    if (strstr(told, "reason=\"as asked for\"") != NULL) {
        RANK_CHECK(test, strstr(told, algorithm) != NULL);
    }
    if (test->place.rank != 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    RANK_CHECK(test, catena_wait(&barrier) == CATENA_OK);
}

/** What ran last, with other settings or in place, is not what is to run. */
static void settings_of_now(rank_test_t *test)
{
    static const char *const set[] = {"bruck", "shift", "morton"};
    for (int i = 0; i < 6; i++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        oracle_call_t call = rank_alltoall(test, group, 8);
        bool prepared = i % 2 != 0;
        call.c.value[ORACLE_PLACE] = !prepared;
        call.c.value[ORACLE_MODE] =
            prepared ? ORACLE_PERSISTENT : ORACLE_BLOCKING;
        oracle_call_open(&test->oracle, &call);
        oracle_call_fill(&call, 6);
        if (prepared) {
            RANK_CHECK(test,
                       oracle_call_run(&test->oracle, &call) == CATENA_OK);
        }
        catena_group_set(group, "alltoall_algorithm", set[i / 2]);
        RANK_CHECK(test, (prepared ? catena_start(call.request)
                                   : oracle_call_run(&test->oracle, &call)) ==
                             CATENA_OK);
        RANK_CHECK(test, catena_wait(&call.request) == CATENA_OK);
        oracle_call_check(&test->oracle, &call, "settings of now: ");
        alone_on_some(test, group, set[i / 2]);
        RANK_CHECK(test, !prepared ||
                             catena_request_free(&call.request) == CATENA_OK);
        oracle_call_close(&test->oracle, &call);
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
    enum { CALLS = 4 };
    static const size_t bytes[CALLS] = {40, 9000, 300, 20000};
    oracle_call_t call[CALLS];
    catena_request_t *requests[CALLS + 1];
    for (int i = 0; i < CALLS; i++) {
        call[i] = rank_alltoall(test, test->world, bytes[i]);
        call[i].c.value[ORACLE_KIND] = (uint8_t)(ORACLE_ALLTOALL + i % 3);
        call[i].c.value[ORACLE_MODE] = ORACLE_PERSISTENT;
        call[i].c.value[ORACLE_PLACE] = i % 2;
        call[i].shape = (uint64_t)i;
        catena_group_set(test->world, "alltoall_algorithm",
                         i % 2 == 0 ? "onmpml" : "direct");
        oracle_call_open(&test->oracle, &call[i]);
        RANK_CHECK(test, oracle_call_run(&test->oracle, &call[i]) == CATENA_OK);
        requests[i] = call[i].request;
    }
    RANK_CHECK(test,
               catena_barrier_init(test->world, &requests[CALLS]) == CATENA_OK);
    for (uint64_t round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < CALLS; i++) {
            oracle_call_fill(&call[i], 1000 * i + round);
        }
        RANK_CHECK(test, catena_startall(CALLS + 1, requests) == CATENA_OK);
        RANK_CHECK(test, catena_start(requests[0]) == CATENA_ERR_STATE);
        RANK_CHECK(test, catena_request_free(&requests[0]) == CATENA_ERR_STATE);
        RANK_CHECK(test, catena_waitall(CALLS + 1, requests) == CATENA_OK);
        for (int i = 0; i < CALLS; i++) {
            oracle_call_check(&test->oracle, &call[i], "persistent: ");
        }
    }
    for (int i = 0; i <= CALLS; i++) {
        RANK_CHECK(test, catena_request_free(&requests[i]) == CATENA_OK);
        RANK_CHECK(test, requests[i] == NULL);
    }
    for (int i = 0; i < CALLS; i++) {
        oracle_call_close(&test->oracle, &call[i]);
    }
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

static const rank_case_t cases[] = {
    {"several_in_flight", several_in_flight},
    {"different_orders", different_orders},
    {"persistent", persistent},
    {"settings_of_now", settings_of_now},
    {"in_order_alone_on_some", in_order_alone_on_some},
    {"handles", handles},
    {NULL, NULL}};
const rank_suite_t rank_suite_nonblocking = {.name = "nonblocking",
                                             .cases = cases};
