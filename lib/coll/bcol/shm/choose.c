/* Selects the algorithm of each basic collective unless the caller requests
 * one, by facts that all members share. */

#include "coll/bcol/shm/shm.h"

#include <string.h>

/* Of a reduce: with a core for each rank, "shared" is faster from this length
 * and number of members on. */
enum { SHARED_BYTES = 16384, SHARED_MEMBERS = 4 };

/* Of an allreduce among three members or more with a core each: up to this
 * length "flat" is faster than "shared". With two members it always is:
 * "shared" would halve the work of the reduction, but each member would read as
 * much. */
enum { FLAT_BYTES = 2048 };
/* If oversubscribed, "last" is fastest up to vectors of this length times the
 * number of members. For longer ones it pays that all cores reduce. */
enum { LAST_BYTES_A_MEMBER = 1024 };

/* Of a scan: longer vectors use the chain. If oversubscribed, where the total
 * work counts, the chain is faster from about this length on. */
enum { FLAT_SCAN_BYTES = 16384 };

/* Of a kind with several algorithms: these, in the order of their names. */
static const char *const barrier_names[] = {"flat", "root", NULL};
static const shm_algorithm_t *const barriers[] = {&shm_flat_barrier,
                                                  &shm_root_barrier};
static const char *const reduce_names[] = {"flat", "shared", NULL};
static const shm_algorithm_t *const reduces[] = {&shm_flat, &shm_shared_reduce};
static const char *const allreduce_names[] = {"flat", "shared", "last", NULL};
static const shm_algorithm_t *const allreduces[] = {
    &shm_flat_allreduce, &shm_shared_allreduce, &shm_last_allreduce};
static const char *const scan_names[] = {"flat", "chain", NULL};
static const shm_algorithm_t *const scans[] = {&shm_flat, &shm_chain_scan};
static const shm_algorithm_t *const exscans[] = {&shm_flat, &shm_chain_exscan};
/* Others have one algorithm, with staged or zero-copy data. */
static const char *const storage_names[] = {"staged", "lent", NULL};

const char *const *const shm_names[CTN_BASICS] = {
    [CTN_BARRIER] = barrier_names,   [CTN_BCAST] = storage_names,
    [CTN_REDUCE] = reduce_names,     [CTN_ALLREDUCE] = allreduce_names,
    [CTN_SCAN] = scan_names,         [CTN_EXSCAN] = scan_names,
    [CTN_GATHER] = storage_names,    [CTN_SCATTER] = storage_names,
    [CTN_ALLGATHER] = storage_names, [CTN_REDUCE_SCATTER] = storage_names,
};

static unsigned best_allreduce(const shm_t *shm, size_t bytes)
{
    if (shm->area.oversubscribed) {
        return bytes <= shm->descriptor_data              ? 0
               : bytes <= LAST_BYTES_A_MEMBER * shm->size ? 2
                                                          : 1;
    }
    return bytes <= FLAT_BYTES || shm->size <= 2 ? 0 : 1;
}

/** The algorithm that the caller requested from a list, or that one. */
static const shm_algorithm_t *among(const shm_algorithm_t *const *algorithms,
                                    ctn_basic_kind_t kind,
                                    const ctn_basic_coll_t *basic,
                                    unsigned best)
{
    const char *const *names = shm_names[kind];
    for (unsigned i = 0; basic->algorithm != NULL && names[i] != NULL; i++) {
        if (strcmp(names[i], basic->algorithm) == 0) {
            return algorithms[i];
        }
    }
    return algorithms[best];
}

const shm_algorithm_t *shm_choose(const shm_t *shm, ctn_basic_kind_t kind,
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
    switch (kind) {
    case CTN_BARRIER:
        return among(barriers, kind, basic, !ctn_node_is_flat(&shm->area));
    case CTN_REDUCE:
        return among(reduces, kind, basic,
                     basic->bytes >= SHARED_BYTES &&
                         shm->size >= SHARED_MEMBERS &&
                         !shm->area.oversubscribed);
    case CTN_ALLREDUCE:
        return among(allreduces, kind, basic,
                     best_allreduce(shm, basic->bytes));
    case CTN_SCAN:
        return among(scans, kind, basic, basic->bytes > FLAT_SCAN_BYTES);
    case CTN_EXSCAN:
        return among(exscans, kind, basic, basic->bytes > FLAT_SCAN_BYTES);
    default:
        return only[kind];
    }
}

size_t shm_zcopy_bytes(const shm_call_t *call)
{
    const char *name = call->basic->algorithm;
    bool named = name != NULL && shm_names[call->kind] == storage_names;
    if (named && strcmp(name, "staged") == 0) {
        return SIZE_MAX;
    }
    if (named && strcmp(name, "lent") == 0) {
        return 0;
    }
    return call->algorithm->zcopy_bytes[call->shm->area.oversubscribed];
}
