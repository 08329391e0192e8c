/* SHM-4: allreduce. Its algorithms:
 * Flat: all publish their vectors, each member reduces all of them: one round.
 * Shared: all publish their vectors, each member reduces one fragment of all
 * vectors and publishes it, all collect the fragments: two rounds, but each
 * vector is reduced only once.
 * Last: the last member to publish its vector reduces all of them and publishes
 * the result. If oversubscribed, that is as fast as one round: a member that
 * has published must wait for a core anyway, and finds the result then. All
 * members get the same bits: each fragment is reduced by one member, and in
 * "flat" all members reduce in the same order. */

#include "coll/bcol/shm/fold.h"

/* Vectors from this length on are zero-copy. */
enum { ZCOPY_BYTES = 1024 };

/** If the call is in place, the result would overwrite what other members may
 * still read. */
static bool publish_flat(shm_call_t *call)
{
    if (call->basic->in == call->basic->out) {
        call->zcopy_bytes = SIZE_MAX;
    }
    return shm_publish_in(call);
}

/** If lengths differ, some members may run "last". All members fail then, and
 * count themselves, so that the counter is right for the next operation that
 * uses it. */
static void count_once(shm_call_t *call)
{
    if (call->mismatch && call->arrival == 0) {
        call->arrival = shm_count(call->shm, call->seq);
    }
}

static bool fold_all(shm_call_t *call)
{
    if (!shm_fold(call, call->shm->size, shm_all_of(call), call->basic->out)) {
        return false;
    }
    count_once(call);
    return true;
}

const shm_algorithm_t shm_flat_allreduce = {
    .base = SHM_ALGORITHM("flat", true),
    .step = {publish_flat, fold_all, shm_acknowledge, shm_await_readers},
    .zcopy_bytes = {ZCOPY_BYTES, ZCOPY_BYTES},
    .vector = true,
    .runs_inline = true};

/* ---- shared ---- */

/** Vectors may be zcopy even if the call is in place: a fragment of the result
 * is written when the only member that reads this fragment of the vectors has
 * read it. */
static bool publish(shm_call_t *call)
{
    (void)shm_publish_in(call);
    /* Not in the staging buffer, which is for this member's fragment. */
    call->own = call->basic->in;
    return true;
}

/** Copy the fragments of all members to the result. */
static bool collect(shm_call_t *call)
{
    count_once(call);
    return shm_collect_fragments(call, true);
}

const shm_algorithm_t shm_shared_allreduce = {
    .base = SHM_ALGORITHM("shared", true),
    .step = {publish, shm_fold_fragment, collect},
    .zcopy_bytes = {ZCOPY_BYTES, ZCOPY_BYTES},
    .vector = true,
    .stages = true};

/* ---- last ---- */

/** The last member to count itself reduces: all members have published their
 * vectors then. */
static bool fold_if_last(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    shm_last_t *last = shm_last_of(call);
    uint32_t size = call->shm->size;
    if (call->arrival == 0) {
        /* Acquire: see what the others published. Release: the last member sees
         * this member's vector. */
        call->arrival = shm_count(call->shm, call->seq);
    }
    if (call->arrival % size != 0) { /* not the last one */
        return true;
    }
    /* In the simulator a store reaches other ranks later, so a descriptor may
     * not be visible yet. */
    if (!shm_fold(call, size, shm_all_of(call),
                  shm_place_of(call, call->shm->me, basic->bytes))) {
        return false;
    }
    last->folder = call->shm->me + (call->mismatch ? size : 0);
    shm_set(call, &last->word);
    return true;
}

/** After a long wait: members with another length may run another algorithm,
 * and count themselves only when they fail. So check all published lengths; if
 * one differs, all members fail.
 * @return whether there is a mismatch */
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
            (void)shm_published(call, i, i, call->basic->bytes);
        }
    }
    return call->mismatch;
}

/** Copy the result of the last member. */
static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    const shm_last_t *last = shm_last_of(call);
    call->next = call->shm->size; /* no particular member */
    if (ctn_word_load(&last->word) != ctn_flag64(call->seq)) {
        return call->shm->module.exec->peer_checks != call->peer_checks &&
               check_lengths(call);
    }
    if (last->folder >= call->shm->size) {
        call->mismatch = true;
        call->status = CATENA_ERR_ARG;
        return true;
    }
    shm_copy(call, basic->out,
             shm_place_of(call, (uint32_t)last->folder, basic->bytes),
             basic->bytes);
    return true;
}

const shm_algorithm_t shm_last_allreduce = {
    .base = SHM_ALGORITHM("last", true),
    .step = {publish, fold_if_last, take},
    .zcopy_bytes = {ZCOPY_BYTES, ZCOPY_BYTES},
    .vector = true};
