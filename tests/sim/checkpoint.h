#ifndef SIM_CHECKPOINT_H
#define SIM_CHECKPOINT_H

/* Back to an earlier point of a simulated job, instead of running all of it
 * again. Both are for `choose` of a job, which then ends with -1. It is called
 * again at once, with the same steps as when checkpoint_keep was called. */

/** Keep what there is now. */
void checkpoint_keep(void);

/** Go back to it. */
void checkpoint_return(void);

#endif
