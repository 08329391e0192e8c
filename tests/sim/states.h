#ifndef SIM_STATES_H
#define SIM_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/sim.h>

/* States of a simulated job, recognized: two orders of steps that lead to the
 * same state have the same future, which is run once.
 *
 * A state is what ranks have in heaps, in memory that they allocated, in
 * variables of the program and on their stacks, and what the simulator knows of
 * them and of what is under way; not the times: with `choose` they decide
 * only where a rank is interrupted that works for more than 20 us or begins a
 * long copy, and which source of a rank is free first, that of a put or of a
 * get. The memory that is written is known as in accesses.h. A hash of 128 bits
 * stands for the state. Without ACCESSES no state is recognized. */

/** A hash of a state: sums of such are hashes of sets. */
typedef struct state {
    uint64_t half[2];
} state_t;

#if ACCESSES

struct ctn_sim;

/** A job begins: its heaps are there. */
void states_job_begins(struct ctn_sim *sim, uintptr_t heaps,
                       uintptr_t heaps_end);

/** It ends: its heaps are about to go. */
void states_job_ends(void);

/** Whether the order is being explored. Before that, all jobs are the same. */
extern bool states_differ;

/** Something is about to be written. */
void states_write(uintptr_t memory, size_t bytes);

/** The order is explored from here on: memory is now the same as in all other
 * jobs. To be called in `choose`, which then returns -1. It is called again at
 * once, and each time after states_return.
 * @return false: the job cannot return */
bool states_keep(void);

/** Return to where states_keep was called. To be called in `choose`, which
 * then returns -1. */
void states_return(void);

/** Restore the lines of heaps and static variables that were written since
 * states_keep. */
void states_restore_lines(void);

/** Look up the present state, between two steps.
 * @param asleep a bit for each step that need not be run from here
 * @return the same of when the state was found the last time, or NULL; the
 * caller sets it. Valid until the next call */
uint64_t *states_find(uint64_t asleep);

/** Whether the present state was found before. */
bool states_known(void);

/** @return the state that was looked up last */
state_t states_last(void);

/** A step is chosen in a state; the next one is about to be looked up. */
void states_step(const state_t *state, const catena_sim_step_t *step);

/** Whether a step has led from one state to two. Then the recorded state is
 * incomplete. */
bool states_contradict(void);

/** @return the number of different states */
size_t states_count(void);

/** Forget all states. */
void states_clear(void);

#else

static inline bool states_keep(void)
{
    return false;
}

static inline void states_return(void)
{
}

static inline uint64_t *states_find(uint64_t asleep)
{
    (void)asleep;
    return NULL;
}

static inline bool states_known(void)
{
    return true;
}

static inline state_t states_last(void)
{
    return (state_t){{0, 0}};
}

static inline void states_step(const state_t *state,
                               const catena_sim_step_t *step)
{
    (void)state, (void)step;
}

static inline bool states_contradict(void)
{
    return false;
}

static inline size_t states_count(void)
{
    return 0;
}

static inline void states_clear(void)
{
}

#endif
#endif
