/* Alltoalls beyond the oracle's cases: long sequences in which most ranks have
 * no data, and late members. */

#include <string.h>

#include "ranks/helpers/rank_test.h"

/** An alltoallv of single bytes in which only one member has any. */
static oracle_call_t of_one(rank_test_t *test, catena_group_t *group,
                            size_t bytes, uint64_t shape, uint8_t memory)
{
    return (oracle_call_t){.c = {.value = {[ORACLE_KIND] = ORACLE_ALLTOALLV,
                                           [ORACLE_COUNTS] = ORACLE_ONE,
                                           [ORACLE_MEMORY] = memory}},
                           .group = group,
                           .table = rank_table(test),
                           .exactly = bytes,
                           .shape = shape};
}

static void choose(rank_test_t *test, oracle_call_t *call, unsigned algorithm)
{
    call->c.value[ORACLE_ALGORITHM] = (uint8_t)algorithm;
    call->c.value[ORACLE_HIERARCHY] = (uint8_t)(algorithm * 5 % 4);
    oracle_choose_algorithm(&test->oracle, &call->c, call->group);
}

/** Only the operations themselves keep ranks without data from running far
 * ahead. */
static void idle_ranks(rank_test_t *test)
{
    static const size_t bytes[] = {2, 16, 220, 400, 5000, 16386, 40000, 70};
    enum { CALLS = sizeof(bytes) / sizeof(bytes[0]) };
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    for (unsigned a = 0; a < oracle_algorithms(ORACLE_ALLTOALLV); a += 2) {
        oracle_call_t call[CALLS];
        for (unsigned i = 0; i < CALLS; i++) {
            call[i] =
                of_one(test, group, bytes[i], a * 100 + i, (uint8_t)(i % 5));
            oracle_call_open(&test->oracle, &call[i]);
        }
        choose(test, &call[0], a);
        for (unsigned i = 0; i < 5 * CALLS; i++) {
            oracle_call_t *now = &call[i % CALLS];
            oracle_call_fill(now, i);
            RANK_CHECK(test, oracle_call_run(&test->oracle, now) == CATENA_OK);
            oracle_call_check(&test->oracle, now, "");
        }
        for (unsigned i = 0; i < CALLS; i++) {
            oracle_call_close(&test->oracle, &call[i]);
        }
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** A member of each node is late for an exchange that the others can complete
 * without it. They then allocate heap memory and write to it: memory that the
 * late member still reads must not be among it. */
static void late_member(rank_test_t *test)
{
    enum { BLOCKS = 6 };
    catena_group_t *group = NULL;
    RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
    for (unsigned a = 0; a < oracle_algorithms(ORACLE_ALLTOALLV); a++) {
        unsigned char *blocks[BLOCKS];
        oracle_call_t call = of_one(test, group, 100, a, 1);
        choose(test, &call, a);
        oracle_call_open(&test->oracle, &call);
        oracle_call_fill(&call, a);
        if (test->place.local_rank == (int)a % test->place.local_size) {
            rank_pause(test, 500);
        }
        RANK_CHECK(test, oracle_call_run(&test->oracle, &call) == CATENA_OK);
        for (int i = 0; i < BLOCKS; i++) { /* 8 to 256 bytes a rank */
            size_t bytes = (size_t)test->place.ranks << (3 + i);
            blocks[i] = catena_malloc(test->context, bytes);
            memset(blocks[i], 1, bytes);
        }
        oracle_call_check(&test->oracle, &call, "");
        oracle_call_close(&test->oracle, &call);
        RANK_CHECK(test, catena_barrier(group) == CATENA_OK);
        for (int i = 0; i < BLOCKS; i++) {
            catena_free(test->context, blocks[i]);
        }
    }
    RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
}

/** A group whose operations are complete may be freed, whatever internal
 * ordering is still pending. */
static void freed_group(rank_test_t *test)
{
    for (unsigned calls = 1; calls <= 5; calls++) {
        catena_group_t *group = NULL;
        RANK_CHECK(test, catena_group_dup(test->world, &group) == CATENA_OK);
        oracle_call_t call = of_one(test, group, 300, calls, 0);
        oracle_call_exercise(&test->oracle, &call, calls);
        RANK_CHECK(test, catena_group_free(&group) == CATENA_OK);
    }
}

static const rank_case_t cases[] = {{"idle_ranks", idle_ranks},
                                    {"late_member", late_member},
                                    {"freed_group", freed_group},
                                    {NULL, NULL}};
const rank_suite_t rank_suite_alltoall = {.name = "alltoall", .cases = cases};
