/* SHM-6: gather. Each member publishes its block, the root copies them: one
 * round. Only members with zcopy blocks wait for the root. */

#include "coll/bcol/shm/block.h"

/* With a core for each rank, from this length on an additional copy costs more
 * than the members' wait for the root. */
enum { ZCOPY_BYTES = 8192 };

static bool is_root(const shm_call_t *call)
{
    return call->shm->me == call->basic->root;
}

static bool publish(shm_call_t *call)
{
    return is_root(call) || shm_publish_own(call);
}

/** At the root: copy the blocks of all members. */
static bool take_all(shm_call_t *call)
{
    const ctn_basic_coll_t *basic = call->basic;
    if (!is_root(call)) {
        return true;
    }
    for (uint32_t i; (i = call->next) < call->shm->size; call->next++) {
        size_t bytes = basic->at[i + 1] - basic->at[i];
        unsigned char *to = (unsigned char *)basic->out + basic->at[i];
        const void *block = NULL;
        if (i == basic->root) {
            block = shm_own_block(call, basic->in, basic->bytes, bytes);
        } else {
            if (!shm_is_set(call, &shm_descriptor_of(call, i)->word)) {
                return false;
            }
            block = shm_published_block(call, i, i, bytes);
        }
        if (block != NULL && block != to) {
            shm_copy(call, to, block, bytes);
        }
    }
    return true;
}

/** A member with a zcopy block waits for the root's flag. */
static bool await_root(shm_call_t *call)
{
    if (is_root(call)) {
        return true;
    }
    call->next = call->basic->root;
    if (call->zcopy &&
        !shm_is_set(call, ctn_node_departed(&call->shm->area, call->seq,
                                            call->basic->root))) {
        return false;
    }
    shm_copy_area_release(call);
    return true;
}

#define GATHER(name, zcopy_from)                                               \
    {                                                                          \
        .algorithm = {.base = SHM_ALGORITHM(name, false),                      \
                      .step = {publish, take_all, shm_acknowledge,             \
                               await_root}},                                   \
        .zcopy_bytes = (zcopy_from), .what = "gather",                         \
    }

/* Zcopy is called "lent" in settings. */
static const shm_block_algorithm_t staged = GATHER("staged", SIZE_MAX);
static const shm_block_algorithm_t zcopy = GATHER("lent", 0);
/* The default, if oversubscribed and with a core for each rank. */
static const shm_block_algorithm_t oversubscribed =
    GATHER("gather", SHM_KEPT_BYTES + 1);
static const shm_block_algorithm_t dedicated = GATHER("gather", ZCOPY_BYTES);

static const shm_algorithm_t *const algorithms[] = {&staged.algorithm,
                                                    &zcopy.algorithm, NULL};

const shm_algorithm_t *shm_gather_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(algorithms, basic);
    return named != NULL              ? named
           : shm->area.oversubscribed ? &oversubscribed.algorithm
                                      : &dedicated.algorithm;
}
