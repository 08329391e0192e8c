/* Messages that fit a slot or its eager buffer: one put_signal each. */

#include "exec/slot.h"

#include "exec/deaths.h"

/** A phase in which this rank has given its group up, or the job, runs to its
 * end, but sends nothing: its data may be invalid.
 * @return why the group or the job has failed, or OK */
static catena_status_t may_send(const ctn_op_t *op)
{
    if (op->exec->status != CATENA_OK) {
        return op->exec->status;
    }
    return op->exec->deaths != NULL && ctn_op_must_stop(op)
               ? ctn_op_failure(op)->status
               : CATENA_OK;
}

catena_status_t ctn_op_connect(const ctn_op_t *op, uint64_t process,
                               ctn_endpoint_t **endpoint)
{
    ctn_exec_t *exec = op->exec;
    catena_status_t status = may_send(op);
    if (status != CATENA_OK) {
        return status;
    }
    if (op->sequence->network_only && exec->deaths != NULL) {
        exec->deaths->direct[process] = 1;
    }
    return op->sequence->network_only
               ? exec->network->ops->connect(exec->network, process, endpoint)
               : ctn_exec_connect(exec, process, endpoint);
}

catena_status_t ctn_op_send_count(ctn_op_t *op, ctn_address_t member,
                                  unsigned slot, uint32_t count,
                                  const void *data, size_t bytes)
{
    const ctn_sequence_t *sequence = op->sequence;
    assert(bytes <= ctn_slot_capacity(sequence, slot));
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, member.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    _Static_assert(CTN_INLINE_BYTES <= CTN_INJECT_BYTES,
                   "callers compose messages on the stack");
    op->exec->tally.messages++;
    op->exec->tally.bytes += bytes;
    uint64_t word_offset =
        ctn_slot_word_offset(sequence, member, op->seq, slot, 0);
    if (bytes == 0) {
        return ctn_signal(endpoint, word_offset, ctn_flag(op->seq, count));
    }
    return ctn_put_signal(
        endpoint, data, bytes,
        ctn_slot_room_offset(sequence, member, op->seq, slot, bytes),
        word_offset, ctn_flag(op->seq, count), &op->pending);
}

catena_status_t ctn_op_put(ctn_op_t *op, uint64_t process, const void *data,
                           size_t bytes, uint64_t offset, uint64_t word_offset,
                           uint64_t value)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status = may_send(op);
    if (status == CATENA_OK) {
        status = ctn_exec_connect(op->exec, process, &endpoint);
    }
    if (status != CATENA_OK) {
        return status;
    }
    op->exec->tally.messages++;
    op->exec->tally.bytes += bytes;
    return bytes > 0 ? ctn_put_signal(endpoint, data, bytes, offset,
                                      word_offset, value, &op->pending)
                     : ctn_signal(endpoint, word_offset, value);
}

catena_status_t ctn_op_flush(ctn_op_t *op)
{
    return ctn_flush(op->exec->network, &op->pending);
}
