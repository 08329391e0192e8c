/* Inline versions of SHM-2 (bcast), SHM-8 (allgather) and "flat" of SHM-3 to
 * SHM-5 (reductions), for data that fit descriptors or eager rows and that this
 * member does not publish as zero-copy.
 * They wait in place, and have neither an operation nor the steps of a
 * shm_algorithm_t. 2 ranks with a core each, allreduce of 8 B, a barrier before
 * each: 0.20 us, with steps 0.26. */

#include <string.h>

#include "coll/bcol/shm/shm.h"
#include "exec/inline.h"

/** State of an inline call. */
typedef struct shm_run {
    shm_t *shm;
    ctn_basic_kind_t kind;
    const ctn_basic_coll_t *basic;
    uint64_t seq;    /* number of the operation */
    uint64_t flag;   /* value of its words: ctn_flag64(seq) */
    uint64_t offset; /* of this member's descriptor, computed before its data
                        are copied: 0.05 us for 128 B in an allgather */
    unsigned char *descriptors; /* of its generation */
    bool acknowledge;           /* data that this member read are zero-copy */
    size_t longest;             /* bytes of the longest data of a member */
    uint32_t loads; /* of a word, before this rank polls anything else */
    ctn_backoff_t backoff;
    catena_status_t status;
} shm_run_t;

static shm_descriptor_t *descriptor_of(const shm_run_t *run, uint32_t i)
{
    return (void *)(run->descriptors + i * run->shm->area.descriptor.stride);
}

/** Where member i's data are: as shm_place_of. */
static unsigned char *data_of(const shm_run_t *run, uint32_t i, size_t bytes)
{
    const ctn_node_area_t *area = &run->shm->area;
    if (bytes <= run->shm->descriptor_data) {
        return descriptor_of(run, i)->data;
    }
    unsigned char *first = ctn_node_entry(area, &area->row, run->seq, 0);
    return first + i * shm_eager_row_stride(run->longest);
}

static void copy_small(const shm_run_t *run, void *to, const void *from,
                       size_t bytes)
{
    if (bytes == sizeof(uint64_t)) { /* one load and one store */
        memcpy(to, from, sizeof(uint64_t));
    } else {
        ctn_copy_shared(to, from, bytes);
    }
    ctn_exec_charge(run->shm->module.exec, CTN_WORK_COPY, bytes);
}

/** Wait for the descriptor of member i. The caller waits for the members from
 * there to `end` - 1, one after the other.
 * @return NULL: the network failed */
static const shm_descriptor_t *await_descriptor(shm_run_t *run, uint32_t i,
                                                uint32_t end)
{
    shm_t *shm = run->shm;
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
    return SHM_STAGED -
           (run->kind == CTN_ALLGATHER ? bytes : shm_vector_mark(run->basic));
}

/** The data of member i are zero-copy, or have another length: read them, or
 * fail, as the steps do. */
CTN_COLD static const void *read_unexpected(shm_run_t *run, uint32_t i,
                                            size_t bytes)
{
    shm_call_t call = {.shm = run->shm,
                       .kind = run->kind,
                       .basic = run->basic,
                       .algorithm =
                           shm_choose(run->shm, run->kind, run->basic)};
    shm_call_begin(&call, run->seq);
    call.status = run->status;
    const void *data = shm_published(&call, i, i, bytes);
    run->acknowledge |= call.acknowledge;
    run->status = call.status;
    return data;
}

/** Wait for the data of member i. The caller waits for the members from there
 * to `end` - 1, one after the other.
 * @return NULL: they have another length, or the network failed */
static const void *await_data(shm_run_t *run, uint32_t i, uint32_t end,
                              size_t bytes)
{
    const shm_descriptor_t *descriptor = await_descriptor(run, i, end);
    if (descriptor == NULL) {
        return NULL;
    }
    return descriptor->offset == staged(run, bytes)
               ? data_of(run, i, bytes)
               : read_unexpected(run, i, bytes);
}

/** Where this member reads its own vector. */
static const void *own_vector(const shm_run_t *run)
{
    return shm_in_stays(run->shm, run->basic)
               ? run->basic->in
               : data_of(run, run->shm->me, run->basic->bytes);
}

/** The vector of a member that has published it. */
static const unsigned char *operand_of(void *from, uint32_t i)
{
    shm_run_t *run = from;
    return i == run->shm->me
               ? own_vector(run)
               : await_data(run, i, run->shm->size, run->basic->bytes);
}

/** Reduce the vectors of all members by the balanced tree, when all are
 * published. */
static void fold_balanced(shm_run_t *run)
{
    const ctn_basic_coll_t *basic = run->basic;
    uint32_t size = run->shm->size;
    for (uint32_t i = 0; i < size; i++) {
        if (operand_of(run, i) == NULL && run->status == CATENA_OK) {
            return;
        }
    }
    if (run->status == CATENA_OK) {
        ctn_basic_reduce(&run->shm->module, basic, operand_of, run,
                         basic->bytes, basic->out);
    }
}

/** Reduce the vectors of members 0 to end - 1. */
static void fold(shm_run_t *run, uint32_t end)
{
    const ctn_basic_coll_t *basic = run->basic;
    if (shm_is_balanced(run->shm, basic)) {
        fold_balanced(run);
        return;
    }
    const void *left = basic->out;
    for (uint32_t i = 0; i < end; i++) {
        const void *right = i == run->shm->me
                                ? own_vector(run)
                                : await_data(run, i, end, basic->bytes);
        if (run->status != CATENA_OK) {
            continue;
        }
        if (right == NULL) {
            return;
        }
        if (i > 0) {
            ctn_reduce(&basic->by, left, right, basic->out, basic->bytes);
            ctn_exec_charge(run->shm->module.exec, CTN_WORK_REDUCE,
                            basic->bytes);
        }
        left = i > 0 ? basic->out : right;
    }
    if (run->status == CATENA_OK && left != basic->out) {
        copy_small(run, basic->out, left, basic->bytes);
    }
}

/** Copy this member's data to where they are read, if they are. If other
 * members read them (`publish`), set the mark that they expect, and the word.
 */
static void publish_own(const shm_run_t *run, bool publish)
{
    uint32_t me = run->shm->me;
    size_t bytes = run->basic->bytes;
    shm_descriptor_t *descriptor = descriptor_of(run, me);
    unsigned char *data = data_of(run, me, bytes);
    if (publish || own_vector(run) == data) {
        copy_small(run, data, run->basic->in, bytes);
    }
    if (publish) {
        descriptor->offset = run->offset;
        ctn_exec_post(run->shm->module.exec, &descriptor->word, run->flag);
    }
}

static void put_block(const shm_run_t *run, uint32_t i, const void *block)
{
    const ctn_basic_coll_t *basic = run->basic;
    unsigned char *to = (unsigned char *)basic->out + basic->at[i];
    if (block != NULL && to != block) {
        copy_small(run, to, block, basic->at[i + 1] - basic->at[i]);
    }
}

/** Copy all blocks to the receive buffer: this member's first, while the others
 * arrive. */
static void gather_all(shm_run_t *run)
{
    const size_t *at = run->basic->at;
    uint32_t me = run->shm->me;
    put_block(run, me, run->basic->in);
    for (uint32_t i = 0; i < run->shm->size; i++) {
        if (i != me) {
            put_block(run, i,
                      await_data(run, i, run->shm->size, at[i + 1] - at[i]));
        }
    }
}

/** @param longest bytes of the longest data of a member */
static inline shm_run_t begin(shm_t *shm, ctn_basic_kind_t kind,
                              const ctn_basic_coll_t *basic, size_t longest,
                              uint64_t seq)
{
    shm_run_t run = {.shm = shm,
                     .kind = kind,
                     .basic = basic,
                     .seq = seq,
                     .flag = ctn_flag64(seq),
                     .descriptors = ctn_node_entry(
                         &shm->area, &shm->area.descriptor, seq, 0),
                     .longest = longest,
                     .loads = shm->module.exec->wait_policy.loads};
    return run;
}

/** Publish this member's data, if any. */
static inline void publish(shm_run_t *run)
{
    bool root = run->shm->me == run->basic->root;
    run->offset = staged(run, run->basic->bytes);
    if (run->kind != CTN_BCAST || root) {
        publish_own(run, run->kind != CTN_REDUCE || !root);
    }
}

/** Wait for the data of other members, if any, and set the result. */
static inline void collect(shm_run_t *run)
{
    shm_t *shm = run->shm;
    ctn_basic_kind_t kind = run->kind;
    const ctn_basic_coll_t *basic = run->basic;
    bool root = shm->me == basic->root;
    if (kind == CTN_ALLGATHER) {
        gather_all(run);
    } else if (kind == CTN_SCAN || kind == CTN_EXSCAN) {
        fold(run, shm->me + (kind == CTN_SCAN));
    } else if (kind == CTN_ALLREDUCE || (kind == CTN_REDUCE && root)) {
        fold(run, shm->size);
        if (kind == CTN_REDUCE && run->status != CATENA_OK) {
            shm_publish_mark(shm, basic, run->seq);
        }
    } else if (kind == CTN_BCAST && !root) {
        const void *data =
            await_data(run, basic->root, basic->root + 1, basic->bytes);
        if (data != NULL) {
            copy_small(run, basic->out, data, basic->bytes);
        }
    }
    if (kind == CTN_ALLREDUCE && run->status != CATENA_OK) {
        shm_count(shm, run->seq); /* see count_once in reduce.c */
    }
    if (run->acknowledge) {
        ctn_node_set(shm->module.exec,
                     ctn_node_departed(&shm->area, run->seq, shm->me),
                     run->seq);
    }
}

catena_status_t shm_run_inline(shm_t *shm, ctn_basic_kind_t kind,
                               const ctn_basic_coll_t *basic, size_t longest,
                               uint64_t seq)
{
    shm_run_t run = begin(shm, kind, basic, longest, seq);
    publish(&run);
    collect(&run);
    catena_status_t status = ctn_inline_end(shm->module.exec, &shm->sequence);
    return status == CATENA_OK ? run.status : status;
}

bool shm_publish_inline(const shm_call_t *call, size_t longest, uint64_t seq)
{
    shm_run_t run = begin(call->shm, call->kind, call->basic, longest, seq);
    bool root = call->shm->me == call->basic->root;
    publish(&run);
    return call->kind == CTN_BCAST    ? !root
           : call->kind == CTN_REDUCE ? root
                                      : true;
}

catena_status_t shm_collect_inline(const shm_call_t *call, size_t longest,
                                   uint64_t seq)
{
    shm_run_t run = begin(call->shm, call->kind, call->basic, longest, seq);
    collect(&run);
    return run.status;
}
