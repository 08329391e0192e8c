/* How ranks wait (CATENA_WAIT): whatever the way, calls end, soon after the
 * last rank came, however long that took; and who sleeps leaves the cores to
 * others. Run in real time only. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "rank_test.h"

enum { LOOPS = 20, TRIES = 3 };

static const double late_s = 0.3;      /* long enough to be asleep */
static const double soon_s = 0.1;      /* on a machine that does other things */
static const double idle_s = 2;        /* of waiting while cores are counted */
static const double most_share = 0.02; /* of one core, of all ranks together */

static double wall_s(void)
{
    struct timespec now; /* the same clock for all ranks of a host */
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double cpu_s(void)
{
    struct rusage usage; /* with the threads of the network and the launcher */
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/** What each rank has, at all of them. */
static double *gather(rank_test_t *test, double own)
{
    size_t p = (size_t)test->place.size;
    double *send = calloc(p, sizeof(*send));
    double *all = calloc(p, sizeof(*all));
    for (size_t i = 0; i < p; i++) {
        send[i] = own;
    }
    RANK_CHECK(test, catena_alltoall(send, all, 1, CATENA_DOUBLE,
                                     test->world) == CATENA_OK);
    free(send);
    return all;
}

static void loops_of_barriers(rank_test_t *test)
{
    for (int i = 0; i < LOOPS; i++) {
        RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    }
}

static void loops_of_alltoall(rank_test_t *test)
{
    rank_exchange_t x = {
        .group = test->world, .count = 40, .type = CATENA_UINT64};
    rank_exchange_open(test, &x);
    for (uint64_t i = 0; i < LOOPS; i++) {
        rank_exchange_fill(test, &x, i + 1);
        RANK_CHECK(test,
                   catena_alltoall(rank_exchange_source(&x), x.receive, x.count,
                                   x.type, x.group) == CATENA_OK);
        rank_exchange_check(test, &x, "alltoall");
    }
    rank_exchange_close(test, &x);
}

static void loops_of_requests(rank_test_t *test)
{
    rank_exchange_t x = {
        .group = test->world, .count = 40, .type = CATENA_UINT64};
    rank_exchange_open(test, &x);
    for (uint64_t i = 0; i < LOOPS; i++) {
        catena_request_t *requests[2];
        rank_exchange_fill(test, &x, i + 1);
        RANK_CHECK(test,
                   catena_ibarrier(test->world, &requests[0]) == CATENA_OK);
        RANK_CHECK(test, catena_ialltoall(rank_exchange_source(&x), x.receive,
                                          x.count, x.type, x.group,
                                          &requests[1]) == CATENA_OK);
        rank_complete(test, requests, 2, (int)(i % RANK_WAYS));
        rank_exchange_check(test, &x, "ialltoall");
    }
    rank_exchange_close(test, &x);
}

/** How long after the late rank came into a barrier the last one left it. */
static double delay_of(rank_test_t *test, int late)
{
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    if (test->place.rank == late) {
        rank_pause(test, late_s * 1e6);
    }
    double came = wall_s();
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    double *left = gather(test, wall_s());
    double *begun = gather(test, came);
    double last = 0;
    for (int i = 0; i < test->place.size; i++) {
        last = left[i] > last ? left[i] : last;
    }
    double delay = last - begun[late];
    free(left);
    free(begun);
    return delay;
}

/** The best of some tries: the machine may be busy with other things. The first
 * rank is a root, the last is not, where there is more than one on its node. */
static void a_late_rank_wakes_all(rank_test_t *test)
{
    int last = test->place.size - 1;
    for (int late = 0; late <= last; late += last > 0 ? last : 1) {
        double best = delay_of(test, late);
        for (int i = 1; i < TRIES && best > soon_s; i++) {
            double delay = delay_of(test, late);
            best = delay < best ? delay : best;
        }
        if (test->place.rank == 0) {
            printf("# rank %d late: %.2f ms until all had left\n", late,
                   best * 1e3);
        }
        if (best > soon_s) {
            rank_fail(test, "rank %d late: %.1f ms until all had left", late,
                      best * 1e3);
        }
    }
}

/** Processor time of all who wait for rank 0, which sleeps outside. */
static void sleepers_use_no_core(rank_test_t *test)
{
    const char *wait = getenv("CATENA_WAIT");
    if (wait == NULL || strcmp(wait, "sleep") != 0) {
        return;
    }
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    if (test->place.rank == 0) {
        rank_pause(test, idle_s * 1e6);
    }
    double before = cpu_s();
    RANK_CHECK(test, catena_barrier(test->world) == CATENA_OK);
    double *used = gather(test, cpu_s() - before);
    double sum = 0;
    for (int i = 0; i < test->place.size; i++) {
        sum += used[i];
    }
    free(used);
    if (test->place.rank == 0) {
        printf("# %.2f%% of a core while %d ranks waited\n", 100 * sum / idle_s,
               test->place.size);
    }
    if (sum > most_share * idle_s) {
        rank_fail(test, "%d ranks used %.2f%% of a core while they waited",
                  test->place.size, 100 * sum / idle_s);
    }
}

static const rank_case_t cases[] = {
    {"barriers", loops_of_barriers},
    {"alltoall", loops_of_alltoall},
    {"requests", loops_of_requests},
    {"a late rank wakes all", a_late_rank_wakes_all},
    {"sleepers use no core", sleepers_use_no_core},
    {NULL, NULL}};

int main(int argc, char **argv)
{
    return rank_main(argc, argv, cases);
}
