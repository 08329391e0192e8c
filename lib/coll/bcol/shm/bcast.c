/* SHM-2: bcast. The root shows its vector, all read it: one step, whoever the
 * root is. Staged: the root copies it and is through. Lent (in the shared heap
 * only): nobody copies twice, but the root is through when all have read, which
 * takes longer than the copy in all cases measured. */

#include "coll/bcol/shm/shm.h"

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

static bool show(shm_call_t *call)
{
    if (is_root(call)) {
        shm_show(call, call->basic->in, call->basic->bytes, false);
    }
    return true;
}

static bool lend(shm_call_t *call)
{
    if (is_root(call)) {
        shm_show(call, call->basic->in, call->basic->bytes, true);
    }
    return true;
}

static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    if (is_root(call)) {
        return true;
    }
    if (!shm_heard_from(call, basic->root,
                        &shm_post_of(call, basic->root)->word)) {
        return false;
    }
    const void *vector = shm_shown(call, basic->root);
    if (vector != NULL) {
        shm_copy(call, basic->out, vector, basic->bytes);
    }
    return true;
}

/** Who has lent something waits for its readers. */
static bool tell(shm_call_t *call)
{
    if (shm_is_lent(call, call->basic->root)) {
        shm_say(call, shm_flag_of(call, call->shm->me));
    }
    return true;
}

static bool await_readers(shm_call_t *call)
{
    return !call->lent || shm_all_flags(call);
}

static const shm_way_t staged = {.algorithm = SHM_ALGORITHM("staged", false),
                                 .step = {show, take},
                                 .lines = true};
static const shm_way_t lent = {.algorithm = SHM_ALGORITHM("lent", false),
                               .step = {lend, take, tell, await_readers}};

static const shm_way_t *const ways[] = {&staged, &lent, NULL};
const char *const shm_bcast_names[] = {"staged", "lent", NULL};

const shm_way_t *shm_bcast_way(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    (void)shm;
    const shm_way_t *named = shm_named_way(ways, basic);
    return named != NULL ? named : &staged;
}
