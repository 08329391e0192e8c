/* SHM-4: allreduce.
 * Flat: all show their vectors, each folds all of them: one step.
 * Shared: each folds a part of all vectors and shows what it gives, all collect
 * the parts: two steps, but each vector is read once only.
 * Last: who comes last folds all vectors and shows the result. With more ranks
 * than cores that is as fast as one step: who has shown a vector has to wait
 * for a core again, and finds the result then.
 * All members get the same bits: parts have one who folds them, and in the flat
 * way all fold alike. */

#include "coll/bcol/shm/fold.h"

/* Three members or more, with a core for each: up to so many bytes one step is
 * faster than two. Of two members, each would fold half of what it does in one
 * step, but read as much. */
enum { FLAT_BYTES = 2048 };
/* With more ranks than cores, who comes last is fastest up to so many bytes a
 * member; then it pays that all cores fold. */
enum { LAST_BYTES_A_MEMBER = 1024 };
/* Copies of longer vectors cost more than to wait for readers. */
enum { ZCOPY_BYTES = 1024 };

/** Whether the result does not replace what others may be reading. */
static bool apart(const shm_call_t *call)
{
    return call->basic->in != call->basic->out;
}

static bool publish_flat(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    shm_publish(call, basic->in, basic->bytes,
                basic->bytes >= ZCOPY_BYTES && apart(call));
    return true;
}

/** Where lengths differ some may go by who comes last. All fail then, and all
 * are counted, so that the count fits the next time. */
static void count_once(shm_call_t *call)
{
    if (call->mismatch && call->at == 0) {
        call->at = shm_count(call->shm, call->seq);
    }
}

static bool fold_all(shm_call_t *call)
{
    if (!shm_fold(call, call->shm->size, shm_all_of(call), call->basic->out)) {
        return false;
    }
    if (call->basic->bytes >= ZCOPY_BYTES) {
        shm_set_flag(call, shm_flag_of(call, call->shm->me));
    }
    count_once(call);
    return true;
}

static bool await_readers(shm_call_t *call)
{
    return !call->zcopy || shm_gives_up(call) || shm_all_flags(call);
}

static const shm_algorithm_t flat = {
    .base = SHM_ALGORITHM("flat", true),
    .step = {publish_flat, fold_all, await_readers},
    .runs_inline = true};

/* ---- shared ---- */

/** What is lent may be replaced: results come after all who read have. */
static bool publish(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    shm_publish(call, basic->in, basic->bytes, basic->bytes >= ZCOPY_BYTES);
    call->own = basic->in; /* so the stage is free */
    return true;
}

static bool collect(shm_call_t *call)
{
    count_once(call);
    return shm_collect_fragments(call, true);
}

static const shm_algorithm_t shared = {
    .base = SHM_ALGORITHM("shared", true),
    .step = {publish, shm_fold_fragment, collect}};

/* ---- last ---- */

/** Who comes last: the only one for whom all vectors are there for certain
 * before it has looked. */
static bool fold_if_last(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    shm_last_t *last = shm_last_of(call);
    uint32_t size = call->shm->size;
    if (call->at == 0) {
        /* Release and acquire: what the others have shown is to be seen. */
        call->at = shm_count(call->shm, call->seq);
    }
    if (call->at % size != 0) {
        return true;
    }
    /* In virtual time a post may still be on its way. */
    if (!shm_fold(call, size, shm_all_of(call),
                  shm_place_of(call, call->shm->me, basic->bytes))) {
        return false;
    }
    last->folder = call->shm->me + (call->mismatch ? size : 0);
    shm_set_flag(call, &last->word);
    return true;
}

/** After a long wait: with another length some are not counted before they have
 * failed. All that is shown is looked at, and all fail. */
static bool check_lengths(shm_call_t *call)
{
    uint32_t size = call->shm->size;
    call->peer_checks = call->shm->module.exec->peer_checks;
    for (uint32_t i = 0; i < size; i++) {
        if (i != call->shm->me &&
            !shm_is_set(call, &shm_descriptor_of(call, i)->word)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < size; i++) {
        if (i != call->shm->me) {
            (void)shm_published(call, i);
        }
    }
    return call->mismatch;
}

static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    const shm_last_t *last = shm_last_of(call);
    call->next = call->shm->size; /* nobody in particular */
    if (ctn_word_load(&last->word) != ctn_flag64(call->seq)) {
        return call->shm->module.exec->peer_checks != call->peer_checks &&
               check_lengths(call);
    }
    if (last->folder >= call->shm->size) {
        shm_report_mismatch(call, 0, shm_mismatch_mark(call->basic));
        return true;
    }
    shm_copy(call, basic->out,
             shm_place_of(call, (uint32_t)last->folder, basic->bytes),
             basic->bytes);
    return true;
}

static const shm_algorithm_t last_folds = {
    .base = SHM_ALGORITHM("last", true), .step = {publish, fold_if_last, take}};

static const shm_algorithm_t *const algorithms[] = {&flat, &shared, &last_folds,
                                                    NULL};
const char *const shm_allreduce_names[] = {"flat", "shared", "last", NULL};

static const shm_algorithm_t *choose(const shm_t *shm, size_t bytes)
{
    if (shm->oversubscribed) {
        return bytes <= shm->descriptor_data              ? &flat
               : bytes <= LAST_BYTES_A_MEMBER * shm->size ? &last_folds
                                                          : &shared;
    }
    return bytes <= FLAT_BYTES || shm->size <= 2 ? &flat : &shared;
}

const shm_algorithm_t *shm_allreduce_algorithm(const shm_t *shm,
                                               const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(algorithms, basic);
    return named != NULL ? named : choose(shm, basic->bytes);
}
