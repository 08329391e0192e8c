/* Operations: their creation, the queue of their sequence, their phases, and
 * progress. */

#include "exec/exec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/list.h"

void ctn_exec_init(ctn_exec_t *exec)
{
    exec->virtual_time = (exec->local->caps & CTN_CAP_VIRTUAL) != 0;
}

void ctn_exec_release(ctn_exec_t *exec)
{
    ctn_doorbell_close(&exec->doorbell);
    ctn_pool_drop(&exec->pool);
    while (exec->deferred_frees != NULL) {
        ctn_deferred_free_t *deferred = exec->deferred_frees;
        exec->deferred_frees = deferred->next;
        free(deferred->block);
        free(deferred);
    }
    while (exec->attachments != NULL) {
        ctn_exec_attachment_t *attachment = exec->attachments;
        exec->attachments = attachment->next;
        attachment->release(exec, attachment);
    }
    ctn_staging_release(exec);
    ctn_hash_map_drop(&exec->endpoints);
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

/* ---- operations ---- */

ctn_op_t *ctn_op_create(ctn_exec_t *exec, const ctn_algorithm_t *algorithm,
                        ctn_sequence_t *sequence)
{
    assert(algorithm->state_bytes <= CTN_OP_STATE_BYTES);
    ctn_op_t *op = ctn_pool_get(&exec->pool, sizeof(*op), 1);
    if (op == NULL) {
        return NULL;
    }
    memset(op, 0, offsetof(ctn_op_t, memory));
    memset(op->memory, 0, algorithm->state_bytes);
    op->algorithm = algorithm;
    op->exec = exec;
    op->sequence = sequence;
    op->waits_for = -1;
    return op;
}

static const ctn_phase_t no_phases[] = {{NULL, NULL}};

static const ctn_algorithm_t empty_algorithm = {
    .name = "nothing",
    .phases = no_phases,
};

ctn_op_t *ctn_op_create_empty(ctn_exec_t *exec)
{
    return ctn_op_create(exec, &empty_algorithm, NULL);
}

void ctn_op_release(ctn_op_t *op)
{
    assert(op->state == CTN_OP_INACTIVE || op->state == CTN_OP_DONE);
    if (op->algorithm->release != NULL) {
        op->algorithm->release(op);
    }
    ctn_pool_put(&op->exec->pool, op);
}

CTN_HOT void ctn_op_set_network(ctn_op_t *op, bool network)
{
    op->exec->network_waits += (unsigned)network - (unsigned)op->network;
    op->network = network;
}

/** @param list exec->active or exec->background */
CTN_HOT static void op_activate(ctn_op_t *op, ctn_op_t **list)
{
    op->state = CTN_OP_ACTIVE;
    CTN_LIST_PUSH(list, op);
}

/** Mark an operation as complete in its sequence. */
CTN_HOT static void sequence_completed(ctn_sequence_t *sequence,
                                       const ctn_op_t *op)
{
    if (op->algorithm->synchronizing && sequence->synchronized <= op->seq) {
        sequence->synchronized = op->seq + 1;
    }
    sequence->done_mask =
        (uint8_t)(sequence->done_mask | 1u << (op->seq - sequence->complete));
    while (sequence->done_mask & 1u) {
        sequence->done_mask >>= 1;
        sequence->complete++;
    }
}

/** Activate the queued operations that may run, in start order. */
CTN_HOT static void sequence_activate(ctn_sequence_t *sequence)
{
    while (sequence->queue != NULL &&
           ctn_sequence_may_run(sequence, sequence->queue->seq)) {
        ctn_op_t *op = sequence->queue;
        sequence->queue = op->next;
        if (sequence->queue == NULL) {
            sequence->queue_end = &sequence->queue;
        }
        if (ctn_epoch_place(op->seq) < CTN_EPOCH_BARRIERS) {
            ctn_sequence_zero_old(op->exec, sequence, op->seq);
        }
        op_activate(op, &op->exec->active);
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

void ctn_sequence_open(ctn_sequence_t *sequence, unsigned flight)
{
    sequence->flight = (uint8_t)flight;
    sequence_activate(sequence);
}

/** End an operation: it is DONE, and the next queued ones begin. */
CTN_HOT static void op_finish(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    ctn_op_set_network(op, false);
    CTN_LIST_REMOVE(op->background ? &exec->background : &exec->active, op);
    op->waits_for = -1;
    if (op->algorithm->finish != NULL) {
        op->algorithm->finish(op);
    }
    op->state = CTN_OP_DONE;
    ctn_sequence_t *sequence = op->sequence;
    if (op->status == CATENA_ERR_NO_MEMORY && sequence != NULL &&
        sequence->brittle && !op->clean) {
        (void)ctn_exec_abort(exec, op->status);
    }
    op->status = ctn_exec_result(exec, op->status);
    if (sequence != NULL) {
        sequence_completed(sequence, op);
    }
    if (sequence != NULL) {
        sequence_activate(sequence);
    }
    if (op->detached) { /* its release may free the sequence */
        sequence->detached--;
        exec->background_done += op->background;
        ctn_op_release(op);
    }
}

/** If the child of an operation is done, take its status and release it. Exec
 * advances the child as every active operation. False: it is not done. */
static bool child_done(ctn_op_t *op)
{
    ctn_op_t *child = op->child;
    if (child->state != CTN_OP_DONE) {
        return false;
    }
    if (op->status == CATENA_OK) {
        op->status = child->status;
    }
    op->child = NULL;
    ctn_op_release(child);
    return true;
}

/** Run an active operation as far as possible. True: there was progress. */
CTN_HOT static bool run_phases(ctn_op_t *op)
{
    bool moved = false;
    if (op->exec->status != CATENA_OK) {
        op->status = op->exec->status;
    } else if (op->held) {
        return false;
    }
    for (;;) {
        if (op->child != NULL) {
            if (!child_done(op)) {
                return moved;
            }
            moved = true;
        }
        if (op->status != CATENA_OK) {
            break;
        }
        const ctn_phase_t *phase = &op->algorithm->phases[op->phase];
        if (phase->run == NULL) {
            break;
        }
        switch (phase->run(op)) {
        case CTN_STEP_WAIT:
            return moved;
        case CTN_STEP_NEXT:
            op->phase++;
            break;
        case CTN_STEP_MOVED:
        case CTN_STEP_FAIL:
            break;
        }
        moved = true;
    }
    /* The operation ends when the transport has completed its puts, whose
     * sources must not change before. After an error of the network no put is
     * completed any more. */
    if (op->pending != 0 && op->exec->status == CATENA_OK) {
        ctn_op_set_network(op, true);
        return moved;
    }
    op_finish(op);
    return true;
}

/** The same, and wake the ranks of the node for which it has stored words. */
CTN_HOT static bool op_advance(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec; /* the operation may be freed below */
    bool moved = run_phases(op);
    ctn_exec_wake(exec);
    return moved;
}

/** Advance the network; true: there was an event. */
static bool progress_network(ctn_exec_t *exec)
{
    if (exec->network == NULL) {
        return false;
    }
    int result = exec->network->ops->progress(exec->network);
    if (result < 0 && exec->virtual_time && exec->status == CATENA_OK) {
        /* The simulator notifies all ranks. */
        exec->status = (catena_status_t)result;
    } else if (result < 0) {
        (void)ctn_exec_abort(exec, (catena_status_t)result);
    }
    return result != 0;
}

/** Give an operation its number, and queue it. */
CTN_HOT static void enqueue(ctn_sequence_t *sequence, ctn_op_t *op)
{
    op->seq = sequence->started++;
    op->state = CTN_OP_QUEUED;
    *sequence->queue_end = op;
    sequence->queue_end = &op->next;
    sequence->unsynchronized =
        (uint8_t)(op->algorithm->synchronizing ? 0
                                               : sequence->unsynchronized + 1);
}

/** Queue a generation barrier or an epoch barrier. False: no memory. */
static bool insert_barrier(ctn_sequence_t *sequence, ctn_exec_t *exec)
{
    ctn_op_t *barrier = sequence->hooks->make_barrier(exec, sequence);
    if (barrier == NULL) {
        return false;
    }
    barrier->detached = true;
    sequence->detached++;
    enqueue(sequence, barrier);
    return true;
}

static bool insert_epoch_barriers(ctn_sequence_t *sequence, ctn_exec_t *exec)
{
    bool inserted = true;
    while (inserted && ctn_sequence_epoch_due(sequence)) {
        inserted = insert_barrier(sequence, exec);
    }
    return inserted;
}

/** Queue the barriers that have to precede `op`, if any. All ranks start the
 * same operations in the same order, so they insert barriers at the same
 * places. False: no memory. */
CTN_HOT static bool insert_barriers(ctn_sequence_t *sequence,
                                    const ctn_op_t *op)
{
    if (ctn_sequence_epoch_due(sequence)) {
        return insert_epoch_barriers(sequence, op->exec);
    }
    if (!ctn_sequence_barrier_due(sequence) || op->algorithm->synchronizing ||
        sequence->hooks == NULL) {
        return true;
    }
    return insert_barrier(sequence, op->exec) &&
           insert_epoch_barriers(sequence, op->exec);
}

CTN_HOT void ctn_op_start(ctn_op_t *op)
{
    assert(op->state == CTN_OP_INACTIVE || op->state == CTN_OP_DONE);
    op->phase = 0;
    op->pending = 0;
    op->clean = false;
    op->status = CATENA_OK;
    op->waits_for = -1;
    op->next = NULL;
    if (op->exec->virtual_time) {
        /* A simulated rank that never waits would not see its own failure. */
        (void)progress_network(op->exec);
    }
    ctn_sequence_t *sequence = op->sequence;
    if (sequence == NULL) {
        op_activate(op, &op->exec->active);
        (void)op_advance(op);
        return;
    }
    if (!insert_barriers(sequence, op)) {
        /* The numbers differ from those of other ranks now. */
        op->status = ctn_exec_abort(op->exec, CATENA_ERR_NO_MEMORY);
        op->state = CTN_OP_DONE;
        return;
    }
    enqueue(sequence, op);
    sequence_activate(sequence);
    if (op->state == CTN_OP_ACTIVE) {
        (void)op_advance(op);
    }
}

void ctn_op_start_held(ctn_op_t *op)
{
    op->held = true;
    ctn_op_start(op);
}

void ctn_op_start_detached(ctn_op_t *op)
{
    op->detached = true;
    op->sequence->detached++;
    ctn_op_start(op);
}

void ctn_op_start_background(ctn_op_t *op, bool detached)
{
    op->background = true;
    op->detached = detached;
    op->sequence->detached += detached;
    op->seq = op->sequence->started++;
    op_activate(op, &op->exec->background);
    (void)progress_network(op->exec);
    (void)ctn_exec_poll_background(op->exec);
}

ctn_step_t ctn_op_call(ctn_op_t *op, ctn_op_t *child)
{
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    op->child = child;
    ctn_op_start(child);
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_op_jump(ctn_op_t *op, unsigned index)
{
    op->phase = index;
    return CTN_STEP_MOVED;
}

ctn_step_t ctn_op_become(ctn_op_t *op, const ctn_algorithm_t *algorithm)
{
    assert(algorithm->synchronizing == op->algorithm->synchronizing);
    assert(algorithm->state_bytes <= CTN_OP_STATE_BYTES);
    op->algorithm = algorithm;
    op->phase = 0;
    return CTN_STEP_MOVED;
}

ctn_step_t ctn_op_fail(ctn_op_t *op, catena_status_t status)
{
    op->status = status;
    return CTN_STEP_FAIL;
}

void ctn_op_describe(const ctn_op_t *op, char *text, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    if (op->state != CTN_OP_ACTIVE) {
        /* In the order of ctn_op_state_t. */
        static const char *const states[] = {"inactive", "queued", "active",
                                             "complete"};
        snprintf(text, bytes, "%s: %s", op->algorithm->name, states[op->state]);
        return;
    }
    const char *phase = op->algorithm->phases[op->phase].name;
    char peer[48] = "";
    if (op->waits_for >= 0) {
        snprintf(peer, sizeof(peer), ", waits for rank %lld",
                 (long long)op->waits_for);
    }
    int n = snprintf(text, bytes, "%s: %s%s", op->algorithm->name,
                     phase != NULL ? phase : "completing", peer);
    if (op->child != NULL && n > 0 && (size_t)n + 2 < bytes) {
        snprintf(text + n, bytes - (size_t)n, ", in ");
        size_t used = strlen(text);
        ctn_op_describe(op->child, text + used, bytes - used);
    }
}

/* ---- progress ---- */

/** Advance every active operation; true: there was progress. */
CTN_HOT static bool progress_operations(ctn_exec_t *exec)
{
    exec->spin_polls = 0;
    bool moved = false;
    ctn_op_t *op = exec->active;
    while (op != NULL) {
        ctn_op_t *next = op->next;
        bool had_child = op->child != NULL;
        if (op_advance(op)) {
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

CTN_COLD bool ctn_exec_poll_background(ctn_exec_t *exec)
{
    bool moved = false;
    for (ctn_op_t *op = exec->background, *next; op != NULL; op = next) {
        next = op->next;
        if (op->algorithm->ready(op) && op_advance(op)) {
            moved = true;
        }
    }
    return moved;
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
        bool moved = progress_network(exec);
        if (ctn_exec_poll_background(exec) || moved) {
            last_progress = ctn_exec_time(exec);
        } else if (ctn_exec_time(exec) - last_progress > reclaim_ns(exec)) {
            break;
        } else {
            ctn_exec_pass_time(exec);
        }
    }
    bool freed = exec->background_done != background_done;
    for (ctn_exec_attachment_t *attachment = exec->attachments;
         attachment != NULL; attachment = attachment->next) {
        freed |= attachment->reclaim != NULL &&
                 attachment->reclaim(exec, attachment);
    }
    return freed;
}

bool ctn_exec_poll(ctn_exec_t *exec)
{
    bool moved = progress_network(exec);
    if (exec->background != NULL) {
        moved |= ctn_exec_poll_background(exec);
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
    if (!ctn_exec_poll(exec)) {
        ctn_exec_pass_time(exec);
    }
    return exec->status;
}

/** The second half of an iteration of a wait: progress the network if it is
 * time for that, and idle if nothing has moved.
 * @param moved whether the first half, a poll of all operations, made progress
 */
CTN_HOT_POLL static void wait_on(ctn_exec_t *exec, ctn_backoff_t *backoff,
                                 bool moved)
{
    /* Progressing the network costs system calls. So it is progressed after
     * every poll only if an operation waits for it, else after every eighth. */
    if (exec->network_waits > 0 || backoff->misses % 8 == 7 ||
        exec->virtual_time) {
        moved |= progress_network(exec);
        if (exec->background != NULL) {
            moved |= ctn_exec_poll_background(exec);
        }
    }
    if (moved) {
        *backoff = (ctn_backoff_t){0};
    } else {
        ctn_exec_idle(exec, backoff);
    }
}

CTN_HOT catena_status_t ctn_op_wait(ctn_op_t *op)
{
    ctn_backoff_t backoff = {0};
    while (op->state != CTN_OP_DONE) {
        bool moved = progress_operations(op->exec);
        if (op->state != CTN_OP_DONE) {
            wait_on(op->exec, &backoff, moved);
        }
    }
    return op->status;
}

CTN_HOT_POLL bool ctn_inline_wait(ctn_exec_t *exec, ctn_backoff_t *backoff)
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
        status = transport->ops->flush(transport, &pending);
    }
    while (status == CATENA_OK && pending != 0) {
        if (!ctn_exec_poll(exec)) {
            ctn_exec_idle(exec, &backoff);
        }
        status = exec->status;
    }
    return status;
}

void ctn_exec_deliver(ctn_exec_t *exec)
{
    if (exec->virtual_time) {
        (void)ctn_exec_flush(exec, exec->local);
    }
}

catena_status_t ctn_op_run(ctn_exec_t *exec, ctn_op_t *op)
{
    if (op == NULL) {
        return ctn_exec_result(exec, CATENA_ERR_NO_MEMORY);
    }
    ctn_op_start(op);
    catena_status_t status = ctn_op_wait(op);
    ctn_op_release(op);
    return status;
}
