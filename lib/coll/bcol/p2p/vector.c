#include "coll/bcol/p2p/vector.h"

#include "exec/slot.h"

/* The word of the sender's slot for CTS counts the fragments that may be sent,
 * the word of the receiver's slot those that have arrived. Words sent over one
 * endpoint become visible in order, so the last one counts all. */

/** Data of the first CTS. Later ones are only counts. */
typedef struct cts {
    uint64_t offset;        /* of the target or of the staging buffers, in the
                               receiver's arena */
    uint32_t staging_bytes; /* of each buffer; 0: `offset` is the target's */
    uint32_t slot;   /* where the receiver counts fragments; or REFUSED */
    uint64_t digest; /* of the lengths */
} cts_t;

#define REFUSED UINT32_MAX

/** Added to a count of steps (vector.h). So a count of at least STEPS is one of
 * steps, a smaller one is of fragments. */
#define STEPS (UINT32_C(1) << 31)

/** The count in a slot; 0: nothing has arrived. */
static uint32_t count_in(const ctn_op_t *op, unsigned slot)
{
    uint64_t word = ctn_word_load(&ctn_op_slot(op, slot)->word[0]);
    return ctn_flag_matches(word, op->seq) ? ctn_flag_count(word) : 0;
}

/* ---- the receiver ---- */

/** Set in *cts where fragments go: directly to the target, or to staging
 * buffers, which are allocated. */
static catena_status_t find_place(ctn_op_t *op, ctn_fragmented_recv_t *transfer,
                                  const ctn_fragmented_recv_params_t *params,
                                  cts_t *cts)
{
    ctn_heap_t *heap = op->exec->heap;
    if (params->longest == 0 ||
        (params->target != NULL &&
         ctn_heap_contains(heap, params->target, params->target_bytes,
                           &cts->offset))) {
        return CATENA_OK;
    }
    transfer->staging_bytes = (params->longest + 63) & ~(size_t)63;
    size_t bytes = CTN_STAGING_FRAGMENTS * transfer->staging_bytes;
    transfer->staging = ctn_scratch_alloc(op->exec, bytes);
    if (transfer->staging == NULL) {
        transfer->spare = true;
        transfer->staging =
            ctn_op_eager(op, params->spare_slot, params->spare_slots, bytes);
    }
    if (transfer->staging == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    cts->staging_bytes = (uint32_t)transfer->staging_bytes;
    return ctn_heap_contains(heap, transfer->staging, bytes, &cts->offset)
               ? CATENA_OK
               : CATENA_ERR_NO_MEMORY;
}

catena_status_t
ctn_fragmented_recv_open(ctn_op_t *op, ctn_fragmented_recv_t *transfer,
                         const ctn_fragmented_recv_params_t *params)
{
    *transfer = (ctn_fragmented_recv_t){.from = params->from,
                                        .fragments = params->fragments,
                                        .slot = (uint8_t)params->slot,
                                        .cts_slot = (uint8_t)params->cts_slot};
    cts_t cts = {.slot = params->slot, .digest = params->digest};
    catena_status_t status = find_place(op, transfer, params, &cts);
    if (status != CATENA_OK) {
        return status;
    }
    /* Zero the count of an earlier transfer in this slot. No sender writes to
     * the slot: that transfer has ended, and only this CTS permits the next. */
    ctn_word_store(&ctn_op_slot(op, transfer->slot)->word[0], 0);
    uint32_t allowed =
        transfer->staging != NULL && transfer->fragments > CTN_STAGING_FRAGMENTS
            ? CTN_STAGING_FRAGMENTS
            : transfer->fragments;
    return ctn_op_send_count(op, transfer->from, transfer->cts_slot, allowed,
                             &cts, sizeof(cts));
}

ctn_step_t ctn_fragmented_recv_next(const ctn_op_t *op,
                                    const ctn_fragmented_recv_t *transfer,
                                    const unsigned char **data)
{
    uint32_t count = count_in(op, transfer->slot);
    if (count <= transfer->taken || count >= STEPS) {
        return CTN_STEP_WAIT;
    }
    *data = transfer->staging != NULL
                ? transfer->staging + transfer->taken % CTN_STAGING_FRAGMENTS *
                                          transfer->staging_bytes
                : NULL;
    return CTN_STEP_NEXT;
}

catena_status_t ctn_fragmented_recv_consumed(ctn_op_t *op,
                                             ctn_fragmented_recv_t *transfer)
{
    transfer->taken++;
    if (transfer->staging == NULL ||
        transfer->fragments - transfer->taken < CTN_STAGING_FRAGMENTS) {
        return CATENA_OK; /* a CTS was sent for all */
    }
    return ctn_op_send_count(op, transfer->from, transfer->cts_slot,
                             transfer->taken + CTN_STAGING_FRAGMENTS, NULL, 0);
}

ctn_step_t ctn_fragmented_recv_take(ctn_op_t *op,
                                    ctn_fragmented_recv_t *transfer,
                                    unsigned char *target, size_t bytes)
{
    const unsigned char *data;
    ctn_step_t step = ctn_fragmented_recv_next(op, transfer, &data);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    if (data != NULL && bytes > 0) {
        ctn_exec_copy(op->exec, target, data, bytes);
    }
    op->exec->tally.bytes += bytes;
    catena_status_t status = ctn_fragmented_recv_consumed(op, transfer);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

void ctn_fragmented_recv_close(const ctn_op_t *op,
                               ctn_fragmented_recv_t *transfer)
{
    /* After a failure the sender may still write to the staging buffers. */
    if (op->status == CATENA_OK && !transfer->spare) {
        ctn_scratch_free(op->exec, transfer->staging,
                         CTN_STAGING_FRAGMENTS * transfer->staging_bytes);
    }
    transfer->staging = NULL;
}

/* ---- the sender ---- */

void ctn_fragmented_send_clear_cts(const ctn_op_t *op, unsigned cts_slot)
{
    ctn_word_store(&ctn_op_slot(op, cts_slot)->word[0], 0);
}

static cts_t cts_of(const ctn_op_t *op, const ctn_fragmented_send_t *transfer)
{
    cts_t cts;
    memcpy(&cts, ctn_op_slot(op, transfer->cts_slot)->data, sizeof(cts));
    return cts;
}

bool ctn_fragmented_send_has_cts(const ctn_op_t *op,
                                 const ctn_fragmented_send_t *transfer)
{
    return count_in(op, transfer->cts_slot) > transfer->sent &&
           (transfer->digest == 0 ||
            cts_of(op, transfer).digest == transfer->digest);
}

/* ---- ring algorithms whose members have different lengths ---- */

bool ctn_fragmented_recv_mismatch(const ctn_op_t *op,
                                  const ctn_fragmented_recv_t *transfer)
{
    return count_in(op, transfer->slot) >= STEPS;
}

bool ctn_fragmented_send_mismatch(const ctn_op_t *op,
                                  const ctn_fragmented_send_t *transfer)
{
    return count_in(op, transfer->cts_slot) > 0 &&
           cts_of(op, transfer).digest != transfer->digest;
}

ctn_step_t ctn_fragmented_send_steps(ctn_op_t *op,
                                     ctn_fragmented_mismatch_t *mismatch,
                                     const ctn_fragmented_recv_t *in,
                                     const ctn_fragmented_send_t *out,
                                     unsigned slot, uint32_t steps_received,
                                     uint32_t steps)
{
    uint32_t count = count_in(op, in->slot);
    steps_received = count >= STEPS ? count - STEPS : steps_received;
    mismatch->steps_received = steps_received > mismatch->steps_received
                                   ? steps_received
                                   : mismatch->steps_received;
    uint32_t may_send = /* number of steps */
        mismatch->steps_received < steps ? mismatch->steps_received + 1 : steps;
    /* The next member clears the slot before it sends its CTS. A word that
     * arrives earlier would be lost. */
    if (mismatch->steps_sent < may_send && count_in(op, out->cts_slot) > 0) {
        mismatch->steps_sent = may_send;
        catena_status_t status =
            ctn_op_send_count(op, out->to, slot, STEPS + may_send, NULL, 0);
        return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
    }
    return mismatch->steps_sent == steps && mismatch->steps_received == steps
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

catena_status_t ctn_fragmented_send_put(ctn_op_t *op,
                                        ctn_fragmented_send_t *transfer,
                                        const void *data, size_t bytes,
                                        uint64_t at, uint64_t *pending)
{
    cts_t cts = cts_of(op, transfer);
    uint32_t index = transfer->sent++;
    if (bytes == 0) {
        return ctn_op_send_count(op, transfer->to, cts.slot, transfer->sent,
                                 NULL, 0);
    }
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_op_connect(op, transfer->to.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t offset =
        cts.offset + (cts.staging_bytes > 0 ? index % CTN_STAGING_FRAGMENTS *
                                                  (uint64_t)cts.staging_bytes
                                            : at);
    op->exec->tally.messages++;
    return ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, data), bytes, offset,
        ctn_slot_word_offset(op->sequence, transfer->to, op->seq, cts.slot, 0),
        ctn_flag(op->seq, transfer->sent), pending);
}

/* ---- single blocks ---- */

catena_status_t ctn_p2p_block_recv_post(ctn_op_t *op,
                                        ctn_p2p_block_recv_t *block,
                                        ctn_address_t from, unsigned slot,
                                        unsigned cts_slot, void *target,
                                        size_t bytes)
{
    *block = (ctn_p2p_block_recv_t){.target = target, .bytes = bytes};
    ctn_fragmented_recv_params_t params = {
        .from = from,
        .slot = slot,
        .cts_slot = cts_slot,
        .fragments = ctn_fragment_count(bytes),
        .longest = ctn_fragment_bytes(bytes, 0),
        .target = target,
        .target_bytes = bytes};
    return ctn_fragmented_recv_open(op, &block->transfer, &params);
}

catena_status_t ctn_p2p_block_recv_refuse(ctn_op_t *op, ctn_address_t from,
                                          unsigned cts_slot)
{
    cts_t cts = {.slot = REFUSED};
    return ctn_op_send_count(op, from, cts_slot, 1, &cts, sizeof(cts));
}

ctn_step_t ctn_p2p_block_recv_progress(ctn_op_t *op,
                                       ctn_p2p_block_recv_t *block)
{
    bool moved = false;
    while (block->taken < block->bytes) {
        size_t fragment = ctn_fragment_bytes(block->bytes, block->taken);
        ctn_step_t step = ctn_fragmented_recv_take(
            op, &block->transfer, block->target + block->taken, fragment);
        if (step != CTN_STEP_NEXT) {
            return step == CTN_STEP_WAIT && moved ? CTN_STEP_MOVED : step;
        }
        block->taken += fragment;
        moved = true;
    }
    ctn_fragmented_recv_close(op, &block->transfer);
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_p2p_block_send_progress(ctn_op_t *op,
                                       ctn_p2p_block_send_t *block)
{
    bool moved = false;
    while (block->sent < block->bytes) {
        if (!ctn_fragmented_send_has_cts(op, &block->transfer)) {
            return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
        }
        if (cts_of(op, &block->transfer).slot == REFUSED) {
            return CTN_STEP_NEXT;
        }
        size_t fragment = ctn_fragment_bytes(block->bytes, block->sent);
        catena_status_t status = ctn_fragmented_send_put(
            op, &block->transfer, block->data + block->sent, fragment,
            block->sent, &op->pending);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        block->sent += fragment;
        moved = true;
    }
    return CTN_STEP_NEXT;
}
