/* SHM-5: scan and exscan. Flat: all publish their vectors, each member reduces
 * those of the members before it and, in a scan, its own: one round. Chain, for
 * long vectors: each member reduces its own vector with the result of the
 * member before it, and publishes that: up to size - 1 rounds, but no work is
 * done twice. */

#include "coll/bcol/shm/fold.h"

static bool is_last(const shm_call_t *call)
{
    return call->shm->me + 1 == call->shm->size;
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

#define SCAN(its_name, first, second)                                          \
    {                                                                          \
        .base = SHM_ALGORITHM(its_name, false), .step = {first, second},       \
        .zcopy_bytes = SHM_NEVER_ZCOPY, .vector = true,                        \
    }

const shm_algorithm_t shm_flat_scan = SCAN("flat", shm_publish_in, fold);
const shm_algorithm_t shm_flat_exscan =
    SCAN("flat", shm_publish_in, fold_before);

/* ---- chain ---- */

/** Publish the reduction of the members up to this one, and set call->left to
 * that of the members before it. */
static bool publish_next(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->shm->me;
    void *place = shm_place_of(call, me, basic->bytes);
    if (me == 0) {
        return shm_publish_in(call);
    }
    call->next = me - 1;
    if (!shm_is_set(call, &shm_descriptor_of(call, me - 1)->word)) {
        return false;
    }
    call->left = shm_published(call, me - 1, me - 1, basic->bytes);
    if (!is_last(call)) {
        if (call->left != NULL) {
            shm_reduce(call, call->left, basic->in, place, basic->bytes);
        }
        shm_publish(call, me, place, basic->bytes);
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

const shm_algorithm_t shm_chain_scan = SCAN("chain", publish_next, take);
const shm_algorithm_t shm_chain_exscan =
    SCAN("chain", publish_next, take_before);
