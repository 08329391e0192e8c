#ifndef UNIT_NAIVE_LEVELS_H
#define UNIT_NAIVE_LEVELS_H

#include "coll/hierarchy/hierarchy.h"
#include "unit/job.h"

/* Naive computation of hierarchies in simulated jobs, from the names that all
 * ranks share. */

enum { NAIVE_RANKS = 64 }; /* at most */

/** Wait until the hierarchy is built. */
void naive_await(job_t *job, const ctn_hierarchy_t *hierarchy);

/** Check that a group's hierarchy has these levels; waits for it. Collective;
 * the group does nothing else. */
void naive_check(job_t *job, catena_group_t *group,
                 const ctn_hierarchy_t *hierarchy, const char *levels);

#endif
