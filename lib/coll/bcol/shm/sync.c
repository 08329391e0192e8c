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

const shm_algorithm_t shm_flat_barrier = {.base = SHM_ALGORITHM("flat", true),
                                          .step = {arrive, shm_all_arrived}};
const shm_algorithm_t shm_root_barrier = {
    .base = SHM_ALGORITHM("root", true),
    .step = {arrive, gather_at_root, release}};
const shm_algorithm_t shm_fanin = {.base = SHM_ALGORITHM("fan-in", false),
                                   .step = {arrive, gather_at_root}};
const shm_algorithm_t shm_fanout = {.base = SHM_ALGORITHM("fan-out", false),
                                    .step = {release}};

const shm_algorithm_t shm_generation_barrier_end = {
    .base = SHM_ALGORITHM("generation barrier", false),
    .step = {shm_all_arrived}};
