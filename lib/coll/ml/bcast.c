/* HIER-2: bcast. A subgroup with a member that represents the root of the
 * collective runs on the way up, from that member. All other subgroups run on
 * the way down, from their leaders. So each subgroup runs one basic bcast, and
 * data go only through ranks that need them. */

#include "coll/ml/ml.h"

static catena_status_t plan(ctn_ml_t *ml)
{
    const ctn_span_t *buffer = &ml->call.in;
    ctn_ml_cut(ml, buffer->bytes, 1);
    ml->scratch_bytes = buffer->type != NULL ? ml->chunk_bytes : 0;
    return CATENA_OK;
}

static void pack(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ctn_span_t *buffer = &ml->call.in;
    ctn_span_read(ml->exec, buffer, ctn_ml_from(ml, chunk),
                  ctn_ml_bytes(ml, chunk, buffer->bytes), chunk->scratch);
}

static void unpack(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ctn_span_t *buffer = &ml->call.in;
    ctn_span_write(ml->exec, buffer, ctn_ml_from(ml, chunk),
                   ctn_ml_bytes(ml, chunk, buffer->bytes), chunk->scratch);
}

static void add(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level, uint32_t root)
{
    const ctn_span_t *buffer = &ml->call.in;
    ctn_basic_coll_t *basic = &ctn_ml_add(ml, chunk, level, CTN_BCAST)->basic;
    basic->root = root;
    basic->out = buffer->type != NULL ? chunk->scratch
                                      : buffer->base + ctn_ml_from(ml, chunk);
    basic->in = basic->out;
    basic->bytes = ctn_ml_bytes(ml, chunk, buffer->bytes);
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    unsigned levels = ctn_ml_levels(ml);
    unsigned below = 0; /* levels in which no member represents the root */
    uint32_t root = 0;
    bool packed = ml->call.in.type != NULL && levels > 0;
    if (packed && ctn_ml_rank(ml) == ml->call.root) {
        ctn_ml_add_local(chunk, pack);
    }
    while (below < levels && !ctn_ml_find_root(ml, below, &root)) {
        below++;
    }
    for (unsigned level = below; level < levels; level++) {
        (void)ctn_ml_find_root(ml, level, &root);
        add(ml, chunk, level, root);
    }
    ctn_ml_down(chunk);
    for (unsigned level = below; level-- > 0;) {
        add(ml, chunk, level, 0);
    }
    if (packed && ctn_ml_rank(ml) != ml->call.root) {
        ctn_ml_add_local(chunk, unpack);
    }
}

const ctn_composition_t ctn_ml_bcast = {
    CTN_ML_COLLECTIVE(bcast),
    .kinds = 1u << CTN_BCAST,
    .single_level_kind = CTN_BCAST,
    .vector = true,
    .plan = plan,
    .compose = compose,
};
