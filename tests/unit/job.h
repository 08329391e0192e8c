#ifndef UNIT_JOB_H
#define UNIT_JOB_H

#include <stdio.h>

#include <catena/sim.h>

#include "context.h"
#include "group/group.h"
#include "oracle/oracle.h"
#include "oracle/random.h"

/* Ranks that run what is inside the library: simulated, with machine, layout
 * and the order of everything that has none drawn from a seed, or real ones
 * under a launcher. */

typedef struct job {
    catena_context_t *context;
    ctn_exec_t *exec;
    ctn_chain_t *chain; /* the world's */
    uint32_t rank;
    uint32_t size;
    uint64_t seed; /* the same on all ranks */
    int errors;    /* of this rank */
} job_t;

typedef void (*job_body_t)(job_t *job);

/** Count an error of this rank; the first ones are shown. */
#define JOB_CHECK(job, condition)                                              \
    do {                                                                       \
        if (!(condition) && (job)->errors++ < 3) {                             \
            fprintf(stderr, "%s:%d: rank %u of %u, seed %llu: %s\n", __FILE__, \
                    __LINE__, (job)->rank, (job)->size,                        \
                    (unsigned long long)(job)->seed, #condition);              \
        }                                                                      \
    } while (0)

/** For parts of the oracle, whose errors are this rank's. */
oracle_t job_oracle(job_t *job);

/** Of a simulated rank; 0: as the simulator has it. */
#if defined(__SANITIZE_ADDRESS__)
#define JOB_STACK_BYTES ((size_t)512 << 10)
#else
#define JOB_STACK_BYTES 0
#endif

/** Run `body` on so many simulated ranks. @return ranks that saw an error, or
 * -1 when the run did not come to its end */
int job_simulate(uint32_t ranks, uint64_t seed, job_body_t body);
/** The same on a machine, in a layout and with settings that are given. */
int job_simulate_on(const catena_sim_params_t *params, job_body_t body);
/** The same, all ranks on one node; or on so many. */
int job_simulate_node(uint32_t ranks, uint64_t seed, job_body_t body);
int job_simulate_nodes(uint32_t ranks, int nodes, uint64_t seed,
                       job_body_t body);
/** As job_simulate; a rank is killed after so many events. What comes of it is
 * the body's, and that it comes to an end. */
void job_simulate_death(uint32_t ranks, uint64_t seed, uint64_t event,
                        job_body_t body);

/** As one rank under a launcher; the first one prints "ok - " or "not ok - "
 * and the test's name. @return what main returns */
int job_rank(const char *name, job_body_t body);

/** All that is left of the heap, but for crumbs; and back. */
typedef struct job_hoard {
    void *block[4096];
    unsigned count;
} job_hoard_t;

void job_take_heap(job_t *job, job_hoard_t *hoard);
void job_give_heap(job_t *job, job_hoard_t *hoard);

#endif
