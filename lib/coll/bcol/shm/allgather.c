/* SHM-8: allgather. Each member publishes its block, and copies the blocks of
 * all members: one round. Only members with zcopy blocks wait at the end, until
 * all others have read them. If oversubscribed, a copy of this member's block
 * for the others to read (block.h) is cheaper than that wait: a member can then
 * end and leave its core to the next one. */

#include "coll/bcol/shm/block.h"

/* With a core for each rank, from this length on an additional copy costs more
 * than the wait for the readers. */
enum { ZCOPY_BYTES = 4096 };

static size_t longest_block(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < shm->size; i++) {
        size_t bytes = basic->at[i + 1] - basic->at[i];
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

/** All members know all lengths, so the eager rows, one for each member's
 * block, need only be as long as the longest block. */
static bool publish(shm_call_t *call)
{
    size_t longest = longest_block(call->shm, call->basic);
    if (longest < call->longest) {
        call->longest = longest;
    }
    return shm_publish_own(call);
}

/** Copy this member's own block, while the others arrive. */
CTN_HOT static bool copy_own(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    const size_t *at = &basic->at[call->shm->me];
    unsigned char *to = (unsigned char *)basic->out + at[0];
    if (to != basic->in && at[1] - at[0] == basic->bytes) {
        shm_copy(call, to, basic->in, basic->bytes);
    }
    return true;
}

CTN_HOT static bool take_others(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    for (uint32_t i; (i = call->next) < call->shm->size; call->next++) {
        if (!shm_is_set(call, &shm_descriptor_of(call, i)->word)) {
            return false;
        }
        size_t bytes = basic->at[i + 1] - basic->at[i];
        const void *block = shm_published_block(call, i, i, bytes);
        if (block != NULL && i != call->shm->me) {
            shm_copy(call, (unsigned char *)basic->out + basic->at[i], block,
                     bytes);
        }
    }
    return true;
}

#define ALLGATHER(name, zcopy_from)                                            \
    {                                                                          \
        .algorithm = {.base = SHM_ALGORITHM(name, true),                       \
                      .step = {publish, copy_own, take_others,                 \
                               shm_acknowledge, shm_await_acknowledgments}},   \
        .zcopy_bytes = (zcopy_from), .what = "allgather",                      \
    }

/* Zcopy is called "lent" in settings. */
static const shm_block_algorithm_t staged = ALLGATHER("staged", SIZE_MAX);
static const shm_block_algorithm_t zcopy = ALLGATHER("lent", 0);
/* The default, if oversubscribed and with a core for each rank. */
static const shm_block_algorithm_t oversubscribed =
    ALLGATHER("allgather", SHM_KEPT_BYTES + 1);
static const shm_block_algorithm_t dedicated =
    ALLGATHER("allgather", ZCOPY_BYTES);

/** For blocks that fit descriptors. No member uses zcopy, so none waits for
 * readers; but a member with other lengths might, so all acknowledge. */
static const shm_block_algorithm_t short_ones = {
    .algorithm = {.base = SHM_ALGORITHM("allgather", true),
                  .step = {publish, copy_own, take_others, shm_acknowledge},
                  .runs_inline = true},
    .zcopy_bytes = SIZE_MAX,
    .what = "allgather",
};

static const shm_algorithm_t *const algorithms[] = {&staged.algorithm,
                                                    &zcopy.algorithm, NULL};

const shm_algorithm_t *shm_allgather_algorithm(const shm_t *shm,
                                               const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(algorithms, basic);
    if (named != NULL) {
        return named;
    }
    return longest_block(shm, basic) <= shm->descriptor_data
               ? &short_ones.algorithm
           : shm->area.oversubscribed ? &oversubscribed.algorithm
                                      : &dedicated.algorithm;
}
