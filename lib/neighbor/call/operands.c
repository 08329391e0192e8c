/* NBR-8. Reductions: reduces the blocks of the sources, the operands, in the
 * order of the sources, and reads them in the messages that brought them. An
 * operand that arrives early waits in its message. An operand is copied only if
 * it is the only one, or has gaps, or is not aligned. */

#include "neighbor/call/executor.h"

/** The operand of a source. */
static ctn_pending_block_t *operand(const ctn_exchange_t *x, uint32_t source)
{
    return &x->execution->pending[x->execution->schedule->staged + source];
}

/** Where the result is computed: at its target, or apart if the target has gaps
 * or, in place, holds data to be sent. NULL: no memory. */
static unsigned char *result_of(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    if (execution->result == NULL) {
        ctn_span_t whole = ctn_blocks_at(&x->recv, 0);
        bool apart = x->in_place || whole.type != NULL;
        execution->result = apart ? ctn_keep(op, whole.bytes) : whole.base;
    }
    return execution->result;
}

/** Whether an operand is aligned as user functions may expect: to the greatest
 * power of two that divides the size of an element, up to 16 bytes. */
static bool is_aligned(const ctn_reducer_t *by, const void *operand)
{
    size_t divisor = by->type->bytes & -by->type->bytes;
    return ((uintptr_t)operand & ((divisor < 16 ? divisor : 16) - 1)) == 0;
}

/** Whether an operand can be read where it lies: it has no gaps, which only a
 * block of the send buffer may have, and is aligned. */
static bool is_stream(const ctn_exchange_t *x, const ctn_span_t *operand)
{
    return operand->type == NULL && is_aligned(&x->by, operand->base);
}

/** out = left op right, over the whole length. */
static catena_status_t combine(ctn_op_t *op, const void *left,
                               const ctn_span_t *right, void *out)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    size_t bytes = ctn_blocks_bytes(&x->recv, 0);
    ctn_exec_charge(op->exec, CTN_WORK_REDUCE, bytes);
    if (op->exec->drop_data) {
        return CATENA_OK;
    }
    const void *operand = right->base;
    void *copy = NULL;
    if (!is_stream(x, right)) {
        copy = ctn_scratch_alloc(op->exec, bytes);
        if (copy == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        ctn_span_read(op->exec, right, 0, bytes, copy);
        operand = copy;
    }
    ctn_reduce(&x->by, left, operand, out, bytes);
    ctn_scratch_free(op->exec, copy, bytes);
    return CATENA_OK;
}

/** Copies an operand to the result. */
static catena_status_t copy_to_result(ctn_op_t *op,
                                      const ctn_pending_block_t *pending)
{
    unsigned char *result = result_of(op);
    if (result == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_span_read(op->exec, &pending->span, 0, pending->span.bytes, result);
    return ctn_operand_used(op, pending);
}

/** Reduces the first and the second operand. */
static catena_status_t begin_result(ctn_op_t *op,
                                    const ctn_pending_block_t *second)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_pending_block_t *first = operand(x, x->execution->first);
    unsigned char *result = result_of(op);
    x->execution->first = CTN_NO_OPERAND;
    if (result == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    catena_status_t status =
        combine(op, first->span.base, &second->span, result);
    if (status == CATENA_OK) {
        status = ctn_operand_used(op, first);
    }
    return status == CATENA_OK ? ctn_operand_used(op, second) : status;
}

/** Takes the next operand. The first one waits for the second, unless it has to
 * be copied. */
static catena_status_t fold(ctn_op_t *op, uint32_t source)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    const ctn_pending_block_t *pending = operand(x, source);
    if (pending->mismatch || pending->span.bytes == 0) {
        return ctn_operand_used(op, pending);
    }
    if (execution->first != CTN_NO_OPERAND) {
        return begin_result(op, pending);
    }
    if (execution->result != NULL) {
        catena_status_t status =
            combine(op, execution->result, &pending->span, execution->result);
        return status == CATENA_OK ? ctn_operand_used(op, pending) : status;
    }
    if (!is_stream(x, &pending->span)) {
        return copy_to_result(op, pending);
    }
    execution->first = source;
    return CATENA_OK;
}

catena_status_t ctn_fold_arrived(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_execution_t *execution = x->execution;
    uint32_t sources = x->neighborhood->sources;
    catena_status_t status = CATENA_OK;
    while (execution->folded < sources && status == CATENA_OK) {
        if (x->neighborhood->source[execution->folded].rank !=
            CATENA_PROC_NULL) {
            if (!operand(x, execution->folded)->here) {
                return CATENA_OK;
            }
            status = fold(op, execution->folded);
        }
        execution->folded++;
    }
    if (status == CATENA_OK && execution->folded == sources &&
        execution->first != CTN_NO_OPERAND) {
        const ctn_pending_block_t *only = operand(x, execution->first);
        execution->first = CTN_NO_OPERAND;
        status = copy_to_result(op, only);
    }
    return status;
}
