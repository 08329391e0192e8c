/* The algorithms of the basic collectives. Which one runs, and the storage of
 * its data, follows from rules unless the caller names one. */

#include "coll/bcol/shm/shm.h"

#define ALGORITHM(NAME, algorithm) [CTN_ALGORITHM_##NAME] = &(algorithm)
#define EITHER_STORAGE(algorithm)                                              \
    {                                                                          \
        ALGORITHM(STAGED, algorithm), ALGORITHM(ZERO_COPY, algorithm)          \
    }

const shm_algorithm_t *const shm_algorithms[CTN_BASICS][CTN_ALGORITHMS] = {
    [CTN_BARRIER] = {ALGORITHM(FLAT, shm_flat_barrier),
                     ALGORITHM(ROOT, shm_root_barrier)},
    [CTN_FANIN] = {ALGORITHM(AUTO, shm_fanin)},
    [CTN_FANOUT] = {ALGORITHM(AUTO, shm_fanout)},
    [CTN_BCAST] = EITHER_STORAGE(shm_bcast),
    [CTN_REDUCE] = {ALGORITHM(FLAT, shm_flat),
                    ALGORITHM(SHARED, shm_shared_reduce)},
    [CTN_ALLREDUCE] = {ALGORITHM(FLAT, shm_flat_allreduce),
                       ALGORITHM(SHARED, shm_shared_allreduce),
                       ALGORITHM(LAST, shm_last_allreduce)},
    [CTN_SCAN] = {ALGORITHM(FLAT, shm_flat), ALGORITHM(CHAIN, shm_chain_scan)},
    [CTN_EXSCAN] = {ALGORITHM(FLAT, shm_flat),
                    ALGORITHM(CHAIN, shm_chain_exscan)},
    [CTN_GATHER] = EITHER_STORAGE(shm_gather),
    [CTN_SCATTER] = EITHER_STORAGE(shm_scatter),
    [CTN_ALLGATHER] = EITHER_STORAGE(shm_allgather),
    [CTN_REDUCE_SCATTER] = EITHER_STORAGE(shm_reduce_scatter),
    [CTN_ALLTOALL] = {ALGORITHM(AUTO, shm_alltoall)}};

/* Readers learn the storage of each block, so members need not agree. A rule
 * decides by the length of this member's own data. Data below the range of a
 * zero-copy rule are eager; data above the range of an eager rule are
 * zero-copy. */
size_t shm_zcopy_bytes(const shm_t *shm, ctn_basic_kind_t kind,
                       const shm_algorithm_t *algorithm)
{
    const ctn_choice_t *kept = &shm->module.choice[kind].kept;
    bool by_rule = shm->module.choice[kind].rule != NULL;
    if (!algorithm->by_rule) {
        return algorithm->zcopy_bytes;
    }
    if (shm->module.choice[kind].algorithm == CTN_ALGORITHM_ZERO_COPY) {
        return by_rule ? kept->from : 0;
    }
    return by_rule && kept->to < SIZE_MAX ? kept->to + 1 : SIZE_MAX;
}
