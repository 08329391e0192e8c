/* Selects the algorithm of each basic collective, and the storage of its data,
 * by rules unless the caller names one. */

#include "coll/bcol/shm/shm.h"

/** Select by the length of the data on this member. */
static ctn_algorithm_name_t select_name(shm_t *shm, ctn_basic_kind_t kind,
                                        const ctn_basic_coll_t *basic)
{
    size_t bytes =
        kind == CTN_REDUCE_SCATTER ? basic->at[shm->size] : basic->bytes;
    return ctn_basic_choose(&shm->module, kind, ctn_bcol_shm.algorithms[kind],
                            basic, bytes);
}

const shm_algorithm_t *shm_choose(shm_t *shm, ctn_basic_kind_t kind,
                                  const ctn_basic_coll_t *basic)
{
    static const shm_algorithm_t *const only[CTN_BASICS] = {
        [CTN_FANIN] = &shm_fanin,
        [CTN_FANOUT] = &shm_fanout,
        [CTN_BCAST] = &shm_bcast,
        [CTN_GATHER] = &shm_gather,
        [CTN_SCATTER] = &shm_scatter,
        [CTN_ALLGATHER] = &shm_allgather,
        [CTN_REDUCE_SCATTER] = &shm_reduce_scatter};
    if (kind == CTN_FANIN || kind == CTN_FANOUT) {
        return only[kind];
    }
    ctn_algorithm_name_t name = select_name(shm, kind, basic);
    if (only[kind] != NULL) {
        return only[kind];
    }
    switch (name) {
    case CTN_ALGORITHM_ROOT:
        return &shm_root_barrier;
    case CTN_ALGORITHM_SHARED:
        return kind == CTN_REDUCE ? &shm_shared_reduce : &shm_shared_allreduce;
    case CTN_ALGORITHM_LAST:
        return &shm_last_allreduce;
    case CTN_ALGORITHM_CHAIN:
        return kind == CTN_SCAN ? &shm_chain_scan : &shm_chain_exscan;
    default:
        return kind == CTN_BARRIER     ? &shm_flat_barrier
               : kind == CTN_ALLREDUCE ? &shm_flat_allreduce
                                       : &shm_flat;
    }
}

size_t shm_zcopy_bytes(const shm_call_t *call)
{
    if (!call->algorithm->by_rule) {
        return call->algorithm->zcopy_bytes;
    }
    /* Readers learn the storage of each block, so members need not agree. Rules
     * say it for this member's own block, and the next ones in length are
     * stored in the other way. */
    ctn_module_t *module = &call->shm->module;
    bool zcopy = select_name(call->shm, call->kind, call->basic) ==
                 CTN_ALGORITHM_ZERO_COPY;
    if (module->choice[call->kind].rule == NULL) { /* it is asked for */
        return zcopy ? 0 : SIZE_MAX;
    }
    const ctn_choice_t *kept = &module->choice[call->kind].kept;
    return zcopy ? kept->from : kept->to == SIZE_MAX ? SIZE_MAX : kept->to + 1;
}
