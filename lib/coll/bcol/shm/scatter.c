/* SHM-7: scatter. The root shows each member its part in that member's line,
 * each copies its own: one step, and nobody but the root needs to know where
 * the parts lie. The root waits for those to whom it has lent theirs. */

#include "coll/bcol/shm/block.h"

/* From here on a copy more costs more than to wait for the reader. */
enum { LEND_BYTES = 2048 };

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

static const unsigned char *part_of(const ctn_basic_coll_t *basic, uint32_t i,
                                    size_t *bytes)
{
    *bytes = basic->at[i + 1] - basic->at[i];
    return (const unsigned char *)basic->in + basic->at[i];
}

/** Room for what fits no segment and cannot be lent. */
static void make_room(shm_call_t *call)
{
    size_t all = 0;
    for (uint32_t i = 0; i < call->shm->size; i++) {
        size_t bytes;
        const void *part = part_of(call->basic, i, &bytes);
        if (i != call->shm->me && bytes > CTN_CHUNK_BYTES &&
            !shm_lends(call, part, bytes)) {
            all += bytes;
        }
    }
    if (all > 0) {
        shm_take_room(call, all);
    }
}

static bool show_all(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    size_t bytes;
    if (!is_root(call)) {
        return true;
    }
    make_room(call);
    for (uint32_t i = 0; i < call->shm->size; i++) {
        const void *part = part_of(basic, i, &bytes);
        if (i != basic->root) {
            shm_show_block(call, i, part, bytes);
        }
    }
    const void *own = part_of(basic, basic->root, &bytes);
    own = shm_own_block(call, own, bytes, basic->bytes);
    if (own != NULL && basic->out != own) {
        shm_copy(call, basic->out, own, bytes);
    }
    return true;
}

static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->shm->me;
    if (is_root(call)) {
        return true;
    }
    if (!shm_heard_from(call, basic->root, &shm_post_of(call, me)->word)) {
        return false;
    }
    const void *part = shm_block_shown(call, me, basic->root, basic->bytes);
    if (part != NULL) {
        shm_copy(call, basic->out, part, basic->bytes);
    }
    return true;
}

static bool await_members(shm_call_t *call)
{
    if (!is_root(call)) {
        return true;
    }
    for (; call->lent && call->seen < call->shm->size; call->seen++) {
        uint32_t i = call->seen;
        if (i != call->shm->me && shm_has_lent(call, i) &&
            !shm_heard(call, shm_flag_of(call, i))) {
            return false;
        }
    }
    shm_leave_room(call);
    return true;
}

#define SCATTER(name, lend)                                                    \
    {                                                                          \
        .way = {.algorithm = SHM_ALGORITHM(name, false),                       \
                .step = {show_all, take, shm_thank, await_members}},           \
        .lend_from = (lend), .what = "scatter",                                \
    }

static const shm_block_way_t staged = SCATTER("staged", SIZE_MAX);
static const shm_block_way_t lent = SCATTER("lent", 0);
static const shm_block_way_t either = SCATTER("scatter", LEND_BYTES);

static const shm_way_t *const ways[] = {&staged.way, &lent.way, NULL};

const shm_way_t *shm_scatter_way(const shm_t *shm,
                                 const ctn_basic_coll_t *basic)
{
    const shm_way_t *named = shm_named_way(ways, basic);
    (void)shm;
    return named != NULL ? named : &either.way;
}
