/* HIER-5: scan and exscan. Sanders, Traeff: Parallel Prefix (Scan) Algorithms
 * for MPI, EuroPVM/MPI 2006, for any number of levels. The *prefix* of a rank
 * or subgroup is the reduction of all ranks before it. On the way up every
 * level computes, over the ranks that its members represent, the part of each
 * member's prefix within the subgroup (exscan), and the total of the subgroup
 * (reduce, to the leader), which enters the next level. On the way down every
 * leader sends the prefix of its subgroup to the members (bcast), which reduce
 * it with their own part. Only for hierarchies whose members are in the order
 * of ranks. A single level is one basic scan or exscan.
 *
 * A rank that is not the first member on some level takes part in no level
 * above. So each rank gets a part of its prefix from one exscan at most, and
 * the prefix of its subgroup after that. */

#include "coll/ml/ml.h"

/* Where settings name neither levels nor an algorithm, a scan of at least so
 * many bytes, and so many for each pair of ranks, adds the data of one rank
 * after the other, by a chain of all ranks unless one subgroup of shm has them.
 * A node whose ranks are consecutive then sends one vector; through levels, or
 * by recursive doubling, about log2 of the number of nodes. This and the chain,
 * us: simulated hpc-a and hpc-b, 1 node of 8 ranks in two NUMA domains, 64 KiB
 * 173 and 89, 106 and 47; 8 nodes of 8, 256 KiB 1522 and 594, 547 and 251; 64
 * of 1, 256 KiB 2533 and 866, 344 and 315; 16 of 24, 1 MiB, which is below the
 * limit, 7172 and 5399, 3275 and 2884; 4 emulated hosts of 4 on 2 cores, 64 KiB
 * 268 and 237, 256 KiB 1450 and 1083. */
enum { LONG_BYTES = CTN_CHUNK_BYTES, BYTES_PER_PAIR = 32 };

void ctn_ml_set_serial(ctn_call_t *call, const ctn_ml_config_t *config)
{
    size_t ranks = call->group->chain.place.size;
    bool automatic = config->algorithm == CTN_ALGORITHM_AUTO &&
                     ctn_hierarchy_is_automatic(config->hierarchy);
    bool is_long = ranks > 2 && call->in.bytes >= LONG_BYTES &&
                   call->in.bytes / BYTES_PER_PAIR / ranks >= ranks;
    call->serial = call->composition->of == CTN_COLL_SCAN &&
                   (call->reproducible || (automatic && is_long));
}

/** Whether the result replaces this rank's data, which are needed until then.
 */
static bool replaces(const ctn_ml_t *ml)
{
    return ml->call.in_place || ctn_ml_packs(ml);
}

/** On the way up, on a leader: the total of the ranks that it represents. On
 * the way down, on a rank that is not the leader: the prefix of its subgroup.
 */
static unsigned char *total(const ctn_chunk_t *chunk)
{
    return chunk->scratch;
}

/** This rank's prefix, or its part so far. */
static unsigned char *prefix(const ctn_ml_t *ml, const ctn_chunk_t *chunk)
{
    return replaces(ml) ? chunk->scratch + ml->chunk_bytes
                        : ctn_ml_out(ml, chunk);
}

static bool is_single_level(const ctn_ml_t *ml)
{
    return ctn_ml_levels(ml) == 1 && ctn_ml_is_top(ml, 0);
}

static catena_status_t plan(ctn_ml_t *ml)
{
    ctn_ml_cut(ml, ml->call.in.bytes, ml->call.by.type->bytes);
    if (ctn_ml_levels(ml) > 0 && !is_single_level(ml)) {
        ml->scratch_bytes = ml->chunk_bytes * (replaces(ml) ? 2 : 1);
    }
    return CATENA_OK;
}

/* ---- local steps ---- */

/** The prefix of the subgroup has arrived: reduce it with this rank's part. */
static void put_in_front(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    unsigned char *before = prefix(ml, chunk);
    ctn_ml_fold(ml, total(chunk), before, before, ctn_ml_bytes(ml, chunk));
}

/** scan: the prefix is complete; reduce it with this rank's data. */
static void include(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    ctn_ml_fold(ml, prefix(ml, chunk), ctn_ml_in(ml, chunk),
                ctn_ml_out(ml, chunk), ctn_ml_bytes(ml, chunk));
}

static void copy_own(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    ctn_exec_copy(ml->exec, ctn_ml_out(ml, chunk), ctn_ml_in(ml, chunk),
                  ctn_ml_bytes(ml, chunk));
}

static void copy_prefix(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    ctn_exec_copy(ml->exec, ctn_ml_out(ml, chunk), prefix(ml, chunk),
                  ctn_ml_bytes(ml, chunk));
}

/** The last local step; NULL: none. */
static ctn_local_step_t conclusion(const ctn_ml_t *ml)
{
    bool first = ctn_ml_rank(ml) == 0;
    bool in_place = replaces(ml);
    if (ml->call.composition == &ctn_ml_scan) {
        return !first ? include : in_place ? NULL : copy_own;
    }
    return !first && in_place ? copy_prefix : NULL;
}

/* ---- tasks ---- */

static void add_up(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level)
{
    const unsigned char *in = level == 0 ? ctn_ml_in(ml, chunk) : total(chunk);
    (void)ctn_ml_add_vector(ml, chunk, level, CTN_EXSCAN, in,
                            prefix(ml, chunk));
    if (!ctn_ml_is_top(ml, level)) {
        ctn_ml_add_up(ml, chunk, level, in, total(chunk));
    }
}

/** Add the bcast of a level. */
static void add_down(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level)
{
    const ctn_sbgp_t *sbgp = ctn_ml_sbgp(ml, level);
    unsigned char *before = prefix(ml, chunk);
    if (ctn_ml_is_top(ml, level) || sbgp->member[0].range[0].first == 0) {
        return; /* no rank is before this subgroup */
    }
    bool leads = sbgp->me == 0;
    unsigned char *vector = leads ? before : total(chunk);
    ctn_ml_add_vector(ml, chunk, level, CTN_BCAST, vector, vector)->after =
        leads ? NULL : put_in_front;
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    unsigned levels = ctn_ml_levels(ml);
    if (is_single_level(ml)) {
        (void)ctn_ml_add_vector(ml, chunk, 0,
                                ml->call.composition->single_level_kind,
                                ctn_ml_in(ml, chunk), ctn_ml_out(ml, chunk));
        return;
    }
    for (unsigned level = 0; level < levels; level++) {
        add_up(ml, chunk, level);
    }
    ctn_ml_down(chunk);
    for (unsigned level = levels; level-- > 0;) {
        add_down(ml, chunk, level);
    }
    ctn_local_step_t last = conclusion(ml);
    if (last != NULL) {
        ctn_ml_add_local(chunk, last);
    }
}

enum {
    KINDS =
        1u << CTN_EXSCAN | 1u << CTN_REDUCE | 1u << CTN_BCAST | 1u << CTN_SCAN
};

const ctn_composition_t ctn_ml_scan = {
    CTN_ML_COLLECTIVE(scan), .kinds = KINDS, .single_level_kind = CTN_SCAN,
    .vector = true,          .plan = plan,   .compose = compose,
};

const ctn_composition_t ctn_ml_exscan = {
    CTN_ML_COLLECTIVE(exscan),
    .kinds = KINDS,
    .single_level_kind = CTN_EXSCAN,
    .vector = true,
    .plan = plan,
    .compose = compose,
};
