#ifndef PRUN_LAUNCH_H
#define PRUN_LAUNCH_H

#include "prun.h"

#include <signal.h>
#include <sys/resource.h>

/* A child's report that exec failed. */
struct prun_exec_error {
    uint32_t rank;
    int error; /* errno */
    int wdir;  /* 1: the working directory failed; 0: the program */
};

/* What prun inherited from its parent, changes for itself, and restores for the
 * ranks. */
struct prun_inherited {
    sigset_t mask;       /* of blocked signals */
    struct rlimit files; /* RLIMIT_NOFILE */
    bool hangup_ignored; /* SIGHUP is ignored, as with nohup */
};

/* What is prepared once for all ranks. */
struct prun_launcher;

/** Prepare what is common to all ranks, such as their environment. */
struct prun_launcher *
prun_launcher_make(struct prun_job *job,
                   const struct prun_inherited *inherited);
void prun_launcher_free(struct prun_launcher *launcher);

/** Start rank job->started, and increment this count.
 * @return false with errno set if the system refuses */
bool prun_launch_next(struct prun_launcher *launcher);

#endif
