#ifndef CTN_EXEC_INLINE_H
#define CTN_EXEC_INLINE_H

#include "exec/exec.h"

/* Inline execution of small blocking calls. A barrier of two ranks takes little
 * longer than the transfer of one cache line, so these functions are inline in
 * C's sense, too. */

/** Before an inline call of a simulated rank. If the rank never waits, as in a
 * group of one rank, it sees only here that the simulation has failed.
 * @return whether its calls may run inline: user data have content */
bool ctn_inline_simulated(ctn_exec_t *exec);

/** Whether a blocking call may run inline: no operation is active, the context
 * works, and its sequence has no operation under way. */
static inline bool ctn_inline_possible(ctn_exec_t *exec,
                                       const ctn_sequence_t *sequence)
{
    return exec->active == NULL && exec->status == CATENA_OK &&
           exec->deaths == NULL && sequence->started == sequence->complete &&
           (!exec->virtual_time || ctn_inline_simulated(exec));
}

/** Begin an inline call that synchronizes: take its number. False: another
 * operation is under way, the generation is not free, or an epoch barrier is
 * due; then the call has to be an operation. */
static inline bool ctn_inline_begin(ctn_exec_t *exec, ctn_sequence_t *sequence,
                                    uint64_t *seq)
{
    if (!ctn_inline_possible(exec, sequence) ||
        ctn_sequence_epoch_due(sequence) ||
        !ctn_sequence_is_free(sequence, sequence->started)) {
        return false;
    }
    *seq = sequence->started++;
    sequence->unsynchronized = 0;
    return true;
}

/** Begin an inline call that does not synchronize. The caller has run the
 * generation barrier before it if one was due (ctn_sequence_barrier_due). */
static inline bool ctn_inline_begin_unsynchronized(ctn_exec_t *exec,
                                                   ctn_sequence_t *sequence,
                                                   uint64_t *seq)
{
    uint8_t unsynchronized = sequence->unsynchronized;
    if (!ctn_inline_begin(exec, sequence, seq)) {
        return false;
    }
    sequence->unsynchronized = (uint8_t)(unsynchronized + 1);
    return true;
}

/** A poll of an inline call found nothing: wake ranks, progress the network,
 * spin, yield the core or sleep. False: the context has ended, and so does the
 * call. */
bool ctn_inline_wait(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** The same for a call that has woken all ranks that it stored words for, and
 * that does not need the network. On an oversubscribed host the rank yields its
 * core here at the first miss. When it runs again, what it waits for has mostly
 * arrived, and the short way from here to the caller's poll is all the code
 * that it needs. */
static inline bool ctn_inline_yield(ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    if (backoff->misses == 0 && exec->wait_policy.spin == 0 &&
        !exec->spin_polls) {
        backoff->misses = 1;
        ctn_yield_core();
        return true;
    }
    return ctn_inline_wait(exec, backoff);
}

/** Mark the number of an inline call as complete. @return the call's status */
static inline catena_status_t ctn_inline_end(ctn_exec_t *exec,
                                             ctn_sequence_t *sequence)
{
    ctn_exec_wake(exec);
    sequence->complete = sequence->started;
    if (sequence->unsynchronized == 0) {
        sequence->synchronized = sequence->started;
    }
    return exec->status;
}

#endif
