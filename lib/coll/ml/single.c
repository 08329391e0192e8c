/* Collectives on a hierarchy of one level: their operation is the one of the
 * basic collective that does all of it. */

#include <string.h>

#include "coll/ml/ml.h"

bool ctn_ml_single(const ctn_call_t *call, ctn_ml_config_t *config,
                   ctn_basic_coll_t *basic)
{
    *basic = (ctn_basic_coll_t){.call = call->composition->collective->name,
                                .root = call->root,
                                .in = call->in.base,
                                .out = call->out.base,
                                .bytes = call->in.bytes,
                                .by = call->by,
                                .chunks = 1,
                                .blocking = call->blocking,
                                .balanced = call->balanced,
                                .serial = call->serial,
                                .algorithm = config->algorithm};
    if (call->in.type != NULL) {
        return false;
    }
    return call->composition->vector
               ? call->in.bytes <=
                     ctn_ml_longest(config->hierarchy,
                                    call->composition->single_level_kind,
                                    call->group->chain.place.size)
               : call->composition->single_level_basic != NULL &&
                     call->composition->single_level_basic(call, config, basic);
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
    ctn_call_t *call = &ml->call;
    if (call->group->hidden) {
        ctn_ml_follow_settings(call->group);
    }
    if (ctn_ml_config_find(call->group, call->composition->of, &ml->config) !=
        CATENA_OK) {
        return NULL;
    }
    ctn_ml_set_serial(call, ml->config);
    return !ctn_ml_may_need_flat(call, ml->config)
               ? ctn_hierarchy_single(ml->config->hierarchy, ctn_ml_size(ml))
               : NULL;
}

/** The operation has ended. */
static void ended(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    const ctn_composition_t *composition = ml->call.composition;
    ctn_ml_run_t *record = ctn_ml_record_of(ml);
    if (record != NULL && record->selected == 0) {
        ctn_ml_record_basic(record, ml->hierarchy->level[0],
                            composition->single_level_kind);
        record->messages = op->exec->tally.messages - ml->messages;
    }
    ml->call.group->composed--;
    op->wait = NULL;
    op->algorithm = &composition->algorithm; /* which releases it */
    op->call = NULL;
}

/** Turn the operation into that of ml->single. @return false: it needs too much
 * memory */
static bool become(ctn_op_t *op, ctn_module_t *module)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    ctn_basic_kind_t kind = ml->call.composition->single_level_kind;
    const ctn_algorithm_t *algorithm =
        module->bcol->choose(module, kind, &ml->single);
    if (algorithm == NULL || algorithm->state_bytes > CTN_ML_AT) {
        return false;
    }
    op->algorithm = ml->single_algorithm = algorithm;
    module->bcol->set(op, module, kind, &ml->single);
    ml->exec = op->exec;
    ml->hierarchy = ml->main = ml->config->hierarchy;
    ml->algorithm = ml->single.algorithm;
    ml->chunks = 1;
    ml->chunk_bytes = ml->single.bytes;
    return true;
}

/** Whether an earlier start of the operation has set it up. */
static bool is_ready(const ctn_ml_t *ml)
{
    return ml->single_algorithm != NULL &&
           ml->hierarchy == ml->config->hierarchy &&
           ml->algorithm == ml->config->algorithm;
}

/** Turn the operation into that of the basic collective, if possible.
 * @return its module; NULL: not possible */
static ctn_module_t *simplify(ctn_op_t *op)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    ctn_module_t *module = module_for(ml);
    if (module != NULL && is_ready(ml)) {
        op->algorithm = ml->single_algorithm;
    } else if (module == NULL || !set_single(ml) || !become(op, module)) {
        op->algorithm = &ml->call.composition->algorithm;
        op->sequence = NULL;
        return NULL;
    }
    op->sequence = module->sequence;
    op->ended = ended;
    op->call = ml->call.composition->algorithm.name;
    ml->call.group->composed++;
    return module;
}

/** Record the run, unless the last one was of the same request. */
static void record(ctn_ml_t *ml)
{
    const ctn_ml_run_t *last = ctn_ml_record_of(ml);
    if (last == NULL || last->through != ml->hierarchy ||
        last->algorithm != ml->algorithm) {
        ctn_ml_record_run(ml);
    }
}

void ctn_ml_simplify(ctn_op_t *op)
{
    if (simplify(op) != NULL) {
        record(ctn_ml_of(op));
    }
}

bool ctn_ml_begin(ctn_op_t *op)
{
    ctn_module_t *module = simplify(op);
    if (module == NULL) {
        return false;
    }
    record(ctn_ml_of(op));
    return module->bcol->begin != NULL && module->bcol->begin(op);
}

bool ctn_ml_begin_plain(ctn_op_t *op, ctn_module_t *module)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    if (module->bcol->begin == NULL || !become(op, module)) {
        return false;
    }
    op->sequence = module->sequence;
    op->ended = ended;
    op->call = ml->call.composition->algorithm.name;
    ml->call.group->composed++;
    if (!module->bcol->begin(op)) {
        ended(op);
        op->ended = NULL;
        return false;
    }
    ctn_ml_record_inline(ml->config, ml->call.composition, ml->hierarchy,
                         ml->single.bytes);
    return true;
}
