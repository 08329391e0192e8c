#ifndef PRUN_GUARDIAN_H
#define PRUN_GUARDIAN_H

#include "prun.h"

/** Fork the guardian: a process that outlives prun and ends prun's processes if
 * prun is killed. Call it before any thread exists. Sets job->guardian_fd and
 * job->guardian_pid. */
void prun_guardian_start(struct prun_job *job);

/** Called in a rank's process before exec: report that it leads a process
 * group. Makes only calls that are allowed after fork. */
void prun_guardian_enter(int guardian_fd, pid_t group);

/** Called by prun: this group is empty and its number may be reused. */
void prun_guardian_leave(int guardian_fd, pid_t group);

/** Stop the guardian and wait for it. */
void prun_guardian_stop(struct prun_job *job);

/* sweep.c */

/** Kill every process whose environment names this job.
 * @return the number of processes */
uint32_t prun_sweep(const char *name_space);

#endif
