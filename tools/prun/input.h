#ifndef PRUN_INPUT_H
#define PRUN_INPUT_H

#include "prun.h"

/** Whether to read prun's stdin now: there is space, a rank reads it, and it is
 * not a terminal that another process group owns. */
bool prun_input_wanted(const struct prun_job *job);
/** Read once from prun's stdin. */
void prun_input_read(struct prun_job *job);
/** Whether input is pending for this rank. */
bool prun_input_pending(const struct prun_job *job,
                        const struct prun_rank *rank);
/** Write what fits into a rank's pipe. */
void prun_input_give(struct prun_job *job, struct prun_rank *rank);
/** Drop the input that every rank has received. At the end of input close the
 * pipes. */
void prun_input_drop(struct prun_job *job);
/** The rank does not read any more. */
void prun_input_close(struct prun_rank *rank);

#endif
