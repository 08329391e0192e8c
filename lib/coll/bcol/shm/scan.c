/* SHM-5: scan and exscan. Flat: all publish their vectors, each member reduces
 * those of the members before it and, in a scan, its own: one round. Chain, for
 * long vectors: each member reduces its own vector with the result of the
 * member before it, and publishes that: up to size - 1 rounds, but no work is
 * done twice. */

#include "coll/bcol/shm/fold.h"

/* Longer vectors use the chain. If oversubscribed, where the total work counts,
 * the chain is faster from about this length on. */
enum { FLAT_BYTES = 16384 };

static bool is_last(const shm_call_t *call)
{
    return call->shm->me + 1 == call->shm->size;
}

static bool publish(shm_call_t *call)
{
    shm_publish(call, call->basic->in, call->basic->bytes, false);
    return true;
}

static bool fold(shm_call_t *call)
{
    return shm_fold(call, call->shm->me + 1, shm_all_of(call),
                    call->basic->out);
}

static bool fold_before(shm_call_t *call)
{
    return call->shm->me == 0 ||
           shm_fold(call, call->shm->me, shm_all_of(call), call->basic->out);
}

static const shm_algorithm_t flat = {.base = SHM_ALGORITHM("flat", false),
                                     .step = {publish, fold}};
static const shm_algorithm_t flat_exclusive = {
    .base = SHM_ALGORITHM("flat", false), .step = {publish, fold_before}};

/* ---- chain ---- */

/** Publish the reduction of the members up to this one, and set call->left to
 * that of the members before it. */
static bool publish_next(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->shm->me;
    shm_descriptor_t *descriptor = shm_descriptor_of(call, me);
    void *place = shm_place_of(call, me, basic->bytes);
    if (me == 0) {
        shm_publish(call, basic->in, basic->bytes, false);
        return true;
    }
    call->next = me - 1;
    if (!shm_is_set(call, &shm_descriptor_of(call, me - 1)->word)) {
        return false;
    }
    call->left = shm_published(call, me - 1);
    if (!is_last(call)) {
        if (call->left != NULL) {
            shm_reduce(call, call->left, basic->in, place, basic->bytes);
        }
        descriptor->offset =
            call->mismatch ? shm_mismatch_mark(basic) : shm_vector_mark(basic);
        shm_set(call, &descriptor->word);
    }
    return true;
}

/** Scan: write the result. */
static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    if (call->mismatch) {
        return true;
    }
    if (is_last(call) && call->shm->me > 0) {
        shm_reduce(call, call->left, basic->in, basic->out, basic->bytes);
    } else {
        shm_copy(call, basic->out,
                 shm_place_of(call, call->shm->me, basic->bytes), basic->bytes);
    }
    return true;
}

/** Exscan: write the result. */
static bool take_before(shm_call_t *call)
{
    if (call->shm->me > 0 && !call->mismatch) {
        shm_copy(call, call->basic->out, call->left, call->basic->bytes);
    }
    return true;
}

static const shm_algorithm_t chain = {.base = SHM_ALGORITHM("chain", false),
                                      .step = {publish_next, take}};
static const shm_algorithm_t chain_exclusive = {
    .base = SHM_ALGORITHM("chain", false), .step = {publish_next, take_before}};

static const shm_algorithm_t *const inclusive[] = {&flat, &chain, NULL};
static const shm_algorithm_t *const exclusive[] = {&flat_exclusive,
                                                   &chain_exclusive, NULL};
const char *const shm_scan_names[] = {"flat", "chain", NULL};

static const shm_algorithm_t *choose(const shm_algorithm_t *const *algorithms,
                                     const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(algorithms, basic);
    return named != NULL ? named : algorithms[basic->bytes > FLAT_BYTES];
}

const shm_algorithm_t *shm_scan_algorithm(const shm_t *shm,
                                          const ctn_basic_coll_t *basic)
{
    (void)shm;
    return choose(inclusive, basic);
}

const shm_algorithm_t *shm_exscan_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic)
{
    (void)shm;
    return choose(exclusive, basic);
}
