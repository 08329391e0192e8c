/* HIER-3: reduce; HIER-4: allreduce. Every level reduces to its leaders.
 *
 * reduce: at the top the result goes to the member that represents the root. It
 * is forwarded down to the root: on each level from the leader to the member
 * that represents the root, by a basic scatter in which no other member has a
 * block. A single level reduces to the root directly.
 *
 * allreduce: the top is an allreduce, and every level receives the result from
 * its leader (bcast).
 *
 * Partial results lie in the receive buffer if there is one, else in scratch
 * memory. */

#include "coll/ml/ml.h"

/** Where this rank's partial results of a chunk lie, and then the result. */
static unsigned char *results(const ctn_ml_t *ml, const ctn_chunk_t *chunk)
{
    unsigned char *out = ctn_ml_out(ml, chunk);
    return out != NULL ? out : chunk->scratch;
}

static void copy(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    ctn_exec_copy(ml->exec, results(ml, chunk), ctn_ml_in(ml, chunk),
                  ctn_ml_bytes(ml, chunk));
}

/** Add the tasks of the way up; if the rank is alone in the group, it copies
 * its data. */
static void add_up(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const unsigned char *in = ctn_ml_in(ml, chunk);
    unsigned char *kept = results(ml, chunk);
    for (unsigned level = 0; level < ctn_ml_levels(ml); level++) {
        if (!ctn_ml_is_top(ml, level)) {
            ctn_ml_add_up(ml, chunk, level, in, kept);
        }
    }
    if (ctn_ml_levels(ml) == 0 && in != kept) {
        ctn_ml_add_local(chunk, copy);
    }
}

/** Add the task of the top, if the rank takes part in it. */
static void add_top(ctn_ml_t *ml, ctn_chunk_t *chunk, ctn_basic_kind_t kind)
{
    unsigned levels = ctn_ml_levels(ml);
    uint32_t root = 0;
    if (levels == 0 || !ml->hierarchy->top) {
        return;
    }
    unsigned char *kept = results(ml, chunk);
    if (kind == CTN_REDUCE) {
        (void)ctn_ml_find_root(ml, levels - 1, &root);
    }
    bool receives =
        kind == CTN_ALLREDUCE || ctn_ml_sbgp(ml, levels - 1)->me == root;
    ctn_ml_add_vector(ml, chunk, levels - 1, kind,
                      levels == 1 ? ctn_ml_in(ml, chunk) : kept,
                      receives ? kept : NULL)
        ->basic.root = root;
}

/* ---- reduce ---- */

/** For the levels whose leader this rank is: the argument `at` of the scatter
 * that forwards the result to the root; at[0] for whole chunks, at[1] for the
 * last chunk. NULL: nothing is forwarded. */
typedef struct paths {
    size_t *at[2][CTN_MOST_LEVELS];
} paths_t;

/** Whether the leader of a level forwards the result. @param[out] to the member
 * that gets it */
static bool forwards(const ctn_ml_t *ml, unsigned level, uint32_t *to)
{
    return !ctn_ml_is_top(ml, level) && ctn_ml_find_root(ml, level, to) &&
           *to != 0;
}

/** Offsets that give all bytes to member `to`. */
static size_t *make_offsets(ctn_ml_t *ml, uint32_t size, uint32_t to,
                            size_t bytes)
{
    size_t *at = ctn_ml_keep(ml, (size + (size_t)1) * sizeof(*at));
    for (uint32_t i = 0; at != NULL && i <= size; i++) {
        at[i] = i <= to ? 0 : bytes;
    }
    return at;
}

static catena_status_t plan_paths(ctn_ml_t *ml)
{
    size_t rest = ml->call.in.bytes - (ml->chunks - 1) * ml->chunk_bytes;
    paths_t *paths = NULL;
    uint32_t to;
    for (unsigned level = 0; level < ctn_ml_levels(ml); level++) {
        const ctn_sbgp_t *sbgp = ctn_ml_sbgp(ml, level);
        if (sbgp->me != 0 || !forwards(ml, level, &to)) {
            continue;
        }
        paths = paths != NULL ? paths : ctn_ml_keep(ml, sizeof(*paths));
        if (paths == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        ml->table = paths;
        paths->at[0][level] = make_offsets(ml, sbgp->size, to, ml->chunk_bytes);
        paths->at[1][level] = make_offsets(ml, sbgp->size, to, rest);
        if (paths->at[0][level] == NULL || paths->at[1][level] == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    return CATENA_OK;
}

static catena_status_t plan_reduce(ctn_ml_t *ml)
{
    ctn_ml_cut(ml, ml->call.in.bytes, ml->call.by.type->bytes);
    /* A rank that leads no level stores no partial results. */
    bool leads = ctn_ml_levels(ml) > 0 && ctn_ml_sbgp(ml, 0)->me == 0;
    ml->scratch_bytes =
        ml->call.out.base == NULL && leads ? ml->chunk_bytes : 0;
    return plan_paths(ml);
}

/** Add the scatter that forwards the result on a level. */
static void add_forwarding(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level,
                           uint32_t to)
{
    const ctn_sbgp_t *sbgp = ctn_ml_sbgp(ml, level);
    const paths_t *paths = ml->table;
    bool last = chunk->index + 1 == ml->chunks;
    ctn_basic_coll_t *basic = &ctn_ml_add(ml, chunk, level, CTN_SCATTER)->basic;
    if (sbgp->me == 0) {
        basic->in = results(ml, chunk);
        basic->at = paths->at[last][level];
    } else if (sbgp->me == to) {
        basic->out = results(ml, chunk);
        basic->bytes = ctn_ml_bytes(ml, chunk);
    }
}

static void compose_reduce(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    add_up(ml, chunk);
    add_top(ml, chunk, CTN_REDUCE);
    ctn_ml_down(chunk);
    for (unsigned level = ctn_ml_levels(ml); level-- > 0;) {
        uint32_t to;
        if (forwards(ml, level, &to)) {
            add_forwarding(ml, chunk, level, to);
        }
    }
}

const ctn_composition_t ctn_ml_reduce = {
    CTN_ML_COLLECTIVE(reduce),
    .kinds = 1u << CTN_REDUCE | 1u << CTN_SCATTER,
    .single_level_kind = CTN_REDUCE,
    .vector = true,
    .plan = plan_reduce,
    .compose = compose_reduce,
};

/* ---- allreduce ---- */

static catena_status_t plan_allreduce(ctn_ml_t *ml)
{
    ctn_ml_cut(ml, ml->call.in.bytes, ml->call.by.type->bytes);
    return CATENA_OK;
}

static void compose_allreduce(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    add_up(ml, chunk);
    add_top(ml, chunk, CTN_ALLREDUCE);
    ctn_ml_add_down(ml, chunk, CTN_BCAST, results(ml, chunk),
                    ctn_ml_bytes(ml, chunk));
}

const ctn_composition_t ctn_ml_allreduce = {
    CTN_ML_COLLECTIVE(allreduce),
    .kinds = 1u << CTN_REDUCE | 1u << CTN_ALLREDUCE | 1u << CTN_BCAST,
    .single_level_kind = CTN_ALLREDUCE,
    .vector = true,
    .plan = plan_allreduce,
    .compose = compose_allreduce,
};
