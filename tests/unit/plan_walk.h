#ifndef UNIT_PLAN_WALK_H
#define UNIT_PLAN_WALK_H

#include "job.h"
#include "neighbor/neighborhood.h"

#define PLAN_WALK_RANKS 128

/** Follow every block through the plans of all ranks, round by round, and check
 * that it comes to where it belongs, once; that both ends of a message mean the
 * same by it; that what is read is there; and that the agreed facts hold.
 * @param made the neighborhoods of the job's ranks */
void plan_walk(job_t *job, catena_neighborhood_t *const made[],
               ctn_scheme_t scheme, ctn_pattern_t pattern);

#endif
