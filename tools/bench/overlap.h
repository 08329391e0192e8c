#ifndef BENCH_OVERLAP_H
#define BENCH_OVERLAP_H

#include "bench.h"

/* Computing while a collective is under way. */

/** Find bench->work_rate; local. */
void bench_work_calibrate(struct bench *bench);
/** Compute for so long, as a core that does nothing else needs; with more ranks
 * than cores it takes longer. In between `tests` times catena_test, if
 * `request` is not NULL. */
catena_status_t bench_work(struct bench *bench, double seconds, size_t tests,
                           catena_request_t **request);
/** Percent of the pure time that computing hides: 0 to 100, as osu_i* have
 * it. */
double bench_overlap_percent(double pure, double compute, double overall);

#endif
