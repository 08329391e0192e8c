/* The engine that runs the compositions HIER-1 to HIER-10; see ml.h. Graham,
 * Ladd, Gorentla Venkata: Hierarchy Aware Blocking and Nonblocking Collective
 * Communications, the Effects of Shared Memory in the Cray XT environment, CUG
 * 2011, section 3. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "coll/ml/ml.h"

/** Memory that a composition took for one run of its operation. An entry of the
 * list ml->kept. */
typedef struct ctn_kept {
    struct ctn_kept *next;
    void *scratch; /* memory of ctn_ml_scratch, in the shared heap; or NULL */
    size_t scratch_bytes;
    _Alignas(16) unsigned char memory[]; /* memory of ctn_ml_keep */
} ctn_kept_t;

/* ---- for compositions ---- */

void ctn_ml_cut(ctn_ml_t *ml, size_t bytes, size_t unit)
{
    size_t longest =
        ctn_ml_longest(ml->hierarchy, ml->call.composition->single_level_kind,
                       ctn_ml_size(ml));
    size_t most = longest - longest % unit;
    ml->chunk_bytes = bytes < most ? bytes : most;
    ml->chunks = bytes > 0 ? (bytes - 1) / ml->chunk_bytes + 1 : 0;
}

static ctn_task_t *add(ctn_chunk_t *chunk)
{
    assert(chunk->tasks < CTN_TASKS);
    ctn_task_t *task = &chunk->task[chunk->tasks++];
    memset(task, 0, sizeof(*task));
    return task;
}

ctn_task_t *ctn_ml_add(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                       ctn_basic_kind_t kind)
{
    ctn_task_t *task = add(chunk);
    task->module = ml->hierarchy->level[level];
    task->kind = kind;
    task->basic.call = ml->call.composition->collective->name;
    task->basic.by = ml->call.by;
    task->basic.algorithm = ml->algorithm;
    task->basic.blocking = ml->call.blocking;
    task->basic.balanced = ml->call.balanced;
    task->basic.serial = ml->call.serial;
    task->basic.chunks = (uint32_t)ml->chunks;
    return task;
}

ctn_task_t *ctn_ml_add_vector(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                              ctn_basic_kind_t kind, const void *in, void *out)
{
    ctn_task_t *task = ctn_ml_add(ml, chunk, level, kind);
    task->basic.in = in;
    task->basic.out = out;
    task->basic.bytes = ctn_ml_bytes(ml, chunk);
    return task;
}

void ctn_ml_add_up(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                   const unsigned char *in, unsigned char *results)
{
    (void)ctn_ml_add_vector(ml, chunk, level, CTN_REDUCE,
                            level == 0 ? in : results,
                            ctn_ml_sbgp(ml, level)->me == 0 ? results : NULL);
}

void ctn_ml_add_down(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_basic_kind_t kind,
                     void *memory, size_t bytes)
{
    ctn_ml_down(chunk);
    for (unsigned level = ctn_ml_levels(ml); level-- > 0;) {
        if (!ctn_ml_is_top(ml, level)) {
            ctn_basic_coll_t *basic =
                &ctn_ml_add(ml, chunk, level, kind)->basic;
            basic->in = basic->out = memory;
            basic->bytes = bytes;
        }
    }
}

void ctn_ml_add_local(ctn_chunk_t *chunk, ctn_local_step_t step)
{
    add(chunk)->before = step;
}

void *ctn_ml_keep(ctn_ml_t *ml, size_t bytes)
{
    ctn_kept_t *kept = bytes <= SIZE_MAX - sizeof(*kept)
                           ? malloc(sizeof(*kept) + bytes)
                           : NULL;
    if (kept == NULL) {
        return NULL;
    }
    kept->next = ml->kept;
    kept->scratch = NULL;
    ml->kept = kept;
    return kept->memory;
}

void *ctn_ml_scratch(ctn_ml_t *ml, size_t bytes)
{
    if (ctn_ml_keep(ml, 0) == NULL) {
        return NULL;
    }
    ml->kept->scratch = ctn_scratch_alloc(ml->exec, bytes);
    ml->kept->scratch_bytes = bytes;
    return ml->kept->scratch;
}

void ctn_ml_fold(ctn_ml_t *ml, const void *left, const void *right, void *out,
                 size_t bytes)
{
    ctn_exec_charge(ml->exec, CTN_WORK_REDUCE, bytes);
    if (!ml->exec->drop_data) {
        ctn_reduce(&ml->call.by, left, right, out, bytes);
    }
}

/* ---- packing ---- */

/** Whether this rank has data of a vector, or a result, to be packed. */
static bool has_data(const ctn_ml_t *ml)
{
    return ml->call.composition->single_level_kind != CTN_BCAST ||
           ctn_ml_rank(ml) == ml->call.root;
}

static bool has_result(const ctn_ml_t *ml)
{
    switch (ml->call.composition->single_level_kind) {
    case CTN_BCAST:
        return ctn_ml_rank(ml) != ml->call.root;
    case CTN_EXSCAN:
        return ctn_ml_rank(ml) > 0;
    default:
        return ml->call.out.type != NULL;
    }
}

static void pack(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    ctn_span_read(ml->exec, &ml->call.in, ctn_ml_from(ml, chunk),
                  ctn_ml_bytes(ml, chunk), ctn_ml_in(ml, chunk));
}

static void unpack(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    if (ml->status == CATENA_OK) {
        ctn_span_write(ml->exec, &ml->call.out, ctn_ml_from(ml, chunk),
                       ctn_ml_bytes(ml, chunk), ctn_ml_out(ml, chunk));
    }
}

/** Add the tasks of a chunk. */
static void add_tasks(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    bool packs = ctn_ml_packs(ml);
    if (packs && has_data(ml)) {
        ctn_ml_add_local(chunk, pack);
    }
    ml->call.composition->compose(ml, chunk);
    if (packs && has_result(ml)) {
        ctn_ml_add_local(chunk, unpack);
    }
}

/* ---- tasks ---- */

void ctn_ml_give_up(ctn_ml_t *ml)
{
    catena_status_t status =
        ctn_group_give_up(ml->call.group, CATENA_ERR_NO_MEMORY);
    ml->status = ml->status == CATENA_OK ? status : ml->status;
    ml->given_up = true;
}

/** Whether a chunk may run tasks: chunks begin in their order. */
static bool may_begin(ctn_ml_t *ml, const ctn_chunk_t *chunk)
{
    if (chunk->index < ml->begun) {
        return true;
    }
    if (chunk->index > ml->begun ||
        (chunk->exclusive && ml->completed < chunk->index)) {
        return false;
    }
    ml->begun = chunk->index + 1;
    return true;
}

/** Whether a task sends invalid data. A vector is invalid after any error.
 * Blocks are invalid if ml->mismatch is set, except at the root of a scatter,
 * which sends blocks that it has not received. */
static bool sends_invalid(const ctn_ml_t *ml)
{
    const ctn_call_t *call = &ml->call;
    return call->composition->vector
               ? ml->status != CATENA_OK
               : ml->mismatch &&
                     (call->composition->single_level_kind != CTN_SCATTER ||
                      call->root != ctn_ml_rank(ml));
}

/** Run the current task: its local step `before`, then its operation. */
static void begin_task(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_task_t *task)
{
    if (task->before != NULL) {
        task->before(ml, chunk);
    }
    task->basic.mismatch = sends_invalid(ml);
    if (task->op != NULL) {
        ctn_op_let_go(task->op);
    }
    chunk->running = true;
}

/** Start the tasks up to `end` - 1: number them, and hold those that may not
 * run yet. */
static void start_tasks(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned end)
{
    while (chunk->started < end) {
        ctn_task_t *task = &chunk->task[chunk->started++];
        if (task->module == NULL) {
            continue;
        }
        task->op = ctn_basic_make(task->module, task->kind, &task->basic);
        if (task->op == NULL) {
            ctn_ml_give_up(ml);
        } else if (chunk->at + 1 == chunk->started && may_begin(ml, chunk)) {
            begin_task(ml, chunk, task); /* so it is never held */
            ctn_op_start(task->op);
        } else {
            ctn_op_start_held(task->op);
        }
    }
}

/** Take the status of a task's operation and release it. */
static void end_task(ctn_ml_t *ml, ctn_task_t *task)
{
    if (task->op != NULL) {
        if (ml->status == CATENA_OK) {
            ml->status = task->op->status;
        }
        ml->mismatch |= task->op->status != CATENA_OK;
        ctn_op_release(task->op);
        task->op = NULL;
    }
}

/** Run the started tasks of a chunk as far as possible. After an error of one
 * task the others still run, since other members wait for them, unless the
 * context has ended, or this rank has given up. @return whether anything was
 * done */
static bool advance(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    bool moved = false;
    if (!may_begin(ml, chunk)) {
        return false;
    }
    while (chunk->at < chunk->started && ml->exec->status == CATENA_OK &&
           !ml->given_up) {
        ctn_task_t *task = &chunk->task[chunk->at];
        if (!chunk->running) {
            begin_task(ml, chunk, task);
            moved = true;
        }
        if (task->op != NULL && task->op->state != CTN_OP_DONE) {
            return moved;
        }
        ctn_ml_run_t *record = ctn_ml_record_of(ml);
        if (chunk->index == 0 && task->module != NULL && record != NULL) {
            ctn_ml_record_basic(record, task->module, task->kind);
        }
        end_task(ml, task);
        if (task->after != NULL) {
            task->after(ml, chunk);
        }
        chunk->at++;
        chunk->running = false;
        moved = true;
    }
    return moved;
}

static ctn_chunk_t *chunk_of(ctn_ml_t *ml, uint64_t index)
{
    return ml->chunk[index % CTN_CHUNKS];
}

/** Compose the next chunk, in the memory of one that has ended. @return false:
 * no memory */
static bool compose(ctn_ml_t *ml)
{
    ctn_chunk_t **place = &ml->chunk[ml->composed % CTN_CHUNKS]; /* its entry */
    if (*place == NULL) {
        *place = ctn_chunk_take(ml->call.group);
        if (*place == NULL) {
            return false;
        }
        (*place)->scratch = NULL;
        (*place)->scratch_bytes = ml->scratch_bytes;
        if (ml->scratch_bytes > 0) {
            (*place)->scratch = ctn_scratch_alloc(ml->exec, ml->scratch_bytes);
            if ((*place)->scratch == NULL) {
                return false;
            }
        }
    }
    ctn_chunk_t *chunk = *place;
    chunk->index = ml->composed++;
    chunk->tasks = chunk->started = chunk->at = 0;
    chunk->down = UINT32_MAX;
    chunk->exclusive = chunk->running = false;
    add_tasks(ml, chunk);
    if (chunk->down > chunk->tasks) {
        chunk->down = chunk->tasks;
    }
    return true;
}

/** Start the second parts of the chunks up to `end` - 1. */
static void start_down(ctn_ml_t *ml, uint64_t end)
{
    while (ml->down_started < end) {
        ctn_chunk_t *chunk = chunk_of(ml, ml->down_started++);
        start_tasks(ml, chunk, chunk->tasks);
    }
}

/** Compose and start chunks, up to CTN_CHUNKS under way. When all tasks are
 * started, the next operation's ticket is served. @return whether anything was
 * done */
static bool start_chunks(ctn_ml_t *ml)
{
    bool moved = false;
    while (ml->composed < ml->chunks &&
           ml->composed - ml->completed < CTN_CHUNKS) {
        if (!compose(ml)) {
            ctn_ml_give_up(ml);
            return true;
        }
        ctn_chunk_t *chunk = chunk_of(ml, ml->composed - 1);
        if (chunk->exclusive) {
            start_down(ml, chunk->index);
        }
        start_tasks(ml, chunk, chunk->down);
        if (chunk->index >= CTN_LAG) {
            start_down(ml, chunk->index - CTN_LAG + 1);
        }
        moved = true;
    }
    if (ml->composed == ml->chunks) {
        start_down(ml, ml->chunks);
        ml->hierarchy->tickets->serving++;
        ml->ticket_passed = true;
    }
    return moved;
}

/* ---- phases ---- */

/** Whether an operation with this ticket may start its tasks. */
static bool is_served(const ctn_hierarchy_t *hierarchy, uint64_t ticket)
{
    return hierarchy->state == CTN_BUILT &&
           hierarchy->tickets->serving == ticket;
}

/** Resolve the configuration. */
static ctn_step_t prepare(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    const ctn_call_t *call = &ml->call;
    memset((unsigned char *)ml + sizeof(ml->call), 0,
           offsetof(ctn_ml_t, single) - sizeof(ml->call));
    ml->exec = op->exec;
    if (call->group->hidden) {
        ctn_ml_follow_settings(call->group);
    }
    catena_status_t status =
        ctn_ml_config_find(call->group, call->composition->of, &ml->config);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Draw the operation's tickets as soon as it is started, so that all ranks use
 * the same order. On a hidden duplicate, which no other operation uses, this
 * may wait until the hierarchy is built and ctn_ml_may_need_flat knows whether
 * it serves the call. */
static ctn_step_t draw_tickets(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    const ctn_call_t *call = &ml->call;
    catena_status_t status = CATENA_OK;
    if (call->group->hidden && call->in_order &&
        ml->config->hierarchy->state != CTN_BUILT) {
        return CTN_STEP_WAIT;
    }
    bool flat = ctn_ml_may_need_flat(call, ml->config);
    if (flat && ml->config->flat == NULL) {
        status = ctn_hierarchy_flat(
            call->group, call->balanced ? ml->config->hierarchy : NULL,
            &ml->config->flat);
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    ml->algorithm = ml->config->algorithm;
    ml->main = ml->config->hierarchy;
    ml->ticket[0] = ml->main->tickets->next++;
    if (flat && ml->config->flat->tickets != ml->main->tickets) {
        ml->flat = ml->config->flat;
        ml->ticket[1] = ml->flat->tickets->next++;
    }
    call->group->composed++;
    ml->has_tickets = true;
    return CTN_STEP_NEXT;
}

/** Whether the flat hierarchy is only faster: if it cannot be built, the call
 * runs on the configured one. */
static bool may_return(const ctn_ml_t *ml)
{
    return ml->call.serial && !ml->call.reproducible && ml->main->in_order;
}

/** Wait for the ticket of the configured hierarchy, and choose between it and
 * the flat one. A call that may return keeps its ticket until it is known
 * whether it does. */
static ctn_step_t await_ticket(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    if (!is_served(ml->main, ml->ticket[0])) {
        return CTN_STEP_WAIT;
    }
    ml->hierarchy = ml->main;
    if (ml->flat != NULL && !ctn_ml_serves(ml->main, &ml->call) &&
        ml->main->status == CATENA_OK) {
        ml->hierarchy = ml->flat;
        ml->main->tickets->serving += may_return(ml) ? 0 : 1;
    }
    return CTN_STEP_NEXT;
}

/** Wait for the ticket of the flat hierarchy as well. An operation that does
 * not use the flat hierarchy lets the next ticket be served at once. */
static ctn_step_t await_flat(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    if (ml->flat == NULL) {
        return CTN_STEP_NEXT;
    }
    if (!is_served(ml->flat, ml->ticket[1])) {
        return CTN_STEP_WAIT;
    }
    if (ml->hierarchy == ml->flat && may_return(ml)) {
        bool returns = ml->flat->status != CATENA_OK;
        ml->hierarchy = returns ? ml->main : ml->flat;
        ml->main->tickets->serving += returns ? 0 : 1;
        ml->call.serial = !returns;
    }
    if (ml->hierarchy != ml->flat) {
        ml->flat->tickets->serving++;
    }
    return CTN_STEP_NEXT;
}

/** End before any task is started. All ranks do the same. */
static ctn_step_t refuse(ctn_op_t *op, catena_status_t status)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    ml->hierarchy->tickets->serving++;
    ml->ticket_passed = true;
    return ctn_op_fail(op, status);
}

static ctn_step_t plan(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    const ctn_composition_t *composition = ml->call.composition;
    catena_status_t status = ml->hierarchy->status;
    if (status != CATENA_OK) {
        return refuse(op, status);
    }
    status = composition->plan(ml);
    if (status == CATENA_ERR_UNSUPPORTED) {
        return refuse(op, status);
    }
    if (status != CATENA_OK) {
        ctn_ml_give_up(ml);
        return ctn_op_fail(op, status);
    }
    ml->packed_at = ml->scratch_bytes;
    ml->scratch_bytes += ctn_ml_packs(ml) ? ml->chunk_bytes : 0;
    ctn_ml_record_run(ml);
    return CTN_STEP_NEXT;
}

/** The rank that the current task of the oldest chunk waits for; -1: unknown.
 */
static int64_t awaited_rank(ctn_ml_t *ml)
{
    const ctn_chunk_t *chunk = chunk_of(ml, ml->completed);
    const ctn_op_t *waiting = chunk != NULL && chunk->at < chunk->tasks
                                  ? chunk->task[chunk->at].op
                                  : NULL;
    return waiting != NULL ? waiting->waits_for : -1;
}

static ctn_step_t run(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    bool moved = !ml->ticket_passed && start_chunks(ml);
    for (uint64_t s = ml->completed; s < ml->composed; s++) {
        ctn_chunk_t *chunk = chunk_of(ml, s);
        moved |= advance(ml, chunk);
        if (s == ml->completed && chunk->at == chunk->tasks &&
            ml->down_started > s) {
            ml->completed++;
            moved = true;
        }
    }
    if (ml->given_up) {
        return ctn_op_fail(op, ml->status);
    }
    if (ml->completed == ml->chunks && ml->ticket_passed) {
        return ml->status == CATENA_OK ? CTN_STEP_NEXT
                                       : ctn_op_fail(op, ml->status);
    }
    op->waits_for = moved ? -1 : awaited_rank(ml);
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

const ctn_phase_t ctn_ml_phases[] = {{"prepare", prepare},
                                     {"assign numbers", draw_tickets},
                                     {"await ticket", await_ticket},
                                     {"await ticket", await_flat},
                                     {"plan", plan},
                                     {"run", run},
                                     {NULL, NULL}};

/** Detach tasks that are still under way after a network error: exec frees
 * their operations when they end, and the chunk stays until the group is freed.
 * @return whether there are any */
static bool orphan_tasks(ctn_chunk_t *chunk)
{
    bool some = false;
    for (unsigned i = chunk->at; i < chunk->started; i++) {
        ctn_op_t *op = chunk->task[i].op;
        if (op == NULL) {
            continue;
        }
        if (op->state == CTN_OP_DONE) {
            ctn_op_release(op);
            continue;
        }
        op->detached = true;
        op->sequence->detached++;
        ctn_op_let_go(op);
        some = true;
    }
    return some;
}

void ctn_ml_finish(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    bool orphans = false;
    for (unsigned i = 0; i < CTN_CHUNKS && ml->has_tickets; i++) {
        ctn_chunk_t *chunk = ml->chunk[i];
        if (chunk == NULL) {
            continue;
        }
        if (orphan_tasks(chunk)) {
            orphans = true;
            continue;
        }
        ctn_scratch_free(ml->exec, chunk->scratch, chunk->scratch_bytes);
        ctn_chunk_give(ml->call.group, chunk);
    }
    ctn_ml_run_t *record = ml->has_tickets ? ctn_ml_record_of(ml) : NULL;
    if (record != NULL) {
        record->messages = ml->exec->tally.messages - ml->messages;
        ml->record = NULL;
    }
    while (ml->has_tickets && ml->kept != NULL) {
        ctn_kept_t *kept = ml->kept;
        ml->kept = kept->next;
        if (orphans) {
            ctn_exec_defer_free(ml->exec, kept);
        } else {
            ctn_scratch_free(ml->exec, kept->scratch, kept->scratch_bytes);
            free(kept);
        }
    }
    if (ml->has_tickets) {
        ml->call.group->composed--;
        ml->has_tickets = false;
    }
}

void ctn_ml_release(ctn_op_t *op)
{
    ctn_call_drop(&ctn_ml_of(op)->call);
}
