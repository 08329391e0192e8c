#ifndef CTN_EXEC_INLINE_H
#define CTN_EXEC_INLINE_H

#include "exec/exec.h"

/* Inline execution of short calls. If no other operation is under way, a call
 * takes its number and publishes this rank's data at once; a wait for it then
 * collects the data of the others in a loop of its own. A blocking call does
 * both without an operation (ctn_inline_run). A nonblocking or persistent one
 * is an operation, which ctn_op_start begins and ctn_op_wait completes; any
 * poll may complete it by its phases instead. What a collective does of its own
 * is in its ctn_inline_t.
 *
 * A barrier of two ranks takes little longer than the transfer of one cache
 * line, so these functions are inline in C's sense, too. */

/** The part of a collective in inline execution. */
struct ctn_inline {
    /** Whether an operation may begin inline now; NULL: always. */
    bool (*may)(ctn_op_t *op);
    /** Do all that needs no waiting. `state` is a part of the operation's
     * state, or that of a blocking call without an operation.
     * @param[out] status an error that the call ends with, only with DONE
     * @return DONE: the call is complete; WAIT: data of others are missing */
    ctn_step_t (*publish)(ctn_exec_t *exec, void *state, uint64_t seq,
                          catena_status_t *status);
    /** Take what has arrived.
     * @param loads how often a word that is missing is read
     * @return DONE: the call is complete; WAIT: data are missing; NEXT: the
     * phases of the operation have to complete it */
    ctn_step_t (*collect)(ctn_exec_t *exec, void *state, uint32_t loads,
                          catena_status_t *status);
    size_t at;     /* offset of that state in the operation's */
    uint8_t phase; /* of the operation, after `publish`; it collects, too */
};

/** Before an inline call of a simulated rank. If the rank never waits, as in a
 * group of one rank, it sees only here that the simulation has failed.
 * @return whether its calls may run inline: user data have content */
bool ctn_inline_simulated(ctn_exec_t *exec);

/** Whether a call may run inline: no operation is active, the context works,
 * and its sequence has no operation under way. */
static inline bool ctn_inline_possible(ctn_exec_t *exec,
                                       const ctn_sequence_t *sequence)
{
    return exec->active == NULL && exec->status == CATENA_OK &&
           sequence->started == sequence->complete &&
           (!exec->virtual_time || ctn_inline_simulated(exec));
}

/** Begin an inline call: take its number. Before one that does not synchronize
 * the caller has run the generation barrier if one was due
 * (ctn_sequence_barrier_due).
 * @return false: another operation is under way, the generation is not free, or
 * an epoch barrier is due; then the call has to be an operation */
static inline bool ctn_inline_begin(ctn_exec_t *exec, ctn_sequence_t *sequence,
                                    bool synchronizing, uint64_t *seq)
{
    if (!ctn_inline_possible(exec, sequence) ||
        ctn_sequence_epoch_due(sequence) ||
        !ctn_sequence_is_free(sequence, sequence->started)) {
        return false;
    }
    *seq = sequence->started++;
    sequence->unsynchronized =
        (uint8_t)(synchronizing ? 0 : sequence->unsynchronized + 1);
    return true;
}

/** A poll of an inline call found nothing: wake ranks, progress the network,
 * spin, yield the core or sleep. False: the context has ended, and so does the
 * call. */
bool ctn_inline_wait(ctn_exec_t *exec, ctn_backoff_t *backoff);

/** The same for a call that does not need the network. On an oversubscribed
 * host the rank yields its core here at the first miss. When it runs again,
 * what it waits for has mostly arrived, and the short way from here to the
 * caller's poll is all the code that it needs. */
static inline bool ctn_inline_yield(ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    if (backoff->misses == 0 && exec->wait_policy.spin == 0 &&
        !exec->spin_polls) {
        ctn_exec_wake(exec);
        backoff->misses = 1;
        ctn_yield_core();
        return true;
    }
    return ctn_inline_wait(exec, backoff);
}

/** Collect until the call is complete, the phases have to complete it (NEXT),
 * or the context has ended (WAIT). */
static inline ctn_step_t ctn_inline_collect(ctn_exec_t *exec,
                                            const ctn_inline_t *inlined,
                                            void *state,
                                            catena_status_t *status)
{
    ctn_backoff_t backoff = {0};
    uint32_t loads = exec->wait_policy.loads;
    ctn_step_t step = inlined->collect(exec, state, loads, status);
    while (step == CTN_STEP_WAIT && ctn_inline_yield(exec, &backoff)) {
        step = inlined->collect(exec, state, 1, status);
    }
    return step;
}

/** Mark the number of an inline call as complete. @return the call's status */
static inline catena_status_t ctn_inline_end(ctn_exec_t *exec,
                                             ctn_sequence_t *sequence,
                                             catena_status_t status)
{
    ctn_exec_wake(exec);
    sequence->complete = sequence->started;
    if (sequence->unsynchronized == 0) {
        sequence->synchronized = sequence->started;
    }
    return exec->status == CATENA_OK ? status : exec->status;
}

/** Run a blocking call inline.
 * @param op  the operation that goes on if `collect` says so (NEXT); its state
 *            is `state`. NULL: it never says so
 * @return false: the call has not begun, see ctn_inline_begin */
static inline __attribute__((always_inline)) bool
ctn_inline_run(ctn_exec_t *exec, ctn_sequence_t *sequence, bool synchronizing,
               const ctn_inline_t *inlined, void *state, ctn_op_t *op,
               catena_status_t *status)
{
    uint64_t seq;
    if (!ctn_inline_begin(exec, sequence, synchronizing, &seq)) {
        return false;
    }
    *status = CATENA_OK;
    if (inlined->publish(exec, state, seq, status) == CTN_STEP_WAIT &&
        ctn_inline_collect(exec, inlined, state, status) == CTN_STEP_NEXT &&
        op != NULL) {
        ctn_op_go_on(op, seq, false);
        *status = ctn_op_wait(op);
        return true;
    }
    *status = ctn_inline_end(exec, sequence, *status);
    return true;
}

#endif
