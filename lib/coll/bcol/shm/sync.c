/* SHM-1: barrier, fan-in and fan-out by flags. Flat: every member writes one
 * word and reads all; with more ranks than cores nobody waits then for a
 * particular member to run again. With many members and a core for each, the
 * root reads all and releases all with one word ([Graham], section 4.1). */

#include "coll/bcol/shm/shm.h"

static bool come(shm_call_t *call)
{
    shm_say(call, shm_flag_of(call, call->shm->me));
    return true;
}

static bool gather_at_root(shm_call_t *call)
{
    return call->shm->me != call->basic->root || shm_all_flags(call);
}

/** Above all members' flags, the root's post. */
static bool release(shm_call_t *call)
{
    uint32_t root = call->basic->root;
    shm_line_t *line = shm_post_of(call, root);
    if (call->shm->me == root) {
        shm_say(call, &line->word);
        return true;
    }
    return shm_heard_from(call, root, &line->word);
}

static const shm_way_t flat = {.algorithm = SHM_ALGORITHM("flat", true),
                               .step = {come, shm_all_flags}};
static const shm_way_t root_gathers = {.algorithm = SHM_ALGORITHM("root", true),
                                       .step = {come, gather_at_root, release}};
static const shm_way_t fanin = {.algorithm = SHM_ALGORITHM("fan-in", false),
                                .step = {come, gather_at_root}};
static const shm_way_t fanout = {.algorithm = SHM_ALGORITHM("fan-out", false),
                                 .step = {release}};

const shm_way_t shm_fence_way = {.algorithm = SHM_ALGORITHM("fence", true),
                                 .step = {come, shm_all_flags}};
const shm_way_t shm_fenced_way = {.algorithm = SHM_ALGORITHM("fence", false),
                                  .step = {shm_all_flags}};

static const shm_way_t *const barriers[] = {&flat, &root_gathers, NULL};
const char *const shm_barrier_names[] = {"flat", "root", NULL};

const shm_way_t *shm_barrier_way(const shm_t *shm,
                                 const ctn_basic_coll_t *basic)
{
    const shm_way_t *named = shm_named_way(barriers, basic);
    return named != NULL ? named
           : shm->oversubscribed || shm->size <= CTN_FLAT_MEMBERS
               ? &flat
               : &root_gathers;
}

const shm_way_t *shm_fanin_way(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    (void)shm, (void)basic;
    return &fanin;
}

const shm_way_t *shm_fanout_way(const shm_t *shm, const ctn_basic_coll_t *basic)
{
    (void)shm, (void)basic;
    return &fanout;
}
