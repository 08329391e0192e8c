/* Collectives on a hierarchy of one level: their operation is the one of the
 * basic collective that does all of it. */

#include <string.h>

#include "coll/ml/ml.h"

CTN_HOT bool ctn_ml_single(const ctn_call_t *call, ctn_ml_config_t *config,
                           ctn_basic_coll_t *basic)
{
    *basic = (ctn_basic_coll_t){.root = call->root,
                                .in = call->in.base,
                                .out = call->out.base,
                                .bytes = call->in.bytes,
                                .by = call->by,
                                .chunks = 1,
                                .blocking = call->blocking,
                                .algorithm = config->algorithm};
    return call->in.type == NULL && call->in.bytes <= CTN_CHUNK_BYTES &&
           (call->composition->vector ||
            (call->composition->single_level_basic != NULL &&
             call->composition->single_level_basic(call, config, basic)));
}

/** Set ml->single. @return false: a basic collective does not do all of it */
static bool set_single(ctn_ml_t *ml)
{
    ctn_basic_coll_t *single = &ml->single;
    if (!ctn_ml_single(&ml->call, ml->config, single) ||
        (!ml->call.composition->vector &&
         ctn_ml_size(ml) > CTN_SINGLE_MEMBERS)) {
        return false;
    }
    if (single->at != NULL) { /* these may change before it ends */
        memcpy(ml->single_at, single->at,
               (ctn_ml_size(ml) + 1) * sizeof(*single->at));
        single->at = ml->single_at;
    }
    return true;
}

/** The module that can run the call alone; NULL: none. */
static ctn_module_t *module_for(ctn_ml_t *ml)
{
    const ctn_call_t *call = &ml->call;
    if (call->group->hidden) {
        ctn_ml_follow_settings(call->group);
    }
    if (ctn_ml_config_find(call->group, call->composition->of, false,
                           &ml->config) != CATENA_OK ||
        ctn_ml_may_need_flat(call, ml->config)) {
        return NULL;
    }
    ctn_module_t *module =
        ctn_hierarchy_single(ml->config->hierarchy, ctn_ml_size(ml));
    return module != NULL && set_single(ml) ? module : NULL;
}

/** The operation has ended. */
static void ended(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    const ctn_composition_t *composition = ml->call.composition;
    ctn_ml_run_t *record = ctn_ml_record_of(ml);
    if (record != NULL) {
        ctn_ml_record_basic(record, ml->hierarchy->level[0],
                            composition->single_level_kind);
        record->messages = op->exec->tally.messages - ml->messages;
    }
    ml->call.group->composed--;
    op->algorithm = &composition->algorithm; /* which releases it */
}

void ctn_ml_simplify(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    const ctn_composition_t *composition = ml->call.composition;
    ctn_module_t *module = module_for(ml);
    const ctn_algorithm_t *algorithm =
        module != NULL
            ? module->bcol->choose(module, composition->single_level_kind,
                                   &ml->single)
            : NULL;
    op->algorithm = &composition->algorithm;
    op->sequence = NULL;
    if (algorithm == NULL || algorithm->state_bytes > CTN_ML_AT) {
        return;
    }
    op->algorithm = algorithm;
    op->sequence = module->sequence;
    op->ended = ended;
    module->bcol->set(op, module, composition->single_level_kind, &ml->single);
    ml->exec = op->exec;
    ml->hierarchy = ml->main = ml->config->hierarchy;
    ml->algorithm = ml->single.algorithm;
    ml->chunks = 1;
    ml->chunk_bytes = ml->single.bytes;
    ctn_ml_record_run(ml);
    ml->call.group->composed++;
}
