/* Requests: their settings, their order, and their handles. */

#include <string.h>

#include "ranks/helpers/rank_test.h"

/** A small blocking alltoall that is the only operation on some ranks, with a
 * set algorithm. */
static void alone_on_some(rank_test_t *test, catena_group_t *group,
                          const char *algorithm)
{
    catena_request_t *barrier = NULL;
    char explained[300] = "";
    if (test->place.rank == 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    rank_exchange(test, group, 8, 1);
    RANK_CHECK(test, catena_group_explain(group, "alltoall", explained,
                                          sizeof(explained)) == CATENA_OK);
    if (strstr(explained, "reason=\"as asked for\"") != NULL) {
        RANK_CHECK(test, strstr(explained, algorithm) != NULL);
    }
    if (test->place.rank != 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    RANK_CHECK(test, catena_request_wait(&barrier) == CATENA_OK);
}

/** A change of settings or of in place takes effect in the next operation. */
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
        RANK_CHECK(test, (prepared ? catena_request_start(call.request)
                                   : oracle_call_run(&test->oracle, &call)) ==
                             CATENA_OK);
        RANK_CHECK(test, catena_request_wait(&call.request) == CATENA_OK);
        oracle_call_check(&test->oracle, &call, "settings of now: ");
        alone_on_some(test, group, set[i / 2]);
        RANK_CHECK(test, !prepared ||
                             catena_request_free(&call.request) == CATENA_OK);
        oracle_call_close(&test->oracle, &call);
        RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
    }
}

/** The right operand: that of the last rank. */
static void keep_right(const void *in, void *inout, size_t count,
                       catena_type_t type, void *argument)
{
    (void)in, (void)inout, (void)count, (void)type, (void)argument;
}

/** The first reduction of a group in rank order: inline on most ranks, beside
 * another operation on rank 0. */
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
    RANK_CHECK(test, catena_request_wait(&barrier) == CATENA_OK);
    RANK_CHECK(test, catena_op_free(&right) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(group) == CATENA_OK);
}

static void handles(rank_test_t *test)
{
    catena_request_t *none = NULL;
    size_t index = 99;
    int done = 0;
    char text[128];
    RANK_CHECK(test, catena_request_wait(&none) == CATENA_OK);
    RANK_CHECK(test, catena_request_test(&none, &done) == CATENA_OK && done);
    RANK_CHECK(test, catena_request_waitany(1, &none, &index) == CATENA_OK);
    RANK_CHECK(test, index == 1);
    RANK_CHECK(test, catena_request_free(&none) == CATENA_ERR_ARG);
    catena_request_t *barrier = NULL;
    RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    RANK_CHECK(test, catena_request_describe(barrier, text, sizeof(text)) ==
                         CATENA_OK);
    RANK_CHECK(test, strncmp(text, "barrier", 7) == 0);
    RANK_CHECK(test, catena_request_start(barrier) == CATENA_ERR_STATE);
    RANK_CHECK(test,
               catena_request_wait(&barrier) == CATENA_OK && barrier == NULL);
    /* Nothing to do, but still a request. */
    RANK_CHECK(test,
               catena_alltoall_init(NULL, 0, CATENA_INT8, NULL, 0, CATENA_INT8,
                                    test->world, &none) == CATENA_OK);
    RANK_CHECK(test, catena_request_start(none) == CATENA_OK);
    RANK_CHECK(test, catena_request_start(none) == CATENA_ERR_STATE);
    RANK_CHECK(test, catena_request_free(&none) == CATENA_ERR_STATE);
    RANK_CHECK(test, catena_request_wait(&none) == CATENA_OK && none != NULL);
    RANK_CHECK(test, catena_request_free(&none) == CATENA_OK);
}

static const rank_case_t cases[] = {
    {"settings_of_now", settings_of_now},
    {"in_order_alone_on_some", in_order_alone_on_some},
    {"handles", handles},
    {NULL, NULL}};
const rank_suite_t rank_suite_nonblocking = {.name = "nonblocking",
                                             .cases = cases};
