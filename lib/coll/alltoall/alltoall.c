/* alltoall, alltoallv and alltoallw: from the arguments to an operation. */

#include "coll/alltoall/alltoall.h"

#include <catena/coll.h>
#include <stdint.h>
#include <stdlib.h>

#include "coll/select/select.h"
#include "split/call/call.h"

/* ---- the operation: select an algorithm and become it ---- */

/** Whether a call made now selects the same algorithm: the settings have not
 * changed since this call was made, and it did not fall back because it is in
 * place. */
static bool is_reusable(const ctn_alltoall_t *call,
                        const ctn_selection_t *selection)
{
    const ctn_selector_t *selector = call->selector;
    const ctn_family_t *requested =
        call->family != NULL ? call->family : selector->tuned.selection.family;
    return call->family == selector->family &&
           call->leaders == selector->leaders &&
           call->radix == selector->radix && call->window == selector->window &&
           (!call->in_place || requested == selection->family);
}

/** Block length for which a call like this can run inline; 0: none. Other
 * members may have to run it as an operation, so it must be the same on all. */
static size_t inline_bytes(const ctn_alltoall_t *call,
                           const ctn_selection_t *selection)
{
    return is_reusable(call, selection) && !call->vector &&
                   call->topo->nodes == 1 &&
                   selection->family->kind == CTN_ALLTOALL_DIRECT &&
                   selection->window == 0 &&
                   ctn_eager_rows_fit(call->receive.bytes,
                                      ctn_topo_local_size(call->topo),
                                      call->topo->oversubscribed)
               ? call->receive.bytes
               : 0;
}

static ctn_step_t choose(ctn_op_t *op)
{
    ctn_alltoall_t *call = ctn_op_state(op);
    ctn_selector_t *selector = call->selector; /* of the caller's group */
    bool hidden = call->group->hidden;
    if (hidden || selector->topo == NULL) {
        ctn_step_t found = ctn_member_table_need(op, call->group, &call->topo);
        if (found != CTN_STEP_NEXT) {
            return found;
        }
        selector->topo = hidden ? selector->topo : call->topo;
    }
    call->topo = hidden ? call->topo : selector->topo;
    catena_status_t status = ctn_alltoall_select(selector, call);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    const ctn_selection_t *selection = &selector->last;
    selector->nodes = call->topo->nodes;
    if (!hidden) {
        selector->inline_bytes = inline_bytes(call, selection);
    }
    const ctn_family_t *family = selection->family;
    call->radix = selection->radix;
    call->window = selection->window;
    ctn_step_t step;
    switch (family->kind) {
    case CTN_ALLTOALL_LEADERS:
        step = ctn_op_become(op, call->vector ? &ctn_alltoallv_leaders
                                              : &ctn_alltoall_leaders);
        *ctn_alltoall_leader_params(op) = (ctn_leader_params_t){
            .leaders = selection->leaders,
            .placement = family->placement,
            .overlap = family->overlap,
            .direct_above = selection->direct_above,
        };
        return step;
    case CTN_ALLTOALL_BRUCK:
        return ctn_op_become(op, &ctn_alltoall_bruck);
    case CTN_ALLTOALL_MORTON:
        return ctn_op_become(op, &ctn_alltoall_morton);
    case CTN_ALLTOALL_SHIFT:
        call->order = CTN_ORDER_SHIFT;
        break;
    case CTN_ALLTOALL_DIRECT:
    default:
        break;
    }
    return ctn_op_become(op, call->vector ? &ctn_alltoallv_direct
                                          : &ctn_alltoall_direct);
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

void ctn_alltoall_release(ctn_op_t *op)
{
    ctn_alltoall_t *call = ctn_op_state(op);
    for (uint32_t i = 0; i < call->held_count; i++) {
        ctn_type_drop(ctn_type_of(call->held[i]));
    }
    free(call->held);
}

/* ---- arguments ---- */

/** How the caller waits. */
typedef enum call_mode {
    MODE_BLOCKING,
    MODE_NONBLOCKING,
    MODE_PERSISTENT
} call_mode_t;

/** Blocks of one length. */
static catena_status_t read_uniform(const catena_group_t *group,
                                    const ctn_coll_side_t *side,
                                    ctn_blocks_t *blocks)
{
    uint32_t p = group->chain.place.size;
    size_t all;
    if (side->type == NULL) {
        return CATENA_ERR_ARG;
    }
    if (!ctn_blocks_read_uniform(side, p, blocks, &all)) {
        ctn_error(group->exec->log,
                  "alltoall: %zu elements for each of %u ranks do not fit the "
                  "address space",
                  side->count, p);
        return CATENA_ERR_ARG;
    }
    blocks->type = side->type;
    return CATENA_OK;
}

/** Blocks of individual lengths. */
static catena_status_t read_vector(const catena_group_t *group,
                                   const ctn_coll_side_t *side,
                                   ctn_blocks_t *blocks)
{
    uint32_t p = group->chain.place.size;
    size_t all = 0;
    if (side->counts == NULL || side->displacements == NULL ||
        (side->type == NULL && side->types == NULL)) {
        return CATENA_ERR_ARG;
    }
    for (uint32_t i = 0; i < p; i++) {
        if (ctn_side_type(side, i) == NULL) {
            return CATENA_ERR_ARG;
        }
        if (!ctn_block_fits(side, i, &all)) {
            ctn_error(group->exec->log,
                      "alltoallv: %zu elements at displacement %td for rank %u "
                      "do not fit the address space",
                      side->counts[i], side->displacements[i], i);
            return CATENA_ERR_ARG;
        }
        if (ctn_block_is_missing(side, i)) {
            return CATENA_ERR_ARG;
        }
    }
    blocks->type = side->type;
    blocks->types = side->types;
    blocks->counts = side->counts;
    blocks->displacements = side->displacements;
    return CATENA_OK;
}

static catena_status_t read_side(const catena_group_t *group,
                                 const ctn_coll_side_t *side,
                                 ctn_blocks_t *blocks)
{
    catena_status_t status;
    if (side->counts != NULL || side->types != NULL ||
        side->displacements != NULL) {
        status = read_vector(group, side, blocks);
    } else {
        status = read_uniform(group, side, blocks);
        if (status == CATENA_OK &&
            ctn_type_is_missing(side->type, side->buffer, side->count)) {
            status = CATENA_ERR_ARG;
        }
    }
    /* The library writes to receive buffers only. */
    blocks->base = (unsigned char *)(uintptr_t)side->buffer;
    return status;
}

/** The caller may free derived types, and for alltoallw their handles, before
 * the operation ends. */
static catena_status_t hold_types(ctn_alltoall_t *call)
{
    ctn_blocks_t *sides[] = {&call->send, &call->receive};
    uint32_t p = call->group->chain.place.size;
    uint32_t each = call->receive.types != NULL ? p : 1;
    call->held = malloc(2 * (size_t)each * sizeof(catena_type_t));
    if (call->held == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (int s = 0; s < 2; s++) {
        catena_type_t *kept = call->held + call->held_count;
        for (uint32_t i = 0; i < each; i++) {
            const ctn_blocks_t *side = sides[s];
            kept[i] = side->types != NULL ? side->types[i]
                                          : ctn_type_handle(side->type);
            (void)ctn_type_hold(ctn_type_of(kept[i]));
        }
        call->held_count += each;
        if (sides[s]->types != NULL) {
            sides[s]->types = kept;
        }
    }
    return CATENA_OK;
}

/** An alltoall has one length for all blocks of all ranks. */
static catena_status_t refuse_lengths(const ctn_alltoall_t *call)
{
    ctn_error(call->group->exec->log,
              "alltoall: a block of send has %zu bytes; expected %zu, as a "
              "block of recv",
              call->send.bytes, call->receive.bytes);
    return CATENA_ERR_ARG;
}

static catena_status_t validate(const ctn_coll_side_t *send,
                                const ctn_coll_side_t *receive,
                                ctn_alltoall_t *call)
{
    call->in_place = send->buffer == CATENA_IN_PLACE;
    call->vector = receive->counts != NULL;
    if (receive->buffer == CATENA_IN_PLACE) {
        return CATENA_ERR_ARG;
    }
    catena_status_t status = read_side(call->group, receive, &call->receive);
    if (status != CATENA_OK) {
        return status;
    }
    if (call->in_place) {
        call->send = call->receive;
        return CATENA_OK;
    }
    if (call->vector || send->type != receive->type ||
        send->count != receive->count) {
        status = read_side(call->group, send, &call->send);
        return status == CATENA_OK && !call->vector &&
                       call->send.bytes != call->receive.bytes
                   ? refuse_lengths(call)
                   : status;
    }
    call->send = call->receive;
    call->send.base = (unsigned char *)(uintptr_t)send->buffer;
    return ctn_type_is_missing(send->type, send->buffer, send->count)
               ? CATENA_ERR_ARG
               : CATENA_OK;
}

/** Copy the group's current settings. */
static catena_status_t take_settings(ctn_alltoall_t *call, call_mode_t mode)
{
    ctn_selector_t *selector = ctn_selector_of(call->group);
    if (selector == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    call->selector = selector;
    call->family = selector->family;
    call->leaders = selector->leaders;
    call->radix = selector->radix;
    call->window = selector->window;
    return mode != MODE_BLOCKING ? hold_types(call) : CATENA_OK;
}

ctn_op_t *ctn_alltoallv_create(catena_group_t *group, const ctn_blocks_t *send,
                               const ctn_blocks_t *receive)
{
    ctn_op_t *op = ctn_op_create(group->exec, &alltoallv, &group->sequence);
    if (op == NULL) {
        return NULL;
    }
    ctn_alltoall_t *call = ctn_op_state(op);
    call->group = group;
    call->send = *send;
    call->receive = *receive;
    call->vector = true;
    if (take_settings(call, MODE_BLOCKING) != CATENA_OK) {
        ctn_op_release(op);
        return NULL;
    }
    return op;
}

/** Run the operation on a hidden duplicate of its group. */
static catena_status_t use_hidden_group(ctn_op_t *op)
{
    ctn_alltoall_t *call = ctn_op_state(op);
    ctn_hidden_t *hidden;
    catena_status_t status = ctn_hidden_make(call->group, true, &hidden);
    if (status == CATENA_OK) {
        call->group = &hidden->group;
        op->sequence = &hidden->group.sequence;
        ctn_hidden_own(op, hidden);
    }
    return status;
}

/** Create the operation; *op is NULL when there is nothing to do. */
static catena_status_t prepare(const ctn_coll_side_t *send,
                               const ctn_coll_side_t *receive,
                               catena_group_t *group, call_mode_t mode,
                               ctn_op_t **op)
{
    bool vector = receive->counts != NULL;
    ctn_op_t *made = ctn_op_create(group->exec, vector ? &alltoallv : &alltoall,
                                   &group->sequence);
    if (made == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_alltoall_t *call = ctn_op_state(made);
    call->group = group;
    catena_status_t status = validate(send, receive, call);
    bool nothing = !vector && call->receive.bytes == 0;
    if (status == CATENA_OK && !nothing) {
        status = take_settings(call, mode);
    }
    if (status == CATENA_OK && !nothing && mode == MODE_PERSISTENT) {
        status = use_hidden_group(made);
    }
    if (status != CATENA_OK || nothing) {
        ctn_op_release(made);
        made = NULL;
    }
    *op = made;
    return status;
}

/** Run a blocking call inline, in eager rows like the last one, when no other
 * operation is in progress. False: it must run as an operation. */
CTN_HOT static bool run_inline(const ctn_coll_side_t *send,
                               const ctn_coll_side_t *receive,
                               catena_group_t *group, catena_status_t *status)
{
    ctn_selector_t *selector = ctn_selector_of(group);
    if (selector == NULL || selector->inline_bytes == 0 ||
        receive->counts != NULL) {
        return false;
    }
    ctn_alltoall_t call = {.group = group};
    ctn_eager_rows_t rows;
    *status = validate(send, receive, &call);
    if (*status != CATENA_OK || call.receive.bytes != selector->inline_bytes ||
        !ctn_inline_begin(group->exec, &group->sequence, &rows.seq)) {
        return *status != CATENA_OK;
    }
    rows.topo = selector->topo;
    rows.send = &call.send;
    rows.receive = &call.receive;
    rows.in_place = call.in_place;
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

/** All nine entry points: validate, create, and start as requested. */
CTN_HOT static catena_status_t enter(const ctn_coll_side_t *send,
                                     const ctn_coll_side_t *receive,
                                     catena_group_t *group, call_mode_t mode,
                                     catena_request_t **request)
{
    if (group == NULL || (mode != MODE_BLOCKING && request == NULL)) {
        return CATENA_ERR_ARG;
    }
    ctn_op_t *op = NULL;
    catena_status_t status;
    if (mode == MODE_BLOCKING && run_inline(send, receive, group, &status)) {
        return status;
    }
    status = prepare(send, receive, group, mode, &op);
    if (status != CATENA_OK) {
        return status;
    }
    switch (mode) {
    case MODE_BLOCKING:
        return op != NULL ? ctn_op_run(op) : CATENA_OK;
    case MODE_NONBLOCKING:
        if (op != NULL) {
            ctn_op_start(op);
        }
        break;
    case MODE_PERSISTENT:
    default:
        op = op != NULL ? op : ctn_op_create_empty(group->exec);
        if (op == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        op->persistent = true;
    }
    *request = op; /* NULL counts as complete */
    return CATENA_OK;
}

/* ---- public ---- */

#define UNIFORM_PARAMETERS                                                     \
    const void *send, size_t send_count, catena_type_t send_type, void *recv,  \
        size_t recv_count, catena_type_t recv_type, catena_group_t *group

CTN_HOT static catena_status_t
enter_uniform(UNIFORM_PARAMETERS, call_mode_t mode, catena_request_t **request)
{
    ctn_coll_side_t from = {
        .buffer = send, .count = send_count, .type = ctn_type_of(send_type)};
    ctn_coll_side_t to = {
        .buffer = recv, .count = recv_count, .type = ctn_type_of(recv_type)};
    return enter(&from, &to, group, mode, request);
}

CTN_HOT catena_status_t catena_alltoall(UNIFORM_PARAMETERS)
{
    return enter_uniform(send, send_count, send_type, recv, recv_count,
                         recv_type, group, MODE_BLOCKING, NULL);
}

catena_status_t catena_ialltoall(UNIFORM_PARAMETERS, catena_request_t **request)
{
    return enter_uniform(send, send_count, send_type, recv, recv_count,
                         recv_type, group, MODE_NONBLOCKING, request);
}

catena_status_t catena_alltoall_init(UNIFORM_PARAMETERS,
                                     catena_request_t **request)
{
    return enter_uniform(send, send_count, send_type, recv, recv_count,
                         recv_type, group, MODE_PERSISTENT, request);
}

/* The parameters of v and w differ in the types: one, or arrays. */
#define VECTOR_PARAMETERS(send_type, recv_type)                                \
    const void *send, const size_t send_counts[],                              \
        const ptrdiff_t send_displacements[], send_type, void *recv,           \
        const size_t recv_counts[], const ptrdiff_t recv_displacements[],      \
        recv_type, catena_group_t *group
#define V_PARAMETERS                                                           \
    VECTOR_PARAMETERS(catena_type_t send_type, catena_type_t recv_type)
#define W_PARAMETERS                                                           \
    VECTOR_PARAMETERS(const catena_type_t send_types[],                        \
                      const catena_type_t recv_types[])

static catena_status_t enter_vector(const ctn_coll_side_t *send,
                                    const ctn_coll_side_t *receive,
                                    catena_group_t *group, call_mode_t mode,
                                    catena_request_t **request)
{
    if (receive->counts == NULL ||
        (send->buffer != CATENA_IN_PLACE && send->counts == NULL)) {
        return CATENA_ERR_ARG;
    }
    return enter(send, receive, group, mode, request);
}

static catena_status_t enter_v(V_PARAMETERS, call_mode_t mode,
                               catena_request_t **request)
{
    ctn_coll_side_t from = {.buffer = send,
                            .counts = send_counts,
                            .displacements = send_displacements,
                            .type = ctn_type_of(send_type)};
    ctn_coll_side_t to = {.buffer = recv,
                          .counts = recv_counts,
                          .displacements = recv_displacements,
                          .type = ctn_type_of(recv_type)};
    return enter_vector(&from, &to, group, mode, request);
}

static catena_status_t enter_w(W_PARAMETERS, call_mode_t mode,
                               catena_request_t **request)
{
    ctn_coll_side_t from = {.buffer = send,
                            .counts = send_counts,
                            .displacements = send_displacements,
                            .types = send_types};
    ctn_coll_side_t to = {.buffer = recv,
                          .counts = recv_counts,
                          .displacements = recv_displacements,
                          .types = recv_types};
    return enter_vector(&from, &to, group, mode, request);
}

catena_status_t catena_alltoallv(V_PARAMETERS)
{
    return enter_v(send, send_counts, send_displacements, send_type, recv,
                   recv_counts, recv_displacements, recv_type, group,
                   MODE_BLOCKING, NULL);
}

catena_status_t catena_ialltoallv(V_PARAMETERS, catena_request_t **request)
{
    return enter_v(send, send_counts, send_displacements, send_type, recv,
                   recv_counts, recv_displacements, recv_type, group,
                   MODE_NONBLOCKING, request);
}

catena_status_t catena_alltoallv_init(V_PARAMETERS, catena_request_t **request)
{
    return enter_v(send, send_counts, send_displacements, send_type, recv,
                   recv_counts, recv_displacements, recv_type, group,
                   MODE_PERSISTENT, request);
}

catena_status_t catena_alltoallw(W_PARAMETERS)
{
    return enter_w(send, send_counts, send_displacements, send_types, recv,
                   recv_counts, recv_displacements, recv_types, group,
                   MODE_BLOCKING, NULL);
}

catena_status_t catena_ialltoallw(W_PARAMETERS, catena_request_t **request)
{
    return enter_w(send, send_counts, send_displacements, send_types, recv,
                   recv_counts, recv_displacements, recv_types, group,
                   MODE_NONBLOCKING, request);
}

catena_status_t catena_alltoallw_init(W_PARAMETERS, catena_request_t **request)
{
    return enter_w(send, send_counts, send_displacements, send_types, recv,
                   recv_counts, recv_displacements, recv_types, group,
                   MODE_PERSISTENT, request);
}
