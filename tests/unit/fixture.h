#ifndef UNIT_FIXTURE_H
#define UNIT_FIXTURE_H

#include "subgroup.h"

/* What a test of a component's collectives has at hand. */

typedef struct fixture {
    job_t *job;
    subgroup_t subgroup; /* of all ranks */
    catena_datatype_t matrix;
    catena_op_t product; /* of matrices: not commutative */
    uint64_t random;     /* the same on all members */
    uint64_t own;        /* of this one */
} fixture_t;

/** The next of a sequence, below `below`. */
uint32_t fixture_pick(uint64_t *random, uint32_t below);

/** Run `body` with a component, which gives back what memory it takes; that of
 * the network only where there is one. */
void fixture_run(job_t *job, const ctn_bcol_t *bcol,
                 void (*body)(fixture_t *f));
/** With a component of messages, `call` one time after the other until a rank
 * dies. */
void fixture_run_until_death(job_t *job,
                             catena_status_t (*call)(fixture_t *f,
                                                     uint32_t turn));

/** Start operations held, let them go in an order of each member's own, and
 * give them back when they are over, which is well. At most 16. */
void fixture_run_held(fixture_t *f, ctn_op_t *const op[], unsigned count);

#endif
