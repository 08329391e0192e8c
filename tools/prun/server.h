#ifndef PRUN_SERVER_H
#define PRUN_SERVER_H

#include "prun.h"

/* The arguments of a rank's PMIx_Abort. */
struct prun_abort {
    uint32_t rank;
    int code;
    char message[256];
};

/** Start the PMIx server and give it the job: nodes, ranks, keys. job needs
 * layout, ranks, name_space and directory. Call it while the process has no
 * other thread, with the signals blocked that no PMIx thread may get. Ends prun
 * with one line if the server cannot start. */
void prun_server_start(struct prun_job *job, void *topology);

/** Readable when a rank has called PMIx_Abort. */
int prun_server_event_fd(const struct prun_server *server);

/** @return whether a rank has called PMIx_Abort; the first one wins. */
bool prun_server_aborted(struct prun_server *server, struct prun_abort *out);

/** Add the variables of a PMIx client to the environment of rank.
 * @param[in,out] environment allocated with malloc, entries too */
bool prun_server_environment(struct prun_job *job, uint32_t rank,
                             char ***environment);

/** Stop the server; all ranks must have ended. */
void prun_server_stop(struct prun_job *job);

/* register.c */

/** Give the PMIx server the job's keys, see PMIx_server_register_nspace.
 * @return a pmix_status_t */
int prun_register_job(const struct prun_job *job, const char *name_space);

#endif
