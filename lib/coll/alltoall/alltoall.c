/* alltoall, alltoallv and alltoallw: from the arguments to an operation. */

#include "coll/alltoall/alltoall.h"

#include <catena/coll.h>
#include <stdint.h>
#include <stdlib.h>

#include "coll/call/call.h"
#include "coll/call/publish.h"
#include "coll/hierarchy/hierarchy.h"
#include "coll/select/select.h"
#include "core/refuse.h"
#include "exec/inline.h"
#include "split/call/call.h"

/* ---- the operation: select an algorithm and become it ---- */

/** Whether the next call will select the same algorithm: the settings have not
 * changed since this call was made, this call did not fall back to another
 * algorithm because it is in place, and the rules do not depend on whether it
 * blocks. */
static bool is_reusable(const ctn_alltoall_t *call,
                        const ctn_selection_t *selection)
{
    ctn_selector_t *selector = call->selector;
    return !ctn_alltoall_by_levels(call->group, selector) &&
           call->family == selector->family &&
           call->leaders == selector->leaders &&
           call->radix == selector->radix && call->window == selector->window &&
           (!call->in_place ||
            ctn_alltoall_requested(selector, call) == selection->family) &&
           (call->blocking || call->family != NULL ||
            !selector->tuned[call->vector].choice.by_mode);
}

/** Return the block length for which the next call can run inline, in eager
 * rows; 0: none. Other members may have to run that call as an operation, so
 * the conditions are those under which an operation uses eager rows, too. */
static size_t inline_bytes(const ctn_alltoall_t *call,
                           const ctn_selection_t *selection)
{
    return is_reusable(call, selection) && !call->vector &&
                   call->topo->nodes == 1 &&
                   selection->family->kind == CTN_ALLTOALL_DIRECT &&
                   selection->window == 0 &&
                   ctn_eager_rows_fit(call->receive->bytes,
                                      ctn_topo_local_size(call->topo),
                                      call->topo->oversubscribed)
               ? call->receive->bytes
               : 0;
}

/** [kind][vector]; the selection knows which do not exist. */
static const ctn_algorithm_t *const algorithms[][2] = {
    [CTN_ALLTOALL_DIRECT] = {&ctn_alltoall_direct, &ctn_alltoallv_direct},
    [CTN_ALLTOALL_SHIFT] = {&ctn_alltoall_direct, &ctn_alltoallv_direct},
    [CTN_ALLTOALL_BRUCK] = {&ctn_alltoall_bruck, NULL},
    [CTN_ALLTOALL_MORTON] = {&ctn_alltoall_morton, NULL},
    [CTN_ALLTOALL_LEADERS] = {&ctn_alltoall_leaders, &ctn_alltoallv_leaders},
    [CTN_ALLTOALL_LEADERS_PLAIN] = {&ctn_alltoall_leaders_plain, NULL}};

/** Whether the members have compared their settings (call->after), and may go
 * on. Where the settings differ others may not have given this operation its
 * number. */
static ctn_step_t await_settings(ctn_op_t *op)
{
    const ctn_alltoall_t *call = ctn_op_state(op);
    if (call->after->state != CTN_BUILT) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = call->after->status;
    if (status == CATENA_OK) {
        return CTN_STEP_NEXT;
    }
    return ctn_op_fail(op, call->after->differ ? ctn_op_give_up(op, status)
                                               : status);
}

/** Get the topology, select the algorithm, and become it. A hidden duplicate
 * has a topology of its own. */
static ctn_step_t choose(ctn_op_t *op)
{
    ctn_alltoall_t *call = ctn_op_state(op);
    ctn_step_t settled =
        call->after != NULL ? await_settings(op) : CTN_STEP_NEXT;
    if (settled != CTN_STEP_NEXT) {
        return settled;
    }
    ctn_selector_t *selector = call->selector;
    bool hidden = call->group->hidden;
    if (hidden || selector->topo == NULL) {
        ctn_step_t found = ctn_member_table_need(op, call->group, &call->topo);
        if (found != CTN_STEP_NEXT) {
            return found;
        }
        selector->topo = hidden ? selector->topo : call->topo;
    }
    call->topo = hidden ? call->topo : selector->topo;
    ctn_alltoall_select(selector, call);
    const ctn_selection_t *selection = &selector->last;
    selector->messages_before = op->exec->tally.messages;
    selector->nodes = call->topo->nodes;
    if (!hidden) {
        selector->inline_bytes = inline_bytes(call, selection);
    }
    const ctn_family_t *family = selection->family;
    call->published = false;
    call->radix = selection->radix;
    call->window = selection->window;
    call->by_leaders = (ctn_leader_params_t){
        .leaders = selection->leaders,
        .placement = family->placement,
        .overlap = family->overlap,
        .direct_above = selection->direct_above,
    };
    call->order =
        family->kind == CTN_ALLTOALL_SHIFT ? CTN_ORDER_SHIFT : CTN_ORDER_PAIRED;
    return ctn_op_become(op, algorithms[family->kind][call->vector]);
}

static const ctn_phase_t phases[] = {{"choose", choose}, {NULL, NULL}};

static const ctn_algorithm_t alltoall = {
    .name = "alltoall",
    .state_bytes = sizeof(ctn_alltoall_t),
    .phases = phases,
    .synchronizing = true,
    .release = ctn_alltoall_release,
};

static const ctn_algorithm_t alltoallv = {
    .name = "alltoallv",
    .state_bytes = sizeof(ctn_alltoall_t),
    .phases = phases,
    .release = ctn_alltoall_release,
};

void ctn_alltoall_finish(ctn_op_t *op)
{
    ctn_selector_t *selector = ((ctn_alltoall_t *)ctn_op_state(op))->selector;
    selector->messages = op->exec->tally.messages - selector->messages_before;
}

void ctn_alltoall_release(ctn_op_t *op)
{
    ctn_alltoall_t *call = ctn_op_state(op);
    for (uint32_t i = 0; i < call->held_count; i++) {
        ctn_type_drop(ctn_type_of(call->held[i]));
    }
    free(call->held);
}

/* ---- nonblocking and persistent calls that begin inline ---- */

/** State of an operation that exchanges eager rows and began inline. A later
 * start of a persistent one may run the direct algorithm instead. */
typedef struct in_rows {
    ctn_alltoall_t call; /* first */
    ctn_eager_rows_t rows;
} in_rows_t;

static ctn_step_t receive_rows(ctn_op_t *op)
{
    ctn_eager_rows_t *rows = &((in_rows_t *)ctn_op_state(op))->rows;
    if (!ctn_eager_rows_advance(op->exec, rows)) {
        op->waits_for = ctn_eager_rows_missing(rows);
        return CTN_STEP_WAIT;
    }
    return rows->status == CATENA_OK ? CTN_STEP_NEXT
                                     : ctn_op_fail(op, rows->status);
}

static const ctn_phase_t rows_phases[] = {{"exchange", receive_rows},
                                          {NULL, NULL}};

static const ctn_algorithm_t by_rows = {
    .name = "alltoall/direct",
    .state_bytes = sizeof(in_rows_t),
    .phases = rows_phases,
    .synchronizing = true,
    .release = ctn_alltoall_release,
};

/** op->wait: complete the operation inline. False: its phases have to. */
static bool wait_for_rows(ctn_op_t *op)
{
    in_rows_t *in_rows = ctn_op_state(op);
    ctn_backoff_t backoff = {0};
    if (!ctn_op_is_sole(op)) {
        return false;
    }
    while (!ctn_eager_rows_advance(op->exec, &in_rows->rows)) {
        if (!ctn_inline_yield(op->exec, &backoff)) {
            return false;
        }
    }
    ctn_op_end(op, in_rows->rows.status);
    return true;
}

static void rows_ended(ctn_op_t *op)
{
    op->wait = NULL;
    op->algorithm = &ctn_alltoall_direct;
}

/** Start an alltoall by eager rows, whose topology is known, if nothing else is
 * under way. False: nothing happened. */
static bool begin_rows(ctn_op_t *op)
{
    in_rows_t *in_rows = ctn_op_state(op);
    ctn_alltoall_t *call = &in_rows->call;
    if (!ctn_inline_begin(op->exec, op->sequence, &op->seq)) {
        return false;
    }
    op->algorithm = &by_rows;
    op->ended = rows_ended;
    op->wait = wait_for_rows;
    in_rows->rows = (ctn_eager_rows_t){.topo = call->topo,
                                       .send = call->send,
                                       .receive = call->receive,
                                       .seq = op->seq,
                                       .in_place = call->in_place};
    ctn_eager_rows_begin(op->exec, &in_rows->rows);
    ctn_op_began(op, 0);
    return true;
}

/** op->start of a persistent request: an earlier start has chosen the
 * algorithm. */
static bool start_rows(ctn_op_t *op)
{
    const ctn_alltoall_t *call = ctn_op_state(op);
    return op->algorithm == &ctn_alltoall_direct && call->topo->nodes == 1 &&
           call->window == 0 &&
           ctn_eager_rows_fit(call->receive->bytes,
                              ctn_topo_local_size(call->topo),
                              call->topo->oversubscribed) &&
           begin_rows(op);
}

/* ---- calls ---- */

/** Keep the blocks, which the caller may change before the operation ends. */
static void keep_blocks(ctn_alltoall_t *call)
{
    call->own[0] = *call->send;
    call->own[1] = *call->receive;
    call->send = &call->own[0];
    call->receive = &call->own[1];
}

/** Hold a reference of each type of the blocks, which are kept, and for
 * alltoallw copy the arrays of their handles: the caller may free both before
 * the operation ends. Predefined types stay anyway. */
static catena_status_t hold_types(ctn_alltoall_t *call)
{
    if (call->receive->types == NULL && !call->send->type->derived &&
        !call->receive->type->derived) {
        return CATENA_OK;
    }
    uint32_t p = call->group->chain.place.size;
    uint32_t each = call->receive->types != NULL ? p : 1;
    call->held = malloc(2 * (size_t)each * sizeof(catena_type_t));
    if (call->held == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (int s = 0; s < 2; s++) {
        catena_type_t *kept = call->held + call->held_count;
        ctn_blocks_t *side = &call->own[s];
        for (uint32_t i = 0; i < each; i++) {
            kept[i] = side->types != NULL ? side->types[i]
                                          : ctn_type_handle(side->type);
            (void)ctn_type_hold(ctn_type_of(kept[i]));
        }
        call->held_count += each;
        if (side->types != NULL) {
            side->types = kept;
        }
    }
    return CATENA_OK;
}

/** Run the operation on a hidden duplicate of its group. */
static catena_status_t use_hidden_group(ctn_op_t *op,
                                        const ctn_signature_t *signature)
{
    ctn_alltoall_t *call = ctn_op_state(op);
    ctn_hidden_t *hidden;
    catena_status_t status = ctn_hidden_make(call->group, signature, &hidden);
    if (status == CATENA_OK) {
        call->group = &hidden->group;
        op->sequence = &hidden->group.sequence;
        ctn_hidden_own(op, hidden);
    }
    return status;
}

/** Create the operation of a call, with the current settings of its group. An
 * operation that does not block holds its types.
 * @param selector  of the group; NULL: no memory
 * @param signature of a persistent call; or NULL */
static catena_status_t make(const ctn_description_t *collective,
                            const ctn_operands_t *operands,
                            catena_group_t *group, ctn_selector_t *selector,
                            ctn_mode_t mode, const ctn_signature_t *signature,
                            ctn_op_t **op)
{
    bool vector = ctn_has_lengths(collective);
    ctn_op_t *made =
        selector != NULL
            ? ctn_op_take(group->exec, vector ? &alltoallv : &alltoall,
                          &group->sequence)
            : NULL;
    if (made == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_alltoall_t *call = ctn_op_state(made);
    call->group = group;
    call->send = &operands->send;
    call->receive = &operands->recv;
    call->in_place = operands->in_place;
    call->vector = vector;
    call->blocking = mode == CTN_BLOCKING;
    call->selector = selector;
    call->family = selector->family;
    call->leaders = selector->leaders;
    call->radix = selector->radix;
    call->window = selector->window;
    call->held = NULL;
    call->held_count = 0;
    call->after = NULL;
    call->kept = NULL;
    catena_status_t status = CATENA_OK;
    if (mode != CTN_BLOCKING) {
        keep_blocks(call);
        status = hold_types(call);
    }
    if (status == CATENA_OK && mode == CTN_PERSISTENT) {
        status = use_hidden_group(made, signature);
    }
    if (status != CATENA_OK) {
        ctn_op_release(made);
        return status;
    }
    *op = made;
    return CATENA_OK;
}

ctn_op_t *ctn_alltoallv_create(catena_group_t *group, const ctn_blocks_t *send,
                               const ctn_blocks_t *receive,
                               const ctn_hierarchy_t *after)
{
    const ctn_operands_t operands = {.send = *send, .recv = *receive};
    ctn_op_t *op = NULL;
    if (make(&ctn_call_alltoallv, &operands, group, ctn_selector_of(group),
             CTN_BLOCKING, NULL, &op) == CATENA_OK) {
        ctn_alltoall_t *call = ctn_op_state(op);
        keep_blocks(call);
        call->after = after;
    }
    return op;
}

/** Whether eager rows serve a call that does not wait, by the last call, whose
 * rules may depend on whether it blocks. */
static bool is_in_rows(const ctn_selector_t *selector,
                       const ctn_operands_t *operands)
{
    return selector != NULL && selector->inline_bytes > 0 &&
           operands->recv.counts == NULL &&
           operands->recv.bytes == selector->inline_bytes &&
           !operands->send.type->derived && !operands->recv.type->derived &&
           (selector->family != NULL || !selector->tuned[false].choice.by_mode);
}

/** Begin a nonblocking call inline, in eager rows, if the last call allows it
 * and nothing else is under way. False: it has not begun. */
static bool request_rows(const ctn_operands_t *operands, catena_group_t *group,
                         const ctn_selector_t *selector,
                         catena_request_t **request)
{
    ctn_op_t *op = is_in_rows(selector, operands)
                       ? ctn_op_take(group->exec, &by_rows, &group->sequence)
                       : NULL;
    if (op == NULL) {
        return false;
    }
    ctn_alltoall_t *call = ctn_op_state(op);
    call->group = group;
    call->topo = selector->topo;
    call->send = &operands->send;
    call->receive = &operands->recv;
    keep_blocks(call);
    call->in_place = operands->in_place;
    call->held = NULL;
    call->held_count = 0;
    if (!begin_rows(op)) {
        ctn_op_release(op);
        return false;
    }
    *request = op;
    return true;
}

/** Run a blocking call inline, in eager rows, if the last call allows it
 * (inline_bytes) and no other operation is in progress. False: it must run as
 * an operation. */
static bool run_inline(const ctn_operands_t *operands, catena_group_t *group,
                       const ctn_selector_t *selector, catena_status_t *status)
{
    ctn_eager_rows_t rows;
    if (selector == NULL || selector->inline_bytes == 0 ||
        operands->recv.counts != NULL ||
        operands->recv.bytes != selector->inline_bytes ||
        !ctn_inline_begin(group->exec, &group->sequence, &rows.seq)) {
        return false;
    }
    rows.topo = selector->topo;
    rows.send = &operands->send;
    rows.receive = &operands->recv;
    rows.in_place = operands->in_place;
    ctn_backoff_t backoff = {0};
    ctn_eager_rows_begin(group->exec, &rows);
    while (!ctn_eager_rows_advance(group->exec, &rows)) {
        ctn_exec_wake(group->exec);
        if (!ctn_inline_yield(group->exec, &backoff)) {
            break;
        }
    }
    *status = ctn_inline_end(group->exec, &group->sequence);
    *status = *status == CATENA_OK ? rows.status : *status;
    return true;
}

/** Check the arguments, create the operation, and start it as `mode` says. */
static inline catena_status_t
run_checked(const ctn_arguments_t *args, catena_group_t *group, ctn_mode_t mode,
            catena_request_t **request, ctn_recorded_call_t *record)
{
    ctn_operands_t operands;
    ctn_exec_charge(group->exec, CTN_WORK_CALL, 1);
    const ctn_peers_t peers = ctn_peers_of(group);
    catena_status_t status = ctn_arguments_check(args, &peers, &operands);
    if (status != CATENA_OK) {
        ctn_arguments_refused(args, group, record);
        return status;
    }
    ctn_arguments_note(record, &peers, &operands);
    ctn_signature_t signature;
    const ctn_signature_t *checked;
    status = ctn_arguments_compare(args, group, mode, &operands, &signature,
                                   &checked);
    if (status != CATENA_OK) {
        return status;
    }
    ctn_selector_t *selector = ctn_selector_of(group);
    if ((mode == CTN_BLOCKING &&
         run_inline(&operands, group, selector, &status)) ||
        (mode == CTN_NONBLOCKING && checked == NULL &&
         request_rows(&operands, group, selector, request))) {
        return status;
    }
    if (ctn_operands_empty(args->collective, &operands)) {
        return ctn_call_empty(group, mode, checked, request);
    }
    if (selector != NULL && !ctn_has_lengths(args->collective) &&
        ctn_alltoall_by_levels(group, selector)) {
        return ctn_ml_run_operands(&ctn_ml_alltoall, group, &operands, mode,
                                   checked, request);
    }
    ctn_op_t *op = NULL;
    status =
        make(args->collective, &operands, group, selector, mode, checked, &op);
    if (status != CATENA_OK) {
        return ctn_group_result(group, status);
    }
    if (mode == CTN_BLOCKING) {
        return ctn_op_run(group->exec, op);
    }
    if (mode == CTN_PERSISTENT) {
        op->persistent = true;
        op->start = start_rows;
    } else {
        ctn_call_start(group, checked, op, NULL);
    }
    *request = op;
    return CATENA_OK;
}

/** Body of all nine entry points. */
static catena_status_t run(const ctn_arguments_t *args, catena_group_t *group,
                           ctn_mode_t mode, catena_request_t **request)
{
    ctn_recorded_call_t *record;
    catena_status_t status =
        ctn_arguments_begin(args, group, mode, request, &record);
    if (status != CATENA_OK) {
        return status;
    }
    status = run_checked(args, group, mode, request, record);
    ctn_arguments_returns(args, group, record, mode, status, request);
    return status;
}

/* ---- public ---- */

#define RUN(name, args, mode, request) run(args, group, mode, request)
#define PUBLISH(name, parameters, ...)                                         \
    CTN_PUBLISH(name, catena_group_t *group, RUN, parameters, __VA_ARGS__)

PUBLISH(alltoall, (CTN_SEND_UNIFORM, CTN_RECV_UNIFORM),
        CTN_UNIFORM(send, send_count, send_type),
        CTN_UNIFORM(recv, recv_count, recv_type))
PUBLISH(alltoallv,
        (CTN_SEND_LENGTHS, catena_type_t send_type, CTN_RECV_LENGTHS,
         catena_type_t recv_type),
        CTN_VECTOR(send, send_type), CTN_VECTOR(recv, recv_type))
PUBLISH(alltoallw,
        (CTN_SEND_LENGTHS, const catena_type_t send_types[], CTN_RECV_LENGTHS,
         const catena_type_t recv_types[]),
        CTN_TYPED(send), CTN_TYPED(recv))
