#ifndef UNIT_PLAN_RUN_H
#define UNIT_PLAN_RUN_H

#include "job.h"
#include "neighbor/neighborhood.h"

/** Run operations of all patterns on a neighborhood, with blocks of so many
 * words, and check what comes: every block says where it comes from. */
void plan_run(job_t *job, catena_neighborhood_t *neighborhood, size_t words);

#endif
