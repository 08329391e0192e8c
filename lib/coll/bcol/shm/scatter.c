/* SHM-7: scatter. The root publishes each member's block in that member's
 * descriptor, each member copies its own: one round. Only the root needs to
 * know where the blocks lie. The root waits for members whose blocks are zcopy.
 */

#include "coll/bcol/shm/block.h"

/* From this length on an additional copy costs more than the wait for the
 * reader. */
enum { ZCOPY_BYTES = 2048 };

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

/** At the root: the block for member i. */
static const unsigned char *block_of(const ctn_basic_coll_t *basic, uint32_t i,
                                     size_t *bytes)
{
    *bytes = basic->at[i + 1] - basic->at[i];
    return (const unsigned char *)basic->in + basic->at[i];
}

/** Take memory for the blocks that are longer than a chunk and not zcopy. */
static void make_copy_area(shm_call_t *call)
{
    size_t all = 0;
    for (uint32_t i = 0; i < call->shm->size; i++) {
        size_t bytes;
        const void *block = block_of(call->basic, i, &bytes);
        if (i != call->shm->me && bytes > CTN_CHUNK_BYTES &&
            !shm_may_zcopy(call, block, bytes)) {
            all += bytes;
        }
    }
    if (all > 0) {
        shm_copy_area_take(call, all);
    }
}

/** At the root: publish all blocks and copy its own. */
static bool publish_all(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    size_t bytes;
    if (!is_root(call)) {
        return true;
    }
    make_copy_area(call);
    for (uint32_t i = 0; i < call->shm->size; i++) {
        const void *block = block_of(basic, i, &bytes);
        if (i != basic->root) {
            shm_publish_block(call, i, block, bytes);
        }
    }
    const void *own = block_of(basic, basic->root, &bytes);
    own = shm_own_block(call, own, bytes, basic->bytes);
    if (own != NULL && basic->out != own) {
        shm_copy(call, basic->out, own, bytes);
    }
    return true;
}

/** At other members: copy the block. */
static bool take(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->shm->me;
    if (is_root(call)) {
        return true;
    }
    if (!shm_is_set_by(call, basic->root, &shm_descriptor_of(call, me)->word)) {
        return false;
    }
    const void *block =
        shm_published_block(call, me, basic->root, basic->bytes);
    if (block != NULL) {
        shm_copy(call, basic->out, block, basic->bytes);
    }
    return true;
}

/** At the root: wait for the flags of members whose blocks are zcopy. */
static bool await_members(shm_call_t *call)
{
    if (!is_root(call)) {
        return true;
    }
    for (; call->zcopy && call->next < call->shm->size; call->next++) {
        uint32_t i = call->next;
        if (i != call->shm->me && shm_has_zcopy(call, i) &&
            !shm_is_set(call,
                        ctn_node_departed(&call->shm->area, call->seq, i))) {
            return false;
        }
    }
    shm_copy_area_release(call);
    return true;
}

#define SCATTER(name, zcopy_from)                                              \
    {                                                                          \
        .algorithm = {.base = SHM_ALGORITHM(name, false),                      \
                      .step = {publish_all, take, shm_acknowledge,             \
                               await_members}},                                \
        .zcopy_bytes = (zcopy_from), .what = "scatter",                        \
    }

/* Zcopy is called "lent" in settings. */
static const shm_block_algorithm_t staged = SCATTER("staged", SIZE_MAX);
static const shm_block_algorithm_t zcopy = SCATTER("lent", 0);
/* The default: staged or zcopy by length. */
static const shm_block_algorithm_t by_length = SCATTER("scatter", ZCOPY_BYTES);

static const shm_algorithm_t *const algorithms[] = {&staged.algorithm,
                                                    &zcopy.algorithm, NULL};

const shm_algorithm_t *shm_scatter_algorithm(const shm_t *shm,
                                             const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(algorithms, basic);
    (void)shm;
    return named != NULL ? named : &by_length.algorithm;
}
