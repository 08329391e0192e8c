/* Computing during a collective, in the manner of OSU's osu_ialltoall and
 * others. They compute until a point in time; here the amount of work is fixed.
 * With more ranks than cores, the time in which other ranks use the core would
 * otherwise count as this rank's computing. */

#include "overlap.h"
#include "core/clock.h"

#include <time.h>

static const double calibration_s = 5e-3; /* least time of the calibration */

/* Each step multiplies the result of the step before, so a processor cannot
 * execute two at the same time. */
static void work(uint64_t steps)
{
    uint64_t x = 1;

    for (uint64_t i = 0; i < steps; i++) {
        x *= 6364136223846793005u;
        /* prevents the compiler from removing steps */
        __asm__ volatile("" : "+r"(x));
    }
}

/* CPU time of this thread. */
static double core_seconds(void)
{
    return (double)ctn_clock_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
}

/* Measured in CPU time of this thread, because other processes may use the core
 * as well. */
void bench_work_calibrate(struct bench *bench)
{
    double seconds = 0;
    uint64_t steps = 1 << 10;

    while (seconds < calibration_s) {
        double begin = core_seconds();

        steps *= 2;
        work(steps);
        seconds = core_seconds() - begin;
    }
    bench->work_rate = (double)steps / seconds;
}

catena_status_t bench_work(struct bench *bench, double seconds, size_t tests,
                           catena_request_t **request)
{
    double between_s = seconds / (double)(tests + 1); /* between two tests */
    catena_status_t status = CATENA_OK;

    for (size_t i = 0; i <= tests && status == CATENA_OK; i++) {
        int done;

        if (i > 0 && request != NULL)
            status = catena_request_test(request, &done);
        if (status != CATENA_OK)
            return status;
        if (bench->simulation != NULL)
            status = catena_compute(bench->context, between_s);
        else
            work((uint64_t)(between_s * bench->work_rate));
    }
    return status;
}

double bench_overlap_percent(double pure, double compute, double overall)
{
    double percent = pure > 0 ? 100 * (1 - (overall - compute) / pure) : 0;

    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}
