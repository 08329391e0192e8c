/* SHM-3: reduce. Flat: all show their vectors, the root folds them in the order
 * of members. Shared: each member folds a part of all vectors and shows what it
 * gives, the root collects the parts. */

#include "coll/bcol/shm/fold.h"

/* From here on, with a core for each, many hands are faster than one. */
enum { SHARED_BYTES = 16384, SHARED_MEMBERS = 4 };

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

/** The root reads its own vector where it is, unless it is where the result
 * grows. */
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
    call->own = call->basic->in; /* so the stage is free */
    return true;
}

/** Nobody reads the vectors any more when all parts are folded. */
static bool collect(shm_call_t *call)
{
    return (!is_root(call) && !call->zcopy) ||
           shm_collect_fragments(call, is_root(call));
}

/* All have started when it ends. But with another length some go the other way,
 * and fences have to come at the same place for all. */
static const shm_algorithm_t shared = {
    .base = SHM_ALGORITHM("shared", false),
    .step = {publish_to_all, shm_fold_fragment, collect}};

static const shm_algorithm_t *const algorithms[] = {&flat, &shared, NULL};
const char *const shm_reduce_names[] = {"flat", "shared", NULL};

const shm_algorithm_t *shm_reduce_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(algorithms, basic);
    bool long_one = basic->bytes >= SHARED_BYTES &&
                    shm->size >= SHARED_MEMBERS && !shm->oversubscribed;
    return named != NULL ? named : long_one ? &shared : &flat;
}
