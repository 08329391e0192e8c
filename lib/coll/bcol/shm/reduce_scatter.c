/* SHM-9: reduce_scatter. Each shows all it has, waits for all, and folds its
 * own part of what they have: one step. Every byte is read once, so long
 * contributions are lent: a copy would be all of the work again. */

#include "coll/bcol/shm/block.h"

/* From here on a copy costs more than the wait for all to have read, which
 * takes longer with more ranks than cores. */
enum { LEND_BYTES = 4096, LEND_CROWDED = SHM_KEPT_BYTES };

/* So much of a result stays in the nearest cache. */
enum { FOLD_BYTES = 8192 };

static size_t all_bytes(const shm_call_t *call)
{
    return call->basic->at[call->shm->size];
}

static bool show(shm_call_t *call)
{
    shm_show_in(call, all_bytes(call));
    return true;
}

/** What member i has from `at` on; NULL: it had no memory,
 * or something else. */
static const unsigned char *contribution(shm_call_t *call, uint32_t i,
                                         size_t at)
{
    const unsigned char *all = shm_block_shown(call, i, i, all_bytes(call));
    return all != NULL ? all + at : NULL;
}

/** Whether all have shown what they have; remembers whether some is lent. */
static bool all_there(shm_call_t *call)
{
    for (uint32_t i = 0; i < call->shm->size; i++) {
        (void)contribution(call, i, 0);
    }
    return call->status == CATENA_OK;
}

/** A piece of the result, from the last member to the first: users' functions
 * replace their right operand. */
static void fold_piece(shm_call_t *call, size_t at, size_t bytes,
                       unsigned char *out)
{
    uint32_t i = call->shm->size - 1;
    const unsigned char *right = contribution(call, i, at);
    if (i == 0) {
        shm_copy(call, out, right, bytes);
    }
    for (; i > 0; right = out) {
        shm_reduce(call, contribution(call, --i, at), right, out, bytes);
    }
}

static bool fold(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    size_t first = basic->at[call->shm->me];
    size_t bytes = basic->at[call->shm->me + 1] - first;
    size_t element = basic->by.type->bytes;
    size_t most =
        element < FOLD_BYTES ? FOLD_BYTES - FOLD_BYTES % element : element;
    if (!all_there(call)) {
        return true;
    }
    for (size_t at = 0; at < bytes; at += most) {
        fold_piece(call, first + at, bytes - at < most ? bytes - at : most,
                   (unsigned char *)basic->out + at);
    }
    return true;
}

#define REDUCE_SCATTER(name, lend)                                             \
    {                                                                          \
        .way = {.algorithm = SHM_ALGORITHM(name, true),                        \
                .step = {show, shm_all_posts, fold, shm_thank,                 \
                         shm_await_thanks}},                                   \
        .lend_from = (lend), .what = "reduce_scatter",                         \
    }

static const shm_block_way_t staged = REDUCE_SCATTER("staged", SIZE_MAX);
static const shm_block_way_t lent = REDUCE_SCATTER("lent", 0);
static const shm_block_way_t oversubscribed =
    REDUCE_SCATTER("reduce_scatter", LEND_CROWDED);
static const shm_block_way_t uncrowded =
    REDUCE_SCATTER("reduce_scatter", LEND_BYTES);

static const shm_way_t *const ways[] = {&staged.way, &lent.way, NULL};

const shm_way_t *shm_reduce_scatter_way(const shm_t *shm,
                                        const ctn_basic_coll_t *basic)
{
    const shm_way_t *named = shm_named_way(ways, basic);
    return named != NULL         ? named
           : shm->oversubscribed ? &oversubscribed.way
                                 : &uncrowded.way;
}
