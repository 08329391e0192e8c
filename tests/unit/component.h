#ifndef UNIT_COMPONENT_H
#define UNIT_COMPONENT_H

#include "coll/bcol.h"
#include "job.h"
#include "oracle/random.h"
#include "oracle/type.h"

/* A component of basic collectives at work for all ranks of a lane, without a
 * hierarchy around it: member i is the lane's rank i, and stands for itself. */

typedef struct component {
    job_t *job;
    ctn_lane_t *lane;
    ctn_module_t *module;
    ctn_sbgp_t sbgp;
    ctn_range_t *ranges; /* [size] */
    oracle_t oracle;
    oracle_table_t table; /* types and operations */
    uint64_t random;      /* the same on all members */
    uint64_t own;         /* of this one */
} component_t;

/** Run `body` with a component, which gives back what memory it takes: of all
 * ranks, or of those of each node (shm); that of the network only where there
 * is one. */
void component_run(job_t *job, const ctn_bcol_t *bcol,
                   void (*body)(component_t *c));
/** `call` one time after the other until a rank dies. */
void component_run_until_death(job_t *job, const ctn_bcol_t *bcol,
                               catena_status_t (*call)(component_t *c,
                                                       uint32_t turn));

/** All at the same point, with nothing of the component's. */
void component_await_all(component_t *c);
/** Make one operation, run it and give it back. */
catena_status_t component_call(const component_t *c, ctn_basic_kind_t kind,
                               const ctn_basic_t *basic);

/* ---- one basic collective ---- */

/** How long vectors or parts are; MIXED: by themselves; from AS_IS on all of
 * that many bytes. */
typedef enum lengths { NOTHING, SHORT, MIXED, LONG, EQUAL, AS_IS } lengths_t;

typedef struct basic_side {
    unsigned char *memory; /* guard, data, guard */
    unsigned char *image;  /* what is to be in it */
    unsigned char *data;
    size_t bytes; /* of data */
    bool in_heap;
} basic_side_t;

typedef struct basic_call {
    component_t *c;
    ctn_basic_kind_t kind;
    ctn_basic_t basic;
    uint64_t seed;
    unsigned type, op; /* the oracle's */
    bool in_place;
    size_t *at; /* [size + 1], on all members */
    basic_side_t in, out;
    ctn_op_t *running;
} basic_call_t;

/** Draw lengths and take buffers; collective. */
void basic_prepare(basic_call_t *call, component_t *c, ctn_basic_kind_t kind,
                   const char *algorithm, uint32_t root, size_t lengths);
/** Put contents and arguments in place, which need not be there before the
 * operation is let go. */
void basic_fill(basic_call_t *call);
/** As a blocking call, at once if the component can. */
catena_status_t basic_run(basic_call_t *call);
/** Every byte of both buffers is as it has to be. */
void basic_check(const basic_call_t *call);
void basic_drop(basic_call_t *call);

/** All of it, which succeeds. */
void basic_all(component_t *c, ctn_basic_kind_t kind, const char *algorithm,
               uint32_t root, size_t lengths);
/** Start all held, let them go in an order of each member's own, and check them
 * when they are over. At most 16. */
void basic_all_held(basic_call_t *call, unsigned count);

#endif
