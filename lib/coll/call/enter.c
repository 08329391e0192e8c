/* From the arguments of a hierarchical collective to its execution: inline, as
 * an operation that the caller waits for, or as a request. */

#include <stdint.h>
#include <string.h>

#include "coll/call/reproducible.h"
#include "core/refuse.h"
#include "group/recovery.h"
#include "split/call/call.h"

/** Let the component run the collective inline, if the hierarchy has a single
 * level and serves the call, no other operation uses it, and the component can.
 * That of the flat hierarchy cannot.
 * @param in_order operands must be combined in the order of ranks
 * @param status that of the collective, if it ran
 * @return false: it did not run */
static inline bool run_level_inline(const catena_group_t *group,
                                    const ctn_composition_t *composition,
                                    ctn_ml_config_t *config, bool in_order,
                                    ctn_basic_coll_t *basic,
                                    catena_status_t *status)
{
    const ctn_hierarchy_t *hierarchy = config->hierarchy;
    if ((in_order && !hierarchy->in_order) ||
        (basic->balanced && !hierarchy->balanced)) {
        return false;
    }
    ctn_module_t *module =
        ctn_hierarchy_single(hierarchy, group->chain.place.size);
    if (module == NULL || module->bcol->run_inline == NULL ||
        !module->bcol->run_inline(module, composition->single_level_kind, basic,
                                  status)) {
        return false;
    }
    ctn_ml_record_inline(config, composition, hierarchy, basic->bytes);
    return true;
}

/* ---- from operands to a call ---- */

/** The only block of a side; all 0 if the side is not significant. */
static ctn_span_t span_of(const ctn_blocks_t *side)
{
    return side->type != NULL ? ctn_blocks_at(side, 0)
                              : (ctn_span_t){.base = NULL};
}

/** Whether it is a reduction that runs by an alltoallv since an element does
 * not fit a chunk: see exchange.c. */
static inline bool is_exchanged(const ctn_operands_t *operands)
{
    return operands->by.op != NULL &&
           operands->by.type->bytes > CTN_CHUNK_BYTES;
}

/** Whether a collective is a scan, which adds in the order of ranks if it is
 * reproducible; the other reductions add by the balanced tree. */
static inline bool is_scan(const ctn_composition_t *composition)
{
    return composition->of == CTN_COLL_SCAN;
}

/** Whether operands must be combined in the order of ranks, by the hierarchy.
 */
static inline bool is_in_order(const ctn_composition_t *composition,
                               const ctn_operands_t *operands)
{
    return operands->by.op != NULL && !is_exchanged(operands) &&
           (is_scan(composition) || !ctn_reduce_op_commutes(operands->by.op));
}

/** Whether settings require a result that depends on the number of ranks only
 * (HIER-13). Any algorithm gives the same bits for two ranks. */
static inline bool is_reproducible(const catena_group_t *group,
                                   const ctn_operands_t *operands)
{
    return operands->by.op != NULL && group->chain.place.size > 2 &&
           ctn_reducer_rounds(&operands->by) &&
           ctn_hierarchy_reproducible(group);
}

/** Set the members of a call; see ctn_call_t for in, out and all. */
static void set_call(const ctn_composition_t *composition,
                     catena_group_t *group, const ctn_operands_t *operands,
                     ctn_call_t *call)
{
    const ctn_description_t *collective = composition->collective;
    uint32_t me = group->chain.place.rank;
    bool reproducible = is_reproducible(group, operands);
    bool scan = is_scan(composition);
    *call = (ctn_call_t){.composition = composition,
                         .group = group,
                         .root = operands->root,
                         .by = operands->by,
                         .exchanged = is_exchanged(operands),
                         .reproducible = reproducible,
                         .in_place = operands->in_place,
                         .balanced = reproducible && !scan};
    call->in_order = call->balanced || is_in_order(composition, operands);
    if (ctn_has_blocks(collective->recv) && ctn_has_blocks(collective->send)) {
        call->all = operands->recv;
        call->in = ctn_blocks_at(&operands->send, 0);
        call->in_step = operands->send.step;
    } else if (ctn_has_blocks(collective->recv)) {
        call->all = operands->recv;
        call->in = call->in_place ? ctn_blocks_at(&call->all, me)
                                  : span_of(&operands->send);
    } else if (!ctn_has_blocks(collective->send)) {
        call->out = span_of(&operands->recv);
        call->in = collective->send == CTN_SIDE_NONE ? call->out
                                                     : span_of(&operands->send);
    } else if (operands->by.op == NULL) {
        call->all = operands->send;
        call->out = call->in_place ? ctn_blocks_at(&call->all, me)
                                   : span_of(&operands->recv);
    } else {
        call->all = operands->send;
        call->in = (ctn_span_t){
            .base = operands->send.base,
            .bytes = operands->send_bytes,
            .type = operands->send.type->dense ? NULL : operands->send.type};
        call->out = span_of(&operands->recv);
    }
}

/** Hold references to the types and the operation: the caller may free them
 * before the call ends. Those that are predefined stay anyway. */
static void hold(ctn_call_t *call)
{
    const ctn_type_t *types[] = {call->in.type, call->out.type, call->all.type,
                                 call->by.type};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i] != NULL && types[i]->derived) {
            (void)ctn_type_hold(types[i]);
            call->holds = true;
        }
    }
    if (call->by.op != NULL && call->by.op->function != NULL) {
        (void)ctn_reduce_op_hold(call->by.op);
        call->holds = true;
    }
}

void ctn_call_drop(const ctn_call_t *call)
{
    if (call->holds) {
        ctn_type_drop(call->in.type);
        ctn_type_drop(call->out.type);
        ctn_type_drop(call->all.type);
        ctn_type_drop(call->by.type);
        ctn_reduce_op_drop(call->by.op);
    }
}

/** Wait until the hierarchy is built, so that it is known whether it keeps the
 * order of ranks; if not, the call requests the flat hierarchy, or runs by an
 * alltoallv. All ranks then do so at the same point in the order of operations,
 * since a rank starts nothing else while it waits here. */
static catena_status_t await_order(const ctn_call_t *call)
{
    ctn_exec_t *exec = call->group->exec;
    ctn_ml_config_t *config;
    ctn_backoff_t backoff = {0};
    catena_status_t status =
        ctn_ml_config_find(call->group, call->composition->of, &config);
    while (status == CATENA_OK && config->hierarchy->state != CTN_BUILT) {
        ctn_exec_poll_or_idle(exec, &backoff);
        status = exec->status != CATENA_OK ? exec->status
                                           : ctn_group_status(call->group);
    }
    return status;
}

/** Take an operation that runs a call by ML; the first phase sets the rest of
 * its state. */
static ctn_op_t *take_op(const ctn_call_t *call)
{
    ctn_op_t *op =
        ctn_op_take(call->group->exec, &call->composition->algorithm, NULL);
    if (op != NULL) {
        ctn_ml_t *ml = ctn_ml_of(op);
        if (op->exec->deaths != NULL) {
            op->failure = ctn_group_failure(call->group);
        }
        ml->call = *call;
        ml->has_tickets = false;
        ml->record = NULL;
        ml->single_algorithm = NULL;
    }
    return op;
}

ctn_op_t *ctn_ml_create(const ctn_call_t *call)
{
    ctn_op_t *op = take_op(call);
    if (op != NULL) {
        ctn_ml_simplify(op);
    }
    return op;
}

/** Make the operation of a call that is started next. */
static ctn_op_t *make_op(const ctn_call_t *call)
{
    return call->exchanged ? ctn_exchange_create(call) : ctn_ml_create(call);
}

/** Make the operation of a persistent request, on a hidden duplicate of the
 * group. */
static catena_status_t make_hidden_op(ctn_call_t *call,
                                      const ctn_signature_t *signature,
                                      ctn_op_t **made)
{
    bool exchanged = call->exchanged;
    ctn_op_t *op = exchanged ? ctn_exchange_create(call) : take_op(call);
    ctn_hidden_t *hidden;
    if (op == NULL) {
        return ctn_group_give_up(call->group, CATENA_ERR_NO_MEMORY);
    }
    ctn_call_t *own = exchanged ? ctn_op_state(op) : &ctn_ml_of(op)->call;
    catena_status_t status = ctn_hidden_make(call->group, signature, &hidden);
    if (status != CATENA_OK) {
        own->holds = false; /* make_request drops the references */
        ctn_op_release(op);
        return status;
    }
    own->group = &hidden->group;
    op->start = exchanged ? NULL : ctn_ml_begin;
    op->persistent = true;
    ctn_hidden_own(op, hidden);
    *made = op;
    return CATENA_OK;
}

/** Whether a reproducible call of any length runs on this hierarchy. False if
 * it is not built. Over messages, only long scans do. */
static bool serves_all_lengths(const ctn_hierarchy_t *hierarchy, bool balanced,
                               uint32_t ranks)
{
    return balanced ? hierarchy->balanced
                    : ctn_ml_adds_serially(hierarchy, ranks) &&
                          hierarchy->level[0]->bcol == &ctn_bcol_shm;
}

/** Run a blocking reproducible reduction, unless a hierarchy does that.
 * @return false: it has not run */
static bool run_reproducible(const ctn_call_t *call,
                             const ctn_ml_config_t *config,
                             catena_status_t *status)
{
    *status = await_order(call);
    if (*status != CATENA_OK) {
        *status = ctn_group_result(call->group, *status);
        return true;
    }
    return config->hierarchy->status == CATENA_OK &&
           !serves_all_lengths(config->hierarchy, call->balanced,
                               call->group->chain.place.size) &&
           ctn_reproducible_run(call, config, status);
}

/** Run a blocking call, inline if possible. */
static catena_status_t run_blocking(const ctn_composition_t *composition,
                                    catena_group_t *group,
                                    const ctn_operands_t *operands)
{
    catena_status_t status;
    ctn_ml_config_t *config;
    ctn_call_t call;
    if (is_exchanged(operands)) {
        set_call(composition, group, operands, &call);
        call.blocking = true;
        return ctn_group_run(group, make_op(&call)); /* without hierarchy */
    }
    status = ctn_ml_config_find(group, composition->of, &config);
    if (status != CATENA_OK) {
        return ctn_group_result(group, status);
    }
    set_call(composition, group, operands, &call);
    call.blocking = true;
    if (call.reproducible && run_reproducible(&call, config, &status)) {
        return status;
    }
    ctn_basic_coll_t basic;
    if (config->hierarchy->levels == 1 &&
        ctn_ml_single(&call, config, &basic) &&
        run_level_inline(group, composition, config, call.in_order, &basic,
                         &status)) {
        return status;
    }
    if (call.in_order) {
        status = await_order(&call);
    }
    return status == CATENA_OK ? ctn_group_run(group, make_op(&call))
                               : ctn_group_result(group, status);
}

/** Create the request of a nonblocking or persistent call, and start the
 * former.
 * @param signature for ctn_call_start; or NULL */
static catena_status_t make_request(ctn_call_t *call, ctn_mode_t mode,
                                    const ctn_signature_t *signature,
                                    catena_request_t **request)
{
    hold(call);
    if (mode == CTN_PERSISTENT) {
        catena_status_t status = make_hidden_op(call, signature, request);
        if (status != CATENA_OK) {
            ctn_call_drop(call);
        }
        return status;
    }
    ctn_op_t *op = call->exchanged ? ctn_exchange_create(call) : take_op(call);
    if (op == NULL) {
        ctn_call_drop(call);
        return ctn_group_give_up(call->group, CATENA_ERR_NO_MEMORY);
    }
    ctn_call_start(call->group, signature, op,
                   call->exchanged ? NULL : ctn_ml_begin);
    *request = op;
    return CATENA_OK;
}

catena_status_t ctn_ml_run_operands(const ctn_composition_t *composition,
                                    catena_group_t *group,
                                    const ctn_operands_t *operands,
                                    ctn_mode_t mode,
                                    const ctn_signature_t *signature,
                                    catena_request_t **request)
{
    ctn_call_t call;
    if (mode == CTN_BLOCKING) {
        return run_blocking(composition, group, operands);
    }
    set_call(composition, group, operands, &call);
    call.exchanged |= ctn_reproducible_exchanges(&call);
    return make_request(&call, mode, signature, request);
}

/** Whether a side is one that run_plain_inline takes. */
static inline bool is_plain(const ctn_coll_side_t *side)
{
    return ctn_is_buffer(side->buffer) && side->type != NULL &&
           !side->type->derived &&
           side->count - 1 < CTN_CHUNK_BYTES / side->type->bytes;
}

/** Whether the hierarchy serves a short reproducible call; it may not be built
 * yet. */
static bool serves_plain(const ctn_ml_config_t *config,
                         const ctn_basic_coll_t *basic, uint32_t ranks)
{
    return serves_all_lengths(config->hierarchy, basic->balanced, ranks) &&
           (basic->blocking || (basic->balanced && config->flat != NULL));
}

/** Read the arguments of a short call without ctn_arguments_check: a vector, or
 * blocks of one length, of a predefined type, and no CATENA_IN_PLACE. This
 * takes fewer instructions than the check. Without it, in paired runs of 2
 * ranks up to 256 B, bcast takes 1.18 times as long, allreduce 1.1 times.
 * @param[in,out] basic     `blocking` is set
 * @param[out]    in_order  operands must be combined in the order of ranks
 * @return false: another call, or an error; ctn_arguments_check says which */
static inline bool read_plain(const ctn_composition_t *composition,
                              const ctn_arguments_t *args,
                              catena_group_t *group, ctn_basic_coll_t *basic,
                              ctn_ml_config_t **config, bool *in_order)
{
    const ctn_description_t *collective = args->collective;
    const ctn_chain_place_t *place = &group->chain.place;
    bool is_root = (uint32_t)args->root == place->rank;
    bool sends = collective->send != CTN_SIDE_NONE &&
                 (is_root || (collective->traits & CTN_SEND_ROOT_ONLY) == 0);
    bool receives = is_root || (collective->traits & CTN_RECV_ROOT_ONLY) == 0;
    const ctn_coll_side_t *own = sends ? &args->send : &args->recv;
    if (collective->recv == CTN_SIDE_NONE || ctn_has_lengths(collective) ||
        !is_plain(own) || (sends && receives && !is_plain(&args->recv)) ||
        (uint32_t)args->root >= place->size) {
        return false;
    }
    *basic = (ctn_basic_coll_t){.call = collective->name,
                                .root = (uint32_t)args->root,
                                .in = sends ? args->send.buffer : NULL,
                                .bytes = own->count * own->type->bytes,
                                .chunks = 1,
                                .blocking = basic->blocking};
    *in_order = is_scan(composition);
    if (receives) {
        basic->out = (void *)(uintptr_t)args->recv.buffer;
    }
    if (collective->send == CTN_SIDE_NONE) {
        basic->in = basic->out;
    }
    if ((collective->traits & CTN_REDUCES) != 0) {
        if (args->op == NULL || !ctn_reduce_op_valid(args->op, own->type)) {
            return false;
        }
        basic->by = (ctn_reducer_t){.op = args->op, .type = own->type};
        *in_order |= !ctn_reduce_op_commutes(args->op);
    }
    if (ctn_ml_config_find(group, composition->of, config) != CATENA_OK) {
        return false;
    }
    if ((*config)->reproducible && place->size > 2 && basic->by.op != NULL &&
        ctn_reducer_rounds(&basic->by)) {
        basic->balanced = !is_scan(composition);
        if (!serves_plain(*config, basic, place->size)) {
            return false;
        }
    }
    if (!composition->vector && sends && receives) {
        basic->at = ctn_ml_offsets(*config, basic->bytes);
        if (basic->at == NULL ||
            (basic->by.op != NULL &&
             basic->at[place->size] > CTN_CHUNK_BYTES) ||
            basic->bytes != args->recv.count * args->recv.type->bytes) {
            return false;
        }
    }
    basic->algorithm = (*config)->algorithm;
    return true;
}

/** Run such a call inline if it blocks. @return false: it did not run */
static bool run_plain_inline(const ctn_composition_t *composition,
                             const ctn_arguments_t *args, catena_group_t *group,
                             ctn_recorded_call_t *record,
                             catena_status_t *status)
{
    ctn_basic_coll_t basic = {.blocking = true};
    ctn_ml_config_t *config;
    bool in_order;
    if (!read_plain(composition, args, group, &basic, &config, &in_order)) {
        return false;
    }
    ctn_call_moves(record, basic.bytes);
    ctn_call_reduces(record, &basic.by);
    return run_level_inline(group, composition, config, in_order, &basic,
                            status);
}

/** Set up such a call that does not block, and begin it inline.
 * @return false: it has not begun */
static bool begin_plain(ctn_op_t *op, const ctn_composition_t *composition,
                        const ctn_arguments_t *args, catena_group_t *group,
                        ctn_recorded_call_t *record)
{
    ctn_ml_t *ml = ctn_ml_of(op);
    ctn_basic_coll_t *basic = &ml->single;
    uint32_t size = group->chain.place.size;
    bool in_order;
    basic->blocking = false;
    if (!read_plain(composition, args, group, basic, &ml->config, &in_order) ||
        in_order || (basic->by.op != NULL && basic->by.op->function != NULL)) {
        return false;
    }
    ctn_call_moves(record, basic->bytes);
    ctn_call_reduces(record, &basic->by);
    ctn_module_t *module = ctn_hierarchy_single(ml->config->hierarchy, size);
    if (module == NULL || (basic->at != NULL && size > CTN_SINGLE_MEMBERS)) {
        return false;
    }
    if (basic->at != NULL) { /* these may change before it ends */
        memcpy(ml->single_at, basic->at, (size + 1) * sizeof(*basic->at));
        basic->at = ml->single_at;
    }
    ml->call.composition = composition;
    ml->call.group = group;
    ml->call.holds = false;
    ml->record = NULL;
    return ctn_ml_begin_plain(op, module);
}

/** Begin such a call as a request.
 * @param status that of the call
 * @return false: it has not begun */
static bool request_plain(const ctn_composition_t *composition,
                          const ctn_arguments_t *args, catena_group_t *group,
                          ctn_recorded_call_t *record,
                          catena_request_t **request, catena_status_t *status)
{
    ctn_op_t *op = ctn_op_take(group->exec, &composition->algorithm, NULL);
    if (op == NULL) {
        *status = ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
        return true;
    }
    if (!begin_plain(op, composition, args, group, record)) {
        ctn_ml_of(op)->call.holds = false;
        ctn_op_release(op);
        return false;
    }
    *request = op;
    *status = CATENA_OK;
    return true;
}

/** Run a call that has not begun inline. */
static catena_status_t run_usual(const ctn_composition_t *composition,
                                 const ctn_arguments_t *args,
                                 catena_group_t *group, ctn_mode_t mode,
                                 catena_request_t **request,
                                 ctn_recorded_call_t *record)
{
    ctn_operands_t operands;
    ctn_signature_t signature;
    const ctn_signature_t *checked;
    const ctn_peers_t peers = ctn_peers_of(group);
    catena_status_t status = ctn_arguments_check(args, &peers, &operands);
    if (status != CATENA_OK) {
        ctn_arguments_refused(args, group, record);
        return status;
    }
    ctn_arguments_note(record, &peers, &operands);
    if (operands.by.op != NULL &&
        !ctn_reducer_reserve(&operands.by, &group->exec->copies)) {
        return ctn_group_give_up(group, CATENA_ERR_NO_MEMORY);
    }
    status = ctn_arguments_compare(args, group, mode, &operands, &signature,
                                   &checked);
    if (status != CATENA_OK) {
        return status;
    }
    if (ctn_operands_empty(args->collective, &operands)) {
        return ctn_call_empty(group, mode, checked, request);
    }
    return ctn_ml_run_operands(composition, group, &operands, mode, checked,
                               request);
}

/** Run a call whose group and request are there. */
static inline catena_status_t run(const ctn_composition_t *composition,
                                  const ctn_arguments_t *args,
                                  catena_group_t *group, ctn_mode_t mode,
                                  catena_request_t **request,
                                  ctn_recorded_call_t *record)
{
    catena_status_t status;
    ctn_exec_charge(group->exec, CTN_WORK_CALL, 1);
    if (!ctn_group_checks(group) &&
        ((mode == CTN_BLOCKING &&
          run_plain_inline(composition, args, group, record, &status)) ||
         (mode == CTN_NONBLOCKING &&
          request_plain(composition, args, group, record, request, &status)))) {
        return status;
    }
    return run_usual(composition, args, group, mode, request, record);
}

catena_status_t ctn_ml_run(const ctn_composition_t *composition,
                           const ctn_arguments_t *args, catena_group_t *group,
                           ctn_mode_t mode, catena_request_t **request)
{
    ctn_recorded_call_t *record;
    catena_status_t status =
        ctn_arguments_begin(args, group, mode, request, &record);
    if (status != CATENA_OK) {
        return status;
    }
    status = run(composition, args, group, mode, request, record);
    ctn_arguments_returns(args, group, record, mode, status, request);
    return status;
}
