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

/** Ends the last use of a message: releases it, or marks it `ended` if the
 * network may still read blocks of it that were forwarded. */
static catena_status_t end_message(ctn_op_t *op, uint32_t m)
{
    ctn_execution_t *execution = ctn_execution_of(op);
    if (op->pending == 0 || !execution->schedule->forwards) {
        return release_message(op, m);
    }
    execution->receive[m].ended = true;
    execution->ended++;
    return CATENA_OK;
}

catena_status_t ctn_give_ended(ctn_op_t *op)
{
    ctn_execution_t *execution = ctn_execution_of(op);
    catena_status_t status = CATENA_OK;
    for (uint32_t m = 0;
         m < execution->schedule->receives && status == CATENA_OK; m++) {
        if (m < execution->next_receive && execution->receive[m].ended) {
            execution->receive[m].ended = false;
            status = release_message(op, m);
        }
    }
    execution->ended = 0;
    return status;
}

catena_status_t ctn_pending_block_used(ctn_op_t *op,
                                       const ctn_pending_block_t *pending)
{
    uint32_t m = pending->from;
    return m != CTN_NO_MESSAGE && --incoming(op, m)->uses == 0
               ? end_message(op, m)
               : CATENA_OK;
}

catena_status_t ctn_block_was_read(ctn_op_t *op, ctn_block_ref_t block)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_pending_block_t *pending = ctn_pending_block_of(x, block);
    if (pending != NULL) {
        return ctn_pending_block_used(op, pending);
    }
    if (x->in_place && block.of == CTN_BLOCK_SEND) {
        x->execution->still_sent[block.index]--;
    }
    return CATENA_OK;
}

/* ---- blocks ---- */

ctn_substitute_t *ctn_substitute(ctn_op_t *op, ctn_span_t target)
{
    ctn_execution_t *execution = ctn_execution_of(op);
    size_t taken =
        sizeof(ctn_substitute_t) + (op->exec->drop_data ? 0 : target.bytes);
    ctn_substitute_t *made = ctn_scratch_alloc(op->exec, taken);
    if (made != NULL) {
        made->next = execution->substitute;
        made->target = target;
        made->taken = taken;
        execution->substitute = made;
    }
    return made;
}

/** Whether a block from this source would overwrite data that are still to be
 * sent, in place. */
static bool is_blocked(const ctn_op_t *op, uint32_t source)
{
    const ctn_exchange_t *x = (const void *)op->memory;
    return x->in_place &&
           (x->execution->still_sent[source] > 0 || op->pending != 0);
}

/** Sets where a block from `source` is written.
 * @param[in,out] target in the receive buffer; changed if that still holds data
 *                       to be sent
 * @return false: no memory */
static bool select_target(ctn_op_t *op, uint32_t source, ctn_span_t *target)
{
    if (!is_blocked(op, source)) {
        return true;
    }
    ctn_substitute_t *aside = ctn_substitute(op, *target);
    if (aside != NULL) {
        *target = (ctn_span_t){.base = aside->data, .bytes = target->bytes};
    }
    return aside != NULL;
}

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

/** Reports a block whose length differs from what a rank that forwarded it
 * expects. */
static void report_forward_mismatch(ctn_op_t *op, uint32_t source)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_error(op->exec->log,
              "%s: rank %d sent another length for source %u of rank %u than "
              "a rank that forwards it expects",
              x->collective->algorithm.name,
              x->neighborhood->source[source].rank, source,
              x->neighborhood->group->chain.place.rank);
    x->execution->status = CATENA_ERR_ARG;
}

catena_status_t ctn_take_block(ctn_op_t *op, uint32_t source,
                               const ctn_span_t *block,
                               const unsigned char *data, size_t bytes,
                               bool mismatch)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_span_t target = *block;
    if (mismatch) {
        report_forward_mismatch(op, source);
    } else if (bytes != target.bytes) {
        report_mismatch(op, source, bytes, target.bytes);
    }
    if (mismatch || bytes != target.bytes) {
        ctn_pending_block_at(x->execution,
                             (ctn_block_ref_t){CTN_BLOCK_RECV, source})
            ->mismatch = true;
        return CATENA_OK;
    }
    if (bytes == 0) {
        return CATENA_OK;
    }
    if (!select_target(op, source, &target)) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_span_write(op->exec, &target, 0, bytes, data);
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
    ctn_span_t target = in->block[0];
    if (in->receiving.bytes != target.bytes) {
        report_mismatch(op, source, in->receiving.bytes, target.bytes);
        return release_message(op, m);
    }
    if (!select_target(op, source, &target)) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_link_copy(op, &in->receiving, &target, 1);
    return release_message(op, m);
}

/* ---- pending blocks ---- */

/** Sets a pending block that lies in message m, or CTN_NO_MESSAGE.
 * @param uses how often it will be read */
static void set_pending(ctn_op_t *op, ctn_pending_block_t *pending, uint32_t m,
                        uint32_t uses, ctn_span_t span)
{
    pending->span = span;
    pending->here = true;
    pending->from = m;
    if (m != CTN_NO_MESSAGE) {
        incoming(op, m)->uses += uses;
    }
}

/** Sets a pending block that is an operand: the reduction reads it, besides its
 * readers. */
static void set_operand(ctn_op_t *op, uint32_t source,
                        ctn_pending_block_t *pending, uint32_t m,
                        ctn_span_t span)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    size_t expected = ctn_blocks_bytes(&x->recv, 0);
    pending->mismatch = span.bytes != expected;
    if (pending->mismatch) {
        report_mismatch(op, source, span.bytes, expected);
    }
    set_pending(op, pending, m, pending->readers + 1, span);
}

/** The lengths of the blocks of a message, read in order. */
typedef struct lengths {
    const unsigned char *header; /* NULL: all blocks have the length `each` */
    size_t each;
    size_t left; /* bytes of the message behind the blocks read so far */
} lengths_t;

/** Begins to read the lengths. @return false: the header is invalid */
static bool read_lengths(const ctn_exchange_t *x,
                         const ctn_link_receive_handle_t *receiving,
                         uint32_t count, lengths_t *lengths)
{
    size_t header = x->headers ? count * sizeof(uint64_t) : 0;
    if (receiving->bytes < header) {
        return false;
    }
    *lengths = (lengths_t){
        .header = x->headers ? receiving->data : NULL,
        .left = receiving->bytes - header,
        .each = receiving->bytes / (count > 0 ? count : 1),
    };
    return true;
}

/** The length of block k, at most what is left of the message. Without a header
 * the last block has all that is left.
 * @param[out] mismatch as in ctn_pending_block_t */
static size_t next_length(lengths_t *lengths, uint32_t k, uint32_t count,
                          bool *mismatch)
{
    uint64_t bytes = k + 1 < count ? lengths->each : lengths->left;
    *mismatch = false;
    if (lengths->header != NULL) {
        memcpy(&bytes, lengths->header + k * sizeof(bytes), sizeof(bytes));
        *mismatch = (bytes & CTN_LENGTH_MISMATCH) != 0;
        bytes &= ~CTN_LENGTH_MISMATCH;
    }
    bytes = bytes < lengths->left ? bytes : lengths->left;
    lengths->left -= bytes;
    return (size_t)bytes;
}

/** Takes block k of a message: copies it to its target, or makes it a pending
 * block. */
static catena_status_t take_any_block(ctn_op_t *op, uint32_t m, uint32_t k,
                                      const unsigned char *data, size_t bytes,
                                      bool mismatch)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    const ctn_schedule_t *schedule = x->execution->schedule;
    ctn_block_ref_t block = schedule->block[schedule->receive[m].first + k];
    ctn_pending_block_t *pending = ctn_pending_block_of(x, block);
    /* The data are only read; spans have no const. */
    ctn_span_t span = {.base = (unsigned char *)(uintptr_t)data,
                       .bytes = bytes};
    if (pending == NULL) {
        return ctn_take_block(op, block.index, &incoming(op, m)->block[k], data,
                              bytes, mismatch);
    }
    if (block.of == CTN_BLOCK_RECV) {
        set_operand(op, block.index, pending, m, span);
    } else {
        set_pending(op, pending, m, pending->readers, span);
        pending->mismatch = mismatch;
    }
    return CATENA_OK;
}

/** Takes all blocks of a message; the message stays until they have been read.
 */
static catena_status_t take_blocks(ctn_op_t *op, uint32_t m)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    ctn_link_receive_handle_t *receiving = &incoming(op, m)->receiving;
    uint32_t count = x->execution->schedule->receive[m].count;
    lengths_t lengths = {.header = NULL};
    catena_status_t status = ctn_link_make_contiguous(op, receiving);
    if (status == CATENA_OK && !read_lengths(x, receiving, count, &lengths)) {
        status = CATENA_ERR_PEER;
    }
    /* In the simulator a message may have a size only. */
    size_t at = x->headers ? count * sizeof(uint64_t) : 0;
    incoming(op, m)->uses = 1; /* held by this function */
    for (uint32_t k = 0; k < count && status == CATENA_OK; k++) {
        bool mismatch;
        size_t bytes = next_length(&lengths, k, count, &mismatch);
        status = take_any_block(
            op, m, k, receiving->data != NULL ? receiving->data + at : NULL,
            bytes, mismatch);
        at += bytes;
    }
    if (status == CATENA_OK) {
        status = ctn_pending_block_used(op, &(ctn_pending_block_t){.from = m});
    }
    return status;
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

/** Makes the target of a local copy a pending block that lies where the source
 * lies, so no data move.
 * @param from the source, if it is a pending block, else NULL */
static catena_status_t keep_as_pending(ctn_op_t *op, const ctn_local_copy_t *t,
                                       const ctn_pending_block_t *from,
                                       ctn_pending_block_t *to,
                                       ctn_span_t source)
{
    uint32_t m = from != NULL ? from->from : CTN_NO_MESSAGE;
    if (t->to.of == CTN_BLOCK_RECV) {
        set_operand(op, t->to.index, to, m, source);
    } else {
        set_pending(op, to, m, to->readers, source);
    }
    return from != NULL ? ctn_pending_block_used(op, from) : CATENA_OK;
}

catena_status_t ctn_make_local_copy(ctn_op_t *op, uint32_t index)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_local_copy_t *t = &x->execution->schedule->local_copy[index];
    ctn_pending_block_t *from = ctn_pending_block_of(x, t->from);
    ctn_pending_block_t *to = ctn_pending_block_of(x, t->to);
    ctn_span_t source =
        from != NULL ? from->span : x->execution->local_copy[2 * index];
    ctn_span_t target = x->execution->local_copy[2 * index + 1];
    if (to != NULL) {
        catena_status_t status = keep_as_pending(op, t, from, to, source);
        return status == CATENA_OK && t->to.of == CTN_BLOCK_RECV
                   ? ctn_fold_arrived(op)
                   : status;
    }
    if (from != NULL && from->mismatch) {
        report_forward_mismatch(op, t->to.index);
        return ctn_block_was_read(op, t->from);
    }
    if (source.bytes != target.bytes) {
        report_mismatch(op, t->to.index, source.bytes, target.bytes);
        return ctn_block_was_read(op, t->from);
    }
    if (!select_target(op, t->to.index, &target)) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_span_copy(op->exec, &target, &source);
    return ctn_block_was_read(op, t->from);
}
