#ifndef PRUN_INPUT_H
#define PRUN_INPUT_H

#include "prun.h"

/** Whether to read prun's stdin now: all earlier input was forwarded, a rank
 * reads it, and prun is not in the background of a terminal. */
bool prun_input_wanted(const struct prun_job *job);
/** Read once from prun's stdin, into job->input. */
void prun_input_read(struct prun_job *job);
/** Whether job->input has bytes that this rank has not got. */
bool prun_input_pending(const struct prun_job *job,
                        const struct prun_rank *rank);
/** Write as much pending input as fits to a rank's stdin pipe. */
void prun_input_give(struct prun_job *job, struct prun_rank *rank);
/** Drop job->input if every rank has received it. After the end of prun's stdin
 * close the ranks' pipes then. */
void prun_input_drop(struct prun_job *job);
/** Close a rank's stdin pipe, if it is open. */
void prun_input_close(struct prun_rank *rank);

#endif
