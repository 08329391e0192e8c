/* SHM-2: bcast. The root shows its vector, all read it: one step, whoever the
 * root is. Staged: the root copies it and is through; lent (long vectors in the
 * shared heap): nobody copies twice, and the root is through when all have
 * read. */

#include "coll/bcol/shm/shm.h"

/* From here on a copy of the root's costs more than to wait for the readers. */
enum { LEND_BYTES = 8192 };

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

static void show(shm_call_t *call, bool may_lend)
{
    if (is_root(call)) {
        shm_show(call, call->basic->in, call->basic->bytes, may_lend);
    }
}

static bool show_lent(shm_call_t *call)
{
    show(call, true);
    return true;
}

static bool show_staged(shm_call_t *call)
{
    show(call, false);
    return true;
}

static bool show_either(shm_call_t *call)
{
    show(call, !call->shm->crowded && call->basic->bytes >= LEND_BYTES);
    return true;
}

static bool take(shm_call_t *call)
{
    const ctn_basic_t *basic = call->basic;
    call->seen = basic->root;
    if (!is_root(call) &&
        !shm_heard(call, &shm_post_of(call, basic->root)->word)) {
        return false;
    }
    if (!is_root(call)) {
        shm_copy(call, basic->out, shm_shown(call, basic->root, basic->bytes),
                 basic->bytes);
    }
    if (shm_is_lent(call, basic->root)) {
        shm_say(call, shm_flag_of(call, call->shm->me));
    }
    return true;
}

/** The root, if it has lent something, waits for its readers. */
static bool await_readers(shm_call_t *call)
{
    return !call->lent || shm_all_flags(call);
}

static const shm_way_t either = {.algorithm = SHM_ALGORITHM("bcast", false),
                                 .step = {show_either, take, await_readers},
                                 .lines = true};
static const shm_way_t staged = {.algorithm = SHM_ALGORITHM("staged", false),
                                 .step = {show_staged, take},
                                 .lines = true};
static const shm_way_t lent = {.algorithm = SHM_ALGORITHM("lent", false),
                               .step = {show_lent, take, await_readers}};

static const shm_way_t *const ways[] = {&staged, &lent, NULL};
const char *const shm_bcast_names[] = {"staged", "lent", NULL};

const shm_way_t *shm_bcast_way(const shm_t *shm, const ctn_basic_t *basic)
{
    (void)shm;
    const shm_way_t *named = shm_named_way(ways, basic);
    return named != NULL ? named : &either;
}
