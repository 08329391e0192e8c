/* SHM-2, SHM-3, SHM-4 and SHM-8 as blocking calls whose vectors fit a line, on
 * the stack: what the ways "flat" of allreduce and reduce, bcast, and allgather
 * do with lines, without steps to go through. 2 ranks with a core each,
 * allreduce of 8 B, a barrier before each: 0.20 us instead of 0.26. */

#include <string.h>

#include "coll/bcol/shm/block.h"

typedef struct pass {
    shm_t *shm;
    const ctn_basic_coll_t *basic;
    uint64_t seq;
    uint64_t tag;
    unsigned char *lines; /* of this ring */
    uint32_t loads;
    ctn_backoff_t backoff;
    catena_status_t status;
} pass_t;

static shm_line_t *line_of(const pass_t *pass, uint32_t i)
{
    return (void *)(pass->lines + i * pass->shm->line_stride);
}

static void copy_small(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t)) { /* one load and one store */
        memcpy(to, from, sizeof(uint64_t));
    } else {
        memcpy(to, from, bytes);
    }
}

/** Wait for a member's line, and then, up to `end`, for others'. NULL: the
 * network failed. */
static const shm_line_t *hear(pass_t *pass, uint32_t i, uint32_t end)
{
    shm_t *shm = pass->shm;
    ctn_exec_t *exec = shm->module.exec;
    const shm_line_t *line = line_of(pass, i);
    while (!ctn_word_becomes(&line->word, pass->tag, pass->loads)) {
        pass->loads = 1;
        exec->spin_polls = shm_looks_for(shm, i, end);
        if (!ctn_inline_wait(exec, &pass->backoff)) {
            return NULL;
        }
    }
    return line;
}

/** The vector of member i has another length. */
CTN_COLD static void differs(pass_t *pass, uint32_t i, const shm_line_t *line)
{
    shm_call_t call = {.shm = pass->shm,
                       .basic = pass->basic,
                       .way = shm_allreduce_way(pass->shm, pass->basic),
                       .seq = pass->seq,
                       .status = pass->status};
    uint64_t mark = line->offset;
    if (mark < SHM_MARKS) { /* lent */
        memcpy(&mark, line->data, sizeof(mark));
    }
    shm_differs(&call, i, mark);
    pass->status = call.status;
}

/** The own vector is in the own line. */
static void fold(pass_t *pass)
{
    const ctn_basic_coll_t *basic = pass->basic;
    uint64_t mark = shm_vector_mark(basic);
    const void *left = NULL;
    for (uint32_t i = 0; i < pass->shm->size; i++) {
        const shm_line_t *line = i == pass->shm->me
                                     ? line_of(pass, i)
                                     : hear(pass, i, pass->shm->size);
        if (line == NULL) {
            return;
        }
        if (i != pass->shm->me && line->offset != mark) {
            differs(pass, i, line);
            continue;
        }
        if (pass->status != CATENA_OK) {
            continue;
        }
        if (i > 0) {
            /* Elements this short never need memory. */
            (void)ctn_reduce(&basic->by, left, line->data, basic->out,
                             basic->bytes);
        }
        left = i > 0 ? basic->out : line->data;
    }
    if (pass->status == CATENA_OK && left != basic->out) {
        copy_small(basic->out, left, basic->bytes);
    }
}

/** Write the own line, and post it if others read it, who expect `offset`. */
static void speak(const pass_t *pass, bool post, uint64_t offset)
{
    shm_line_t *line = line_of(pass, pass->shm->me);
    copy_small(line->data, pass->basic->in, pass->basic->bytes);
    if (post) {
        line->offset = offset;
        ctn_exec_post(pass->shm->module.exec, &line->word, pass->tag);
    }
}

static void bcast(pass_t *pass)
{
    const ctn_basic_coll_t *basic = pass->basic;
    if (pass->shm->me == basic->root) {
        speak(pass, true, shm_vector_mark(basic));
        return;
    }
    const shm_line_t *line = hear(pass, basic->root, basic->root + 1);
    if (line != NULL && line->offset == shm_vector_mark(basic)) {
        copy_small(basic->out, line->data, basic->bytes);
    } else if (line != NULL) {
        differs(pass, basic->root, line);
    }
}

/** A member shows no block of this length: as the ways say it. */
static void refuse(pass_t *pass, uint32_t i, size_t bytes)
{
    shm_call_t call = {.shm = pass->shm,
                       .basic = pass->basic,
                       .way = shm_allgather_way(pass->shm, pass->basic),
                       .seq = pass->seq,
                       .status = pass->status};
    (void)shm_block_shown(&call, i, i, bytes);
    (void)shm_thank(&call);
    pass->status = call.status;
}

static void put_block(const pass_t *pass, uint32_t i, const void *block)
{
    const ctn_basic_coll_t *basic = pass->basic;
    unsigned char *to = (unsigned char *)basic->out + basic->at[i];
    if (to != block) {
        copy_small(to, block, basic->at[i + 1] - basic->at[i]);
    }
}

/** The own block first, while the others come. */
static void gather_all(pass_t *pass)
{
    uint32_t me = pass->shm->me;
    put_block(pass, me, pass->basic->in);
    for (uint32_t i = 0; i < pass->shm->size; i++) {
        if (i == me) {
            continue;
        }
        const shm_line_t *line = hear(pass, i, pass->shm->size);
        if (line == NULL) {
            return;
        }
        size_t bytes = pass->basic->at[i + 1] - pass->basic->at[i];
        if (line->offset == shm_staged_block(bytes)) {
            put_block(pass, i, line->data);
        } else {
            refuse(pass, i, bytes);
        }
    }
}

CTN_HOT catena_status_t shm_run_lines(shm_t *shm, ctn_basic_kind_t kind,
                                      const ctn_basic_coll_t *basic,
                                      uint64_t seq)
{
    ctn_exec_t *exec = shm->module.exec;
    pass_t pass = {.shm = shm,
                   .basic = basic,
                   .seq = seq,
                   .tag = ctn_flag64(seq),
                   .lines = shm->posts +
                            shm_ring(shm, seq) * shm->size * shm->line_stride,
                   .loads = exec->wait_policy.loads};
    if (kind == CTN_BCAST) {
        bcast(&pass);
    } else if (kind == CTN_ALLGATHER) {
        speak(&pass, true, shm_staged_block(basic->bytes));
        gather_all(&pass);
    } else {
        bool root = shm->me == basic->root;
        speak(&pass, kind == CTN_ALLREDUCE || !root, shm_vector_mark(basic));
        if (kind == CTN_ALLREDUCE || root) {
            fold(&pass);
        }
    }
    if (kind == CTN_ALLREDUCE && pass.status != CATENA_OK) {
        shm_count(shm, seq);
    }
    catena_status_t status = ctn_inline_end(exec, &shm->sequence);
    return status == CATENA_OK ? pass.status : status;
}
