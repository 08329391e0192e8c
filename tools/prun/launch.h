#ifndef PRUN_LAUNCH_H
#define PRUN_LAUNCH_H

#include "prun.h"

#include <signal.h>
#include <sys/resource.h>

/* A child's report that exec failed. */
struct prun_exec_error {
    uint32_t rank;
    int error;
    int wdir; /* the directory failed, not the program */
};

/* What prun changes for itself and restores for the ranks. */
struct prun_inherited {
    sigset_t mask;
    struct rlimit files;
    bool hangup_ignored; /* started by nohup */
};

struct prun_launcher;

/** Prepare the ranks' common environment. */
struct prun_launcher *
prun_launcher_make(struct prun_job *job,
                   const struct prun_inherited *inherited);
void prun_launcher_free(struct prun_launcher *launcher);

/** Fork the next rank (number job->started) and count it.
 * @return false with errno if the system refuses */
bool prun_launch_next(struct prun_launcher *launcher);

#endif
