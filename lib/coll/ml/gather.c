/* HIER-7: gather and gatherv. route.h says how blocks go through the levels,
 * rooted.h how ranks learn their lengths. Blocks are gathered in the root's
 * receive buffer if they are contiguous there; else they are gathered in
 * scratch memory and copied. */

#include "coll/ml/rooted.h"

/** Copy this rank's block to its cover. */
static void copy_own(ctn_ml_t *ml)
{
    const ctn_ml_rooted_t *rooted = ml->table;
    ctn_route_copy_own(ml, &rooted->route, &ml->call.in, true);
}

static catena_status_t plan(ctn_ml_t *ml)
{
    return ctn_ml_rooted_plan(ml, copy_own);
}

/** At the root: copy all blocks to the receive buffer. */
static void copy_out(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ctn_ml_rooted_t *rooted = ml->table;
    (void)chunk;
    if (!rooted->user_buffer) {
        ctn_route_copy_blocks(ml, &ml->call.all, &rooted->route.cover, false);
    }
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    bool blocks = ctn_ml_rooted_open(ml, chunk);
    ctn_route_gather(ml, chunk, CTN_ROUTE_ROOTED);
    if (blocks && ctn_ml_rooted_is_root(ml)) {
        ctn_ml_add_local(chunk, copy_out);
    }
}

#define GATHER(its_name)                                                       \
    {                                                                          \
        CTN_ML_COLLECTIVE(its_name),                                           \
            .kinds = 1u << CTN_GATHER, .single_level_kind = CTN_GATHER,        \
            .single_level_basic = ctn_route_gather_single_level, .plan = plan, \
            .compose = compose                                                 \
    }

const ctn_composition_t ctn_ml_gather = GATHER(gather);
const ctn_composition_t ctn_ml_gatherv = GATHER(gatherv);
