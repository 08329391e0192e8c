/* Exec: progress of all operations and of the network, waiting, memory. */

#include "exec/deaths.h"
#include "exec/inline.h"

#include <stdlib.h>

/** Background operations that are advanced at a time, since a rank may free any
 * number of groups before its peers do. */
enum { BACKGROUND_BATCH = 16 };

void ctn_exec_init(ctn_exec_t *exec)
{
    exec->virtual_time = (exec->local->caps & CTN_CAP_VIRTUAL) != 0;
}

void ctn_exec_release(ctn_exec_t *exec)
{
    ctn_doorbell_close(&exec->doorbell);
    ctn_pool_drop(&exec->pool);
    free(exec->copies.memory);
    while (exec->deferred_frees != NULL) {
        ctn_deferred_free_t *deferred = exec->deferred_frees;
        exec->deferred_frees = deferred->next;
        free(deferred->block);
        free(deferred);
    }
    ctn_staging_release(exec);
    ctn_hash_map_drop(&exec->endpoints);
    ctn_deaths_release(exec);
}

void ctn_exec_defer_free(ctn_exec_t *exec, void *block)
{
    ctn_deferred_free_t *deferred =
        block != NULL ? malloc(sizeof(*deferred)) : NULL;
    if (deferred != NULL) { /* without memory the block is never freed */
        *deferred = (ctn_deferred_free_t){exec->deferred_frees, block};
        exec->deferred_frees = deferred;
    }
}
void ctn_refcount_put(ctn_refcount_t *refcount)
{
    if (--refcount->count == 0 && refcount->dropped) {
        free(refcount);
    }
}

void ctn_refcount_drop(ctn_refcount_t *refcount)
{
    if (refcount != NULL && refcount->count > 0) {
        refcount->dropped = true;
    } else {
        free(refcount);
    }
}
/* ---- progress ---- */

bool ctn_exec_progress_network(ctn_exec_t *exec)
{
    if (exec->network == NULL) {
        return false;
    }
    bool watched = exec->deaths != NULL; /* handlers access memory, too */
    if (watched) {
        ctn_deaths_enter(exec);
    }
    int result = exec->network->ops->progress(exec->network);
    if (watched) {
        ctn_deaths_exit(exec);
    }
    if (result < 0 && exec->virtual_time && exec->status == CATENA_OK) {
        /* The simulator notifies all ranks. */
        ctn_exec_keep_end(exec, (catena_status_t)result);
        exec->status = (catena_status_t)result;
    } else if (result < 0) {
        (void)ctn_exec_abort(exec, (catena_status_t)result);
    }
    return result != 0;
}

/** Advance every active operation; true: there was progress. */
static bool progress_operations(ctn_exec_t *exec)
{
    exec->spin_polls = 0;
    ctn_deaths_look(exec);
    bool moved = false;
    ctn_op_t *op = exec->active;
    while (op != NULL) {
        ctn_op_t *next = op->next;
        bool had_child = op->child != NULL;
        if (ctn_op_advance(op)) {
            moved = true;
            /* `op` may have released its child, which may be `next`. */
            if (had_child) {
                return true;
            }
        }
        op = next;
    }
    return moved;
}

void ctn_exec_end_failed(ctn_exec_t *exec)
{
    while (exec->status != CATENA_OK && exec->active != NULL &&
           progress_operations(exec)) {
    }
}

static bool poll_background(ctn_exec_t *exec, bool all)
{
    size_t most = all ? SIZE_MAX : BACKGROUND_BATCH;
    bool moved = false;
    bool keeps = exec->keeps_memory;
    exec->keeps_memory = false; /* of a `finish` that polls, not of these */
    if (all) {
        exec->background_next = NULL;
    }
    ctn_op_t *op = exec->background_next != NULL ? exec->background_next
                                                 : exec->background;
    for (; op != NULL && most > 0; most--) {
        exec->background_next = op->next;
        if (op->algorithm->ready(op) && ctn_op_advance(op)) {
            moved = true;
        }
        op = exec->background_next;
    }
    exec->keeps_memory = keeps;
    return moved;
}

CTN_COLD bool ctn_exec_poll_background(ctn_exec_t *exec)
{
    return poll_background(exec, true);
}

CTN_COLD bool ctn_exec_poll_background_batch(ctn_exec_t *exec)
{
    return poll_background(exec, exec->virtual_time);
}

/** How long ctn_exec_reclaim waits while there is no progress: 2 ms, or 50 us
 * of virtual time. */
static uint64_t reclaim_ns(const ctn_exec_t *exec)
{
    return exec->virtual_time ? UINT64_C(50000) : UINT64_C(2000000);
}

CTN_COLD bool ctn_exec_reclaim(void *argument)
{
    ctn_exec_t *exec = argument;
    uint64_t last_progress = ctn_exec_time(exec);
    uint64_t background_done = exec->background_done;
    while (exec->background != NULL &&
           exec->background_done == background_done) {
        bool moved = ctn_exec_progress_network(exec);
        if (ctn_exec_poll_background(exec) || moved) {
            last_progress = ctn_exec_time(exec);
        } else if (ctn_exec_time(exec) - last_progress > reclaim_ns(exec)) {
            break;
        } else {
            ctn_exec_pass_time(exec);
        }
    }
    return exec->background_done != background_done;
}

bool ctn_exec_poll(ctn_exec_t *exec)
{
    bool moved = ctn_exec_progress_network(exec);
    if (exec->background != NULL) {
        moved |= ctn_exec_poll_background_batch(exec);
    }
    return progress_operations(exec) || moved;
}

void ctn_exec_poll_or_idle(ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    if (ctn_exec_poll(exec)) {
        *backoff = (ctn_backoff_t){0};
    } else {
        ctn_exec_idle(exec, backoff);
    }
}

catena_status_t ctn_exec_progress(ctn_exec_t *exec)
{
    if (ctn_exec_poll(exec)) {
        exec->tests.misses = 0;
        return exec->status;
    }
    ctn_exec_pass_time(exec);
    exec->tests.misses++;
    if (exec->tests.misses % CTN_TESTS_PER_NOTE == 0) {
        ctn_exec_note_tests(exec);
    }
    return exec->status;
}

/** The second half of an iteration of a wait: progress the network if it is
 * time for that, and idle if nothing has moved.
 * @param moved whether the first half, a poll of all operations, made progress
 */
static void wait_on(ctn_exec_t *exec, ctn_backoff_t *backoff, bool moved)
{
    /* Progressing the network costs system calls. So it is progressed after
     * every poll only if an operation waits for it, else after every eighth. */
    if (exec->network_waits > 0 || backoff->misses % 8 == 7 ||
        exec->virtual_time) {
        moved |= ctn_exec_progress_network(exec);
        if (exec->background != NULL) {
            moved |= ctn_exec_poll_background_batch(exec);
        }
    }
    if (moved) {
        *backoff = (ctn_backoff_t){0};
    } else {
        ctn_exec_idle(exec, backoff);
    }
}

/** Whether to yield the core at the first miss of a wait: on an oversubscribed
 * host, if nothing is expected soon. The rank resumes in the polling loop, and
 * what it waits for has mostly arrived by then. */
static inline bool yields_at_once(const ctn_exec_t *exec,
                                  const ctn_backoff_t *backoff)
{
    return backoff->misses == 0 && exec->wait_policy.spin == 0 &&
           exec->spin_polls == 0 && exec->network_waits == 0;
}

catena_status_t ctn_op_wait(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    ctn_backoff_t backoff = {0};
    while (op->state != CTN_OP_DONE) {
        bool moved = progress_operations(exec);
        if (op->state == CTN_OP_DONE) {
            break;
        }
        if (!moved && yields_at_once(exec, &backoff)) {
            backoff.misses = 1;
            ctn_yield_core();
        } else {
            wait_on(exec, &backoff, moved);
        }
    }
    return op->status;
}

CTN_COLD bool ctn_inline_simulated(ctn_exec_t *exec)
{
    (void)ctn_exec_progress_network(exec);
    return exec->status == CATENA_OK && !exec->drop_data;
}

bool ctn_inline_wait(ctn_exec_t *exec, ctn_backoff_t *backoff)
{
    ctn_exec_wake(exec);
    wait_on(exec, backoff, false);
    exec->spin_polls = 0;
    return exec->status == CATENA_OK;
}

catena_status_t ctn_exec_flush(ctn_exec_t *exec, ctn_transport_t *transport)
{
    /* Not 0 until the flush is complete. After an error the transport does not
     * write it any more (see abandon in transport.h), so it may be on the
     * stack. */
    uint64_t pending = 0;
    ctn_backoff_t backoff = {0};
    catena_status_t status = exec->status;
    if (status == CATENA_OK) {
        status = ctn_flush(transport, &pending);
    }
    while (status == CATENA_OK && pending != 0) {
        if (!ctn_exec_poll(exec)) {
            ctn_exec_idle(exec, &backoff);
        }
        status = exec->status;
    }
    return status;
}

catena_status_t ctn_op_run(ctn_exec_t *exec, ctn_op_t *op)
{
    if (op == NULL) {
        return ctn_exec_abort(exec, CATENA_ERR_NO_MEMORY);
    }
    ctn_op_start(op);
    catena_status_t status = ctn_op_wait(op);
    ctn_op_release(op);
    return status;
}
