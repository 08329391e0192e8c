/* Groups of listed ranks that differ between the ranks, and when a rank dies.
 */

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

static void add_cases(TCase *tcase)
{
    tcase_add_loop_test(tcase, test_differ, 1, 11);
    tcase_add_loop_test(tcase, test_death, 1, 21);
}

int main(void)
{
    return unit_main("listed", 60, add_cases);
}
