#ifndef CTN_EXEC_PROGRESS_THREAD_H
#define CTN_EXEC_PROGRESS_THREAD_H

#include "exec/exec.h"

/* CATENA_PROGRESS=thread: a thread of the library polls the operations in
 * flight while the application computes. It sleeps while there are none, and
 * holds the lock of the public functions (core/entry.h) during each poll. In
 * the simulator a rank makes the same polls in catena_compute. */

/** Start the thread of a context that is about to join the job. It polls
 * nothing before ctn_progress_thread_open.
 * @return ERR_NO_MEMORY or ERR_SYSTEM, logged */
catena_status_t ctn_progress_thread_start(ctn_exec_t *exec);
/** The context has joined. */
void ctn_progress_thread_open(ctn_exec_t *exec);
/** End it, if there is one. The caller holds the lock, once. */
void ctn_progress_thread_stop(ctn_exec_t *exec);
/** A poll of the thread, for simulated computation.
 * @param exec a ctn_exec_t; the simulator's callback has a void pointer
 * @return whether there was progress */
bool ctn_progress_while_computing(void *exec);

#endif
