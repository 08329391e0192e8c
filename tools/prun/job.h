#ifndef PRUN_JOB_H
#define PRUN_JOB_H

#include "prun.h"

/** Queue one line "prun: ..." for stderr, among the ranks' output. */
void prun_job_report(struct prun_job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The job has failed: report the reason, set the exit code and end the ranks.
 * Does nothing if the job is ending already. */
void prun_job_fail(struct prun_job *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Reap ended processes. If a rank's end was a failure, the job fails. */
void prun_job_reap(struct prun_job *job);
/** Let the job fail if a rank has called PMIx_Abort, or could not execute the
 * program. */
void prun_job_check_events(struct prun_job *job);
/** Handle a signal that prun has received. */
void prun_job_signal(struct prun_job *job, int signal);
/** Do what is due at this time: end the job at its timeout, send KILL some time
 * after TERM. */
void prun_job_tick(struct prun_job *job, uint64_t now_ns);
/** Time of the next tick; UINT64_MAX: never. */
uint64_t prun_job_next_ns(const struct prun_job *job);
/** Whether no process of the job runs any more. If ranks have ended but left
 * processes behind in their groups, begins to end these. */
bool prun_job_done(struct prun_job *job);

#endif
