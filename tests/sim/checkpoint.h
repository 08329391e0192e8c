#ifndef SIM_CHECKPOINT_H
#define SIM_CHECKPOINT_H

/* Return a simulated job to an earlier point, instead of running it from its
 * beginning. Both functions are called in the job's `choose`, which then
 * returns -1 and is called again at once, with the same steps as when
 * checkpoint_keep was called. */

/** Keep the present state. */
void checkpoint_keep(void);

/** Return to it. */
void checkpoint_return(void);

#endif
