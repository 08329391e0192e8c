/* HIER-1: barrier of a hierarchy. Every level gathers at its leaders (fan-in),
 * the top is a barrier, and the leaders release every level (fan-out):
 * [Graham], figure 2. It runs if settings name a hierarchy for barriers. If
 * not, coll/barrier.c (BAR-1) does the same with two levels, nodes and network.
 */

#include "coll/ml/ml.h"

static catena_status_t plan(ctn_ml_t *ml)
{
    ml->chunks = 1;
    return CATENA_OK;
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    for (unsigned level = 0; level < ctn_ml_levels(ml); level++) {
        (void)ctn_ml_add(ml, chunk, level,
                         ctn_ml_is_top(ml, level) ? CTN_BARRIER : CTN_FANIN);
    }
    ctn_ml_add_down(ml, chunk, CTN_FANOUT, NULL, 0);
}

const ctn_composition_t ctn_ml_barrier = {
    CTN_ML_COLLECTIVE(barrier),
    .kinds = 1u << CTN_FANIN | 1u << CTN_BARRIER | 1u << CTN_FANOUT,
    .single_level_kind = CTN_BARRIER,
    .vector = true,
    .plan = plan,
    .compose = compose,
};
