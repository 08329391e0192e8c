#ifndef PRUN_LOOP_H
#define PRUN_LOOP_H

#include "prun.h"

/** Wait at most limit_ns for an event and handle it. */
void prun_loop_once(struct prun_job *job, uint64_t limit_ns);
/** After the last rank: read what is left in the pipes and write it. */
void prun_loop_drain(struct prun_job *job);
void prun_loop_free(void);

#endif
