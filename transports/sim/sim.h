#ifndef CTN_SIM_SIM_H
#define CTN_SIM_SIM_H

#include <catena/sim.h>

#include "model/machine.h"
#include "transports/transport.h"

/* A simulated machine: any number of ranks in one process, under a virtual
 * clock and a machine's cost parameters. lib/sim.c makes one for each run. */

/** The longest duration of a message, a copy or a computation. */
#define CTN_SIM_LONGEST_S 1e6

typedef struct ctn_sim ctn_sim_t;
typedef struct catena_sim_rank ctn_sim_rank_t;

typedef struct ctn_sim_setup {
    const ctn_log_t *log;
    const catena_machine_t *machine;
    const catena_sim_params_t *params;
    uint32_t ranks;
    uint32_t nodes;
} ctn_sim_setup_t;

/** @return ERR_ARG, ERR_NO_MEMORY (address space, tables); logged */
catena_status_t ctn_sim_create(const ctn_sim_setup_t *setup, ctn_sim_t **sim);
void ctn_sim_destroy(ctn_sim_t *sim);

/** Run `program` as every rank until all are done.
 * @return OK; ERR_ARG: something takes too long, or the whole run does;
 *   ERR_STATE: deadlock (the ranks say what they wait for); ERR_PEER: a rank
 *   was killed, as requested; ERR_SYSTEM: aborted, or a stack overflow */
catena_status_t ctn_sim_go(ctn_sim_t *sim,
                           void (*program)(ctn_sim_rank_t *rank,
                                           void *argument),
                           void *argument);

/** The running rank aborts the job. */
_Noreturn void ctn_sim_abort(ctn_sim_rank_t *rank, int code);
int ctn_sim_abort_code(const ctn_sim_t *sim);

/** In front of the arenas of a node. */
#define CTN_SIM_HEADER_BYTES ((size_t)2 << 20)

/** Where a rank runs. */
typedef struct ctn_sim_place {
    uint32_t rank, ranks;
    uint32_t node, nodes;
    uint32_t local_rank, local_size;
    const uint32_t *local_ranks; /* world ranks of its node, ascending */
    int numa;                    /* domain of its core; -1: the only one */
    bool oversubscribed;         /* more ranks than cores */
    /* Its node's memory, sparse and zero: CTN_SIM_HEADER_BYTES, then an arena
     * for each of its ranks. Other ranks may write to it from the start. */
    unsigned char *memory;
    size_t arena_bytes;
} ctn_sim_place_t;

ctn_sim_place_t ctn_sim_place(const ctn_sim_rank_t *rank);
/** The transport of a rank, used for its node and its network. */
ctn_transport_t *ctn_sim_transport(ctn_sim_rank_t *rank);
ctn_sim_t *ctn_sim_of(const ctn_sim_rank_t *rank);
catena_sim_payload_t ctn_sim_payload(const ctn_sim_rank_t *rank);
/** Keep the core busy. */
void ctn_sim_compute(ctn_sim_rank_t *rank, double seconds);
void ctn_sim_rank_stats(const ctn_sim_rank_t *rank, catena_sim_stats_t *stats);
/** The number of events, and the time of the last. */
void ctn_sim_report(const ctn_sim_t *sim, catena_sim_report_t *report);

#endif
