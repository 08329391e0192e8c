/* In every wait policy (CATENA_WAIT), all ranks wait for a late one, and all
 * leave when it has entered. tests/unit/exec/test_wait.c tests when they sleep
 * and what wakes them. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ranks/helpers/rank_test.h"

/** Longer than the spin time before a rank sleeps. Simulated ranks never sleep,
 * and the simulation of each poll takes time, so they are less late. */
static void be_late(rank_test_t *test, int times)
{
    rank_pause(test, times * (test->simulated ? 400.0 : 40000.0));
}

static void exchange(rank_test_t *test, uint64_t seed, bool nonblocking)
{
    if (!nonblocking) {
        rank_exchange(test, test->world, 320, 1);
        return;
    }
    oracle_call_t call = rank_alltoall(test, test->world, 320);
    catena_request_t *requests[2];
    oracle_call_open(&test->oracle, &call);
    oracle_call_fill(&call, seed);
    RANK_CHECK(test, catena_ibarrier(test->world, &requests[0]) == CATENA_OK);
    RANK_CHECK(test, oracle_call_run(&test->oracle, &call) == CATENA_OK);
    requests[1] = call.request;
    rank_complete(test, requests, 2, (int)(seed % RANK_WAYS));
    oracle_call_check(&test->oracle, &call, "alltoall: ");
    oracle_call_close(&test->oracle, &call);
}

/** No rank leaves a barrier before the late rank has entered. */
static void barrier(rank_test_t *test, int late)
{
    double came = catena_time(test->context); /* one clock per host */
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    double left = catena_time(test->context);
    RANK_CHECK(test, catena_bcast(&came, 1, CATENA_DOUBLE, late, test->world) ==
                         CATENA_OK);
    RANK_CHECK(test, left >= came);
}

/** The first rank is a root; the last is not, if its node has others. */
static void wait_for_the_late(rank_test_t *test)
{
    int last = test->place.ranks - 1;
    for (int i = 0; i < 6; i++) {
        int late = i % 2 == 0 ? 0 : last;
        if (test->place.rank == late) {
            be_late(test, 1);
        }
        if (i < 2) {
            barrier(test, late);
        } else {
            exchange(test, (uint64_t)i, i < 4);
        }
    }
}

/** In short succession, so that most waits are short. */
static void wait_for_each_other(rank_test_t *test)
{
    for (uint64_t i = 0; i < 20; i++) {
        barrier(test, 0);
        exchange(test, i, i % 2 == 0);
    }
}

/** Messages of other nodes arrive long before the block of the late rank, which
 * is on this node. */
static void far_ones_first(rank_test_t *test)
{
    static const size_t bytes[] = {320, 32768};
    for (size_t i = 0; i < 2; i++) {
        oracle_call_t call = rank_alltoall(test, test->world, bytes[i]);
        call.c.value[ORACLE_MODE] = ORACLE_BLOCKING;
        call.c.value[ORACLE_MEMORY] = ORACLE_MALLOC;
        oracle_call_open(&test->oracle, &call);
        oracle_call_fill(&call, i);
        catena_group_set(test->world, "alltoall_algorithm", "direct");
        if (test->place.rank == test->place.ranks - 1) {
            be_late(test, 5);
        }
        RANK_CHECK(test, oracle_call_run(&test->oracle, &call) == CATENA_OK);
        oracle_call_check(&test->oracle, &call, "late: ");
        oracle_call_close(&test->oracle, &call);
    }
}

/** The last rank waits long for the root, then gets its data and continues,
 * although the root makes no call until a file reports that. */
static void root_leaves(rank_test_t *test)
{
    int last = test->place.ranks - 1;
    char path[200];
    const char *directory = getenv("TMPDIR");
    int64_t data = test->place.rank == 0 ? 17 : 0;
    catena_group_t *group = NULL;
    if (test->simulated || test->place.nodes < 2) {
        return;
    }
    snprintf(path, sizeof(path), "%s/ranks-%d",
             directory != NULL ? directory : "/tmp", (int)getppid());
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    RANK_CHECK(test, catena_group_set(group, "hierarchy", "network:p2p") ==
                         CATENA_OK);
    /* Establish the connections. */
    RANK_CHECK(test,
               catena_bcast(&data, 1, CATENA_INT64, 0, group) == CATENA_OK);
    RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
    if (test->place.rank == 0) {
        be_late(test, 5);
        data = 18;
    }
    RANK_CHECK(test,
               catena_bcast(&data, 1, CATENA_INT64, 0, group) == CATENA_OK);
    RANK_CHECK(test, data == 18);
    if (test->place.rank == last) {
        FILE *file = fopen(path, "w");
        RANK_CHECK(test, file != NULL && fclose(file) == 0);
    }
    for (int i = 0;
         i < 1000 && test->place.rank == 0 && access(path, F_OK) != 0; i++) {
        usleep(10000);
    }
    RANK_CHECK(test, test->place.rank != 0 || unlink(path) == 0);
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

static const rank_case_t cases[] = {
    {"nobody waits for a root that has sent", root_leaves},
    {"messages come before a late rank of the node", far_ones_first},
    {"all wait for a late rank", wait_for_the_late},
    {"all wait for each other", wait_for_each_other},
    {NULL, NULL}};
const rank_suite_t rank_suite_waiting = {.name = "waiting", .cases = cases};
