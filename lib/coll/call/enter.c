/* From a call to its execution: inline, as an operation, or as a request. */

#include <catena/coll.h>
#include <stdint.h>

#include "coll/call/call.h"
#include "split/call/call.h"

/** The hierarchy for a blocking call if it is built, else NULL. */
static const ctn_hierarchy_t *built(const ctn_ml_config_t *config,
                                    bool in_order)
{
    const ctn_hierarchy_t *hierarchy = config->hierarchy;
    if (hierarchy->state == CTN_BUILT && in_order && !hierarchy->in_order &&
        hierarchy->status == CATENA_OK) {
        hierarchy = config->flat;
    }
    return hierarchy != NULL && hierarchy->state == CTN_BUILT ? hierarchy
                                                              : NULL;
}

/** On a single level, without other operations, and for a short message, the
 * component may run the collective inline. The level must have all ranks: the
 * level of a rank that is the only one in its subgroup below may have other
 * members. */
CTN_HOT static bool run_level_inline(const catena_group_t *group,
                                     const ctn_composition_t *composition,
                                     const ctn_ml_config_t *config,
                                     bool in_order, ctn_basic_coll_t *basic,
                                     catena_status_t *status)
{
    const ctn_hierarchy_t *hierarchy = built(config, in_order);
    if (hierarchy == NULL || hierarchy->levels != 1 ||
        hierarchy->level[0]->sbgp->size != group->chain.place.size ||
        hierarchy->status != CATENA_OK ||
        hierarchy->turns->started != hierarchy->turns->turn) {
        return false;
    }
    ctn_module_t *module = hierarchy->level[0];
    basic->algorithm = config->algorithm;
    return module->bcol->run_inline != NULL &&
           module->bcol->run_inline(module, composition->single_level_kind,
                                    basic, status);
}

CTN_HOT static bool run_call_inline(const ctn_call_t *call,
                                    ctn_ml_config_t *config,
                                    catena_status_t *status)
{
    const ctn_composition_t *composition = call->composition;
    ctn_basic_coll_t basic = {
        .root = call->root, /* members are all ranks in their order */
        .in = call->in.base,
        .out = call->out.base,
        .bytes = call->in.bytes,
        .by = call->by,
        .chunks = 1,
    };
    if (call->in.type != NULL || call->in.bytes > CTN_CHUNK_BYTES ||
        (!composition->vector &&
         (config->hierarchy->levels != 1 ||
          composition->single_level_basic == NULL ||
          !composition->single_level_basic(call, config, &basic)))) {
        return false;
    }
    return run_level_inline(call->group, composition, config, call->in_order,
                            &basic, status);
}

/** Validate and run the most frequent calls, a few elements of a predefined
 * type between two buffers, if they can run inline. False: the general path
 * runs the call, or rejects it. */
CTN_HOT static bool run_args_inline(const ctn_coll_args_t *args,
                                    catena_status_t *status)
{
    const ctn_composition_t *composition = args->composition;
    const ctn_chain_place_t *place = &args->group->chain.place;
    const ctn_type_t *type = args->recv.type;
    const void *in = args->send.buffer;
    /* Only the root of a reduce has a receive buffer. */
    bool receives = composition->single_level_kind != CTN_REDUCE ||
                    (uint32_t)args->root == place->rank;
    void *out = receives ? (void *)(uintptr_t)args->recv.buffer : NULL;
    bool is_bcast = composition->single_level_kind == CTN_BCAST;
    bool in_order = composition->of == CTN_COLL_SCAN;
    ctn_ml_config_t *config;
    if (!composition->vector || type == NULL || type->derived ||
        args->recv.count - 1 >= CTN_CHUNK_BYTES / type->bytes ||
        (receives && out == NULL) || out == CATENA_IN_PLACE ||
        (uint32_t)args->root >= place->size) {
        return false;
    }
    if (is_bcast) {
        in = out;
    } else if (in == NULL || in == CATENA_IN_PLACE || args->op == NULL ||
               !ctn_op_valid(args->op, type)) {
        return false;
    } else {
        in_order |= !ctn_op_commutes(args->op);
    }
    ctn_basic_coll_t basic = {.root = (uint32_t)args->root,
                              .in = in,
                              .out = out,
                              .bytes = args->recv.count * type->bytes,
                              .by = {args->op, type},
                              .chunks = 1};
    *status = ctn_ml_config_find(args->group, composition->of, false, &config);
    return *status != CATENA_OK ||
           run_level_inline(args->group, composition, config, in_order, &basic,
                            status);
}

/** The caller may free types and the operation before the call ends. */
static void hold(ctn_call_t *call)
{
    const ctn_type_t *types[] = {call->in.type, call->out.type, call->all.type,
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

/** Wait until it is known whether the order of ranks needs a separate
 * hierarchy: the caller starts nothing else meanwhile, so all ranks request
 * that hierarchy, if needed, at the same point. */
static catena_status_t await_order(const ctn_call_t *call)
{
    ctn_exec_t *exec = call->group->exec;
    ctn_ml_config_t *config;
    ctn_backoff_t backoff = {0};
    catena_status_t status =
        ctn_ml_config_find(call->group, call->composition->of, false, &config);
    while (status == CATENA_OK && config->hierarchy->state != CTN_BUILT) {
        ctn_exec_poll_or_idle(exec, &backoff);
        status = exec->status;
    }
    return status;
}

ctn_op_t *ctn_ml_create(const ctn_call_t *call)
{
    ctn_op_t *op =
        ctn_op_create(call->group->exec, &call->composition->algorithm, NULL);
    if (op != NULL) {
        ((ctn_ml_t *)ctn_op_state(op))->call = *call;
    }
    return op;
}

/** An operation whose state begins with the call. */
static ctn_op_t *make_op(const ctn_call_t *call)
{
    return call->reduction == CTN_REDUCTION_DIRECT ? ctn_ml_create(call)
                                                   : ctn_indirect_create(call);
}

/** An operation on a hidden duplicate of the group. */
static ctn_op_t *make_hidden_op(ctn_call_t *call)
{
    ctn_op_t *op = make_op(call);
    bool exchanges = call->reduction == CTN_REDUCTION_EXCHANGED;
    ctn_hidden_t *hidden;
    if (op == NULL) {
        return NULL;
    }
    ctn_call_t *own = ctn_op_state(op);
    if (ctn_hidden_make(call->group, exchanges, &hidden) != CATENA_OK) {
        own->holds = false; /* the caller's */
        ctn_op_release(op);
        return NULL;
    }
    own->group = &hidden->group;
    ctn_hidden_own(op, hidden);
    return op;
}

CTN_HOT static catena_status_t run_blocking(ctn_call_t *call)
{
    catena_status_t status;
    ctn_ml_config_t *config;
    call->blocking = true;
    if (call->reduction == CTN_REDUCTION_EXCHANGED) { /* without hierarchy */
        return ctn_op_run(make_op(call));
    }
    status =
        ctn_ml_config_find(call->group, call->composition->of, false, &config);
    if (status != CATENA_OK || run_call_inline(call, config, &status)) {
        return status;
    }
    if (call->in_order) {
        status = await_order(call);
    }
    return status == CATENA_OK ? ctn_op_run(make_op(call)) : status;
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
        op = mode == CTN_PERSISTENT ? make_hidden_op(call) : make_op(call);
    } else if (mode == CTN_PERSISTENT) {
        op = ctn_op_create_empty(call->group->exec);
    }
    if (op == NULL && !nothing) {
        ctn_call_drop(call);
    }
    if (op == NULL && (!nothing || mode == CTN_PERSISTENT)) {
        return ctn_exec_result(call->group->exec, CATENA_ERR_NO_MEMORY);
    }
    if (mode == CTN_PERSISTENT) {
        op->persistent = true;
    } else if (op != NULL) {
        ctn_op_start(op);
    }
    *request = op; /* NULL counts as complete */
    return CATENA_OK;
}

CTN_HOT catena_status_t ctn_ml_run(const ctn_coll_args_t *args, ctn_mode_t mode,
                                   catena_request_t **request)
{
    ctn_call_t call;
    bool nothing;
    if (args->group == NULL || (mode != CTN_BLOCKING && request == NULL)) {
        return CATENA_ERR_ARG;
    }
    catena_status_t status;
    if (mode == CTN_BLOCKING && run_args_inline(args, &status)) {
        return status;
    }
    status = ctn_ml_validate(args, &call, &nothing);
    return status == CATENA_OK ? ctn_ml_enter(&call, nothing, mode, request)
                               : status;
}
