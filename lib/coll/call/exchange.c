/* HIER-12: reductions by an exchange. The operation is a function of the
 * application, and an element does not fit a chunk; or it is a short
 * reproducible scan (HIER-13). An alltoallv sends the data of each rank to the
 * ranks whose results depend on them, and these reduce, in rank order, what
 * they have received. */

#include <stdlib.h>

#include "coll/alltoall/alltoall.h"
#include "coll/call/exchange.h"
#include "group/recovery.h"
#include "type/balanced.h"

/** State of the operation. */
typedef struct exchange {
    ctn_call_t call; /* first, as ctn_exchange_create promises */
    /* from a start until the operation ends: */
    const ctn_hierarchy_t *after; /* see request */
    unsigned char *data;          /* received operands, in the heap */
    unsigned char *packed; /* this rank's data without gaps; NULL: not needed */
    size_t bytes;          /* of data */
    size_t *counts;        /* of the alltoallv: [p] sent, then [p] received */
    ptrdiff_t *displacements; /* likewise; in the same memory */
    uint64_t messages;        /* that this rank had sent before */
} exchange_t;

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

static void finish(ctn_op_t *op)
{
    exchange_t *it = ctn_op_state(op);
    ctn_scratch_free(op->exec, it->data, it->bytes);
    ctn_scratch_free(op->exec, it->packed, it->call.in.bytes);
    free(it->counts);
    it->data = it->packed = NULL;
    it->counts = NULL;
}

static void release(ctn_op_t *op)
{
    ctn_call_drop(ctn_op_state(op));
}

/** Set what this rank sends: reduce_scatter: one block to each rank; else all
 * its data to each rank whose result needs them. */
static void set_sent(const exchange_t *it)
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
static void set_received(const exchange_t *it, size_t each)
{
    const ctn_call_t *call = &it->call;
    uint32_t p = size_of(call);
    uint32_t operands = operands_of(call, rank_of(call));
    for (uint32_t from = 0; from < p; from++) {
        it->counts[p + from] = from < operands ? each : 0;
        it->displacements[p + from] = (ptrdiff_t)(from * each);
    }
}

/** There is no memory, so this rank cannot do its part. */
static ctn_step_t fail(ctn_op_t *op)
{
    return ctn_op_fail(op, ctn_op_give_up(op, CATENA_ERR_NO_MEMORY));
}

bool ctn_exchange_pack(ctn_exec_t *exec, const ctn_call_t *call,
                       unsigned char **packed)
{
    *packed = NULL;
    if (call->in.type == NULL || call->by.op->function != NULL) {
        return true; /* by.type is the type of the buffer */
    }
    *packed = ctn_scratch_alloc(exec, call->in.bytes);
    if (*packed != NULL) {
        ctn_span_read(exec, &call->in, 0, call->in.bytes, *packed);
    }
    return *packed != NULL;
}

void ctn_exchange_fold(ctn_exec_t *exec, const ctn_call_t *call,
                       unsigned char *data, uint32_t operands, size_t each)
{
    for (uint32_t i = 1; i < operands; i++, data += each) {
        ctn_exec_charge(exec, CTN_WORK_REDUCE, each);
        if (!exec->drop_data) {
            ctn_reduce(&call->by, data, data + each, data + each, each);
        }
    }
}

/** The vectors of all ranks, one after the other. */
typedef struct vectors {
    unsigned char *data;
    size_t each;
} vectors_t;

static const unsigned char *vector_of(void *from, uint32_t i)
{
    const vectors_t *vectors = from;
    return vectors->data + i * vectors->each;
}

void ctn_exchange_reduce(const ctn_call_t *call, unsigned char *data)
{
    ctn_exec_t *exec = call->group->exec;
    uint32_t operands = operands_of(call, rank_of(call));
    size_t each = call->in.bytes;
    vectors_t vectors = {data, each};
    size_t from = 0; /* of the result, or of this rank's block */
    if (operands == 0) {
        return;
    }
    if (!call->balanced) {
        from = (operands - 1) * each;
        ctn_exchange_fold(exec, call, data, operands, each);
    } else {
        if (!exec->drop_data) {
            ctn_balanced_reduce(&call->by, operands, vector_of, &vectors, each,
                                data);
        }
        ctn_exec_charge(exec, CTN_WORK_REDUCE, (operands - 1) * each);
    }
    for (uint32_t i = 0; scatters(call) && i < rank_of(call); i++) {
        from += result_bytes(call, i);
    }
    if (call->out.bytes > 0) {
        ctn_span_write(exec, &call->out, 0, call->out.bytes, data + from);
    }
}

/** A reproducible scan first requests the hierarchy that ranks without this
 * setting use, so that all ranks start the same operations, and those that
 * build it compare the settings. */
static ctn_step_t request(ctn_op_t *op)
{
    exchange_t *it = ctn_op_state(op);
    catena_group_t *group = it->call.group;
    ctn_ml_config_t *config;
    it->after = NULL;
    if (!it->call.reproducible) {
        return CTN_STEP_NEXT;
    }
    if (group->hidden) {
        ctn_ml_follow_settings(group);
    }
    catena_status_t status =
        ctn_ml_config_find(group, it->call.composition->of, &config);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    it->after = config->hierarchy;
    return CTN_STEP_NEXT;
}

/** On a hidden duplicate, wait for the comparison. In other groups the
 * alltoallv takes its number first, before later operations. */
static ctn_step_t await_settings(ctn_op_t *op)
{
    const exchange_t *it = ctn_op_state(op);
    if (it->after == NULL || !it->call.group->hidden) {
        return CTN_STEP_NEXT;
    }
    return it->after->state != CTN_BUILT    ? CTN_STEP_WAIT
           : it->after->status != CATENA_OK ? ctn_op_fail(op, it->after->status)
                                            : CTN_STEP_NEXT;
}

/** Run the alltoallv. */
static ctn_step_t exchange(ctn_op_t *op)
{
    exchange_t *it = ctn_op_state(op);
    const ctn_call_t *call = &it->call;
    size_t p = size_of(call);
    size_t each = result_bytes(call, rank_of(call)); /* bytes of an operand */
    it->counts = malloc(2 * p * (sizeof(size_t) + sizeof(ptrdiff_t)));
    if (it->counts == NULL ||
        __builtin_mul_overflow(operands_of(call, rank_of(call)), each,
                               &it->bytes)) {
        return fail(op);
    }
    it->data = ctn_scratch_alloc(op->exec, it->bytes);
    if (it->data == NULL || !ctn_exchange_pack(op->exec, call, &it->packed)) {
        return fail(op);
    }
    it->displacements = (void *)(it->counts + 2 * p);
    it->messages = op->exec->tally.messages;
    set_sent(it);
    set_received(it, each);
    const ctn_blocks_t sent = {.base = it->packed != NULL ? it->packed
                                                          : call->in.base,
                               .type = call->by.type,
                               .counts = it->counts,
                               .displacements = it->displacements};
    const ctn_blocks_t received = {.base = it->data,
                                   .type = ctn_type_fixed[CTN_FIXED_byte],
                                   .counts = it->counts + p,
                                   .displacements = it->displacements + p};
    ctn_op_t *child =
        ctn_alltoallv_create(call->group, &sent, &received, it->after);
    return child != NULL ? ctn_op_call(op, child) : fail(op);
}

/** The last partial result is the result of this rank, if it has one. */
static ctn_step_t reduce(ctn_op_t *op)
{
    const exchange_t *it = ctn_op_state(op);
    const ctn_call_t *call = &it->call;
    size_t each = result_bytes(call, rank_of(call));
    uint32_t operands = operands_of(call, rank_of(call));
    ctn_ml_record_exchange(call, "alltoallv",
                           op->exec->tally.messages - it->messages);
    ctn_exchange_fold(op->exec, call, it->data, operands, each);
    if (operands > 0 && call->out.bytes > 0) {
        ctn_span_write(op->exec, &call->out, 0, call->out.bytes,
                       it->data + (operands - 1) * each);
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"prepare", request},
                                     {"await settings", await_settings},
                                     {"exchange", exchange},
                                     {"reduce", reduce},
                                     {NULL, NULL}};

static const ctn_algorithm_t exchange_algorithm = {
    .name = "reduction by exchange",
    .state_bytes = sizeof(exchange_t),
    .phases = phases,
    .finish = finish,
    .release = release,
};

ctn_op_t *ctn_exchange_create(const ctn_call_t *call)
{
    ctn_op_t *op = ctn_op_create(call->group->exec, &exchange_algorithm, NULL);
    if (op != NULL) {
        op->failure = ctn_group_failure(call->group);
        *(ctn_call_t *)ctn_op_state(op) = *call;
    }
    return op;
}
