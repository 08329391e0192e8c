#ifndef PRUN_LOOP_H
#define PRUN_LOOP_H

#include "prun.h"

/** Wait at most limit_ns for events, then handle them: signals, PMIx_Abort,
 * exec errors, input, output, and what is due at a time. */
void prun_loop_once(struct prun_job *job, uint64_t limit_ns);
/** After the last rank has ended: read what is left in the ranks' pipes, and
 * write it. */
void prun_loop_drain(struct prun_job *job);
/** Free the memory of prun_loop_once. */
void prun_loop_free(void);

#endif
