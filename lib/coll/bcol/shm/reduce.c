/* SHM-3: reduce. Flat: all publish their vectors, the root reduces them in the
 * order of members. Shared: all publish their vectors, each member reduces one
 * fragment of all of them and publishes it, the root collects the fragments. */

#include "coll/bcol/shm/fold.h"

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

/** The root reads its own vector in place. But if the result is written there
 * before the root's vector is reduced, the vector is copied first. */
static bool keep_own(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    call->own = basic->in;
    if (basic->in == basic->out && call->shm->me > 0) {
        void *place = shm_place_of(call, call->shm->me, basic->bytes);
        shm_copy(call, place, basic->in, basic->bytes);
        call->own = place;
    }
    return true;
}

static bool publish_to_root(shm_call_t *call)
{
    if (is_root(call)) {
        return keep_own(call);
    }
    return shm_publish_in(call);
}

static bool fold_at_root(shm_call_t *call)
{
    return !is_root(call) ||
           shm_fold(call, call->shm->size, shm_all_of(call), call->basic->out);
}

const shm_algorithm_t shm_flat_reduce = {
    .base = SHM_ALGORITHM("flat", false),
    .step = {publish_to_root, fold_at_root},
    .zcopy_bytes = SHM_NEVER_ZCOPY,
    .vector = true,
    .runs_inline = true};

static bool publish_to_all(shm_call_t *call)
{
    (void)shm_publish_in(call);
    /* Not in the staging buffer, which is for this member's fragment. */
    call->own = call->basic->in;
    return true;
}

/** The root collects the fragments. A member whose vector is zcopy waits for
 * all fragments, too: no member reads the vectors any more then. */
static bool collect(shm_call_t *call)
{
    return (!is_root(call) && !call->zcopy) ||
           shm_collect_fragments(call, is_root(call));
}

/* No member ends before all have started. Still it is not marked as
 * synchronizing: members with another length may run "flat", which is not, and
 * all members must insert generation barriers at the same operation. */
const shm_algorithm_t shm_shared_reduce = {
    .base = SHM_ALGORITHM("shared", false),
    .step = {publish_to_all, shm_fold_fragment, collect},
    .vector = true,
    .stages = true};
