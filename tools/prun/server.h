#ifndef PRUN_SERVER_H
#define PRUN_SERVER_H

#include "prun.h"

/* The arguments of a rank's PMIx_Abort. */
struct prun_abort {
    uint32_t rank;
    int code;
    char message[256];
};

/** Start the PMIx server and register the job with it: nodes, ranks and keys.
 * `job` must have layout, ranks, name_space and directory; sets job->server. To
 * be called while the process has no other thread, and with all signals blocked
 * that prun handles, so that no PMIx thread receives one. Ends prun with one
 * line on stderr if the server cannot start.
 * @param[in] topology of prun_bindings_topology, or NULL */
void prun_server_start(struct prun_job *job, void *topology);

/** A descriptor that becomes readable when a rank calls PMIx_Abort. */
int prun_server_event_fd(const struct prun_server *server);

/** Whether all ranks have joined the job, and can go on without one that dies.
 */
bool prun_server_joined(const struct prun_server *server);

/** @param[out] out the arguments of the first PMIx_Abort
 * @return whether a rank has called PMIx_Abort */
bool prun_server_aborted(struct prun_server *server, struct prun_abort *out);

/** Whether a rank that has exited has left out PMIx_Finalize. Waits until the
 * server has read what the rank has sent. */
bool prun_server_forgotten(const struct prun_server *server, uint32_t rank);

/** Add the variables of a PMIx client to the environment of a rank.
 * @param[in,out] environment list and entries are allocated with malloc
 * @return false: PMIx refuses */
bool prun_server_environment(struct prun_job *job, uint32_t rank,
                             char ***environment);

/** Stop the server; all ranks must have ended. */
void prun_server_stop(struct prun_job *job);

/* register.c */

/** Give the PMIx server the job's keys, see PMIx_server_register_nspace.
 * @return a pmix_status_t */
int prun_register_job(const struct prun_job *job, const char *name_space);

#endif
