#ifndef PRUN_INPUT_H
#define PRUN_INPUT_H

#include "prun.h"

/** Whether prun's stdin should be read now: there is room, a rank wants it,
 * and it is not a terminal that another process group has. */
bool prun_input_wanted(const struct prun_job *job);
/** Read once from prun's stdin. */
void prun_input_read(struct prun_job *job);
/** Whether this rank has input to be given. */
bool prun_input_pending(const struct prun_job *job,
                        const struct prun_rank *rank);
/** Give what fits into a rank's pipe. */
void prun_input_give(struct prun_job *job, struct prun_rank *rank);
/** Forget what every rank has got; at the end of input close the pipes. */
void prun_input_settle(struct prun_job *job);
/** The rank reads no more. */
void prun_input_close(struct prun_rank *rank);

#endif
