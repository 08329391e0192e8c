/* Processes messages that have arrived, and local copies. In this file m is the
 * index of a message in schedule->receive, and k that of a block in it. */

#include <string.h>

#include "neighbor/call/executor.h"

static ctn_incoming_t *incoming(const ctn_op_t *op, uint32_t m)
{
    const ctn_exchange_t *x = (const ctn_exchange_t *)(const void *)op->memory;
    return &x->execution->receive[m];
}

/** Releases a message to its link. */
static catena_status_t release_message(ctn_op_t *op, uint32_t m)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_schedule_t *schedule = x->execution->schedule;
    return ctn_link_done(op, &schedule->in[schedule->receive[m].link],
                         &incoming(op, m)->receiving);
}

catena_status_t ctn_operand_used(ctn_op_t *op,
                                 const ctn_pending_block_t *operand)
{
    return operand->from != CTN_NO_MESSAGE ? release_message(op, operand->from)
                                           : CATENA_OK;
}

unsigned char *ctn_keep(ctn_op_t *op, size_t bytes)
{
    ctn_execution_t *execution = ctn_execution_of(op);
    size_t taken =
        sizeof(ctn_execution_memory_t) + (op->exec->drop_data ? 0 : bytes);
    ctn_execution_memory_t *kept = ctn_scratch_alloc(op->exec, taken);
    if (kept == NULL) {
        return NULL;
    }
    kept->next = execution->kept;
    kept->taken = taken;
    execution->kept = kept;
    return kept->data;
}

/* ---- blocks ---- */

/** Reports a block whose length differs from the expected one. The operation
 * goes on, so that other ranks can complete it, and fails at its end. */
static void report_mismatch(ctn_op_t *op, uint32_t source, size_t bytes,
                            size_t expected)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_error(op->exec->log,
              "%s: rank %d sent %zu bytes for source %u of rank %u, which "
              "expects %zu",
              x->collective->algorithm.name,
              x->neighborhood->source[source].rank, bytes, source,
              x->neighborhood->group->chain.place.rank, expected);
    x->execution->status = CATENA_ERR_ARG;
}

/** Reports a block of another length than a rank that forwards it expects. Of
 * uniform blocks that shared a message any may be the one. */
static void report_forward_mismatch(ctn_op_t *op, uint32_t source)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_error(op->exec->log,
              "%s: rank %d sent another length for source %u of rank %u%s than "
              "a rank that forwards it expects",
              x->collective->algorithm.name,
              x->neighborhood->source[source].rank, source,
              x->neighborhood->group->chain.place.rank,
              ctn_neighbor_varies(x->collective)
                  ? ""
                  : ", or another rank a block in the same message,");
    x->execution->status = CATENA_ERR_ARG;
}

catena_status_t ctn_take_block(ctn_op_t *op, uint32_t source,
                               const ctn_span_t *block,
                               const unsigned char *data, size_t bytes,
                               bool mismatch)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (mismatch) {
        report_forward_mismatch(op, source);
    } else if (bytes != block->bytes) {
        report_mismatch(op, source, bytes, block->bytes);
    }
    if (mismatch || bytes != block->bytes) {
        ctn_pending_block_at(x->execution,
                             (ctn_block_ref_t){CTN_BLOCK_RECV, source})
            ->mismatch = true;
        return CATENA_OK;
    }
    if (bytes > 0) {
        ctn_span_write(op->exec, block, 0, bytes, data);
    }
    return CATENA_OK;
}

/** Takes a message that holds one block for this rank and nothing else: copies
 * the block from where it lies to its target. */
static catena_status_t take_only_block(ctn_op_t *op, uint32_t m)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_schedule_t *schedule = x->execution->schedule;
    ctn_incoming_t *in = incoming(op, m);
    uint32_t source = schedule->block[schedule->receive[m].first].index;
    if (in->receiving.bytes != in->block[0].bytes) {
        report_mismatch(op, source, in->receiving.bytes, in->block[0].bytes);
    } else {
        ctn_link_copy(op, &in->receiving, in->block);
    }
    return release_message(op, m);
}

/* ---- pending blocks ---- */

/** Sets a pending block that lies in message m, or CTN_NO_MESSAGE. */
static void set_pending(ctn_op_t *op, ctn_block_ref_t block, uint32_t m,
                        ctn_span_t span, bool mismatch)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    bool operand = block.of == CTN_BLOCK_RECV;
    size_t expected = operand ? ctn_blocks_bytes(&x->recv, 0) : 0;
    if (operand && mismatch) {
        report_forward_mismatch(op, block.index);
    } else if (operand && span.bytes != expected) {
        report_mismatch(op, block.index, span.bytes, expected);
        mismatch = true;
    }
    *ctn_pending_block_at(x->execution, block) = (ctn_pending_block_t){
        .span = span, .from = m, .here = true, .mismatch = mismatch};
}

/** The lengths of the blocks of a message, read in order. */
typedef struct lengths {
    const unsigned char *header; /* NULL: all blocks have the length `each` */
    size_t each;
    size_t left;   /* bytes of the message behind the blocks read so far */
    bool mismatch; /* the blocks together have another length than expected */
} lengths_t;

/** Begins to read the lengths. @return false: the header is invalid */
static bool read_lengths(const ctn_exchange_t *x, const ctn_incoming_t *in,
                         const unsigned char *data, uint32_t count,
                         lengths_t *lengths)
{
    size_t bytes = in->receiving.bytes;
    size_t header = x->headers ? count * sizeof(uint64_t) : 0;
    *lengths = (lengths_t){
        .header = x->headers ? data : NULL,
        .left = bytes - header,
        .each = bytes / (count > 0 ? count : 1),
        .mismatch = count > 1 && !ctn_neighbor_varies(x->collective) &&
                    bytes != header + in->bytes,
    };
    return bytes >= header;
}

/** The length of block k, at most what is left of the message. Without a header
 * the last block has all that is left.
 * @param[out] mismatch as in ctn_pending_block_t */
static size_t next_length(lengths_t *lengths, uint32_t k, uint32_t count,
                          bool *mismatch)
{
    uint64_t bytes = k + 1 < count ? lengths->each : lengths->left;
    *mismatch = lengths->mismatch;
    if (lengths->header != NULL) {
        memcpy(&bytes, lengths->header + k * sizeof(bytes), sizeof(bytes));
        *mismatch = (bytes & CTN_LENGTH_MISMATCH) != 0;
        bytes &= ~CTN_LENGTH_MISMATCH;
    }
    bytes = bytes < lengths->left ? bytes : lengths->left;
    lengths->left -= bytes;
    return (size_t)bytes;
}

/** Makes the data of a message contiguous. Pending blocks of a schedule that
 * forwards are copied, so that the message can be released.
 * @param[out] data NULL: in the simulator a message may have a size only */
static catena_status_t gather(ctn_op_t *op, ctn_incoming_t *in, bool copies,
                              const unsigned char **data)
{
    catena_status_t status = CATENA_OK;
    if (copies) {
        ctn_span_t copy = {ctn_keep(op, in->receiving.bytes),
                           in->receiving.bytes, NULL};
        if (copy.base == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        bool has_data = in->receiving.data != NULL || in->receiving.place != 0;
        ctn_link_copy(op, &in->receiving, &copy);
        *data = has_data ? copy.base : NULL;
    } else {
        status = ctn_link_make_contiguous(op, &in->receiving);
        *data = in->receiving.data;
    }
    return status;
}

/** Takes all blocks of a message. It is released unless an operand lies in it.
 */
static catena_status_t take_blocks(ctn_op_t *op, uint32_t m)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_schedule_t *schedule = x->execution->schedule;
    const ctn_schedule_message_t *message = &schedule->receive[m];
    ctn_incoming_t *in = incoming(op, m);
    bool copies = in->stays && schedule->forwards;
    uint32_t from = copies ? CTN_NO_MESSAGE : m;
    const unsigned char *data = NULL;
    lengths_t lengths = {.header = NULL};
    catena_status_t status = gather(op, in, copies, &data);
    if (status == CATENA_OK &&
        !read_lengths(x, in, data, message->count, &lengths)) {
        status = CATENA_ERR_PEER;
    }
    size_t at = x->headers ? message->count * sizeof(uint64_t) : 0;
    for (uint32_t k = 0; k < message->count && status == CATENA_OK; k++) {
        ctn_block_ref_t block = schedule->block[message->first + k];
        bool mismatch;
        size_t bytes = next_length(&lengths, k, message->count, &mismatch);
        const unsigned char *here = data != NULL ? data + at : NULL;
        at += bytes;
        if (ctn_pending_block_of(x, block) == NULL) {
            status = ctn_take_block(op, block.index, &in->block[k], here, bytes,
                                    mismatch);
        } else { /* the data are only read; spans have no const */
            ctn_span_t span = {(unsigned char *)(uintptr_t)here, bytes, NULL};
            mismatch |= block.of == CTN_BLOCK_STAGED &&
                        !ctn_neighbor_varies(x->collective) &&
                        bytes != in->block[k].bytes;
            set_pending(op, block, from, span, mismatch);
        }
    }
    return status == CATENA_OK && (copies || !in->stays)
               ? release_message(op, m)
               : status;
}

catena_status_t ctn_arrive(ctn_op_t *op, uint32_t m)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_schedule_t *schedule = x->execution->schedule;
    if (!ctn_neighbor_reduces(x->collective) && !schedule->forwards &&
        schedule->receive[m].count == 1) {
        return take_only_block(op, m);
    }
    catena_status_t status = take_blocks(op, m);
    return status == CATENA_OK && ctn_neighbor_reduces(x->collective)
               ? ctn_fold_arrived(op)
               : status;
}

/* ---- local copies ---- */

catena_status_t ctn_make_local_copy(ctn_op_t *op, uint32_t index)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_local_copy_t *t = &x->execution->schedule->local_copy[index];
    const ctn_pending_block_t *from = ctn_pending_block_of(x, t->from);
    ctn_span_t source =
        from != NULL ? from->span : x->execution->local_copy[2 * index];
    const ctn_span_t *target = &x->execution->local_copy[2 * index + 1];
    bool mismatch = from != NULL && from->mismatch;
    if (ctn_pending_block_of(x, t->to) != NULL) { /* no data move */
        set_pending(op, t->to, CTN_NO_MESSAGE, source, mismatch);
        return ctn_neighbor_reduces(x->collective) ? ctn_fold_arrived(op)
                                                   : CATENA_OK;
    }
    if (mismatch) {
        report_forward_mismatch(op, t->to.index);
    } else if (source.bytes != target->bytes) {
        report_mismatch(op, t->to.index, source.bytes, target->bytes);
    } else {
        ctn_span_copy(op->exec, target, &source);
    }
    return CATENA_OK;
}
