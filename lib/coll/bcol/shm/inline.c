/* Inline versions of SHM-2 (staged bcast), SHM-3 ("flat" reduce), SHM-4 ("flat"
 * allreduce) and SHM-8 (allgather), for data of a member that fit a descriptor.
 * They wait in place, and have neither an operation nor the steps of a
 * shm_algorithm_t. 2 ranks with a core each, allreduce of 8 B, a barrier before
 * each: 0.20 us, with steps 0.26. */

#include <string.h>

#include "coll/bcol/shm/block.h"
#include "exec/inline.h"

/** State of an inline call. */
typedef struct shm_run {
    shm_t *shm;
    const ctn_basic_coll_t *basic;
    uint64_t seq;               /* number of the operation */
    uint64_t flag;              /* value of its words: ctn_flag64(seq) */
    unsigned char *descriptors; /* of its generation */
    uint32_t loads; /* of a word, before this rank polls anything else */
    ctn_backoff_t backoff;
    catena_status_t status;
} shm_run_t;

static shm_descriptor_t *descriptor_of(const shm_run_t *run, uint32_t i)
{
    return (void *)(run->descriptors + i * run->shm->area.descriptor.stride);
}

static void copy_small(const shm_run_t *run, void *to, const void *from,
                       size_t bytes)
{
    ctn_exec_charge(run->shm->module.exec, CTN_WORK_COPY, bytes);
    if (bytes == sizeof(uint64_t)) { /* one load and one store */
        memcpy(to, from, sizeof(uint64_t));
    } else {
        memcpy(to, from, bytes);
    }
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

/** The vector of member i has another length. */
CTN_COLD static void report_mismatch(shm_run_t *run, uint32_t i,
                                     const shm_descriptor_t *descriptor)
{
    shm_call_t call = {.shm = run->shm,
                       .basic = run->basic,
                       .algorithm =
                           shm_allreduce_algorithm(run->shm, run->basic),
                       .seq = run->seq,
                       .status = run->status};
    uint64_t mark = descriptor->offset;
    if (mark < SHM_MARKS) { /* zcopy */
        memcpy(&mark, descriptor->data, sizeof(mark));
    }
    shm_report_mismatch(&call, i, mark);
    run->status = call.status;
}

/** Reduce the vectors of all members. This member's vector is in its
 * descriptor. */
static void fold(shm_run_t *run)
{
    const ctn_basic_coll_t *basic = run->basic;
    uint64_t mark = shm_vector_mark(basic);
    const void *left = NULL;
    for (uint32_t i = 0; i < run->shm->size; i++) {
        const shm_descriptor_t *descriptor =
            i == run->shm->me ? descriptor_of(run, i)
                              : await_descriptor(run, i, run->shm->size);
        if (descriptor == NULL) {
            return;
        }
        if (i != run->shm->me && descriptor->offset != mark) {
            report_mismatch(run, i, descriptor);
            continue;
        }
        if (run->status != CATENA_OK) {
            continue;
        }
        if (i > 0) {
            /* Elements this short need no memory. */
            (void)ctn_reduce(&basic->by, left, descriptor->data, basic->out,
                             basic->bytes);
            ctn_exec_charge(run->shm->module.exec, CTN_WORK_REDUCE,
                            basic->bytes);
        }
        left = i > 0 ? basic->out : descriptor->data;
    }
    if (run->status == CATENA_OK && left != basic->out) {
        copy_small(run, basic->out, left, basic->bytes);
    }
}

/** Copy this member's data to its descriptor. If other members read it
 * (`publish`), set the mark that they expect, `mark`, and the word. */
static void publish_own(const shm_run_t *run, bool publish, uint64_t mark)
{
    shm_descriptor_t *descriptor = descriptor_of(run, run->shm->me);
    copy_small(run, descriptor->data, run->basic->in, run->basic->bytes);
    if (publish) {
        descriptor->offset = mark;
        ctn_exec_post(run->shm->module.exec, &descriptor->word, run->flag);
    }
}

static void bcast(shm_run_t *run)
{
    const ctn_basic_coll_t *basic = run->basic;
    if (run->shm->me == basic->root) {
        publish_own(run, true, shm_vector_mark(basic));
        return;
    }
    const shm_descriptor_t *descriptor =
        await_descriptor(run, basic->root, basic->root + 1);
    if (descriptor != NULL && descriptor->offset == shm_vector_mark(basic)) {
        copy_small(run, basic->out, descriptor->data, basic->bytes);
    } else if (descriptor != NULL) {
        report_mismatch(run, basic->root, descriptor);
    }
}

/** Member i has published a block of another length: fail as the algorithm with
 * steps does (allgather.c). */
static void refuse(shm_run_t *run, uint32_t i, size_t bytes)
{
    shm_call_t call = {.shm = run->shm,
                       .basic = run->basic,
                       .algorithm =
                           shm_allgather_algorithm(run->shm, run->basic),
                       .seq = run->seq,
                       .status = run->status};
    (void)shm_published_block(&call, i, i, bytes);
    (void)shm_acknowledge(&call);
    run->status = call.status;
}

static void put_block(const shm_run_t *run, uint32_t i, const void *block)
{
    const ctn_basic_coll_t *basic = run->basic;
    unsigned char *to = (unsigned char *)basic->out + basic->at[i];
    if (to != block) {
        copy_small(run, to, block, basic->at[i + 1] - basic->at[i]);
    }
}

/** Copy all blocks to the receive buffer: this member's first, while the others
 * arrive. */
static void gather_all(shm_run_t *run)
{
    uint32_t me = run->shm->me;
    put_block(run, me, run->basic->in);
    for (uint32_t i = 0; i < run->shm->size; i++) {
        if (i == me) {
            continue;
        }
        const shm_descriptor_t *descriptor =
            await_descriptor(run, i, run->shm->size);
        if (descriptor == NULL) {
            return;
        }
        size_t bytes = run->basic->at[i + 1] - run->basic->at[i];
        if (descriptor->offset == shm_staged_block(bytes)) {
            put_block(run, i, descriptor->data);
        } else {
            refuse(run, i, bytes);
        }
    }
}

CTN_HOT catena_status_t shm_run_inline(shm_t *shm, ctn_basic_kind_t kind,
                                       const ctn_basic_coll_t *basic,
                                       uint64_t seq)
{
    ctn_exec_t *exec = shm->module.exec;
    shm_run_t run = {.shm = shm,
                     .basic = basic,
                     .seq = seq,
                     .flag = ctn_flag64(seq),
                     .descriptors = ctn_node_entry(
                         &shm->area, &shm->area.descriptor, seq, 0),
                     .loads = exec->wait_policy.loads};
    if (kind == CTN_BCAST) {
        bcast(&run);
    } else if (kind == CTN_ALLGATHER) {
        publish_own(&run, true, shm_staged_block(basic->bytes));
        gather_all(&run);
    } else {
        bool root = shm->me == basic->root;
        publish_own(&run, kind == CTN_ALLREDUCE || !root,
                    shm_vector_mark(basic));
        if (kind == CTN_ALLREDUCE || root) {
            fold(&run);
        }
    }
    if (kind == CTN_ALLREDUCE && run.status != CATENA_OK) {
        shm_count(shm, seq); /* see count_once in allreduce.c */
    }
    catena_status_t status = ctn_inline_end(exec, &shm->sequence);
    return status == CATENA_OK ? run.status : status;
}
