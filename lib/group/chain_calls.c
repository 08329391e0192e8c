/* The public collectives on chains (include/catena/chain.h): the operations of
 * group/chain_coll.h (CH-2, CH-5 to CH-7), run when all earlier operations of
 * the group are complete, since its chain is also that of splits. Types that
 * are not dense are packed before and unpacked after. */

#include <catena/chain.h>

#include <stdlib.h>

#include "core/entry.h"
#include "core/refuse.h"
#include "group/chain_coll.h"
#include "group/check.h"
#include "group/recovery.h"

/** A call, and the state of its operation. Of a value: `bytes` of the stream of
 * the type. */
typedef struct chain_call {
    /* arguments */
    catena_group_t *group;
    const char *function;
    ctn_call_code_t code;
    const void *send;
    void *recv;  /* double scan: left */
    void *right; /* of a double scan */
    size_t count;
    catena_type_t type_handle;
    catena_op_t op_handle; /* NULL: no reduction */
    int root;              /* -1: there is none */
    /* working */
    const ctn_type_t *type;
    ctn_reducer_t by;
    size_t bytes;
    unsigned char *packed;    /* [3 values] of a type that is not dense: what is
                                 sent, and the results; malloc'd */
    ctn_rank_blocks_t blocks; /* of a gather, at the root */
    bool received;            /* no other rank waits for this one any more */
} chain_call_t;

static bool is_root(const chain_call_t *call)
{
    return call->root == (int)call->group->chain.place.rank;
}

/** Return the memory of a value that the chain reads or writes.
 * @param i 0: what is sent, 1: recv, 2: right
 * @param user the buffer of the caller */
static void *value(const chain_call_t *call, unsigned i, const void *user)
{
    return call->packed != NULL ? call->packed + i * call->bytes
                                : (void *)(uintptr_t)user;
}

/* ---- the operations ---- */

static void combine(void *inout, const void *in, size_t bytes, bool in_is_left,
                    void *argument)
{
    const chain_call_t *call = argument;
    ctn_reduce(&call->by, in_is_left ? in : inout, in_is_left ? inout : in,
               inout, bytes);
}

/** Create the operation on the chain. NULL: no memory. */
static ctn_op_t *make(chain_call_t *call)
{
    ctn_exec_t *exec = call->group->exec;
    ctn_chain_t *chain = &call->group->chain;
    ctn_operator_t by = {combine, call};
    uint32_t root = (uint32_t)call->root;
    const void *own = value(call, 0, call->send);
    void *recv = value(call, 1, call->recv);
    switch (call->code) {
    case CTN_CODE_CHAIN_SCAN:
        return ctn_chain_inclusive_scan(exec, chain, by, own, call->bytes,
                                        recv);
    case CTN_CODE_CHAIN_DOUBLE_SCAN:
        return ctn_chain_double_scan(exec, chain, by, own, call->bytes, recv,
                                     value(call, 2, call->right));
    case CTN_CODE_CHAIN_REDUCE:
        return ctn_chain_reduce(exec, chain, root, by, own, call->bytes, recv);
    case CTN_CODE_CHAIN_BCAST:
        return ctn_chain_bcast(exec, chain, root,
                               is_root(call) ? (void *)(uintptr_t)own : recv,
                               call->bytes);
    default:
        return ctn_chain_gather(exec, chain, root,
                                (ctn_rank_block_t){own, call->bytes},
                                &call->blocks);
    }
}

/* ---- phases ---- */

static ctn_step_t wait_for_earlier(ctn_op_t *op)
{
    const chain_call_t *call = ctn_op_state(op);
    return ctn_sequence_under_way(&call->group->sequence) == 0 ? CTN_STEP_NEXT
                                                               : CTN_STEP_WAIT;
}

static ctn_step_t run(ctn_op_t *op)
{
    chain_call_t *call = ctn_op_state(op);
    if (!call->type->dense && call->bytes > 0) {
        call->packed = calloc(3, call->bytes);
        if (call->packed == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        if (call->code != CTN_CODE_CHAIN_BCAST || is_root(call)) {
            ctn_type_pack(call->type, call->send, 0, call->bytes, call->packed);
        }
    }
    return ctn_op_call(op, make(call));
}

/** Copy the gathered blocks to the caller's buffer. */
static catena_status_t place_blocks(const chain_call_t *call)
{
    for (uint32_t i = 0; i < call->blocks.count; i++) {
        const ctn_rank_block_t *block = &call->blocks.block[i];
        if (block->bytes != call->bytes) {
            return ctn_refuse(
                call->group->exec->log, CATENA_ERR_ARG, call->function,
                "the block of rank %u has %zu bytes; expected %zu", i,
                block->bytes, call->bytes);
        }
        unsigned char *to = (unsigned char *)call->recv +
                            (ptrdiff_t)(i * call->count) * call->type->extent;
        ctn_type_unpack(call->type, to, 0, call->bytes, block->data);
    }
    return CATENA_OK;
}

/** Hand over the results that are not in the caller's buffers yet. */
static ctn_step_t deliver(ctn_op_t *op)
{
    chain_call_t *call = ctn_op_state(op);
    const ctn_chain_place_t *place = &call->group->chain.place;
    bool at_left = place->rank == 0;
    bool at_right = place->rank + 1 == place->size;
    call->received = true;
    if (call->code == CTN_CODE_CHAIN_GATHER) {
        catena_status_t status = is_root(call) ? place_blocks(call) : CATENA_OK;
        return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
    }
    if (call->packed == NULL) {
        return CTN_STEP_NEXT;
    }
    bool writes = call->code == CTN_CODE_CHAIN_SCAN          ? true
                  : call->code == CTN_CODE_CHAIN_DOUBLE_SCAN ? !at_left
                  : call->code == CTN_CODE_CHAIN_REDUCE      ? is_root(call)
                                                             : !is_root(call);
    if (writes) {
        ctn_type_unpack(call->type, call->recv, 0, call->bytes,
                        value(call, 1, NULL));
    }
    if (call->code == CTN_CODE_CHAIN_DOUBLE_SCAN && !at_right) {
        ctn_type_unpack(call->type, call->right, 0, call->bytes,
                        value(call, 2, NULL));
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    chain_call_t *call = ctn_op_state(op);
    if (op->status == CATENA_ERR_ARG && !call->received) {
        (void)ctn_refuse(call->group->exec->log, CATENA_ERR_ARG, call->function,
                         "another rank has not %zu bytes; expected the same "
                         "count and type on all ranks",
                         call->bytes);
    }
    if (!call->received &&
        (op->status == CATENA_ERR_ARG || op->status == CATENA_ERR_NO_MEMORY)) {
        op->status = ctn_op_give_up(op, op->status); /* others wait */
    }
    ctn_rank_blocks_release(op->exec, &call->blocks);
    free(call->packed);
}

static const ctn_phase_t phases[] = {{"wait", wait_for_earlier},
                                     {"run", run},
                                     {"deliver", deliver},
                                     {NULL, NULL}};

static const ctn_algorithm_t chain_algorithm = {
    .name = "chain call",
    .state_bytes = sizeof(chain_call_t),
    .phases = phases,
    .finish = finish,
};

/* ---- arguments ---- */

#define REFUSE(call, ...)                                                      \
    ctn_refuse((call)->group->exec->log, CATENA_ERR_ARG, (call)->function,     \
               __VA_ARGS__)

/** Set the type, the operation and the length. */
static catena_status_t check_data(chain_call_t *call)
{
    call->type = ctn_type_of(call->type_handle);
    if (call->type == NULL) {
        return REFUSE(call, "type " CTN_NO_TYPE);
    }
    size_t values = call->code == CTN_CODE_CHAIN_GATHER
                        ? call->group->chain.place.size
                        : 3; /* of `packed` */
    size_t all;
    if (__builtin_mul_overflow(call->count, call->type->bytes, &call->bytes) ||
        __builtin_mul_overflow(call->bytes, values, &all)) {
        return REFUSE(call, "%zu elements do not fit the address space",
                      call->count);
    }
    if (call->code == CTN_CODE_CHAIN_BCAST ||
        call->code == CTN_CODE_CHAIN_GATHER) {
        return CATENA_OK;
    }
    const ctn_reduce_op_t *op = ctn_reduce_op_of(call->op_handle);
    if (op == NULL) {
        return REFUSE(call, "%s", CTN_NO_REDUCE_OP);
    }
    if (!ctn_reduce_op_valid(op, call->type)) {
        char reason[256];
        return REFUSE(
            call, "%s",
            ctn_reduce_op_mismatch(op, call->type, reason, sizeof(reason)));
    }
    call->by =
        (ctn_reducer_t){.op = op, .type = ctn_reduce_op_unit(op, call->type)};
    return CATENA_OK;
}

/** @param name of the buffer; NULL: it is not significant */
static catena_status_t check_buffer(const chain_call_t *call,
                                    const void *buffer, const char *name)
{
    return name != NULL && call->bytes > 0 &&
                   ctn_type_is_missing(call->type, buffer, call->count)
               ? REFUSE(call, "%s " CTN_IS_NULL, name)
               : CATENA_OK;
}

static catena_status_t check(chain_call_t *call)
{
    bool scans_both = call->code == CTN_CODE_CHAIN_DOUBLE_SCAN;
    bool bcast = call->code == CTN_CODE_CHAIN_BCAST;
    uint32_t size = call->group->chain.place.size;
    if (call->root < -1 || call->root >= (int)size ||
        (call->root < 0 && call->code != CTN_CODE_CHAIN_SCAN && !scans_both)) {
        return REFUSE(call, "root is %d; expected 0 to %u", call->root,
                      size - 1);
    }
    catena_status_t status = check_data(call);
    bool writes = call->root < 0 || is_root(call);
    if (status == CATENA_OK) {
        status = check_buffer(call, call->send, bcast ? "buffer" : "send");
    }
    if (status == CATENA_OK) {
        status = check_buffer(call, call->recv,
                              !writes || bcast ? NULL
                              : scans_both     ? "left"
                                               : "recv");
    }
    return status == CATENA_OK
               ? check_buffer(call, call->right, scans_both ? "right" : NULL)
               : status;
}

/** With CATENA_CHECK=on: compare the call with those of the other ranks.
 * @param status of the arguments
 * @return why the call fails; or OK */
static catena_status_t compare(const chain_call_t *call, catena_status_t status)
{
    if (!ctn_group_checks(call->group)) {
        return status;
    }
    ctn_signature_t signature = {
        .root = -1, .code = (uint8_t)call->code, .form = CTN_SIGNED_REFUSED};
    if (status == CATENA_OK) {
        signature.root = call->root;
        signature.bytes = call->bytes;
        signature.form = 0;
        if (call->by.op != NULL) {
            signature.op = ctn_reducer_op_code(&call->by);
            signature.type = ctn_reducer_type_code(&call->by);
        }
    }
    catena_status_t found = ctn_check_call(call->group, &signature);
    return status == CATENA_OK ? found : status;
}

static catena_status_t run_call(chain_call_t *call)
{
    if (CTN_UNUSABLE(call->group, CTN_GROUP)) {
        return ctn_refuse_handle(call->function, "group", call->group);
    }
    catena_group_t *group = call->group;
    ctn_recorded_call_t *record =
        ctn_call_enters(group, call->code, call->root);
    catena_status_t status = check(call);
    if (status == CATENA_OK) {
        ctn_call_moves(record, call->bytes);
        ctn_call_reduces(record, &call->by);
    } else if (!ctn_group_checks(group)) {
        ctn_call_refused(group, record);
    }
    status = compare(call, status);
    if (status == CATENA_OK) {
        /* Without a number of the group, whose barriers would find its nodes.
         */
        bool has_memory = call->by.op == NULL ||
                          ctn_reducer_reserve(&call->by, &group->exec->copies);
        ctn_op_t *op = has_memory
                           ? ctn_op_create(group->exec, &chain_algorithm, NULL)
                           : NULL;
        if (op != NULL) {
            op->failure = ctn_group_failure(group);
            *(chain_call_t *)ctn_op_state(op) = *call;
        }
        status = ctn_group_result(group, ctn_group_run(group, op));
    }
    ctn_call_returns(group->exec, record, CTN_RECORD_OVER, NULL);
    return status;
}

/* ---- the calls ---- */

catena_status_t catena_chain_scan(const void *send, void *recv, size_t count,
                                  catena_type_t type, catena_op_t op,
                                  catena_group_t *group)
{
    CTN_ENTRY;
    return run_call(&(chain_call_t){.group = group,
                                    .function = __func__,
                                    .code = CTN_CODE_CHAIN_SCAN,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .type_handle = type,
                                    .op_handle = op,
                                    .root = -1});
}

catena_status_t catena_chain_double_scan(const void *send, void *left,
                                         void *right, size_t count,
                                         catena_type_t type, catena_op_t op,
                                         catena_group_t *group)
{
    CTN_ENTRY;
    return run_call(&(chain_call_t){.group = group,
                                    .function = __func__,
                                    .code = CTN_CODE_CHAIN_DOUBLE_SCAN,
                                    .send = send,
                                    .recv = left,
                                    .right = right,
                                    .count = count,
                                    .type_handle = type,
                                    .op_handle = op,
                                    .root = -1});
}

catena_status_t catena_chain_reduce(const void *send, void *recv, size_t count,
                                    catena_type_t type, catena_op_t op,
                                    int root, catena_group_t *group)
{
    CTN_ENTRY;
    return run_call(&(chain_call_t){.group = group,
                                    .function = __func__,
                                    .code = CTN_CODE_CHAIN_REDUCE,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .type_handle = type,
                                    .op_handle = op,
                                    .root = root});
}

catena_status_t catena_chain_bcast(void *buffer, size_t count,
                                   catena_type_t type, int root,
                                   catena_group_t *group)
{
    CTN_ENTRY;
    return run_call(&(chain_call_t){.group = group,
                                    .function = __func__,
                                    .code = CTN_CODE_CHAIN_BCAST,
                                    .send = buffer,
                                    .recv = buffer,
                                    .count = count,
                                    .type_handle = type,
                                    .root = root});
}

catena_status_t catena_chain_gather(const void *send, void *recv, size_t count,
                                    catena_type_t type, int root,
                                    catena_group_t *group)
{
    CTN_ENTRY;
    return run_call(&(chain_call_t){.group = group,
                                    .function = __func__,
                                    .code = CTN_CODE_CHAIN_GATHER,
                                    .send = send,
                                    .recv = recv,
                                    .count = count,
                                    .type_handle = type,
                                    .root = root});
}
