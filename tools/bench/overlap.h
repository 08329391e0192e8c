#ifndef BENCH_OVERLAP_H
#define BENCH_OVERLAP_H

#include "bench.h"

/* Computing during a collective. */

/** Find bench->work_rate; local. */
void bench_work_calibrate(struct bench *bench);
/** Compute for the given time of an otherwise idle core; with more ranks than
 * cores it takes longer. Calls catena_request_test `tests` times in between if
 * `request` is not NULL. */
catena_status_t bench_work(struct bench *bench, double seconds, size_t tests,
                           catena_request_t **request);
/** Percent of the pure time that computing hides: 0 to 100, defined as in
 * osu_i*. */
double bench_overlap_percent(double pure, double compute, double overall);

#endif
