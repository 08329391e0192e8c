#ifndef PRUN_GUARDIAN_H
#define PRUN_GUARDIAN_H

#include "prun.h"

/** Fork the guardian: a process that outlives prun only to end what prun
 * started, should prun itself be killed. Call it before any thread exists.
 * Sets job->guardian_fd and job->guardian_pid. */
void prun_guardian_start(struct prun_job *job);

/** From a rank's process, before it executes anything: "I lead a process
 * group". Only calls that are allowed after fork. */
void prun_guardian_enter(int guardian_fd, pid_t group);

/** From prun: nothing is left in this group, its number may be used again. */
void prun_guardian_leave(int guardian_fd, pid_t group);

/** Let the guardian go, and wait for it. */
void prun_guardian_stop(struct prun_job *job);

/* sweep.c */

/** Kill every process whose environment names this job, wherever it went.
 * @return how many there were */
uint32_t prun_sweep(const char *name_space);

#endif
