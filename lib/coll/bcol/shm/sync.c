/* SHM-1: barrier, fan-in and fan-out by the flags of the node area
 * (topo/node.h). "Flat" barrier: every member arrives and waits for all. If
 * oversubscribed, that is better than "root": no member waits until the root
 * gets a core again. "Root" barrier, for many members with a core each: the
 * root waits for all members and releases them with one word ([Graham],
 * section 4.1). */

#include "coll/bcol/shm/shm.h"

static bool arrive(shm_call_t *call)
{
    ctn_node_arrive(call->shm->module.exec, &call->shm->area, call->seq);
    return true;
}

static bool gather_at_root(shm_call_t *call)
{
    return call->shm->me != call->basic->root || shm_all_arrived(call);
}

static bool release(shm_call_t *call)
{
    call->next = call->basic->root;
    call->end = call->next + 1;
    return ctn_node_release(call->shm->module.exec, &call->shm->area, call->seq,
                            call->basic->root, call->loads);
}

static const shm_algorithm_t flat = {.base = SHM_ALGORITHM("flat", true),
                                     .step = {arrive, shm_all_arrived}};
static const shm_algorithm_t root_gathers = {
    .base = SHM_ALGORITHM("root", true),
    .step = {arrive, gather_at_root, release}};
static const shm_algorithm_t fanin = {.base = SHM_ALGORITHM("fan-in", false),
                                      .step = {arrive, gather_at_root}};
static const shm_algorithm_t fanout = {.base = SHM_ALGORITHM("fan-out", false),
                                       .step = {release}};

const shm_algorithm_t shm_generation_barrier_algorithm = {
    .base = SHM_ALGORITHM("generation barrier", true),
    .step = {arrive, shm_all_arrived}};
const shm_algorithm_t shm_generation_barrier_end_algorithm = {
    .base = SHM_ALGORITHM("generation barrier", false),
    .step = {shm_all_arrived}};

static const shm_algorithm_t *const barriers[] = {&flat, &root_gathers, NULL};
const char *const shm_barrier_names[] = {"flat", "root", NULL};

const shm_algorithm_t *shm_barrier_algorithm(const shm_t *shm,
                                             const ctn_basic_coll_t *basic)
{
    const shm_algorithm_t *named = shm_named_algorithm(barriers, basic);
    return named != NULL                  ? named
           : ctn_node_is_flat(&shm->area) ? &flat
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
