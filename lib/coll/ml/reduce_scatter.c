/* HIER-10: reduce_scatter and reduce_scatter_block. Every level below the top
 * reduces the vector, which has all blocks, to its leaders, in chunks. Then the
 * top is one basic reduce_scatter, in which each member gets the blocks of all
 * ranks that it represents, and every level scatters them from its leader. If
 * the vector is cut into several chunks, one more chunk follows for what comes
 * after the reduces; if it is one chunk, all is done in that. A single level is
 * one basic reduce_scatter. */

#include "coll/ml/route.h"

/** State of the composition, in ml->table. */
typedef struct reduce_scatter {
    ctn_route_t route;      /* first; of the way down */
    ctn_cover_t all;        /* the vector: all blocks, in the order of ranks */
    unsigned char *vector;  /* this rank's: in the caller's buffer, or packed */
    unsigned char *results; /* a leader's memory for the reduced vector */
    /* of the top */
    ctn_packing_t packing; /* the blocks in the order of its members */
    size_t *at;            /* [its members + 1]: where their blocks begin */
    unsigned char *packed; /* memory for the vector in that order; NULL: it is
                              in that order already */
    bool last_exclusive;   /* the last chunk is the additional one */
} reduce_scatter_t;

static bool is_single_rank(const ctn_ml_t *ml)
{
    return ctn_ml_levels(ml) == 0;
}

/** Whether this rank leads a subgroup below the top, and so stores a reduced
 * vector. */
static bool leads(const ctn_ml_t *ml)
{
    return !is_single_rank(ml) && !ctn_ml_is_top(ml, 0) &&
           ctn_ml_sbgp(ml, 0)->me == 0;
}

/** Plan the basic reduce_scatter of the top. */
static catena_status_t plan_top(ctn_ml_t *ml, reduce_scatter_t *it)
{
    unsigned levels = ctn_ml_levels(ml);
    it->packed = NULL;
    if (is_single_rank(ml) || !ml->hierarchy->top) {
        return CATENA_OK;
    }
    it->packing = (ctn_packing_t){.sbgp = ctn_ml_sbgp(ml, levels - 1)};
    it->at =
        ctn_ml_keep(ml, (it->packing.sbgp->size + (size_t)1) * sizeof(*it->at));
    if (it->at == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    size_t from;
    if (!ctn_packing_layout(&it->all, &it->packing, it->at, &from)) {
        it->packed = ctn_ml_scratch(ml, ml->call.in.bytes);
        return it->packed != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
    }
    return CATENA_OK;
}

/** Set the lengths, memory and order of all blocks. */
static catena_status_t plan_blocks(ctn_ml_t *ml, reduce_scatter_t *it)
{
    const ctn_call_t *call = &ml->call;
    bool packs = call->in.type != NULL;
    it->vector = packs ? ctn_ml_scratch(ml, call->in.bytes) : call->in.base;
    if (packs && it->vector == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (packs) {
        ctn_span_read(ml->exec, &call->in, 0, call->in.bytes, it->vector);
    }
    it->results = NULL;
    it->all = (ctn_cover_t){.range = &it->route.all,
                            .ranges = 1,
                            .bytes = call->all.bytes,
                            .memory = it->vector};
    ctn_cover_t *cover = &it->route.cover;
    cover->bytes = it->all.bytes;
    if (ctn_has_lengths(call->composition->collective)) {
        it->all.at = ctn_route_offsets(ml, &it->all);
        cover->at = ctn_route_offsets(ml, cover);
        if (it->all.at == NULL || cover->at == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    if (leads(ml)) {
        it->results = ctn_ml_scratch(ml, call->in.bytes);
        it->all.memory = it->results;
        if (it->results == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
    }
    /* If the top reads the caller's buffer in place, its result must go
     * elsewhere: it must not overwrite data that other members still read. */
    bool mixed =
        call->in_place && !packs && !is_single_rank(ml) && ctn_ml_is_top(ml, 0);
    catena_status_t status =
        ctn_route_set_memory(ml, &it->route, mixed ? NULL : &call->out, NULL);
    if (status == CATENA_OK) {
        status = ctn_route_layout(ml, &it->route);
    }
    return status == CATENA_OK ? plan_top(ml, it) : status;
}

static catena_status_t plan(ctn_ml_t *ml)
{
    reduce_scatter_t *it = ctn_ml_keep(ml, sizeof(*it));
    if (it == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ml->table = it;
    ctn_ml_cut(ml, ml->call.in.bytes, ml->call.by.type->bytes);
    it->last_exclusive = false;
    if (is_single_rank(ml) || ctn_route_is_single_level(ml)) {
        ml->chunks = 1;
        ml->chunk_bytes = ml->call.in.bytes;
    } else if (ml->chunks > 1) {
        it->last_exclusive = true;
        ml->chunks++;
    }
    catena_status_t status = ctn_route_find(ml, &it->route, CTN_ROUTE_LEADERS);
    return status == CATENA_OK ? plan_blocks(ml, it) : status;
}

/* ---- steps ---- */

/** Copy the vector to `packed`. */
static void pack(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const reduce_scatter_t *it = ml->table;
    (void)chunk;
    for (uint32_t i = 0; i < it->packing.sbgp->size; i++) {
        ctn_packing_copy_member(ml->exec, &it->all, &it->packing, i,
                                it->packed + it->at[i], true);
    }
}

/** Copy this rank's block to the receive buffer. */
static void take_own(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const reduce_scatter_t *it = ml->table;
    (void)chunk;
    ctn_route_copy_own(ml, &it->route, &ml->call.out, false);
}

/** The rank is alone in the group. */
static void copy(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const reduce_scatter_t *it = ml->table;
    const ctn_span_t *out = &ml->call.out;
    (void)chunk;
    if (out->base != it->vector && out->bytes > 0) {
        ctn_span_write(ml->exec, out, 0, out->bytes, it->vector);
    }
}

static void add_up(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const reduce_scatter_t *it = ml->table;
    size_t from = ctn_ml_from(ml, chunk);
    unsigned char *results = it->results != NULL ? it->results + from : NULL;
    for (unsigned level = 0; level < ctn_ml_levels(ml); level++) {
        if (!ctn_ml_is_top(ml, level)) {
            ctn_ml_add_up(ml, chunk, level, it->vector + from, results);
        }
    }
}

static void add_top(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const reduce_scatter_t *it = ml->table;
    ctn_task_t *task =
        ctn_ml_add(ml, chunk, ctn_ml_levels(ml) - 1, CTN_REDUCE_SCATTER);
    task->before = it->packed != NULL ? pack : NULL;
    task->basic.in = it->packed != NULL ? it->packed : it->all.memory;
    task->basic.out = it->route.cover.memory;
    task->basic.bytes = ctn_route_bytes(&it->route);
    task->basic.at = it->at;
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const reduce_scatter_t *it = ml->table;
    bool last = chunk->index + 1 == ml->chunks;
    if (is_single_rank(ml)) {
        ctn_ml_add_local(chunk, copy);
        return;
    }
    chunk->exclusive = last && it->last_exclusive;
    if (!chunk->exclusive && !ctn_route_is_single_level(ml)) {
        add_up(ml, chunk);
    }
    if (!last) {
        return;
    }
    if (ml->hierarchy->top) {
        add_top(ml, chunk);
    }
    ctn_route_scatter(ml, chunk, CTN_ROUTE_LEADERS);
    ctn_ml_add_local(chunk, take_own);
}

static bool single_level_basic(const ctn_call_t *call, ctn_ml_config_t *config,
                               ctn_basic_coll_t *basic)
{
    basic->bytes = call->out.bytes;
    basic->at = ctn_route_cached_offsets(call, config);
    return basic->at != NULL && !call->in_place &&
           call->in.bytes <= CTN_CHUNK_BYTES;
}

#define REDUCE_SCATTER(its_name)                                               \
    {                                                                          \
        CTN_ML_COLLECTIVE(its_name),                                           \
            .kinds = 1u << CTN_REDUCE | 1u << CTN_REDUCE_SCATTER |             \
                     1u << CTN_SCATTER,                                        \
            .single_level_kind = CTN_REDUCE_SCATTER,                           \
            .single_level_basic = single_level_basic, .plan = plan,            \
            .compose = compose                                                 \
    }

const ctn_composition_t ctn_ml_reduce_scatter = REDUCE_SCATTER(reduce_scatter);
const ctn_composition_t ctn_ml_reduce_scatter_block =
    REDUCE_SCATTER(reduce_scatter_block);
