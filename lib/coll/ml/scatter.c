/* HIER-8: scatter and scatterv. route.h says how blocks go through the levels,
 * rooted.h how ranks learn their lengths. Blocks are sent from the root's send
 * buffer if they are contiguous there; else they are copied to scratch memory
 * first. */

#include "coll/ml/rooted.h"

/** At the root: copy all blocks to the cover. */
static void collect(ctn_ml_t *ml)
{
    const ctn_ml_rooted_t *rooted = ml->table;
    if (ctn_ml_rooted_is_root(ml) && !rooted->user_buffer) {
        ctn_route_copy_blocks(ml, &ml->call.all, &rooted->route.cover, true);
    }
}

static catena_status_t plan(ctn_ml_t *ml)
{
    return ctn_ml_rooted_plan(ml, collect);
}

/** Copy this rank's block to the receive buffer. */
static void take_own(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    const ctn_ml_rooted_t *rooted = ml->table;
    (void)chunk;
    if (!ml->call.in_place) {
        ctn_route_copy_own(ml, &rooted->route, &ml->call.out, false);
    }
}

static void compose(ctn_ml_t *ml, ctn_chunk_t *chunk)
{
    bool blocks = ctn_ml_rooted_open(ml, chunk);
    ctn_route_scatter(ml, chunk, CTN_ROUTE_ROOTED);
    if (blocks) {
        ctn_ml_add_local(chunk, take_own);
    }
}

CTN_HOT static bool single_level_basic(const ctn_call_t *call,
                                       ctn_ml_config_t *config,
                                       ctn_basic_coll_t *basic)
{
    unsigned char *all;
    if (!ctn_route_single_level(call, config, &call->out, &all, basic)) {
        return false;
    }
    basic->in = all;
    basic->out = call->out.base;
    return true;
}

#define SCATTER(its_name)                                                      \
    {                                                                          \
        CTN_ML_COLLECTIVE(its_name),                                           \
            .kinds = 1u << CTN_SCATTER, .single_level_kind = CTN_SCATTER,      \
            .single_level_basic = single_level_basic, .plan = plan,            \
            .compose = compose                                                 \
    }

const ctn_composition_t ctn_ml_scatter = SCATTER(scatter);
const ctn_composition_t ctn_ml_scatterv = SCATTER(scatterv);
