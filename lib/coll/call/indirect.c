/* HIER-12: reductions that cannot run on the caller's buffers. An operation
 * stages the data and runs another collective on them, in one of two cases:
 *
 * - Packed: the data of the type are not contiguous, or not in the order of
 *   memory. Each rank packs its data, the same collective replaces them by the
 *   result, and the rank unpacks the result.
 * - Exchanged: the operation is a function of the application, and an element
 *   does not fit a chunk. An alltoallv sends the data of each rank to the ranks
 *   whose results depend on them, and these reduce, in rank order, what they
 *   have received. */

#include <stdlib.h>

#include "coll/alltoall/alltoall.h"
#include "coll/call/call.h"

/** State of the operation. */
typedef struct indirect {
    ctn_call_t call; /* first, as ctn_indirect_create promises */
    /* from a start until the operation ends: */
    unsigned char *data; /* packed data or received operands, in the heap */
    size_t bytes;        /* of data */
    size_t *counts;      /* of the alltoallv: [p] sent, then [p] received */
    ptrdiff_t *displacements; /* likewise; in the same memory */
    uint64_t messages;        /* that this rank had sent before */
} indirect_t;

static uint32_t size_of(const ctn_call_t *call)
{
    return call->group->chain.place.size;
}

static uint32_t rank_of(const ctn_call_t *call)
{
    return call->group->chain.place.rank;
}

/** Number of operands of a rank's result: these are the data of the ranks below
 * that number. 0: the rank has no result. */
static uint32_t operands_of(const ctn_call_t *call, uint32_t rank)
{
    switch (call->composition->single_level_kind) {
    case CTN_REDUCE:
        return rank == call->root ? size_of(call) : 0;
    case CTN_SCAN:
        return rank + 1;
    case CTN_EXSCAN:
        return rank;
    default: /* allreduce, reduce_scatter */
        return size_of(call);
    }
}

/** Whether each rank gets another block of the result (reduce_scatter). */
static bool scatters(const ctn_call_t *call)
{
    return call->composition->single_level_kind == CTN_REDUCE_SCATTER;
}

/** Bytes of the result of a rank, if it has one. */
static size_t result_bytes(const ctn_call_t *call, uint32_t rank)
{
    return scatters(call) ? ctn_blocks_bytes(&call->all, rank) : call->in.bytes;
}

/** Allocate `count` times `bytes` for the data. @return false: no memory */
static bool take(ctn_op_t *op, size_t count, size_t bytes)
{
    indirect_t *it = ctn_op_state(op);
    if (__builtin_mul_overflow(count, bytes, &it->bytes)) {
        return false;
    }
    it->data = ctn_scratch_alloc(op->exec, it->bytes);
    return it->data != NULL;
}

/** Run `child`. NULL: there was no memory, so this rank cannot do its part. */
static ctn_step_t run(ctn_op_t *op, ctn_op_t *child)
{
    return child != NULL
               ? ctn_op_call(op, child)
               : ctn_op_fail(op,
                             ctn_exec_abort(op->exec, CATENA_ERR_NO_MEMORY));
}

/** Write the result of this rank, if it has one. */
static ctn_step_t finish_result(ctn_op_t *op, const unsigned char *result)
{
    const ctn_call_t *call = ctn_op_state(op);
    if (operands_of(call, rank_of(call)) > 0 && call->out.bytes > 0) {
        ctn_span_write(op->exec, &call->out, 0, call->out.bytes, result);
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    indirect_t *it = ctn_op_state(op);
    ctn_scratch_free(op->exec, it->data, it->bytes);
    free(it->counts);
    it->data = NULL;
    it->counts = NULL;
}

static void release(ctn_op_t *op)
{
    ctn_call_drop(ctn_op_state(op));
}

/* ---- packed ---- */

/** Pack the data and run the collective on them, in place where this rank has a
 * result. */
static ctn_step_t pack(ctn_op_t *op)
{
    const ctn_call_t *call = ctn_op_state(op);
    const indirect_t *it = ctn_op_state(op);
    if (!take(op, 1, call->in.bytes)) {
        return run(op, NULL);
    }
    ctn_span_read(op->exec, &call->in, 0, call->in.bytes, it->data);
    ctn_call_t packed = *call;
    packed.reduction = CTN_REDUCTION_DIRECT;
    packed.holds = false;
    packed.in = (ctn_span_t){.base = it->data, .bytes = call->in.bytes};
    packed.out = (ctn_span_t){.bytes = call->out.bytes};
    if (call->composition->single_level_kind != CTN_REDUCE ||
        rank_of(call) == call->root) {
        packed.out.base = it->data;
        packed.in_place = true;
    }
    return run(op, ctn_ml_create(&packed));
}

static ctn_step_t unpack(ctn_op_t *op)
{
    const indirect_t *it = ctn_op_state(op);
    return finish_result(op, it->data);
}

static const ctn_phase_t packed_phases[] = {
    {"pack", pack}, {"unpack", unpack}, {NULL, NULL}};

static const ctn_algorithm_t packed_reduction = {
    .name = "packed reduction",
    .state_bytes = sizeof(indirect_t),
    .phases = packed_phases,
    .finish = finish,
    .release = release,
};

/* ---- exchanged ---- */

/** Set what this rank sends: reduce_scatter: one block to each rank; else all
 * its data to each rank whose result needs them. */
static void set_sent(const indirect_t *it)
{
    const ctn_call_t *call = &it->call;
    ptrdiff_t at = 0;
    for (uint32_t to = 0; to < size_of(call); to++) {
        size_t elements = result_bytes(call, to) / call->by.type->bytes;
        it->counts[to] = rank_of(call) < operands_of(call, to) ? elements : 0;
        it->displacements[to] = at;
        at += scatters(call) ? (ptrdiff_t)elements : 0;
    }
}

/** Set what this rank receives: its operands of `each` bytes, one after the
 * other. */
static void set_received(const indirect_t *it, size_t each)
{
    const ctn_call_t *call = &it->call;
    uint32_t p = size_of(call);
    uint32_t operands = operands_of(call, rank_of(call));
    for (uint32_t from = 0; from < p; from++) {
        it->counts[p + from] = from < operands ? each : 0;
        it->displacements[p + from] = (ptrdiff_t)(from * each);
    }
}

/** Run the alltoallv. */
static ctn_step_t exchange(ctn_op_t *op)
{
    indirect_t *it = ctn_op_state(op);
    const ctn_call_t *call = &it->call;
    size_t p = size_of(call);
    size_t each = result_bytes(call, rank_of(call)); /* bytes of an operand */
    it->counts = malloc(2 * p * (sizeof(size_t) + sizeof(ptrdiff_t)));
    if (it->counts == NULL ||
        !take(op, operands_of(call, rank_of(call)), each)) {
        return run(op, NULL);
    }
    it->displacements = (void *)(it->counts + 2 * p);
    it->messages = op->exec->tally.messages;
    set_sent(it);
    set_received(it, each);
    const ctn_blocks_t sent = {.base = call->in.base,
                               .type = call->by.type,
                               .counts = it->counts,
                               .displacements = it->displacements};
    const ctn_blocks_t received = {.base = it->data,
                                   .type = ctn_type_fixed[CTN_FIXED_byte],
                                   .counts = it->counts + p,
                                   .displacements = it->displacements + p};
    return run(op, ctn_alltoallv_create(call->group, &sent, &received));
}

/** Replace each operand by its reduction with all operands before it. The last
 * one is then the result. */
static ctn_step_t reduce(ctn_op_t *op)
{
    const indirect_t *it = ctn_op_state(op);
    const ctn_call_t *call = &it->call;
    size_t each = result_bytes(call, rank_of(call));
    uint32_t operands = operands_of(call, rank_of(call));
    unsigned char *left = it->data;
    ctn_ml_record_exchange(call, op->exec->tally.messages - it->messages);
    for (uint32_t i = 1; i < operands; i++, left += each) {
        ctn_exec_charge(op->exec, CTN_WORK_REDUCE, each);
        if (!op->exec->drop_data &&
            !ctn_reduce(&call->by, left, left + each, left + each, each)) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
    }
    return finish_result(op, left);
}

static const ctn_phase_t exchanged_phases[] = {
    {"exchange", exchange}, {"reduce", reduce}, {NULL, NULL}};

static const ctn_algorithm_t exchanged_reduction = {
    .name = "reduction by exchange",
    .state_bytes = sizeof(indirect_t),
    .phases = exchanged_phases,
    .finish = finish,
    .release = release,
};

ctn_op_t *ctn_indirect_create(const ctn_call_t *call)
{
    ctn_op_t *op = ctn_op_create(call->group->exec,
                                 call->reduction == CTN_REDUCTION_PACKED
                                     ? &packed_reduction
                                     : &exchanged_reduction,
                                 NULL);
    if (op != NULL) {
        ((indirect_t *)ctn_op_state(op))->call = *call;
    }
    return op;
}
