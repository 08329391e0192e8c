/* SHM-6: gather. Each shows its part, the root copies them: one step. Only
 * those who have lent theirs wait for the root. */

#include "coll/bcol/shm/block.h"

/* From here on, with a core for each, a copy more costs the root more than
 * those wait who have lent their blocks. */
enum { LEND_BYTES = 8192 };

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

static bool show(shm_call_t *call)
{
    return is_root(call) || shm_show_own(call);
}

static bool take_all(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    if (!is_root(call)) {
        return true;
    }
    for (uint32_t i; (i = call->seen) < call->shm->size; call->seen++) {
        size_t bytes = basic->at[i + 1] - basic->at[i];
        unsigned char *to = (unsigned char *)basic->out + basic->at[i];
        const void *part = NULL;
        if (i == basic->root) {
            part = shm_own_block(call, basic->in, basic->bytes, bytes);
        } else {
            if (!shm_heard(call, &shm_post_of(call, i)->word)) {
                return false;
            }
            part = shm_block_shown(call, i, i, bytes);
        }
        if (part != NULL && part != to) {
            shm_copy(call, to, part, bytes);
        }
    }
    return true;
}

static bool await_root(shm_call_t *call)
{
    if (is_root(call)) {
        return true;
    }
    call->seen = call->basic->root;
    if (call->lent && !shm_heard(call, shm_flag_of(call, call->basic->root))) {
        return false;
    }
    shm_leave_room(call);
    return true;
}

#define GATHER(name, lend)                                                     \
    {                                                                          \
        .way = {.algorithm = SHM_ALGORITHM(name, false),                       \
                .step = {show, take_all, shm_thank, await_root}},              \
        .lend_from = (lend), .what = "gather",                                 \
    }

static const shm_block_way_t staged = GATHER("staged", SIZE_MAX);
static const shm_block_way_t lent = GATHER("lent", 0);
static const shm_block_way_t oversubscribed =
    GATHER("gather", SHM_KEPT_BYTES + 1);
static const shm_block_way_t uncrowded = GATHER("gather", LEND_BYTES);

static const shm_way_t *const ways[] = {&staged.way, &lent.way, NULL};

const shm_way_t *shm_gather_way(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    const shm_way_t *named = shm_named_way(ways, basic);
    return named != NULL         ? named
           : shm->oversubscribed ? &oversubscribed.way
                                 : &uncrowded.way;
}
