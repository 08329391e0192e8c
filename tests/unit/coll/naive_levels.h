#ifndef UNIT_NAIVE_LEVELS_H
#define UNIT_NAIVE_LEVELS_H

#include "coll/hierarchy/hierarchy.h"
#include "unit/job.h"

/* Hierarchies computed naively, by one who knows what every rank shares: in
 * simulated jobs. */

enum { NAIVE_RANKS = 64 }; /* at most */

/** Wait until it is built. */
void naive_await(job_t *job, const ctn_hierarchy_t *hierarchy);

/** Whether a group's hierarchy is what these levels make; waits for it.
 * Collective; the group does nothing else. */
void naive_check(job_t *job, catena_group_t *group,
                 const ctn_hierarchy_t *hierarchy, const char *levels);

#endif
