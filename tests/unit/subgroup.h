#ifndef UNIT_SUBGROUP_H
#define UNIT_SUBGROUP_H

#include "coll/bcol.h"
#include "job.h"

/* A component at work for all ranks of a lane, without a hierarchy around it:
 * member i is the lane's rank i, and stands for itself. */

typedef struct subgroup {
    job_t *job;
    ctn_lane_t *lane;
    ctn_module_t *module;
    ctn_sbgp_t sbgp;
    ctn_range_t *ranges; /* [size] */
} subgroup_t;

/** Make it; collective. @return what the component says; then there is
 * nothing to close */
catena_status_t subgroup_open(subgroup_t *subgroup, job_t *job,
                              ctn_lane_t *lane, const ctn_bcol_t *bcol);
/** Nobody uses it any more; collective. */
void subgroup_close(subgroup_t *subgroup);

/** Make one operation, run it and give it back. */
catena_status_t subgroup_run(const subgroup_t *subgroup, ctn_basic_kind_t kind,
                             const ctn_basic_t *basic);

#endif
