/* From a call to what runs it: at once, as an operation, or as a request. */

#include "coll/ml/given.h"

/** Of a call that is to return when all is done, the hierarchy it goes by, if
 * that is built; else NULL. */
static ctn_hierarchy_t *built(const ctn_call_t *call, const ctn_use_t *use)
{
    ctn_hierarchy_t *hierarchy = use->hierarchy;
    if (hierarchy->state != CTN_BUILT) {
        return NULL;
    }
    if (call->in_order && !hierarchy->in_order &&
        hierarchy->status == CATENA_OK) {
        hierarchy = use->flat;
    }
    return hierarchy != NULL && hierarchy->state == CTN_BUILT ? hierarchy
                                                              : NULL;
}

/** On a single level, alone, and short: the component may run it at once. */
CTN_HOT static bool run_alone(const ctn_call_t *call, const ctn_use_t *use,
                              catena_status_t *status)
{
    const ctn_composition_t *composition = call->composition;
    const ctn_hierarchy_t *hierarchy = built(call, use);
    if (hierarchy == NULL || hierarchy->levels != 1 || !hierarchy->top ||
        hierarchy->status != CATENA_OK || !composition->vector ||
        hierarchy->turns->started != hierarchy->turns->turn ||
        call->in.type != NULL || call->in.bytes > CTN_SEGMENT_BYTES) {
        return false;
    }
    ctn_module_t *module = hierarchy->level[0];
    ctn_basic_t basic = {
        .root = call->root, /* members are all ranks in their order */
        .in = call->in.base,
        .out = call->out.base,
        .bytes = call->in.bytes,
        .by = call->by,
        .algorithm = use->algorithm,
    };
    return module->bcol->quick != NULL &&
           module->bcol->quick(module, composition->whole, &basic, status);
}

/** The caller may free types and the operation before it ends. */
static void hold(ctn_call_t *call)
{
    catena_datatype_t types[] = {call->in.type, call->out.type, call->all.type,
                                 call->by.type};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i] != NULL) {
            (void)ctn_type_hold(types[i]);
        }
    }
    if (call->by.op != NULL) {
        (void)ctn_op_hold(call->by.op);
    }
    call->holds = true;
}

void ctn_call_drop(const ctn_call_t *call)
{
    if (call->holds) {
        ctn_type_drop(call->in.type);
        ctn_type_drop(call->out.type);
        ctn_type_drop(call->all.type);
        ctn_type_drop(call->by.type);
        ctn_op_drop(call->by.op);
    }
}

/** Wait until it is known whether the order of ranks needs a hierarchy of its
 * own: the program starts nothing else meanwhile, so all ranks ask for that, if
 * at all, at the same point. */
static catena_status_t await_order(const ctn_call_t *call)
{
    ctn_exec_t *exec = call->group->exec;
    ctn_use_t *use;
    ctn_patience_t patience = {0};
    catena_status_t status =
        ctn_use_find(call->group, call->composition->of, false, &use);
    while (status == CATENA_OK && use->hierarchy->state != CTN_BUILT) {
        if (ctn_exec_poll(exec)) {
            patience = (ctn_patience_t){0};
        } else {
            ctn_exec_idle(exec, &patience);
        }
        status = exec->status;
    }
    return status;
}

static ctn_op_t *make(const ctn_call_t *call)
{
    ctn_op_t *op =
        ctn_op_create(call->group->exec, &call->composition->algorithm, NULL);
    if (op != NULL) {
        ((ctn_ml_t *)ctn_op_state(op))->call = *call;
    }
    return op;
}

CTN_HOT static catena_status_t run_blocking(ctn_call_t *call)
{
    catena_status_t status;
    ctn_use_t *use;
    call->waits = true;
    status = ctn_use_find(call->group, call->composition->of, false, &use);
    if (status != CATENA_OK || run_alone(call, use, &status)) {
        return status;
    }
    if (call->in_order) {
        status = await_order(call);
    }
    return status == CATENA_OK ? ctn_op_run(make(call)) : status;
}

CTN_HOT catena_status_t ctn_ml_enter(ctn_call_t *call, bool nothing,
                                     ctn_mode_t mode,
                                     catena_request_t **request)
{
    ctn_op_t *op = NULL;
    if (mode == CTN_BLOCKING) {
        return nothing ? CATENA_OK : run_blocking(call);
    }
    if (!nothing) {
        hold(call);
        op = make(call);
    } else if (mode == CTN_PERSISTENT) {
        op = ctn_op_create_empty(call->group->exec);
    }
    if (op == NULL && !nothing) {
        ctn_call_drop(call);
    }
    if (op == NULL && (!nothing || mode == CTN_PERSISTENT)) {
        return CATENA_ERR_NO_MEMORY;
    }
    if (mode == CTN_PERSISTENT) {
        op->persistent = true;
    } else if (op != NULL) {
        ctn_op_start(op);
    }
    *request = op; /* NULL counts as complete */
    return CATENA_OK;
}

CTN_HOT catena_status_t ctn_ml_run(const ctn_given_t *given, ctn_mode_t mode,
                                   catena_request_t **request)
{
    ctn_call_t call;
    bool nothing;
    if (given->group == NULL || (mode != CTN_BLOCKING && request == NULL)) {
        return CATENA_ERR_ARG;
    }
    catena_status_t status = ctn_ml_understand(given, &call, &nothing);
    return status == CATENA_OK ? ctn_ml_enter(&call, nothing, mode, request)
                               : status;
}
