#ifndef CTN_SIM_SIM_H
#define CTN_SIM_SIM_H

#include <catena/sim.h>

#include "model/machine.h"
#include "transports/simulator.h"

/* A simulated machine: any number of ranks in one process, under a virtual
 * clock and a machine's cost parameters. lib/sim.c makes one for each run. */

typedef struct ctn_sim ctn_sim_t;

/** What ctn_sim_create needs; checked by the caller. */
typedef struct ctn_sim_setup {
    const catena_machine_t *machine;
    const catena_sim_params_t *params;
    uint32_t ranks;
    uint32_t nodes;
} ctn_sim_setup_t;

/** Create a job.
 * @return ERR_NO_MEMORY: address space (logged), or tables */
catena_status_t ctn_sim_create(const ctn_sim_setup_t *setup, ctn_sim_t **sim);
void ctn_sim_destroy(ctn_sim_t *sim);

/** Run `program` as every rank until all have returned from it.
 * @return OK; ERR_ARG: a duration, or the whole run, is too long; ERR_STATE:
 *   deadlock (the ranks log what they wait for); ERR_PEER: a rank was killed,
 * as the parameters ask; ERR_SYSTEM: aborted, or a stack overflow;
 *   ERR_NO_MEMORY */
catena_status_t ctn_sim_go(ctn_sim_t *sim,
                           void (*program)(ctn_sim_rank_t *rank,
                                           void *argument),
                           void *argument);

/** The running rank aborts the job. */
__attribute__((noreturn)) void ctn_sim_abort(ctn_sim_rank_t *rank, int code);

void ctn_sim_rank_stats(const ctn_sim_rank_t *rank, catena_sim_stats_t *stats);
/** Fill in the numbers of events, messages and bytes, the time of the last
 * rank's end, and the code of a rank that aborted. */
void ctn_sim_report(const ctn_sim_t *sim, catena_sim_report_t *report);

#endif
