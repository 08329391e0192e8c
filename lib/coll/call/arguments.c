/* Validation of the arguments of hierarchical collectives; lengths become
 * bytes. */

#include <stdint.h>

#include "coll/call/call.h"

#include <catena/coll.h>

/** The arguments being checked, and the result. */
typedef struct coll_check {
    const ctn_coll_args_t *args;
    ctn_call_t *call;
} coll_check_t;

static catena_group_t *group_of(const coll_check_t *check)
{
    return check->args->group;
}

static uint32_t size_of(const coll_check_t *check)
{
    return group_of(check)->chain.place.size;
}

static bool is_root(const coll_check_t *check)
{
    return (uint32_t)check->args->root == group_of(check)->chain.place.rank;
}

#define REFUSE(check, format, ...)                                             \
    ctn_error(group_of(check)->exec->log, "%s: " format,                       \
              (check)->args->composition->algorithm.name, __VA_ARGS__)

/* ---- buffers ---- */

static catena_status_t too_long(const coll_check_t *check, const char *what,
                                size_t count)
{
    REFUSE(check, "%s of %zu elements does not fit the address space", what,
           count);
    return CATENA_ERR_ARG;
}

static catena_status_t check_buffer(const coll_check_t *check, const char *what,
                                    const void *buffer, bool missing,
                                    size_t bytes)
{
    if (buffer == CATENA_IN_PLACE) {
        REFUSE(check, "%s is CATENA_IN_PLACE, which is not allowed here", what);
        return CATENA_ERR_ARG;
    }
    if (missing) {
        REFUSE(check, "%s is NULL; expected %zu bytes of data", what, bytes);
        return CATENA_ERR_ARG;
    }
    return CATENA_OK;
}

static catena_status_t check_type(const coll_check_t *check, const char *what,
                                  const ctn_type_t *type)
{
    if (type == NULL) {
        REFUSE(check, CTN_NO_TYPE, what);
        return CATENA_ERR_ARG;
    }
    return CATENA_OK;
}

/** One block: what this rank alone sends or receives. */
static catena_status_t read_span(const coll_check_t *check, const char *what,
                                 const ctn_coll_side_t *side, ctn_span_t *span)
{
    catena_status_t status = check_type(check, what, side->type);
    ptrdiff_t reach;
    size_t bytes;
    if (status != CATENA_OK) {
        return status;
    }
    if (__builtin_mul_overflow(side->count, side->type->bytes, &bytes) ||
        __builtin_mul_overflow(side->count, side->type->extent, &reach)) {
        return too_long(check, what, side->count);
    }
    status = check_buffer(
        check, what, side->buffer,
        ctn_type_is_missing(side->type, side->buffer, side->count), bytes);
    if (status == CATENA_OK) {
        span->base = (unsigned char *)(uintptr_t)side->buffer;
        span->bytes = bytes;
        span->type = side->type->dense ? NULL : side->type;
    }
    return status;
}

static catena_status_t read_uniform(const coll_check_t *check, const char *what,
                                    const ctn_coll_side_t *side,
                                    ctn_blocks_t *blocks, size_t *all)
{
    return ctn_blocks_read_uniform(side, size_of(check), blocks, all)
               ? CATENA_OK
               : too_long(check, what, side->count);
}

static catena_status_t read_vector(const coll_check_t *check, const char *what,
                                   const ctn_coll_side_t *side,
                                   ctn_blocks_t *blocks, size_t *all)
{
    *all = 0;
    for (uint32_t i = 0; i < size_of(check); i++) {
        if (!ctn_block_fits(side, i, all)) {
            return too_long(check, what, side->counts[i]);
        }
    }
    blocks->counts = side->counts;
    blocks->displacements = side->displacements;
    return CATENA_OK;
}

static bool any_missing(const coll_check_t *check, const ctn_coll_side_t *side)
{
    bool missing = false;
    for (uint32_t i = 0; i < size_of(check) && !missing; i++) {
        missing = ctn_block_is_missing(side, i);
    }
    return missing;
}

/** A block for each rank. `vector`: of individual lengths.
 * @param[out] all their total bytes */
static catena_status_t read_blocks(const coll_check_t *check, const char *what,
                                   const ctn_coll_side_t *side, bool vector,
                                   size_t *all)
{
    ctn_blocks_t *blocks = &check->call->all;
    catena_status_t status = check_type(check, what, side->type);
    if (status != CATENA_OK) {
        return status;
    }
    if (vector && (side->counts == NULL || side->displacements == NULL)) {
        REFUSE(check, "the %s of %s are NULL",
               side->counts == NULL ? "counts" : "displacements", what);
        return CATENA_ERR_ARG;
    }
    status = vector ? read_vector(check, what, side, blocks, all)
                    : read_uniform(check, what, side, blocks, all);
    if (status == CATENA_OK) {
        status = check_buffer(
            check, what, side->buffer,
            vector ? any_missing(check, side)
                   : ctn_type_is_missing(side->type, side->buffer, side->count),
            *all);
    }
    blocks->base = (unsigned char *)(uintptr_t)side->buffer;
    blocks->type = side->type;
    return status;
}

static catena_status_t check_root(const coll_check_t *check)
{
    int root = check->args->root;
    if (root < 0 || (uint32_t)root >= size_of(check)) {
        REFUSE(check, "root is %d; expected 0 to %u", root, size_of(check) - 1);
        return CATENA_ERR_ARG;
    }
    check->call->root = (uint32_t)root;
    return CATENA_OK;
}

/* ---- collectives ---- */

/** The operation and type of a reduction. */
static catena_status_t read_reducer(const coll_check_t *check,
                                    const ctn_type_t *type)
{
    const ctn_reduce_op_t *op = check->args->op;
    char reason[256];
    catena_status_t status = check_type(check, "the data", type);
    if (status != CATENA_OK) {
        return status;
    }
    if (op == NULL) {
        REFUSE(check, "%s", CTN_NO_REDUCE_OP);
        return CATENA_ERR_ARG;
    }
    if (!ctn_op_valid(op, type)) {
        REFUSE(check, "%s", ctn_op_mismatch(op, type, reason, sizeof(reason)));
        return CATENA_ERR_ARG;
    }
    const ctn_type_t *unit = ctn_op_unit(op, type);
    const ctn_composition_t *composition = check->args->composition;
    check->call->by = (ctn_reducer_t){op, unit};
    check->call->reduction = unit->bytes > CTN_CHUNK_BYTES
                                 ? CTN_REDUCTION_EXCHANGED
                             : !type->dense ? CTN_REDUCTION_PACKED
                                            : CTN_REDUCTION_DIRECT;
    check->call->in_order =
        check->call->reduction != CTN_REDUCTION_EXCHANGED &&
        (!ctn_op_commutes(op) || composition->of == CTN_COLL_SCAN);
    return CATENA_OK;
}

static catena_status_t validate_bcast(const coll_check_t *check, bool *nothing)
{
    ctn_call_t *call = check->call;
    catena_status_t status = check_root(check);
    if (status == CATENA_OK) {
        status = read_span(check, "the buffer", &check->args->recv, &call->in);
    }
    call->out = call->in;
    *nothing = call->in.bytes == 0;
    return status;
}

/** reduce, allreduce, scan, exscan: vectors. `receives`: this rank has a
 * result.
 */
static catena_status_t read_vectors(const coll_check_t *check, bool receives,
                                    bool *nothing)
{
    const ctn_coll_args_t *args = check->args;
    ctn_call_t *call = check->call;
    ctn_coll_side_t send = args->send;
    catena_status_t status = read_reducer(check, send.type);
    if (status == CATENA_OK && receives) {
        status = read_span(check, "recv", &args->recv, &call->out);
        call->in_place = send.buffer == CATENA_IN_PLACE;
        send.buffer = call->in_place ? args->recv.buffer : send.buffer;
    }
    if (status == CATENA_OK) {
        status = read_span(check, "send", &send, &call->in);
    }
    *nothing = call->in.bytes == 0;
    return status;
}

static catena_status_t validate_reduction(const coll_check_t *check,
                                          bool *nothing)
{
    const ctn_composition_t *composition = check->args->composition;
    bool rooted = composition->single_level_kind == CTN_REDUCE;
    catena_status_t status = rooted ? check_root(check) : CATENA_OK;
    if (status == CATENA_OK) {
        status = read_vectors(check, !rooted || is_root(check), nothing);
    }
    return status;
}

/** This rank's block, sent or received, of a buffer with all blocks. */
static catena_status_t read_own(const coll_check_t *check, const char *what,
                                const ctn_coll_side_t *side,
                                bool may_be_in_place, ctn_span_t *own)
{
    ctn_call_t *call = check->call;
    if (!may_be_in_place || side->buffer != CATENA_IN_PLACE) {
        return read_span(check, what, side, own);
    }
    call->in_place = true;
    *own = ctn_blocks_at(&call->all, group_of(check)->chain.place.rank);
    return CATENA_OK;
}

/** gather, allgather, and scatter, which is the inverse of gather: `all` is the
 * side with a block for each rank, `one` that with this rank's block. */
static catena_status_t
read_gathering(const coll_check_t *check, const char *all,
               const ctn_coll_side_t *all_side, const char *one,
               const ctn_coll_side_t *one_side, ctn_span_t *own, bool *nothing)
{
    const ctn_composition_t *composition = check->args->composition;
    bool rooted = composition->single_level_kind != CTN_ALLGATHER;
    size_t bytes = 0;
    catena_status_t status = rooted ? check_root(check) : CATENA_OK;
    bool has_all = !rooted || is_root(check);
    if (status == CATENA_OK && has_all) {
        status =
            read_blocks(check, all, all_side, composition->lengths, &bytes);
    }
    if (status == CATENA_OK) {
        status = read_own(check, one, one_side, has_all, own);
    }
    if (status == CATENA_OK && !rooted && bytes == 0 && own->bytes > 0) {
        REFUSE(check, "send has %zu bytes; expected 0, like recv", own->bytes);
        status = CATENA_ERR_ARG;
    }
    /* With individual lengths, the ranks with one block do not know the others.
     */
    *nothing = (has_all ? bytes : own->bytes) == 0 &&
               (!rooted || !composition->lengths);
    return status;
}

static catena_status_t validate_reduce_scatter(const coll_check_t *check,
                                               bool *nothing)
{
    const ctn_coll_args_t *args = check->args;
    ctn_call_t *call = check->call;
    ctn_coll_side_t recv = args->recv;
    size_t all = 0;
    catena_status_t status = read_reducer(check, recv.type);
    if (status == CATENA_OK && args->composition->lengths &&
        recv.counts == NULL) {
        REFUSE(check, "the %s are NULL", "counts");
        status = CATENA_ERR_ARG;
    }
    if (status == CATENA_OK) {
        call->all.type = recv.type;
        status = args->composition->lengths
                     ? read_vector(check, "send", &recv, &call->all, &all)
                     : read_uniform(check, "send", &recv, &call->all, &all);
    }
    if (status != CATENA_OK) {
        return status;
    }
    call->in_place = args->send.buffer == CATENA_IN_PLACE;
    const void *send = call->in_place ? recv.buffer : args->send.buffer;
    status =
        check_buffer(check, call->in_place ? "recv" : "send", send,
                     all > 0 && ctn_type_is_missing(recv.type, send, 1), all);
    call->in = (ctn_span_t){.base = (unsigned char *)(uintptr_t)send,
                            .bytes = all,
                            .type = recv.type->dense ? NULL : recv.type};
    recv.count = recv.counts != NULL
                     ? recv.counts[group_of(check)->chain.place.rank]
                     : recv.count;
    *nothing = all == 0;
    return status == CATENA_OK ? read_span(check, "recv", &recv, &call->out)
                               : status;
}

catena_status_t ctn_ml_validate(const ctn_coll_args_t *args, ctn_call_t *call,
                                bool *nothing)
{
    *call =
        (ctn_call_t){.composition = args->composition, .group = args->group};
    coll_check_t check = {args, call};
    switch (args->composition->single_level_kind) {
    case CTN_BCAST:
        return validate_bcast(&check, nothing);
    case CTN_REDUCE:
    case CTN_ALLREDUCE:
    case CTN_SCAN:
    case CTN_EXSCAN:
        return validate_reduction(&check, nothing);
    case CTN_GATHER:
    case CTN_ALLGATHER:
        return read_gathering(&check, "recv", &args->recv, "send", &args->send,
                              &call->in, nothing);
    case CTN_SCATTER:
        return read_gathering(&check, "send", &args->send, "recv", &args->recv,
                              &call->out, nothing);
    case CTN_REDUCE_SCATTER:
        return validate_reduce_scatter(&check, nothing);
    default: /* no data */
        *nothing = false;
        return CATENA_OK;
    }
}
