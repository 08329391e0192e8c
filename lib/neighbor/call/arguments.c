/* Arguments of neighborhood collectives: checks them once and describes them as
 * blocks. */

#include <stdint.h>
#include <stdlib.h>

#include "neighbor/call/call.h"

/** One side of a call while it is checked. */
typedef struct neighbor_check {
    const ctn_neighbor_call_t *call;
    const char *what;
    const ctn_coll_side_t *side;
    ctn_side_shape_t shape;
    const ctn_edge_t *edge; /* [count] */
    uint32_t count;
} neighbor_check_t;

#define REFUSE(call, format, ...)                                              \
    ctn_error((call)->neighborhood->exec->log, "%s: " format,                  \
              (call)->collective->algorithm.name, __VA_ARGS__)

static catena_status_t too_long(const neighbor_check_t *check, size_t count)
{
    REFUSE(check->call, "%s of %zu elements does not fit the address space",
           check->what, count);
    return CATENA_ERR_ARG;
}

static catena_status_t no_type(const neighbor_check_t *check)
{
    REFUSE(check->call, CTN_NO_TYPE, check->what);
    return CATENA_ERR_ARG;
}

static bool is_neighbor(const neighbor_check_t *check, uint32_t i)
{
    return check->edge[i].rank != CATENA_PROC_NULL;
}

static bool any_neighbor(const neighbor_check_t *check)
{
    uint32_t i = 0;
    while (i < check->count && !is_neighbor(check, i)) {
        i++;
    }
    return i < check->count;
}

/** Blocks of one length. A single block for all neighbors is the first of them.
 */
static catena_status_t read_uniform(const neighbor_check_t *check,
                                    ctn_blocks_t *blocks)
{
    uint32_t n = check->shape == CTN_SIDE_ONE ? 1 : check->count;
    size_t all;
    if (check->side->type == NULL) {
        return check->count > 0 ? no_type(check) : CATENA_OK;
    }
    return ctn_blocks_read_uniform(check->side, n, blocks, &all)
               ? CATENA_OK
               : too_long(check, check->side->count);
}

static catena_status_t read_vector(const neighbor_check_t *check,
                                   ctn_blocks_t *blocks, bool *missing)
{
    const ctn_coll_side_t *side = check->side;
    *missing = false;
    size_t all = 0;
    if (check->count > 0 &&
        (side->counts == NULL || side->displacements == NULL ||
         (check->call->collective->typed && side->types == NULL))) {
        REFUSE(check->call, "the %s of %s are NULL",
               side->counts == NULL          ? "counts"
               : side->displacements == NULL ? "displacements"
                                             : "types",
               check->what);
        return CATENA_ERR_ARG;
    }
    for (uint32_t i = 0; i < check->count; i++) {
        if (!is_neighbor(check, i)) {
            continue;
        }
        if (ctn_side_type(side, i) == NULL) {
            return no_type(check);
        }
        if (!ctn_block_fits(side, i, &all)) {
            return too_long(check, side->counts[i]);
        }
        *missing |= ctn_block_is_missing(side, i);
    }
    blocks->types = side->types;
    blocks->counts = side->counts;
    blocks->displacements = side->displacements;
    return CATENA_OK;
}

static catena_status_t read_side(const neighbor_check_t *check,
                                 ctn_blocks_t *blocks)
{
    const ctn_coll_side_t *side = check->side;
    bool vector = check->shape == CTN_SIDE_VECTOR;
    bool missing;
    catena_status_t status = vector ? read_vector(check, blocks, &missing)
                                    : read_uniform(check, blocks);
    if (status != CATENA_OK) {
        return status;
    }
    if (side->buffer == CATENA_IN_PLACE) {
        REFUSE(check->call, "%s is CATENA_IN_PLACE, which is not allowed here",
               check->what);
        return CATENA_ERR_ARG;
    }
    if (!vector) {
        missing = side->type != NULL &&
                  ctn_type_is_missing(side->type, side->buffer, side->count) &&
                  any_neighbor(check);
    }
    if (missing) {
        REFUSE(check->call, "%s is NULL, but has data", check->what);
        return CATENA_ERR_ARG;
    }
    /* The caller's buffer. catena writes only to receive buffers. */
    blocks->base = (unsigned char *)(uintptr_t)side->buffer;
    blocks->type = side->type;
    return CATENA_OK;
}

static catena_status_t read_reducer(const ctn_neighbor_call_t *call,
                                    ctn_reducer_t *by)
{
    const ctn_type_t *type = call->recv.type;
    char reason[256];
    if (type == NULL) {
        REFUSE(call, CTN_NO_TYPE, "the data");
        return CATENA_ERR_ARG;
    }
    if (call->op == NULL) {
        REFUSE(call, "%s", CTN_NO_REDUCE_OP);
        return CATENA_ERR_ARG;
    }
    if (!ctn_op_valid(call->op, type)) {
        REFUSE(call, "%s",
               ctn_op_mismatch(call->op, type, reason, sizeof(reason)));
        return CATENA_ERR_ARG;
    }
    *by = (ctn_reducer_t){call->op, ctn_op_unit(call->op, type)};
    return CATENA_OK;
}

static catena_status_t check_in_place(const ctn_neighbor_call_t *call)
{
    const catena_neighborhood_t *n = call->neighborhood;
    if (!ctn_neighbor_reduces(call->collective) && n->sources != n->targets) {
        REFUSE(
            call,
            "in place requires as many sources as targets; there are %u and %u",
            n->sources, n->targets);
        return CATENA_ERR_ARG;
    }
    return CATENA_OK;
}

/** Whether the neighborhood supports the collective. */
static catena_status_t check_collective(const ctn_neighbor_call_t *call)
{
    if ((call->neighborhood->operations & call->collective->operation) == 0) {
        REFUSE(call, "the neighborhood is made for other operations (%#x)",
               call->neighborhood->operations);
        return CATENA_ERR_ARG;
    }
    return CATENA_OK;
}

CTN_HOT catena_status_t ctn_neighbor_validate(const ctn_neighbor_call_t *call,
                                              ctn_exchange_t *x)
{
    const catena_neighborhood_t *n = call->neighborhood;
    const ctn_neighbor_collective_t *collective = call->collective;
    bool in_place =
        collective->may_be_in_place && call->send.buffer == CATENA_IN_PLACE;
    const neighbor_check_t send = {.call = call,
                                   .what = in_place ? "recv" : "send",
                                   .side = in_place ? &call->recv : &call->send,
                                   .shape = collective->send,
                                   .edge = n->target,
                                   .count = n->targets};
    const neighbor_check_t recv = {.call = call,
                                   .what = "recv",
                                   .side = &call->recv,
                                   .shape = collective->recv,
                                   .edge = n->source,
                                   .count = n->sources};
    catena_status_t status = check_collective(call);
    x->collective = collective;
    x->neighborhood = call->neighborhood;
    x->in_place = in_place;
    if (status == CATENA_OK && in_place) {
        status = check_in_place(call);
    }
    if (status == CATENA_OK && ctn_neighbor_reduces(collective)) {
        status = read_reducer(call, &x->by);
    }
    if (status == CATENA_OK) {
        status = read_side(&recv, &x->recv);
    }
    return status == CATENA_OK ? read_side(&send, &x->send) : status;
}

/* ---- for requests ---- */

static void hold_side(ctn_exchange_t *x, const ctn_blocks_t *blocks,
                      const ctn_edge_t *edge, uint32_t count)
{
    if (blocks->types == NULL && blocks->type != NULL) {
        x->held[x->held_count++] = ctn_type_hold(blocks->type);
    }
    for (uint32_t i = 0; i < count && blocks->types != NULL; i++) {
        if (edge[i].rank != CATENA_PROC_NULL) {
            x->held[x->held_count++] =
                ctn_type_hold(ctn_type_of(blocks->types[i]));
        }
    }
}

catena_status_t ctn_neighbor_hold(ctn_exchange_t *x)
{
    const catena_neighborhood_t *n = x->neighborhood;
    size_t most = x->collective->typed ? (size_t)n->sources + n->targets : 2;
    x->held = malloc((most + 1) * sizeof(*x->held));
    if (x->held == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    hold_side(x, &x->send, n->target, n->targets);
    hold_side(x, &x->recv, n->source, n->sources);
    if (x->by.op != NULL) {
        x->held[x->held_count++] = ctn_type_hold(x->by.type);
        (void)ctn_op_hold(x->by.op);
        x->holds_op = true;
    }
    return CATENA_OK;
}
