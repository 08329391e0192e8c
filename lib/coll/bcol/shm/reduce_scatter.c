/* SHM-9: reduce_scatter. Each member publishes its vector, waits for all
 * members, and reduces its own block of all vectors: one round. Every byte is
 * read by one member only, so long vectors are zcopy: a copy would double the
 * work. */

#include "coll/bcol/shm/shm.h"
#include "core/hash.h"

/* Bytes of the result that are reduced at once: they fit the first-level
 * cache. */
enum { FOLD_BYTES = 8192 };

static size_t all_bytes(const shm_call_t *call)
{
    return call->basic->at[call->shm->size];
}

/** Blocks of other lengths may make a vector of the same length. */
static uint64_t digest_of(const shm_call_t *call)
{
    uint64_t digest = 0;
    for (uint32_t i = 1; i < call->shm->size; i++) {
        digest = (digest + call->basic->at[i]) * CTN_HASH_STEP;
    }
    return digest >> 44 << 40; /* 20 bits below SHM_MARKS */
}

static bool publish(shm_call_t *call)
{
    call->digest = digest_of(call);
    shm_publish_own(call, call->basic->in, all_bytes(call));
    return true;
}

/** The vector of member i from offset `at` on. NULL: that member had no memory,
 * no valid data, or a vector of another length. */
static const unsigned char *contribution(shm_call_t *call, uint32_t i,
                                         size_t at)
{
    const unsigned char *all = shm_published(call, i, i, all_bytes(call));
    return all != NULL ? all + at : NULL;
}

/** Whether all members have published valid vectors of the expected length.
 * Sets call->acknowledge if one is zcopy. */
static bool all_valid(shm_call_t *call)
{
    for (uint32_t i = 0; i < call->shm->size; i++) {
        (void)contribution(call, i, 0);
    }
    return call->status == CATENA_OK;
}

/** Reduce the vectors at offset `at` from the last member to the first: users'
 * functions overwrite their right operand. */
static void fold_down(shm_call_t *call, size_t at, size_t bytes,
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

/** The same from the first member to the last, as all other reductions of this
 * component do. */
static void fold_up(shm_call_t *call, size_t at, size_t bytes,
                    unsigned char *out)
{
    const unsigned char *left = contribution(call, 0, at);
    if (call->shm->size == 1) {
        shm_copy(call, out, left, bytes);
    }
    for (uint32_t i = 1; i < call->shm->size; i++, left = out) {
        shm_reduce(call, left, contribution(call, i, at), out, bytes);
    }
}

/** The blocks of all vectors that this member reduces. */
typedef struct block_source {
    shm_call_t *call;
    size_t at; /* offset of the block */
} block_source_t;

static const unsigned char *operand_of(void *from, uint32_t i)
{
    const block_source_t *source = from;
    return contribution(source->call, i, source->at);
}

/** Reduce this member's block of all vectors, which are valid. */
static void fold_block(shm_call_t *call, size_t first, size_t bytes)
{
    const ctn_basic_coll_t *basic = call->basic;
    size_t element = basic->by.type->bytes;
    size_t most = /* bytes at once: whole elements */
        element < FOLD_BYTES ? FOLD_BYTES - FOLD_BYTES % element : element;
    for (size_t at = 0; at < bytes; at += most) {
        size_t some = bytes - at < most ? bytes - at : most;
        unsigned char *out = (unsigned char *)basic->out + at;
        if (basic->by.op->function != NULL) {
            fold_down(call, first + at, some, out);
        } else {
            fold_up(call, first + at, some, out);
        }
    }
}

static bool fold(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    size_t first = basic->at[call->shm->me];
    size_t bytes = basic->at[call->shm->me + 1] - first;
    if (!all_valid(call)) {
        return true;
    }
    if (shm_is_balanced(call->shm, basic)) {
        block_source_t source = {call, first};
        ctn_basic_reduce(&call->shm->module, basic, operand_of, &source, bytes,
                         basic->out);
    } else {
        fold_block(call, first, bytes);
    }
    return true;
}

const shm_algorithm_t shm_reduce_scatter = {
    .base = SHM_ALGORITHM("reduce_scatter", true),
    .step = {publish, shm_all_descriptors, fold, shm_finish},
    .by_rule = true};
