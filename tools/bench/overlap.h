#ifndef BENCH_OVERLAP_H
#define BENCH_OVERLAP_H

#include "bench.h"

/* Computing during a collective. */

/** Measure the speed of a core and set bench->work_rate. */
void bench_work_calibrate(struct bench *bench);
/** Execute as much work as an otherwise idle core does in `seconds`; with more
 * ranks than cores it takes longer. Calls catena_request_test `tests` times
 * in between if `request` is not NULL. */
catena_status_t bench_work(struct bench *bench, double seconds, size_t tests,
                           catena_request_t **request);
/** How much of the call's time computing hides: 0 to 100 percent, defined as in
 * OSU's benchmarks of nonblocking collectives (osu_ialltoall and others).
 * @param[in] pure time of the call without computing
 * @param[in] compute time of computing alone
 * @param[in] overall time of the call with computing */
double bench_overlap_percent(double pure, double compute, double overall);

#endif
