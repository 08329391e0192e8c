#ifndef UNIT_NODEGROUP_H
#define UNIT_NODEGROUP_H

#include "coll/bcol.h"
#include "job.h"

/* All members of a group as one subgroup, served by a component. */

typedef struct subgroup {
    job_t *job;
    catena_group_t *group;
    ctn_sbgp_t sbgp;
    ctn_range_t *range; /* [size] */
    ctn_module_t *module;
} subgroup_t;

/** Collective over the group, which outlives the subgroup. A component that
 * cannot serve it counts as an error. */
void subgroup_open(subgroup_t *s, job_t *job, catena_group_t *group,
                   const ctn_bcol_t *bcol);
void subgroup_close(subgroup_t *s);

/** Make, run and release a basic collective. */
void subgroup_run(subgroup_t *s, ctn_basic_kind_t kind,
                  const ctn_basic_t *basic);

#endif
