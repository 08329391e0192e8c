/* Groups of listed ranks that differ between the ranks, and when a rank dies;
 * the same of chains that are made from neighbors, and of their collectives. */

#include <catena/catena.h>

#include "unit/job.h"
#include "unit/unit.h"

enum { RANKS = 6 };

/** Of the current run, whose ranks are one process. */
static catena_status_t found[RANKS];

/** The two ranks in the middle differ in what they list after them. */
static void differ(job_t *job)
{
    int list[RANKS] = {0, 1, 2, 3, 4, 5};
    catena_group_t *group = NULL;
    if (job->rank >= RANKS / 2) {
        list[RANKS - 2] = RANKS - 1;
        list[RANKS - 1] = RANKS - 2;
    }
    job->context->log.level = CATENA_LOG_FATAL;
    found[job->rank] =
        catena_group_create(job->context->world, RANKS, list, &group);
}

START_TEST(test_differ)
{
    ck_assert_int_eq(job_simulate(RANKS, (uint64_t)_i, differ), RANKS);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(found[i], CATENA_ERR_ENDED);
    }
}
END_TEST

/** Several times with the same ranks, without anything that keeps them in step.
 */
static void create_often(job_t *job)
{
    for (int i = 0; i < 60; i++) {
        int first = i / 10;
        const int list[] = {first, (first + 1) % RANKS, (first + 3) % RANKS};
        catena_group_t *group = NULL;
        if (catena_group_create(job->context->world, 3, list, &group) ==
                CATENA_OK &&
            group != NULL) {
            (void)catena_group_free(&group);
        }
    }
}

/** All ranks come to an end. */
START_TEST(test_death)
{
    ck_assert_int_eq(job_simulate(RANKS, (uint64_t)_i, create_often), 0);
    job_simulate_death(RANKS, (uint64_t)_i, 200 + (uint64_t)_i * 97,
                       create_often);
}
END_TEST

/* ---- chains ---- */

/** The first three ranks make a chain of five ranks, the others one of all. */
static void sizes_differ(job_t *job)
{
    int me = (int)job->rank;
    int size = me < RANKS / 2 ? RANKS - 1 : RANKS;
    catena_group_t *group = NULL;
    job->context->log.level = CATENA_LOG_FATAL;
    found[me] = catena_chain_create(
        job->context->world, me > 0 ? me - 1 : CATENA_PROC_NULL,
        me + 1 < size ? me + 1 : CATENA_PROC_NULL, me, size, &group);
}

START_TEST(test_chain_sizes_differ)
{
    ck_assert_int_eq(job_simulate(RANKS, (uint64_t)_i, sizes_differ), RANKS);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(found[i], CATENA_ERR_ENDED);
    }
}
END_TEST

enum { LONG = 3000 };
static int which; /* collective of the current run */

/** The last rank passes one element more. */
static void lengths_differ(job_t *job)
{
    static int64_t send[RANKS][LONG + 1], recv[RANKS][RANKS * LONG];
    catena_group_t *world = job->context->world;
    int64_t *out = send[job->rank], *in = recv[job->rank];
    size_t count = (which % 2 == 0 ? 1 : LONG) + (job->rank == RANKS - 1);
    catena_status_t status = CATENA_OK;
    job->context->log.level = CATENA_LOG_FATAL;
    switch (which / 2) {
    case 0:
        status =
            catena_chain_scan(out, in, count, CATENA_INT64, CATENA_SUM, world);
        break;
    case 1:
        status = catena_chain_reduce(out, in, count, CATENA_INT64, CATENA_SUM,
                                     1, world);
        break;
    case 2:
        status = catena_chain_bcast(out, count, CATENA_INT64, 2, world);
        break;
    default:
        status = catena_chain_gather(out, in, count, CATENA_INT64, 0, world);
    }
    found[job->rank] = which / 2 < 3 ? catena_barrier(world) : status;
}

/** The operations of the context end on all ranks; a gather fails at the root.
 */
START_TEST(test_chain_lengths_differ)
{
    which = _i;
    int saw = job_simulate(RANKS, (uint64_t)_i + 1, lengths_differ);
    bool gather = which / 2 == 3;
    ck_assert_int_eq(saw, gather ? 0 : RANKS);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(found[i], !gather  ? CATENA_ERR_ENDED
                                   : i == 0 ? CATENA_ERR_ARG
                                            : CATENA_OK);
    }
}
END_TEST

/** Chains of three ranks, and their collectives. */
static void chain_often(job_t *job)
{
    catena_status_t status = CATENA_OK;
    for (int i = 0; i < 40 && status == CATENA_OK; i++) {
        const int list[] = {i % RANKS, (i + 1) % RANKS, (i + 3) % RANKS};
        catena_group_t *group = NULL;
        int64_t one = 1, left = 0, right = 0;
        int me = 0;
        while (me < 3 && list[me] != (int)job->rank) {
            me++;
        }
        if (me == 3) {
            continue;
        }
        status = catena_chain_create(
            job->context->world, me > 0 ? list[me - 1] : CATENA_PROC_NULL,
            me < 2 ? list[me + 1] : CATENA_PROC_NULL, me, 3, &group);
        if (status == CATENA_OK) {
            status = catena_chain_double_scan(&one, &left, &right, 1,
                                              CATENA_INT64, CATENA_SUM, group);
        }
        if (status == CATENA_OK) {
            JOB_CHECK(job, left + right == 2);
            status = catena_group_free(&group);
        }
    }
}

START_TEST(test_chain_death)
{
    ck_assert_int_eq(job_simulate(RANKS, (uint64_t)_i, chain_often), 0);
    job_simulate_death(RANKS, (uint64_t)_i, 200 + (uint64_t)_i * 97,
                       chain_often);
}
END_TEST

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_chain_sizes_differ, 1, 11);
    tcase_add_loop_test(tcase, test_chain_lengths_differ, 0, 8);
    tcase_add_loop_test(tcase, test_chain_death, 1, 11);
    tcase_add_loop_test(tcase, test_differ, 1, 11);
    tcase_add_loop_test(tcase, test_death, 1, 21);
}

UNIT_TEST(listed)
{
    return unit_main("listed", 60, add_cases);
}
