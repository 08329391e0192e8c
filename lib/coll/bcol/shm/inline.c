/* SHM-2, SHM-3, SHM-4 and SHM-8 as blocking calls of vectors that fit a
 * descriptor, run on the stack: "flat" of allreduce and reduce, bcast, and
 * allgather, without steps. 2 ranks with a core each, allreduce of 8 B, a
 * barrier before each: 0.20 us instead of 0.26. */

#include <string.h>

#include "coll/bcol/shm/block.h"

typedef struct shm_run {
    shm_t *shm;
    const ctn_basic_coll_t *basic;
    uint64_t seq;
    uint64_t tag;
    unsigned char *descriptors; /* of this generation */
    uint32_t loads;
    ctn_backoff_t backoff;
    catena_status_t status;
} shm_run_t;

static shm_descriptor_t *descriptor_of(const shm_run_t *run, uint32_t i)
{
    return (void *)(run->descriptors + i * run->shm->descriptor_stride);
}

static void copy_small(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t)) { /* one load and one store */
        memcpy(to, from, sizeof(uint64_t));
    } else {
        memcpy(to, from, bytes);
    }
}

/** Wait for a member's descriptor; the members up to `end` are waited for next.
 * @return NULL: the network failed */
static const shm_descriptor_t *await_descriptor(shm_run_t *run, uint32_t i,
                                                uint32_t end)
{
    shm_t *shm = run->shm;
    ctn_exec_t *exec = shm->module.exec;
    const shm_descriptor_t *descriptor = descriptor_of(run, i);
    while (!ctn_word_becomes(&descriptor->word, run->tag, run->loads)) {
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

/** This member's vector is in its descriptor. */
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
        }
        left = i > 0 ? basic->out : descriptor->data;
    }
    if (run->status == CATENA_OK && left != basic->out) {
        copy_small(basic->out, left, basic->bytes);
    }
}

/** Write this member's descriptor, and publish it if others read it. They
 * expect `offset`. */
static void publish_own(const shm_run_t *run, bool publish, uint64_t offset)
{
    shm_descriptor_t *descriptor = descriptor_of(run, run->shm->me);
    copy_small(descriptor->data, run->basic->in, run->basic->bytes);
    if (publish) {
        descriptor->offset = offset;
        ctn_exec_post(run->shm->module.exec, &descriptor->word, run->tag);
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
        copy_small(basic->out, descriptor->data, basic->bytes);
    } else if (descriptor != NULL) {
        report_mismatch(run, basic->root, descriptor);
    }
}

/** Member i has not published a block of this length: fail as the algorithm
 * with steps does. */
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
        copy_small(to, block, basic->at[i + 1] - basic->at[i]);
    }
}

/** Copy this member's block first, while the others arrive. */
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
                     .tag = ctn_flag64(seq),
                     .descriptors = shm->descriptors +
                                    shm_generation(shm, seq) * shm->size *
                                        shm->descriptor_stride,
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
        shm_count(shm, seq);
    }
    catena_status_t status = ctn_inline_end(exec, &shm->sequence);
    return status == CATENA_OK ? run.status : status;
}
