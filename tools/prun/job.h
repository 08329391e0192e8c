#ifndef PRUN_JOB_H
#define PRUN_JOB_H

#include "prun.h"

/** Queue one line "prun: ..." on stderr. */
void prun_job_report(struct prun_job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The job has failed; the first reason wins. Ends the ranks. */
void prun_job_fail(struct prun_job *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Reap ended processes and judge their exit status. */
void prun_job_reap(struct prun_job *job);
/** React to PMIx_Abort and to children that could not execute the program. */
void prun_job_check_events(struct prun_job *job);
/** prun has received a signal. */
void prun_job_signal(struct prun_job *job, int signal);
/** Do what is due: timeout, KILL after TERM. */
void prun_job_tick(struct prun_job *job, uint64_t now_ns);
/** Time of the next tick; UINT64_MAX: never. */
uint64_t prun_job_next_ns(const struct prun_job *job);
/** Whether no process of the job runs any more. */
bool prun_job_done(struct prun_job *job);

#endif
