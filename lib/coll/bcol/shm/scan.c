/* SHM-5: scan and exscan. Flat: all show their vectors, each folds those before
 * its own: one step. Chain, for long vectors: each adds its own to what the one
 * before it gives, so nobody folds twice. */

#include "coll/bcol/shm/fold.h"

/* Longer vectors go from member to member: with more ranks than cores, where
 * what all fold counts, that is faster from about here on. */
enum { FLAT_BYTES = 16384 };

static bool is_last(const shm_call_t *call)
{
    return call->shm->me + 1 == call->shm->size;
}

static bool show(shm_call_t *call)
{
    shm_show(call, call->basic->in, call->basic->bytes, false);
    return true;
}

static bool fold(shm_call_t *call)
{
    return shm_fold(call, call->shm->me + 1, shm_whole(call), call->basic->out);
}

static bool fold_before(shm_call_t *call)
{
    return call->shm->me == 0 ||
           shm_fold(call, call->shm->me, shm_whole(call), call->basic->out);
}

static const shm_way_t flat = {.algorithm = SHM_ALGORITHM("flat", false),
                               .step = {show, fold}};
static const shm_way_t flat_exclusive = {
    .algorithm = SHM_ALGORITHM("flat", false), .step = {show, fold_before}};

/* ---- chain ---- */

/** Show what members up to this one give. `Left`: those before it. */
static bool pass_on(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->shm->me;
    shm_line_t *line = shm_post_of(call, me);
    void *place = shm_place_of(call, me, basic->bytes);
    if (me == 0) {
        shm_show(call, basic->in, basic->bytes, false);
        return true;
    }
    call->seen = me - 1;
    if (!shm_heard(call, &shm_post_of(call, me - 1)->word)) {
        return false;
    }
    call->left = shm_shown(call, me - 1);
    if (!is_last(call)) {
        if (call->left != NULL) {
            shm_reduce(call, call->left, basic->in, place, basic->bytes);
        }
        line->offset =
            call->differs ? shm_unfit_mark(basic) : shm_vector_mark(basic);
        shm_say(call, &line->word);
    }
    return true;
}

static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    if (call->differs) {
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

static bool take_before(shm_call_t *call)
{
    if (call->shm->me > 0 && !call->differs) {
        shm_copy(call, call->basic->out, call->left, call->basic->bytes);
    }
    return true;
}

static const shm_way_t chain = {.algorithm = SHM_ALGORITHM("chain", false),
                                .step = {pass_on, take}};
static const shm_way_t chain_exclusive = {
    .algorithm = SHM_ALGORITHM("chain", false), .step = {pass_on, take_before}};

static const shm_way_t *const inclusive[] = {&flat, &chain, NULL};
static const shm_way_t *const exclusive[] = {&flat_exclusive, &chain_exclusive,
                                             NULL};
const char *const shm_scan_names[] = {"flat", "chain", NULL};

static const shm_way_t *choose(const shm_way_t *const *ways,
                               const ctn_basic_coll_t *basic)
{
    const shm_way_t *named = shm_named_way(ways, basic);
    return named != NULL ? named : ways[basic->bytes > FLAT_BYTES];
}

const shm_way_t *shm_scan_way(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    (void)shm;
    return choose(inclusive, basic);
}

const shm_way_t *shm_exscan_way(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    (void)shm;
    return choose(exclusive, basic);
}
