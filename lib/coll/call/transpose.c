/* HIER-13: reproducible scans of long vectors. Every rank reduces one block of
 * the vector for all ranks: an alltoallv sends block j of each rank to rank j,
 * which replaces each operand by its sum with all operands before it, in the
 * order of ranks; a second alltoallv returns to each rank its partial result of
 * each block. So a scan costs as much as the reduce-scatter and allgather of
 * Rabenseifner's allreduce (see P2P-4), in one round each.
 *
 * Bytes sent by a rank: at most twice its vector. Scratch: one vector; two if
 * the receive buffer has gaps, three if both have.
 *
 * Both alltoallvs take their numbers when the operation starts, so that all
 * ranks give them the same ones; the second is held until its data are there.
 * On a hidden duplicate, which no other operation uses, it starts then: the
 * sequence may not have been open before.
 */

#include <stdlib.h>

#include "coll/alltoall/alltoall.h"
#include "coll/call/exchange.h"
#include "exec/deaths.h"

/* Vectors that together have more bytes than this are transposed: a rank then
 * sends its vector twice at most, instead of to each rank that has a result,
 * but in a second round of messages. Scans of 4 KiB on simulated hpc-a, 8 nodes
 * of 2 ranks, take 36 us transposed and 123 us gathered. At 256 B both take
 * about as long. */
enum { DIRECT_BYTES = 4096 };

/* Shorter scans are exchanged rather than gathered on one node, and between
 * these numbers of nodes if few bytes go from one to another: messages to few
 * nodes take one round, but a gather about log2 of the number of nodes. 8 B on
 * simulated hpc-a, hpc-b and sierra, gathered and exchanged, us: 3 nodes of 3
 * ranks 4.8, 4.1, 3.8 and 3.7, 2.9, 3.0; 4 nodes of 8 5.7, 4.7, 4.4 and 6.0,
 * 3.5, 3.6; 16 nodes of 2 9.6, 8.1, 7.6 and 9.2, 4.9, 5.1; but 2 nodes of 4
 * 2.7, 2.5, 2.4 and 3.6, 3.0, 2.9; 64 nodes of 2 16, 12, 12 and 35, 23, 29; 4
 * nodes of 12 6.1, 4.8, 4.6 and 9.0, 3.9, 4.4. On one node of 6 or 12 ranks
 * gathering takes 1.5 to 1.9 times as long. */
enum {
    EXCHANGED_LEAST_NODES = 3,
    EXCHANGED_MOST_NODES = 16,
    EXCHANGED_BYTES = 512
};

/* Most bytes of all vectors together that are gathered if the hierarchy of a
 * reduce, allreduce or reduce_scatter is not balanced. 4 simulated nodes of 6
 * ranks, hpc-a, hpc-b and sierra, us: allreduces of 8 B 5.6, 4.6, 4.4
 * gathered, 8.9, 7.5, 7.6 on the flat hierarchy; of 64 B 9.2, 6.3, 6.5 and
 * 9.1, 7.7, 7.7; reduces of 8 B 2.9, 2.3, 2.7 and 4.8, 4.0, 4.0, of 64 B 4.5,
 * 2.7, 3.2 and 5.1, 4.1, 4.1. With one and two nodes a reduce that is gathered
 * takes 1 to 2 times as long. */
enum { BALANCED_BYTES = 2048, REDUCED_LEAST_NODES = 3 };

/** One alltoallv. */
typedef struct stage {
    ctn_op_t *op;
    ctn_blocks_t sent;
    ctn_blocks_t received;
    /* [p], elements */
    size_t *sent_count;
    size_t *received_count;
    ptrdiff_t *sent_at;
    ptrdiff_t *received_at;
} stage_t;

/** What alltoallvs use that are still under way after their operation has
 * failed. It is before the arrays of the stages. */
typedef struct rest {
    unsigned stages; /* that are under way */
    void *scratch[3];
    size_t bytes[3];
} rest_t;

/** State of the operation. */
typedef struct transposed {
    ctn_call_t call; /* first, as ctn_exchange_create promises */
    /* from a start until the operation ends: */
    rest_t *memory;        /* then the arrays of both stages */
    unsigned char *data;   /* [p] operands of this rank's block */
    size_t data_bytes;     /* of data */
    unsigned char *packed; /* see ctn_exchange_pack */
    unsigned char *result; /* without gaps; NULL: the receive buffer has none */
    const ctn_hierarchy_t *after; /* see ctn_exchange_request */
    stage_t stage[2];
    catena_status_t status; /* of the first stage */
    uint64_t messages;      /* that this rank had sent before */
} transposed_t;

static uint32_t size_of(const ctn_call_t *call)
{
    return call->group->chain.place.size;
}

static uint32_t rank_of(const ctn_call_t *call)
{
    return call->group->chain.place.rank;
}

bool ctn_exchange_gathers(const ctn_call_t *call, uint32_t nodes)
{
    uint32_t p = size_of(call);
    size_t each = (p + nodes - 1) / nodes; /* ranks of a node, on average */
    if (call->balanced) {
        return call->in.bytes <= BALANCED_BYTES / p &&
               (call->composition->single_level_kind != CTN_REDUCE ||
                nodes >= REDUCED_LEAST_NODES);
    }
    bool exchanges =
        nodes == 1 ||
        (nodes >= EXCHANGED_LEAST_NODES && nodes <= EXCHANGED_MOST_NODES &&
         call->in.bytes <= EXCHANGED_BYTES / (each * each));
    return call->in.bytes <= DIRECT_BYTES / p && !exchanges;
}

bool ctn_exchange_transposes(const ctn_call_t *call)
{
    return call->reproducible && call->in.bytes > DIRECT_BYTES / size_of(call);
}

/** Where a rank's block begins, in elements. */
static size_t begin_of(const ctn_call_t *call, uint32_t rank)
{
    size_t elements = call->in.bytes / call->by.type->bytes;
    uint32_t p = size_of(call);
    return elements / p * rank + elements % p * rank / p;
}

static size_t elements_of(const ctn_call_t *call, uint32_t rank)
{
    return begin_of(call, rank + 1) - begin_of(call, rank);
}

/** Allocate what this rank needs. */
static bool take_memory(ctn_op_t *op)
{
    transposed_t *it = ctn_op_state(op);
    const ctn_call_t *call = &it->call;
    size_t p = size_of(call);
    size_t each = elements_of(call, rank_of(call)) * call->by.type->bytes;
    it->memory =
        malloc(sizeof(rest_t) + 4 * p * (sizeof(size_t) + sizeof(ptrdiff_t)));
    it->data_bytes = p * each;
    if (it->memory == NULL || !ctn_exchange_pack(op->exec, call, &it->packed)) {
        return false;
    }
    if (call->out.type != NULL) {
        it->result = ctn_scratch_alloc(op->exec, call->out.bytes);
        if (it->result == NULL) {
            return false;
        }
    }
    it->data = ctn_scratch_alloc(op->exec, it->data_bytes);
    return it->data != NULL;
}

/** Set the arrays and sides of a stage. */
static void set_stage(transposed_t *it, unsigned number)
{
    size_t p = size_of(&it->call);
    stage_t *stage = &it->stage[number];
    size_t *counts = (size_t *)(it->memory + 1);
    ptrdiff_t *places = (ptrdiff_t *)(counts + 4 * p);
    stage->sent_count = counts + 2 * number * p;
    stage->received_count = stage->sent_count + p;
    stage->sent_at = places + 2 * number * p;
    stage->received_at = stage->sent_at + p;
    stage->sent = (ctn_blocks_t){.type = it->call.by.type,
                                 .counts = stage->sent_count,
                                 .displacements = stage->sent_at};
    stage->received = (ctn_blocks_t){.type = it->call.by.type,
                                     .counts = stage->received_count,
                                     .displacements = stage->received_at};
}

/** The first stage: block j to rank j, the operands of this rank's block from
 * all ranks. */
static void set_first(transposed_t *it)
{
    const ctn_call_t *call = &it->call;
    stage_t *stage = &it->stage[0];
    size_t each = elements_of(call, rank_of(call));
    set_stage(it, 0);
    stage->sent.base = it->packed != NULL ? it->packed : call->in.base;
    stage->received.base = it->data;
    for (uint32_t i = 0; i < size_of(call); i++) {
        stage->sent_count[i] = elements_of(call, i);
        stage->sent_at[i] = (ptrdiff_t)begin_of(call, i);
        stage->received_count[i] = each;
        stage->received_at[i] = (ptrdiff_t)(i * each);
    }
}

/** The second stage: to each rank the last operand of its result, which is then
 * the reduction of all of them. */
static void set_second(transposed_t *it)
{
    const ctn_call_t *call = &it->call;
    stage_t *stage = &it->stage[1];
    size_t each = elements_of(call, rank_of(call));
    bool receives = ctn_exchange_operands(call, rank_of(call)) > 0;
    set_stage(it, 1);
    stage->sent.base = it->data;
    stage->received.base = it->result != NULL ? it->result : call->out.base;
    for (uint32_t i = 0; i < size_of(call); i++) {
        uint32_t operands = ctn_exchange_operands(call, i);
        stage->sent_count[i] = operands > 0 ? each : 0;
        stage->sent_at[i] =
            operands > 0 ? (ptrdiff_t)((operands - 1) * each) : 0;
        stage->received_count[i] = receives ? elements_of(call, i) : 0;
        stage->received_at[i] = (ptrdiff_t)begin_of(call, i);
    }
}

/** Create the alltoallv of a stage. */
static bool make_stage(ctn_op_t *op, stage_t *stage)
{
    const transposed_t *it = ctn_op_state(op);
    stage->op = ctn_alltoallv_create(it->call.group, &stage->sent,
                                     &stage->received, it->after);
    if (stage->op != NULL && op->exec->deaths != NULL) {
        stage->op->failure = ctn_op_failure(op);
    }
    return stage->op != NULL;
}

static ctn_step_t request(ctn_op_t *op)
{
    return ctn_exchange_request(op, &((transposed_t *)ctn_op_state(op))->after);
}

static ctn_step_t begin(ctn_op_t *op)
{
    transposed_t *it = ctn_op_state(op);
    ctn_step_t settled = ctn_exchange_await(op, it->after);
    if (settled != CTN_STEP_NEXT) {
        return settled;
    }
    it->stage[0].op = it->stage[1].op = NULL;
    it->messages = op->exec->tally.messages;
    if (!take_memory(op)) {
        return ctn_op_fail(op, ctn_op_give_up(op, CATENA_ERR_NO_MEMORY));
    }
    set_first(it);
    set_second(it);
    if (!make_stage(op, &it->stage[0]) || !make_stage(op, &it->stage[1])) {
        return ctn_op_fail(op, ctn_op_give_up(op, CATENA_ERR_NO_MEMORY));
    }
    ctn_op_start(it->stage[0].op);
    if (!it->call.group->hidden) {
        ctn_op_start_held(it->stage[1].op);
    }
    return CTN_STEP_NEXT;
}

/** Take the status of an alltoallv that is done, and release it. @return false:
 * it is not done */
static bool end_stage(ctn_op_t *op, stage_t *stage, catena_status_t *status)
{
    if (stage->op->state != CTN_OP_DONE) {
        op->waits_for = stage->op->waits_for;
        return false;
    }
    *status = stage->op->status;
    ctn_op_release(stage->op);
    stage->op = NULL;
    return true;
}

/** Reduce, and let the second stage run. Ranks that have received their
 * operands wait for the results of this one. So if its own are invalid, since
 * the lengths of the vectors differ, this one gives up; but not where the
 * settings of the ranks do: then no stage sends anything. */
static ctn_step_t reduce(ctn_op_t *op)
{
    transposed_t *it = ctn_op_state(op);
    const ctn_call_t *call = &it->call;
    if (!end_stage(op, &it->stage[0], &it->status)) {
        return CTN_STEP_WAIT;
    }
    size_t each = elements_of(call, rank_of(call)) * call->by.type->bytes;
    if (it->status == CATENA_OK) {
        ctn_exchange_fold(op->exec, call, it->data, size_of(call), each);
    }
    if (it->status != CATENA_OK &&
        (it->after == NULL || it->after->status == CATENA_OK)) {
        it->status = ctn_op_give_up(op, it->status);
    }
    if (call->group->hidden) {
        ctn_op_start(it->stage[1].op);
    } else {
        ctn_op_let_go(it->stage[1].op);
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t finish(ctn_op_t *op)
{
    transposed_t *it = ctn_op_state(op);
    const ctn_call_t *call = &it->call;
    catena_status_t status;
    if (!end_stage(op, &it->stage[1], &status)) {
        return CTN_STEP_WAIT;
    }
    ctn_ml_record_exchange(call, op->exec->tally.messages - it->messages);
    status = it->status != CATENA_OK ? it->status : status;
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    if (it->result != NULL && ctn_exchange_operands(call, rank_of(call)) > 0) {
        ctn_span_write(op->exec, &call->out, 0, call->out.bytes, it->result);
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"prepare", request},
                                     {"transpose", begin},
                                     {"reduce", reduce},
                                     {"return", finish},
                                     {NULL, NULL}};

/** Free what both alltoallvs have used. */
static void free_scratch(ctn_exec_t *exec, const rest_t *rest)
{
    for (int i = 0; i < 3; i++) {
        ctn_scratch_free(exec, rest->scratch[i], rest->bytes[i]);
    }
}

/** A detached alltoallv has ended. If the group has failed, the scratch memory
 * stays, as that of a `finish`: members that have not noticed it may still
 * access it. */
static void stage_ended(ctn_op_t *op)
{
    ctn_exec_t *exec = op->exec;
    bool keeps = exec->keeps_memory;
    rest_t *rest = op->owned;
    op->owned = NULL;
    if (--rest->stages == 0) {
        exec->keeps_memory = keeps || ctn_op_must_stop(op);
        free_scratch(exec, rest);
        exec->keeps_memory = keeps;
    }
}

/** After an error of the network, or of the group: detach an alltoallv that is
 * under way; exec frees it when it ends. */
static void orphan(stage_t *stage, rest_t *rest)
{
    ctn_op_t *op = stage->op;
    stage->op = NULL;
    if (op == NULL) {
        return;
    }
    if (op->state == CTN_OP_DONE || op->state == CTN_OP_INACTIVE) {
        ctn_op_release(op);
        return;
    }
    rest->stages++;
    op->owned = rest;
    op->ended = stage_ended;
    op->detached = true;
    op->sequence->detached++;
    ctn_op_let_go(op);
}

/** The scratch memory of an alltoallv that is still under way stays until that
 * has ended, and the arrays until the context is finalized. */
static void end(ctn_op_t *op)
{
    transposed_t *it = ctn_op_state(op);
    rest_t *rest = it->memory;
    if (rest == NULL) {
        return;
    }
    *rest = (rest_t){
        .scratch = {it->data, it->packed, it->result},
        .bytes = {it->data_bytes, it->call.in.bytes, it->call.out.bytes}};
    orphan(&it->stage[0], rest);
    orphan(&it->stage[1], rest);
    if (rest->stages > 0) {
        ctn_exec_defer_free(op->exec, rest);
    } else {
        free_scratch(op->exec, rest);
        free(rest);
    }
    it->data = it->packed = it->result = NULL;
    it->memory = NULL;
}

static void release(ctn_op_t *op)
{
    ctn_call_drop(ctn_op_state(op));
}

const ctn_algorithm_t ctn_exchange_transposed = {
    .name = "reduction by a transposition",
    .state_bytes = sizeof(transposed_t),
    .phases = phases,
    .finish = end,
    .release = release,
};
