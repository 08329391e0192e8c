/* SHM-3: reduce. Flat: all publish their vectors, the root reduces them in the
 * order of members. Shared: all publish their vectors, each member reduces one
 * fragment of all of them and publishes it, the root collects the fragments. */

#include "coll/bcol/shm/fold.h"

/* With a core for each rank, "shared" is faster from this length and number of
 * members on. */
enum { SHARED_BYTES = 16384, SHARED_MEMBERS = 4 };

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
    shm_publish(call, call->basic->in, call->basic->bytes, false);
    return true;
}

static bool fold_at_root(shm_call_t *call)
{
    return !is_root(call) ||
           shm_fold(call, call->shm->size, shm_all_of(call), call->basic->out);
}

static const shm_algorithm_t flat = {.base = SHM_ALGORITHM("flat", false),
                                     .step = {publish_to_root, fold_at_root},
                                     .runs_inline = true};

static bool publish_to_all(shm_call_t *call)
{
    shm_publish(call, call->basic->in, call->basic->bytes, true);
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
static const shm_algorithm_t shared = {
    .base = SHM_ALGORITHM("shared", false),
    .step = {publish_to_all, shm_fold_fragment, collect},
    .stages = true};

static const shm_algorithm_t *const algorithms[] = {&flat, &shared, NULL};
const char *const shm_reduce_names[] = {"flat", "shared", NULL};

const shm_algorithm_t *shm_reduce_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(algorithms, basic);
    bool is_long = basic->bytes >= SHARED_BYTES &&
                   shm->size >= SHARED_MEMBERS && !shm->area.oversubscribed;
    return named != NULL ? named : is_long ? &shared : &flat;
}
