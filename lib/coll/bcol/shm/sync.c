/* SHM-1: barrier, fan-in and fan-out by flags. "Flat" barrier: every member
 * sets its flag and reads those of all members. If oversubscribed, that is
 * better than "root": no member waits until the root gets a core again. "Root"
 * barrier, for many members with a core each: the root reads the flags of all
 * members and releases them with one word ([Graham], section 4.1). */

#include "coll/bcol/shm/shm.h"

/** Set this member's flag: it has started. */
static bool arrive(shm_call_t *call)
{
    shm_set_flag(call, shm_flag_of(call, call->shm->me));
    return true;
}

static bool gather_at_root(shm_call_t *call)
{
    return call->shm->me != call->basic->root || shm_all_flags(call);
}

/** The word of the root's descriptor releases all other members. */
static bool release(shm_call_t *call)
{
    uint32_t root = call->basic->root;
    shm_descriptor_t *descriptor = shm_descriptor_of(call, root);
    if (call->shm->me == root) {
        shm_set_flag(call, &descriptor->word);
        return true;
    }
    return shm_is_set_by(call, root, &descriptor->word);
}

static const shm_algorithm_t flat = {.base = SHM_ALGORITHM("flat", true),
                                     .step = {arrive, shm_all_flags}};
static const shm_algorithm_t root_gathers = {
    .base = SHM_ALGORITHM("root", true),
    .step = {arrive, gather_at_root, release}};
static const shm_algorithm_t fanin = {.base = SHM_ALGORITHM("fan-in", false),
                                      .step = {arrive, gather_at_root}};
static const shm_algorithm_t fanout = {.base = SHM_ALGORITHM("fan-out", false),
                                       .step = {release}};

const shm_algorithm_t shm_generation_barrier_algorithm = {
    .base = SHM_ALGORITHM("generation barrier", true),
    .step = {arrive, shm_all_flags}};
const shm_algorithm_t shm_generation_barrier_end_algorithm = {
    .base = SHM_ALGORITHM("generation barrier", false),
    .step = {shm_all_flags}};

static const shm_algorithm_t *const barriers[] = {&flat, &root_gathers, NULL};
const char *const shm_barrier_names[] = {"flat", "root", NULL};

const shm_algorithm_t *shm_barrier_algorithm(const shm_t *shm,
                                             const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(barriers, basic);
    return named != NULL ? named
           : shm->oversubscribed || shm->size <= CTN_FLAT_MEMBERS
               ? &flat
               : &root_gathers;
}

const shm_algorithm_t *shm_fanin_algorithm(const shm_t *shm,
                                           const ctn_basic_coll_t *basic)
{
    (void)shm, (void)basic;
    return &fanin;
}

const shm_algorithm_t *shm_fanout_algorithm(const shm_t *shm,
                                            const ctn_basic_coll_t *basic)
{
    (void)shm, (void)basic;
    return &fanout;
}
