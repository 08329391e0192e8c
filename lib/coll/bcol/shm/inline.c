/* Inline execution (exec/inline.h). Data of a member that fit a descriptor are
 * exchanged without the steps of a shm_algorithm_t: here are such versions of
 * SHM-2 (bcast), SHM-8 (allgather) and "flat" of SHM-3 to SHM-5 (reductions).
 * 2 ranks with a core each, allreduce of 8 B, a barrier before each: 0.20 us,
 * with steps 0.26. */

#include <string.h>

#include "coll/bcol/shm/shm.h"
#include "exec/inline.h"

/* ---- data in descriptors ---- */

/** A half of an exchange of such data: publishing or collecting. */
typedef struct shm_run {
    shm_call_t *call;
    uint64_t flag;              /* value of its words: ctn_flag64(seq) */
    unsigned char *descriptors; /* of its generation */
    uint32_t loads; /* of a word, before this rank polls anything else */
    ctn_backoff_t backoff;
} shm_run_t;

static inline shm_run_t run_of(shm_call_t *call, uint32_t loads)
{
    const ctn_node_area_t *area = &call->shm->area;
    shm_run_t run = {.call = call,
                     .flag = ctn_flag64(call->seq),
                     .descriptors =
                         ctn_node_entry(area, &area->descriptor, call->seq, 0),
                     .loads = loads};
    return run;
}

static shm_descriptor_t *descriptor_of(const shm_run_t *run, uint32_t i)
{
    return (void *)(run->descriptors +
                    i * run->call->shm->area.descriptor.stride);
}

static void copy_small(const shm_run_t *run, void *to, const void *from,
                       size_t bytes)
{
    if (bytes == sizeof(uint64_t)) { /* one load and one store */
        memcpy(to, from, sizeof(uint64_t));
    } else if (bytes > 0) { /* else `from` may be NULL */
        memcpy(to, from, bytes);
    }
    ctn_exec_charge(run->call->shm->module.exec, CTN_WORK_COPY, bytes);
}

/** Wait for the descriptor of member i. The caller waits for the members from
 * there to `end` - 1, one after the other.
 * @return NULL: the network failed */
static const shm_descriptor_t *await_descriptor(shm_run_t *run, uint32_t i,
                                                uint32_t end)
{
    const shm_t *shm = run->call->shm;
    ctn_exec_t *exec = shm->module.exec;
    const shm_descriptor_t *descriptor = descriptor_of(run, i);
    while (!ctn_word_becomes(&descriptor->word, run->flag, run->loads)) {
        run->loads = 1;
        exec->spin_polls = shm_spins_for(shm, i, end);
        if (!ctn_inline_wait(exec, &run->backoff)) {
            return NULL;
        }
    }
    return descriptor;
}

/** The value of a descriptor's `offset` if it has data of `bytes`. */
static uint64_t staged(const shm_run_t *run, size_t bytes)
{
    return SHM_STAGED - (run->call->kind == CTN_ALLGATHER
                             ? bytes
                             : shm_vector_mark(run->call->basic));
}

/** The data of member i have another length: fail as the steps do. */
CTN_COLD static void refuse(shm_call_t *call, uint32_t i, size_t bytes)
{
    catena_status_t status = call->status;
    shm_call_begin(call, call->seq);
    call->status = status;
    call->step = SHM_IN_DESCRIPTORS;
    (void)shm_published(call, i, i, bytes);
    (void)shm_acknowledge(call);
}

/** Wait for the data of member i. The caller waits for the members from there
 * to `end` - 1, one after the other.
 * @return NULL: they have another length, or the network failed */
static const void *await_data(shm_run_t *run, uint32_t i, uint32_t end,
                              size_t bytes)
{
    const shm_descriptor_t *descriptor = await_descriptor(run, i, end);
    if (descriptor == NULL || descriptor->offset == staged(run, bytes)) {
        return descriptor != NULL ? descriptor->data : NULL;
    }
    refuse(run->call, i, bytes);
    return NULL;
}

/** Reduce the vectors of members 0 to end - 1. This member's vector is in its
 * descriptor. */
static void fold(shm_run_t *run, uint32_t end)
{
    const ctn_basic_coll_t *basic = run->call->basic;
    const void *left = basic->out;
    for (uint32_t i = 0; i < end; i++) {
        const void *right = i == run->call->shm->me
                                ? descriptor_of(run, i)->data
                                : await_data(run, i, end, basic->bytes);
        if (run->call->status != CATENA_OK) {
            continue;
        }
        if (right == NULL) {
            return;
        }
        if (i > 0) {
            /* Elements this short need no memory. */
            (void)ctn_reduce(&basic->by, left, right, basic->out, basic->bytes);
            ctn_exec_charge(run->call->shm->module.exec, CTN_WORK_REDUCE,
                            basic->bytes);
        }
        left = i > 0 ? basic->out : right;
    }
    if (run->call->status == CATENA_OK && left != basic->out) {
        copy_small(run, basic->out, left, basic->bytes);
    }
}

/** Copy this member's data to its descriptor. If other members read it
 * (`publish`), set the mark that they expect, and the word. The mark is
 * computed before the data are copied: 0.05 us for 128 B in an allgather. */
static void publish_own(const shm_run_t *run, bool publish)
{
    shm_descriptor_t *descriptor = descriptor_of(run, run->call->shm->me);
    size_t bytes = run->call->basic->bytes;
    uint64_t mark = staged(run, bytes);
    copy_small(run, descriptor->data, run->call->basic->in, bytes);
    if (publish) {
        descriptor->offset = mark;
        ctn_exec_post(run->call->shm->module.exec, &descriptor->word,
                      run->flag);
    }
}

static void put_block(const shm_run_t *run, uint32_t i, const void *block)
{
    const ctn_basic_coll_t *basic = run->call->basic;
    unsigned char *to = (unsigned char *)basic->out + basic->at[i];
    if (block != NULL && to != block) {
        copy_small(run, to, block, basic->at[i + 1] - basic->at[i]);
    }
}

/** Copy all blocks to the receive buffer: this member's first, while the others
 * arrive. */
static void gather_all(shm_run_t *run)
{
    const size_t *at = run->call->basic->at;
    uint32_t me = run->call->shm->me;
    put_block(run, me, run->call->basic->in);
    for (uint32_t i = 0; i < run->call->shm->size; i++) {
        if (i != me) {
            put_block(
                run, i,
                await_data(run, i, run->call->shm->size, at[i + 1] - at[i]));
        }
    }
}

/** Publish this member's data, if any.
 * @return whether there is anything to collect */
static inline bool publish_data(shm_call_t *call)
{
    shm_run_t run = run_of(call, 1);
    bool root = call->shm->me == call->basic->root;
    call->step = SHM_IN_DESCRIPTORS;
    call->status = CATENA_OK;
    ctn_node_report_cpu(call->shm->module.exec, &call->shm->area);
    if (call->kind != CTN_BCAST || root) {
        publish_own(&run, call->kind != CTN_REDUCE || !root);
    }
    return call->kind == CTN_BCAST    ? !root
           : call->kind == CTN_REDUCE ? root
                                      : true;
}

/** Wait for the data of other members, and set the result. */
static inline void collect_data(shm_call_t *call, uint32_t loads)
{
    const shm_t *shm = call->shm;
    ctn_basic_kind_t kind = call->kind;
    const ctn_basic_coll_t *basic = call->basic;
    shm_run_t run = run_of(call, loads);
    if (kind == CTN_BCAST) {
        const void *data =
            await_data(&run, basic->root, basic->root + 1, basic->bytes);
        if (data != NULL) {
            copy_small(&run, basic->out, data, basic->bytes);
        }
    } else if (kind == CTN_ALLGATHER) {
        gather_all(&run);
    } else if (kind == CTN_SCAN || kind == CTN_EXSCAN) {
        fold(&run, shm->me + (kind == CTN_SCAN));
    } else {
        fold(&run, shm->size);
    }
    if (kind == CTN_ALLREDUCE && call->status != CATENA_OK) {
        shm_count(shm, call->seq); /* see count_once in reduce.c */
    }
}

void shm_go_on_by_steps(shm_call_t *call)
{
    shm_call_begin(call, call->seq);
    call->own = shm_place_of(call, call->shm->me, call->basic->bytes);
    call->step = 1; /* the first one publishes */
}

/** Whether the blocks of an allgather fit descriptors, and this member's own
 * has the length that it expects. */
static bool blocks_fit(const shm_call_t *call)
{
    const shm_t *shm = call->shm;
    const size_t *at = call->basic->at;
    return call->basic->bytes == at[shm->me + 1] - at[shm->me] &&
           shm_longest_block(shm, call->basic) <= shm->descriptor_data;
}

/** Whether data are exchanged in descriptors, without steps. */
static inline bool fit_descriptors(const shm_call_t *call)
{
    return call->algorithm->in_descriptors && !call->basic->mismatch &&
           (call->kind == CTN_ALLGATHER
                ? blocks_fit(call)
                : call->basic->bytes <= call->shm->descriptor_data);
}

/* ---- calls ---- */

static ctn_step_t publish(ctn_exec_t *exec, void *state, uint64_t seq,
                          catena_status_t *status)
{
    shm_call_t *call = state;
    (void)exec;
    if (fit_descriptors(call)) {
        call->seq = seq;
        return publish_data(call) ? CTN_STEP_WAIT : CTN_STEP_DONE;
    }
    shm_call_begin(call, seq);
    if (!shm_advance(call)) {
        return CTN_STEP_WAIT;
    }
    *status = call->status;
    return CTN_STEP_DONE;
}

static ctn_step_t collect(ctn_exec_t *exec, void *state, uint32_t loads,
                          catena_status_t *status)
{
    shm_call_t *call = state;
    if (call->step == SHM_IN_DESCRIPTORS) {
        collect_data(call, loads);
        if (exec->status != CATENA_OK) {
            return CTN_STEP_WAIT;
        }
    } else {
        call->loads = loads;
        if (!shm_advance(call)) {
            exec->spin_polls = shm_spins_for(call->shm, call->next, call->end);
            return CTN_STEP_WAIT;
        }
    }
    *status = call->status;
    return CTN_STEP_DONE;
}

/** Wait until all members have entered the last generation barrier that this
 * member entered without waiting; or, if the call does not block, check whether
 * they have. @param status NULL: the call does not block */
static bool end_generation_barrier(shm_t *shm, catena_status_t *status)
{
    ctn_sequence_t *sequence = &shm->sequence;
    uint64_t seq = shm->generation_barrier - 1;
    uint32_t arrived = 0;
    if (shm->generation_barrier <= sequence->synchronized) {
        return true;
    }
    if (!ctn_node_all_arrived(&shm->area, seq, &arrived, 1)) {
        shm_call_t call;
        if (status == NULL) {
            return false;
        }
        shm_call_set(&call, &shm->module, CTN_BARRIER, &shm_no_data,
                     &shm_generation_barrier_end);
        shm_call_begin(&call, seq);
        (void)ctn_inline_collect(shm->module.exec, &shm_inline, &call, status);
        *status = shm->module.exec->status;
    }
    sequence->synchronized = shm->generation_barrier;
    return status == NULL || *status == CATENA_OK;
}

/** Before an operation that is not synchronizing: if a generation barrier is
 * due, set this member's flag in it, and wait for all flags of the previous
 * generation barrier. So only a member that is far ahead waits. The generations
 * up to the next generation barrier are free then. That one may run as an
 * operation, which waits for all members.
 * @param status NULL: the call does not block
 * @return false: a call cannot run inline now */
static bool pass_generation_barrier(shm_t *shm, catena_status_t *status)
{
    ctn_sequence_t *sequence = &shm->sequence;
    uint64_t seq;
    if (!ctn_inline_possible(shm->module.exec, sequence) ||
        !end_generation_barrier(shm, status) ||
        !ctn_inline_begin(shm->module.exec, sequence, true, &seq)) {
        return false;
    }
    ctn_node_arrive(shm->module.exec, &shm->area, seq);
    shm->generation_barrier = sequence->started;
    sequence->complete = sequence->started;
    return true;
}

/** Whether the generation barrier that is due, if one is, has been passed. */
static inline bool is_passed(const shm_call_t *call, catena_status_t *status)
{
    return call->algorithm->base.synchronizing ||
           !ctn_sequence_barrier_due(&call->shm->sequence) ||
           pass_generation_barrier(call->shm, status);
}

static bool may_begin(ctn_op_t *op)
{
    return is_passed(ctn_op_state(op), NULL);
}

const ctn_inline_t shm_inline = {.may = may_begin,
                                 .publish = publish,
                                 .collect = collect,
                                 .phase = SHM_PHASE_EXCHANGE};

bool shm_run_inline(ctn_module_t *module, ctn_basic_kind_t kind,
                    const ctn_basic_coll_t *basic, catena_status_t *status)
{
    shm_call_t call;
    const ctn_algorithm_t *algorithm = shm_find(module, kind, basic);
    if (algorithm == NULL) {
        return false;
    }
    shm_call_set(&call, module, kind, basic,
                 (const shm_algorithm_t *)algorithm);
    *status = CATENA_OK;
    return is_passed(&call, status)
               ? ctn_inline_run(module->exec, module->sequence,
                                algorithm->synchronizing, &shm_inline, &call,
                                NULL, status)
               : *status != CATENA_OK;
}
