/* HIER-2: bcast. A subgroup with a member that represents the root of the
 * collective runs on the way up, from that member. All other subgroups run on
 * the way down, from their leaders. So each subgroup runs one basic bcast, and
 * data go only through ranks that need them. */

#include "coll/ml/ml.h"

static catena_status_t plan(ctn_ml_t *ml)
{
    ctn_ml_cut(ml, ml->call.in.bytes, 1);
    return CATENA_OK;
}

static void add(ctn_ml_t *ml, ctn_chunk_t *chunk, unsigned level, uint32_t root)
{
    unsigned char *vector = ctn_ml_out(ml, chunk);
    ctn_ml_add_vector(ml, chunk, level, CTN_BCAST, vector, vector)->basic.root =
        root;
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    unsigned levels = ctn_ml_levels(ml);
    unsigned below = 0; /* levels in which no member represents the root */
    uint32_t root = 0;
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
}

const ctn_composition_t ctn_ml_bcast = {
    CTN_ML_COLLECTIVE(bcast),
    .kinds = 1u << CTN_BCAST,
    .single_level_kind = CTN_BCAST,
    .vector = true,
    .plan = plan,
    .compose = compose,
};
