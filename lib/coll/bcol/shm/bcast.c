/* SHM-2: bcast. The root publishes its vector, all read it: one round. Staged:
 * the root copies its vector and ends. Zcopy (in the shared heap only; called
 * "lent" in settings): the root makes no copy, but ends only when all have read
 * its vector. That took longer than the copy in all measurements, so staged is
 * the default. */

#include "coll/bcol/shm/shm.h"

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

static bool publish(shm_call_t *call)
{
    if (is_root(call)) {
        shm_publish(call, call->basic->in, call->basic->bytes, false);
    }
    return true;
}

static bool publish_zcopy(shm_call_t *call)
{
    if (is_root(call)) {
        shm_publish(call, call->basic->in, call->basic->bytes, true);
    }
    return true;
}

/** At other members: copy the root's vector. */
static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    if (is_root(call)) {
        return true;
    }
    if (!shm_is_set_by(call, basic->root,
                       &shm_descriptor_of(call, basic->root)->word)) {
        return false;
    }
    const void *vector = shm_published(call, basic->root);
    if (vector != NULL) {
        shm_copy(call, basic->out, vector, basic->bytes);
    }
    return true;
}

/** Set this member's flag: it has read the root's zcopy vector. */
static bool acknowledge_zcopy(shm_call_t *call)
{
    if (shm_is_zcopy(call, call->basic->root)) {
        shm_depart(call);
    }
    return true;
}

static bool await_readers(shm_call_t *call)
{
    return !call->zcopy || shm_all_departed(call);
}

static const shm_algorithm_t staged = {.base = SHM_ALGORITHM("staged", false),
                                       .step = {publish, take},
                                       .runs_inline = true};
static const shm_algorithm_t zcopy = {
    .base = SHM_ALGORITHM("lent", false),
    .step = {publish_zcopy, take, acknowledge_zcopy, await_readers}};

static const shm_algorithm_t *const algorithms[] = {&staged, &zcopy, NULL};
const char *const shm_bcast_names[] = {"staged", "lent", NULL};

const shm_algorithm_t *shm_bcast_algorithm(const shm_t *shm,
                                           const ctn_basic_coll_t *basic)
{
    (void)shm;
    const shm_algorithm_t *named = shm_named_algorithm(algorithms, basic);
    return named != NULL ? named : &staged;
}
