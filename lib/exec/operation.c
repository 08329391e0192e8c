/* Operations: their pool, how they are numbered, queued, run and ended. */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/handle.h"
#include "core/list.h"
#include "exec/deaths.h"
#include "exec/observe.h"

ctn_op_t *ctn_op_take(ctn_exec_t *exec, const ctn_algorithm_t *algorithm,
                      ctn_sequence_t *sequence)
{
    assert(algorithm->state_bytes <= CTN_OP_STATE_BYTES);
#ifdef NDEBUG
    enum { TOGETHER = 1 };
#else
    enum { TOGETHER = 8 }; /* so that one is not used again at once */
#endif
    ctn_op_t *op = ctn_pool_get(&exec->pool, sizeof(*op), TOGETHER);
    if (op == NULL) {
        return NULL;
    }
    CTN_MARK_SET(op, CTN_REQUEST);
    op->exec = exec;
    op->sequence = sequence;
    op->seq = 0;
    op->algorithm = algorithm;
    op->pending = 0;
    op->waits_for = -1;
    op->status = CATENA_OK;
    op->state = CTN_OP_INACTIVE;
    op->phase = 0;
    op->recorded = 0;
    op->persistent = op->detached = op->network = op->held = op->clean =
        op->background = op->linked = op->staged = false;
    return op;
}

ctn_op_t *ctn_op_create(ctn_exec_t *exec, const ctn_algorithm_t *algorithm,
                        ctn_sequence_t *sequence)
{
    ctn_op_t *op = ctn_op_take(exec, algorithm, sequence);
    if (op != NULL) {
        memset(op->memory, 0, algorithm->state_bytes);
    }
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
    if (op->persistent) {
        op->owned = NULL;
        op->dispose = NULL;
        op->start = op->wait = NULL;
        op->initialized.scope = CTN_SCOPE_NONE;
    }
    if (op->exec->deaths != NULL) {
        op->failure = NULL;
    }
    if (op->exec->observer != NULL) {
        op->observed = 0;
    }
    CTN_MARK_SET(op, CTN_FREED);
    ctn_pool_return(&op->exec->pool, op);
}

void ctn_op_set_network(ctn_op_t *op, bool network)
{
    op->exec->network_waits += (unsigned)network - (unsigned)op->network;
    op->network = network;
}

static ctn_op_t **list_of(const ctn_op_t *op)
{
    return op->background ? &op->exec->background : &op->exec->active;
}

/** From now on exec advances the operation in each poll. */
static void op_link(ctn_op_t *op)
{
    op->linked = true;
    CTN_LIST_PUSH(list_of(op), op);
}

static void op_unlink(ctn_op_t *op)
{
    op->linked = false;
    if (op->exec->background_next == op) {
        op->exec->background_next = op->next;
    }
    CTN_LIST_REMOVE(list_of(op), op);
}

/** Mark an operation as complete in its sequence. */
static void sequence_completed(ctn_sequence_t *sequence, const ctn_op_t *op)
{
    if (op->algorithm->synchronizing && sequence->synchronized <= op->seq) {
        sequence->synchronized = op->seq + 1;
    }
    if (op->seq == sequence->complete && sequence->done_mask == 0) {
        sequence->complete++;
        return;
    }
    sequence->done_mask =
        (uint8_t)(sequence->done_mask | 1u << (op->seq - sequence->complete));
    while (sequence->done_mask & 1u) {
        sequence->done_mask >>= 1;
        sequence->complete++;
    }
}

/** The generation of an operation is free. */
static void op_activate(ctn_op_t *op)
{
    if (ctn_epoch_place(op->seq) < CTN_EPOCH_BARRIERS) {
        ctn_sequence_zero_old(op->exec, op->sequence, op->seq);
    }
    op->state = CTN_OP_ACTIVE;
}

/** Activate the queued operations that may run, in start order. */
static void sequence_activate(ctn_sequence_t *sequence)
{
    while (sequence->queue != NULL &&
           ctn_sequence_may_run(sequence, sequence->queue->seq)) {
        ctn_op_t *op = sequence->queue;
        sequence->queue = op->next;
        if (sequence->queue == NULL) {
            sequence->queue_end = &sequence->queue;
        }
        op_activate(op);
        op_link(op);
    }
}
void ctn_sequence_open(ctn_sequence_t *sequence, unsigned flight)
{
    sequence->flight = (uint8_t)flight;
    sequence_activate(sequence);
}

static bool run_phases(ctn_op_t *op);

/** Let the parent go on, which takes the status of the operation and releases
 * it. */
static void continue_parent(ctn_op_t *op)
{
    ctn_op_t *parent = op->parent;
    op->parent = NULL;
    (void)run_phases(parent);
}

/** Tell whoever made the operation that it has ended, and the recorder. */
static inline void call_ended(ctn_op_t *op)
{
    if (op->recorded != 0) {
        ctn_recorder_op_ended(op);
    }
    if (op->ended != NULL) {
        void (*ended)(ctn_op_t *) = op->ended;
        op->ended = NULL;
        ended(op);
    }
}

/** Call the algorithm's `finish`. If the group has failed, gets of other
 * members may still be under way, so the operation's memory stays, as the
 * group's. */
static inline void finish(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    bool keeps = exec->keeps_memory;
    exec->keeps_memory =
        keeps || (exec->deaths != NULL && ctn_op_must_stop(op));
    op->algorithm->finish(op);
    exec->keeps_memory = keeps;
}

/** This rank had no memory for the operation: without it the members of a
 * brittle sequence cannot go on, so the group fails, before memory that they
 * read is freed. Otherwise this call alone fails; an operation without a number
 * tells others itself. */
static void lack_memory(const ctn_op_t *op)
{
    if (op->sequence == NULL) {
        return;
    }
    if (op->sequence->brittle && !op->clean) {
        (void)ctn_op_give_up(op, CATENA_ERR_NO_MEMORY);
    } else {
        ctn_error(op->exec->log,
                  "%s: no memory for the part of this rank, so this call "
                  "fails; free memory, or raise the limit",
                  op->call != NULL ? op->call : op->algorithm->name);
    }
}

/** The operation is DONE, the next queued ones begin, and its parent goes on.
 * It may be freed. */
static void op_finish(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    if (op->network) {
        ctn_op_set_network(op, false);
    }
    if (op->linked) {
        op_unlink(op);
        op->waits_for = -1;
    }
    if (op->status == CATENA_ERR_NO_MEMORY) {
        lack_memory(op);
    }
    if (op->algorithm->finish != NULL) {
        finish(op);
    }
    if (exec->observer != NULL) {
        ctn_observe_op_end(op);
    }
    if (op->staged) {
        op->staged = false;
        ctn_staging_trim(exec);
    }
    op->state = CTN_OP_DONE;
    ctn_sequence_t *sequence = op->sequence;
    if (op->status != CATENA_OK) {
        op->status = ctn_exec_result(exec, op->status);
    }
    if (sequence != NULL) {
        sequence_completed(sequence, op);
        if (sequence->queue != NULL) {
            sequence_activate(sequence);
        }
    }
    call_ended(op);
    if (op->detached) { /* its release may free the sequence */
        sequence->detached--;
        exec->background_done += op->background;
        ctn_op_release(op);
    } else if (op->parent != NULL) {
        continue_parent(op);
    }
}

/** If the child of an operation is done, take its status and release it. Exec
 * advances the child as every active operation. False: it is not done; when it
 * is, an operation that no poll finds goes on. */
static bool child_done(ctn_op_t *op)
{
    ctn_op_t *child = op->child;
    if (child->state != CTN_OP_DONE) {
        child->parent = op->linked ? NULL : op;
        return false;
    }
    if (op->status == CATENA_OK) {
        op->status = child->status;
    }
    op->child = NULL;
    ctn_op_release(child);
    return true;
}

/** The operation waits, so polls must find it. @return moved */
static inline bool op_waits(ctn_op_t *op, bool moved)
{
    if (!op->linked) {
        op_link(op);
    }
    return moved;
}

/** Whether staging buffers of the operation are still sent, and other ranks may
 * wait for them. After an error the operation may still hold some that it will
 * not send. */
static inline bool has_staged(const ctn_op_t *op)
{
    return op->staged && (op->status == CATENA_OK || op->clean) &&
           ctn_staging_busy(op);
}

/** Whether the network still reads memory of the operation, or writes to its
 * counters of that. */
static inline bool is_sending(const ctn_op_t *op)
{
    return op->pending != 0 || has_staged(op) ||
           (op->status != CATENA_OK && op->algorithm->is_sending != NULL &&
            op->algorithm->is_sending(op));
}

/** Where failures are returned: whether an operation that has failed may end.
 * Other ranks may access its memory until all of its group have stopped. */
CTN_COLD static bool may_end_failed(ctn_op_t *op)
{
    ctn_failure_t *failure = ctn_op_failure(op);
    if (failure == NULL) {
        return true;
    }
    if (op->status == CATENA_ERR_NO_MEMORY && !op->clean &&
        op->sequence != NULL && op->sequence->brittle) {
        (void)ctn_op_give_up(op, CATENA_ERR_NO_MEMORY);
    }
    if (failure->status == CATENA_OK) {
        /* A message could not be sent: the death will be reported. */
        return op->status != CATENA_ERR_PEER;
    }
    if (op->status == CATENA_ERR_PEER) {
        op->status = failure->status;
    }
    if (!failure->stopped(failure)) {
        return false;
    }
    if (op->status == failure->status) {
        failure->explain(failure);
    }
    return true;
}

/** Whether the operations of the group have failed: then this one has the
 * status, too, unless it has failed before. */
static inline bool has_failed(ctn_op_t *op)
{
    if (op->exec->deaths == NULL || !ctn_op_must_stop(op)) {
        return false;
    }
    if (op->status == CATENA_OK) {
        op->status = ctn_op_failure(op)->status;
    }
    return true;
}

/** All phases are over. True: the operation is, too. */
static inline bool end_phases(ctn_op_t *op)
{
    if (op->exec->deaths != NULL && op->exec->status == CATENA_OK &&
        (op->status != CATENA_OK || has_failed(op)) && !may_end_failed(op)) {
        return op_waits(op, false);
    }
    /* The operation ends when the transport has completed its puts, whose
     * sources must not change before, and which leave staging buffers only
     * while this rank polls the network. After an error of the network no put
     * is completed any more. */
    if (op->exec->status == CATENA_OK && is_sending(op)) {
        ctn_op_set_network(op, true);
        return op_waits(op, false);
    }
    if (op->status == CATENA_OK) {
        op->status = op->exec->status; /* some data may not be there */
    }
    op_finish(op);
    return true;
}

/** Run an active operation as far as possible. It may be freed. True: there was
 * progress. */
static bool run_phases(ctn_op_t *op)
{
    bool moved = false;
    if (op->exec->status != CATENA_OK) {
        op->status = op->exec->status;
    } else if (has_failed(op)) {
        /* its status is set */
    } else if (op->held) {
        return op_waits(op, false);
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
        if (op->exec->observer != NULL) {
            ctn_observe_phase(op, phase);
        }
        switch (phase->run(op)) {
        case CTN_STEP_WAIT:
            return op_waits(op, moved);
        case CTN_STEP_DONE:
            return end_phases(op) || moved;
        case CTN_STEP_NEXT:
            op->phase++;
            break;
        case CTN_STEP_MOVED:
        case CTN_STEP_FAIL:
            break;
        }
        moved = true;
    }
    return end_phases(op) || moved;
}

void ctn_op_began(ctn_op_t *op, unsigned phase)
{
    op->state = CTN_OP_ACTIVE;
    op->phase = (uint8_t)phase;
    op_link(op);
    ctn_exec_wake(op->exec);
}

void ctn_op_end(ctn_op_t *op, catena_status_t status)
{
    op->status = status;
    op_finish(op);
}

bool ctn_op_advance(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec; /* the operation may be freed below */
    bool watched = exec->deaths != NULL;
    if (watched) {
        ctn_deaths_enter(exec);
    }
    bool moved = run_phases(op);
    if (watched) {
        ctn_deaths_exit(exec);
    }
    ctn_exec_wake(exec);
    return moved;
}
/** Give an operation its number. Run it at once if it may run, else queue it.
 */
static inline void op_enter(ctn_sequence_t *sequence, ctn_op_t *op)
{
    op->seq = sequence->started++;
    sequence->unsynchronized =
        (uint8_t)(op->algorithm->synchronizing ? 0
                                               : sequence->unsynchronized + 1);
    if (sequence->queue == NULL && ctn_sequence_may_run(sequence, op->seq)) {
        op_activate(op);
        (void)ctn_op_advance(op);
        return;
    }
    op->state = CTN_OP_QUEUED;
    op->next = NULL;
    *sequence->queue_end = op;
    sequence->queue_end = &op->next;
}

/** Start a generation barrier or an epoch barrier before `op`. It fails with
 * the group of `op`, also where the sequence has no failure of its own. False:
 * no memory. */
static bool insert_barrier(ctn_sequence_t *sequence, const ctn_op_t *op)
{
    ctn_op_t *barrier = sequence->hooks->make_barrier(op->exec, sequence);
    if (barrier == NULL) {
        return false;
    }
    if (op->exec->deaths != NULL && barrier->failure == NULL) {
        barrier->failure = ctn_op_failure(op);
    }
    barrier->detached = true;
    sequence->detached++;
    op_enter(sequence, barrier);
    return true;
}

static bool insert_epoch_barriers(ctn_sequence_t *sequence, const ctn_op_t *op)
{
    bool inserted = true;
    while (inserted && ctn_sequence_epoch_due(sequence)) {
        inserted = insert_barrier(sequence, op);
    }
    return inserted;
}

/** Start the barriers that have to precede `op`, if any. All ranks start the
 * same operations in the same order, so they insert barriers at the same
 * places. False: no memory. */
static inline bool insert_barriers(ctn_sequence_t *sequence, const ctn_op_t *op)
{
    if (ctn_sequence_epoch_due(sequence)) {
        return insert_epoch_barriers(sequence, op);
    }
    if (!ctn_sequence_barrier_due(sequence) || op->algorithm->synchronizing ||
        sequence->hooks == NULL) {
        return true;
    }
    return insert_barrier(sequence, op) && insert_epoch_barriers(sequence, op);
}

CTN_COLD bool ctn_sequence_take_pages(ctn_exec_t *exec,
                                      ctn_sequence_t *sequence)
{
    if (!ctn_heap_take(exec->heap, sequence->slots,
                       (size_t)sequence->sparse_pages * 4096)) {
        return false;
    }
    sequence->sparse_pages = 0;
    return true;
}

/** End an operation that gets no number, for want of memory: the numbers differ
 * from those of other ranks now. Others may depend on its `finish`: requests
 * wait for the operation that makes their duplicate of the group. It may be
 * freed. */
CTN_COLD static void end_unnumbered(ctn_op_t *op)
{
    op->status = ctn_op_give_up(op, CATENA_ERR_NO_MEMORY);
    if (op->algorithm->finish != NULL) {
        finish(op);
    }
    op->state = CTN_OP_DONE;
    call_ended(op);
    if (op->detached) {
        op->sequence->detached--;
        ctn_op_release(op);
    }
}

void ctn_op_start(ctn_op_t *op)
{
    assert(op->state == CTN_OP_INACTIVE || op->state == CTN_OP_DONE);
    if (op->persistent) { /* others are new */
        op->phase = 0;
        op->pending = 0;
        op->clean = false;
        op->status = CATENA_OK;
        op->waits_for = -1;
    }
    if (op->exec->virtual_time) {
        /* A simulated rank that never waits would not see its own failure. */
        (void)ctn_exec_progress_network(op->exec);
    }
    ctn_sequence_t *sequence = op->sequence;
    if (sequence == NULL) {
        op->state = CTN_OP_ACTIVE;
        (void)ctn_op_advance(op);
        return;
    }
    if (!ctn_sequence_take(op->exec, sequence) ||
        !insert_barriers(sequence, op)) {
        end_unnumbered(op);
        return;
    }
    op_enter(sequence, op);
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
    op->state = CTN_OP_ACTIVE;
    ctn_exec_t *exec = op->exec; /* the operation may be freed below */
    op_link(op);
    (void)ctn_exec_progress_network(exec);
    if (op->algorithm->ready(op)) {
        (void)ctn_op_advance(op);
    }
    (void)ctn_exec_poll_background_batch(exec);
}

ctn_step_t ctn_op_call(ctn_op_t *op, ctn_op_t *child)
{
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    op->child = child;
    if (op->exec->deaths != NULL) {
        child->failure = ctn_op_failure(op);
    }
    ctn_op_start(child);
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_op_need(ctn_op_t *op, ctn_built_t *built, void *what,
                       const ctn_algorithm_t *algorithm)
{
    if (*built == CTN_BUILT) {
        return CTN_STEP_NEXT;
    }
    if (*built == CTN_BUILDING || !ctn_op_is_oldest(op)) {
        return CTN_STEP_WAIT;
    }
    ctn_op_t *child = ctn_op_create(op->exec, algorithm, NULL);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    *(ctn_build_t *)ctn_op_state(child) = (ctn_build_t){what, built};
    *built = CTN_BUILDING;
    /* MOVED instead of NEXT: this phase runs again when the child is done. */
    (void)ctn_op_call(op, child);
    return CTN_STEP_MOVED;
}

void ctn_build_finish(ctn_op_t *op)
{
    const ctn_build_t *build = ctn_op_state(op);
    if (*build->built != CTN_BUILT) {
        *build->built = CTN_NEW;
    }
    /* Other members wait for this one, unless the group has no others. */
    if (op->status == CATENA_ERR_NO_MEMORY && !op->clean) {
        (void)ctn_op_give_up(op, CATENA_ERR_NO_MEMORY);
    }
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
    int n =
        snprintf(text, bytes, "%s%s%s: %s%s", op->call != NULL ? op->call : "",
                 op->call != NULL ? "/" : "", op->algorithm->name,
                 phase != NULL ? phase : "completing", peer);
    if (op->child != NULL && n > 0 && (size_t)n + 2 < bytes) {
        snprintf(text + n, bytes - (size_t)n, ", in ");
        size_t used = strlen(text);
        ctn_op_describe(op->child, text + used, bytes - used);
    }
}
