/* Selects the algorithm of each basic collective, and the storage of its data,
 * by rules unless the caller names one. */

#include "coll/bcol/shm/shm.h"

/** The algorithm with a name. */
static const shm_algorithm_t *algorithm_of(ctn_basic_kind_t kind,
                                           ctn_algorithm_name_t name)
{
    static const shm_algorithm_t *const only[CTN_BASICS] = {
        [CTN_FANIN] = &shm_fanin,
        [CTN_FANOUT] = &shm_fanout,
        [CTN_BCAST] = &shm_bcast,
        [CTN_GATHER] = &shm_gather,
        [CTN_SCATTER] = &shm_scatter,
        [CTN_ALLGATHER] = &shm_allgather,
        [CTN_REDUCE_SCATTER] = &shm_reduce_scatter};
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

/** Set the length from which on data are zero-copy, and the range of lengths
 * that the choice is for. Readers learn the storage of each block, so members
 * need not agree. A rule decides by the length of this member's own data. Data
 * below the range of a zero-copy rule are eager; data above the range of an
 * eager rule are zero-copy. */
static void set_range(shm_choice_t *choice, ctn_algorithm_name_t name,
                      const ctn_choice_t *kept)
{
    bool zcopy = name == CTN_ALGORITHM_ZERO_COPY;
    choice->from = kept != NULL ? kept->from : 0;
    choice->to = kept != NULL ? kept->to : SIZE_MAX;
    choice->zcopy_bytes = !choice->algorithm->by_rule
                              ? choice->algorithm->zcopy_bytes
                          : zcopy                  ? choice->from
                          : choice->to == SIZE_MAX ? SIZE_MAX
                                                   : choice->to + 1;
}

const shm_choice_t *shm_select(shm_t *shm, ctn_basic_kind_t kind,
                               const ctn_basic_coll_t *basic)
{
    ctn_module_t *module = &shm->module;
    shm_choice_t *choice = &shm->choice[kind];
    ctn_algorithm_set_t possible = ctn_bcol_shm.algorithms[kind];
    ctn_algorithm_name_t name = CTN_ALGORITHM_AUTO;
    const ctn_choice_t *kept = NULL;
    if (possible != 0) {
        name = ctn_basic_choose(module, kind, possible, basic,
                                shm_bytes_of(shm, kind, basic));
        kept = module->choice[kind].rule != NULL ? &module->choice[kind].kept
                                                 : NULL;
    }
    choice->algorithm = algorithm_of(kind, name);
    choice->asked = basic->algorithm;
    choice->blocking = basic->blocking;
    set_range(choice, name, kept);
    return choice;
}
