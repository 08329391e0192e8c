#ifndef PRUN_GUARDIAN_H
#define PRUN_GUARDIAN_H

#include "prun.h"

/** Fork the guardian: a process that outlives prun and ends prun's processes if
 * prun is killed. Call it before any thread exists. Sets job->guardian_fd and
 * job->guardian_pid. */
void prun_guardian_start(struct prun_job *job);

/** Called in a rank's process before exec: report to the guardian that this
 * process leads the process group `group`. Makes only async-signal-safe calls.
 */
void prun_guardian_enter(int guardian_fd, pid_t group);

/** Called by prun: report that a process group is empty. The system may give
 * its number to another group, which the guardian must not kill. */
void prun_guardian_leave(int guardian_fd, pid_t group);

/** Tell the guardian that the job has ended, and wait until it has exited. */
void prun_guardian_stop(struct prun_job *job);

/* sweep.c */

/** Kill every process whose environment names this job, except guardians and
 * the caller.
 * @param[in] name_space the job's PMIx namespace
 * @return the number of killed processes */
uint32_t prun_sweep(const char *name_space);

#endif
