/* Requests: their settings, their order, and their handles. */

#include <stdlib.h>
#include <string.h>

#include "ranks/helpers/anyorder.h"
#include "ranks/helpers/rank_test.h"
#include "ranks/helpers/refuse.h"

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
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
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
    RANK_CHECK(test, got == test->place.ranks - 1);
    if (rank != 0) {
        RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    }
    RANK_CHECK(test, catena_request_wait(&barrier) == CATENA_OK);
    RANK_CHECK(test, catena_op_free(&right) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
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
    RANK_CHECK(test, catena_request_free(&none) == CATENA_OK);
    catena_request_t *barrier = NULL;
    RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    RANK_CHECK(test, catena_request_describe(barrier, text, sizeof(text)) ==
                         CATENA_OK);
    RANK_CHECK(test, strncmp(text, "barrier", 7) == 0);
    RANK_CHECK(test, catena_request_start(barrier) == CATENA_ERR_STATE);
    RANK_CHECK(test,
               catena_request_wait(&barrier) == CATENA_OK && barrier == NULL);
    RANK_CHECK(test, catena_ibarrier(test->world, &barrier) == CATENA_OK);
    RANK_CHECK(test, catena_request_describe(barrier, text, sizeof(text)) ==
                         CATENA_OK);
    RANK_CHECK(test, strncmp(text, "barrier", 7) == 0);
    RANK_CHECK(test, catena_request_wait(&barrier) == CATENA_OK);
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

enum { SOME = 6, FAILS_AT = 4 };

/** NULL, a nonblocking and an inactive persistent request, an active one, one
 * that fails on all ranks but the first, and a nonblocking one. The world's
 * first barrier and that of `group` are complete on return.
 * @return how many are active */
static size_t start_some(rank_test_t *test, catena_group_t *group,
                         catena_request_t *requests[SOME])
{
    static const catena_split_t valid = {.size = sizeof(valid)};
    static const catena_split_t invalid = {.size = sizeof(invalid),
                                           .flags = 1u << 30};
    static catena_group_t *made; /* by no rank */
    catena_request_t *later[4] = {NULL};
    RANK_CHECK(test, catena_ibarrier(test->world, &requests[1]) == CATENA_OK);
    RANK_CHECK(test, catena_ibarrier(group, &requests[5]) == CATENA_OK);
    for (int i = 0; i < 4; i++) { /* the last one begins after the first */
        RANK_CHECK(test, catena_ibarrier(i < 2 ? test->world : group,
                                         &later[i]) == CATENA_OK);
    }
    RANK_CHECK(test, catena_request_waitall(4, later) == CATENA_OK);
    RANK_CHECK(test, catena_request_start(requests[3]) == CATENA_OK);
    if (test->place.rank == 0) {
        REFUSED(test, "flags",
                catena_group_isplit_by(group, &invalid, &made,
                                       &requests[FAILS_AT]));
        return 3;
    }
    RANK_CHECK(test, catena_group_isplit_by(group, &valid, &made,
                                            &requests[FAILS_AT]) == CATENA_OK);
    return 4;
}

/** Check what waitsome or testsome has taken. */
static void check_some(rank_test_t *test, size_t completed,
                       const size_t indices[SOME],
                       const catena_status_t statuses[SOME],
                       catena_status_t returned, unsigned taken[SOME])
{
    catena_status_t expected = CATENA_OK;
    RANK_CHECK(test, completed <= SOME);
    for (size_t i = 0; i < completed && i < SOME; i++) {
        RANK_CHECK(test, indices[i] < SOME);
        RANK_CHECK(test, i == 0 || indices[i - 1] < indices[i]);
        taken[indices[i] % SOME]++;
        if (indices[i] == FAILS_AT) {
            expected = CATENA_ERR_ARG;
        }
        RANK_CHECK(test, statuses[i] == (indices[i] == FAILS_AT ? CATENA_ERR_ARG
                                                                : CATENA_OK));
    }
    RANK_CHECK(test, returned == expected);
}

static void take_some(rank_test_t *test, catena_request_t *requests[SOME],
                      size_t active, bool block)
{
    size_t indices[SOME];
    catena_status_t statuses[SOME];
    unsigned taken[SOME] = {0};
    size_t all = 0;
    int done = 0;
    for (int calls = 0; !done; calls++) {
        size_t completed = SIZE_MAX;
        catena_status_t returned =
            block ? catena_request_waitsome(SOME, requests, &completed, indices,
                                            statuses)
                  : catena_request_testsome(SOME, requests, &completed, indices,
                                            statuses, &done);
        check_some(test, completed, indices, statuses, returned, taken);
        if (calls == 0) { /* both that are complete, at least */
            RANK_CHECK(test, taken[1] == 1 && taken[5] == 1);
        }
        all += completed;
        done = block ? completed == 0 : done;
        RANK_CHECK(test, !done || all == active);
    }
    for (size_t i = 0; i < SOME; i++) {
        bool was = i == 1 || i == 3 || i == 5 ||
                   (i == FAILS_AT && test->place.rank > 0);
        RANK_CHECK(test, taken[i] == was);
        RANK_CHECK(test, (requests[i] != NULL) == (i == 2 || i == 3));
    }
}

/** One request at a time; that which fails is one of them. */
static void take_any(rank_test_t *test, catena_request_t *requests[SOME],
                     size_t active)
{
    size_t all = 0;
    for (;;) {
        size_t index = SIZE_MAX;
        int done = -1;
        catena_status_t status =
            catena_request_testany(SOME, requests, &index, &done);
        RANK_CHECK(test,
                   status == (index == FAILS_AT ? CATENA_ERR_ARG : CATENA_OK));
        RANK_CHECK(test, index <= SOME && (index == SOME || done == 1));
        all += index < SOME;
        if (index == SOME && done) {
            break;
        }
    }
    RANK_CHECK(test, all == active);
}

/** Requests of all kinds by waitsome, testsome and testany. */
static void any_and_some(rank_test_t *test)
{
    catena_group_t *group = NULL;
    catena_request_t *requests[SOME] = {NULL};
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test, catena_barrier_init(group, &requests[2]) == CATENA_OK);
    RANK_CHECK(test, catena_barrier_init(group, &requests[3]) == CATENA_OK);
    for (int way = 0; way < 3; way++) {
        size_t active = start_some(test, group, requests);
        if (way < 2) {
            take_some(test, requests, active, way == 0);
        } else {
            take_any(test, requests, active);
        }
    }
    size_t completed = 1;
    size_t index = 0;
    int done = 0;
    RANK_CHECK(test, catena_request_testsome(SOME, requests, &completed, &index,
                                             NULL, &done) == CATENA_OK);
    RANK_CHECK(test, completed == 0 && done);
    RANK_CHECK(test, catena_request_testsome(0, NULL, &completed, NULL, NULL,
                                             &done) == CATENA_OK);
    RANK_CHECK(test, catena_request_free(&requests[2]) == CATENA_OK);
    RANK_CHECK(test, catena_request_free(&requests[3]) == CATENA_OK);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

static void sums(rank_test_t *test)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        sums_of_any_length(test, seed);
    }
}

/** With CATENA_PROGRESS=thread operations end while the ranks compute. A rank
 * that is here calls catena no more before all have the data. */
static void ends_while_computing(rank_test_t *test)
{
    const char *progress = getenv("CATENA_PROGRESS");
    if (progress == NULL || strcmp(progress, "thread") != 0) {
        return;
    }
    static const size_t bytes[] = {8, 3000, 70000};
    for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
        size_t all = bytes[i] * (size_t)test->place.ranks;
        unsigned char *send = malloc(all);
        unsigned char *recv = calloc(all, 1);
        catena_request_t *request = NULL;
        memset(send, test->place.rank + 1, all);
        RANK_CHECK(test, catena_ialltoall(send, bytes[i], CATENA_BYTE, recv,
                                          bytes[i], CATENA_BYTE, test->world,
                                          &request) == CATENA_OK);
        bool ended = false;
        for (int waits = 0; !ended && waits < 2000; waits++) {
            RANK_CHECK(test, catena_compute(test->context, 0.01) == CATENA_OK);
            ended = true;
            for (size_t k = 0; k < all; k++) {
                ended &= ((volatile unsigned char *)recv)[k] ==
                         (unsigned char)(k / bytes[i] + 1);
            }
        }
        RANK_CHECK(test, ended);
        RANK_CHECK(test, catena_request_wait(&request) == CATENA_OK);
        free(send);
        free(recv);
    }
}

static const rank_case_t cases[] = {
    {"ends_while_computing", ends_while_computing},
    {"settings_of_now", settings_of_now},
    {"sums_of_any_length", sums},
    {"in_order_alone_on_some", in_order_alone_on_some},
    {"handles", handles},
    {"any_and_some", any_and_some},
    {NULL, NULL}};
const rank_suite_t rank_suite_nonblocking = {.name = "nonblocking",
                                             .cases = cases};
