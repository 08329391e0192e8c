/* The receiving side of an exchange in rounds: sending CTS, and receiving
 * blocks by the protocol that both sides know. */

#include "coll/alltoall/pairwise_stream.h"

#include <stdlib.h>
#include <string.h>

#include "exec/attach.h"
#include "exec/slot.h"

/** Where the CTS of this member lies in the arena of member `from`. */
static uint64_t cts_at(const ctn_op_t *op, const ctn_pairwise_t *x,
                       const ctn_member_t *from)
{
    uint64_t generation = op->seq % CTN_GENERATIONS;
    return from->cts_table + (generation * x->topo->member_table.size +
                              x->topo->group->chain.place.rank) *
                                 sizeof(ctn_cts_t);
}

/** Send a CTS to member `peer` for a block of `bytes` that is no transfer.
 * @param place 0, or CTN_CTS_REFUSED */
static ctn_step_t send_cts(ctn_op_t *op, const ctn_pairwise_t *x, uint32_t peer,
                           uint64_t place, uint64_t bytes)
{
    const ctn_member_t *from = pairwise_member(x, peer);
    catena_status_t status = ctn_transfer_send_cts(
        op, from->address, cts_at(op, x, from), 1, place, bytes);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** Whether the incoming block, or its next fragment, may be copied to its
 * place. In place, it overwrites a part of the outgoing block, which must have
 * been sent and no longer be in use by the transport. The fragments of the two
 * directions may differ in size.
 * @param transfer NULL: the block is eager */
static bool may_overwrite(const ctn_op_t *op, const ctn_pairwise_t *x,
                          const ctn_pairwise_stream_t *stream,
                          const ctn_transfer_recv_t *transfer)
{
    if (!x->in_place) {
        return true;
    }
    bool sent = stream->send_turn > stream->receive_turn;
    if (!sent && transfer != NULL) {
        /* of the incoming fragment, in the block */
        size_t end = ((size_t)transfer->taken + 1) << transfer->shift;
        sent = (size_t)stream->fragments_sent << stream->send_shift >= end;
    }
    return sent && op->pending == 0;
}

/** Whether the block, or its RTS, has arrived with another length, or was
 * refused.
 * @param[out] found its length, or PAIRWISE_NOTHING */
static bool has_mismatch(const ctn_op_t *op, const ctn_pairwise_t *x,
                         uint32_t slot, size_t expected, uint64_t *found)
{
    const ctn_pairwise_stream_t *stream = &x->stream[slot];
    const ctn_slot_t *own = ctn_op_slot(op, slot);
    uint64_t word = ctn_word_load(&own->word[0]);
    uint32_t count = ctn_flag_count(word);
    uint32_t what = count & PAIRWISE_REFUSED; /* without the turn */
    if (!ctn_flag_matches(word, op->seq) ||
        (what == expected && what < PAIRWISE_RTS) ||
        (count & ~PAIRWISE_REFUSED) != pairwise_turn(stream->receive_turn)) {
        return false;
    }
    *found = what;
    if (what >= PAIRWISE_RTS) {
        memcpy(found, own->data, sizeof(*found));
    }
    return *found != expected; /* equal: an RTS that came just now */
}

/** The eager buffer of this member's slot. */
static unsigned char *own_eager(const ctn_op_t *op, const ctn_pairwise_t *x,
                                uint32_t slot)
{
    const catena_group_t *group = x->topo->group;
    return (unsigned char *)ctn_group_block(group) +
           ctn_group_eager(group, op->seq, slot);
}

/** Whether receives for blocks of a member may be posted at the network. */
static bool may_post(const ctn_pairwise_t *x, uint32_t peer)
{
    return !x->in_place && x->list == NULL && pairwise_is_remote(x, peer);
}

/** Records for posted receives of a slot's block; NULL: it needs none, or there
 * is no memory. */
static ctn_posted_span_t *records_of(ctn_pairwise_t *x, uint32_t slot,
                                     const ctn_span_t *block)
{
    if (x->records == NULL && block->type != NULL) {
        x->records =
            calloc(x->slots, CTN_STAGING_FRAGMENTS * sizeof(*x->records));
    }
    return x->records != NULL ? &x->records[slot * CTN_STAGING_FRAGMENTS]
                              : NULL;
}

/** Begin to receive a block by a rendezvous. In place the partner may overwrite
 * only what has been sent, so the block is staged. */
static ctn_step_t open_transfer(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                                uint32_t slot, const ctn_span_t *block)
{
    const ctn_member_t *from = pairwise_member(x, peer);
    ctn_transfer_recv_t **kept = &x->topo->transfer[op->seq % CTN_FLIGHT];
    if (*kept == NULL) {
        *kept = calloc(CTN_PAIRWISE_EAGER_SLOTS, sizeof(**kept));
    }
    x->transfer = *kept;
    if (x->transfer == NULL) {
        return ctn_op_fail(op, ctn_op_give_up(op, CATENA_ERR_NO_MEMORY));
    }
    ctn_transfer_params_t params = {
        .from = from->address,
        .cts = cts_at(op, x, from),
        .own = ctn_op_slot(op, slot),
        .slot = slot,
        .bytes = block->bytes,
        .target = *block,
        .indirect = x->in_place,
        .posts = may_post(x, peer),
        .records = may_post(x, peer) ? records_of(x, slot, block) : NULL,
        .spare = own_eager(op, x, slot),
        .spare_bytes = ctn_group_eager_bytes(x->topo->group)};
    catena_status_t status =
        ctn_transfer_recv_open(op, &x->transfer[slot], &params);
    x->has_posted |= x->transfer[slot].posted != 0;
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** Post a receive for an eager block. */
static void post_eager(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                       uint32_t slot, const ctn_span_t *block)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    stream->posted =
        may_post(x, peer) &&
        ctn_transfer_post(
            op, records_of(x, slot, block), &ctn_op_slot(op, slot)->word[0],
            pairwise_eager_count(stream->receive_turn, block->bytes), block, 0,
            block->bytes);
    x->has_posted |= stream->posted;
}

ctn_step_t ctn_pairwise_send_cts(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t round = pairwise_round_of(x, slot, stream->receive_turn);
    uint32_t peer = pairwise_receive_peer(x, round);
    if (stream->prepared || pairwise_is_undecided(x, peer, x->posted.staged)) {
        return CTN_STEP_WAIT;
    }
    pairwise_protocol_t protocol = pairwise_protocol_of(
        x, pairwise_bytes_of(x, x->receive, round, peer), peer);
    ctn_span_t block = pairwise_block_of(x, x->receive, round, peer);
    stream->prepared = true;
    if (stream->receive_turn > 0) {
        /* Clear the words: counts repeat after many turns, and the turns since
         * may have been empty. No peer writes here before it has the CTS. Not
         * in turn 0, whose eager block may have arrived already. */
        ctn_slot_t *own = ctn_op_slot(op, slot);
        ctn_word_store(&own->word[0], 0);
        ctn_word_store(&own->word[1], 0);
    }
    if (protocol == PAIRWISE_RENDEZVOUS) {
        return open_transfer(op, x, peer, slot, &block);
    }
    if (protocol == PAIRWISE_EAGER) {
        post_eager(op, x, peer, slot, &block);
    }
    return stream->receive_turn > 0 ? send_cts(op, x, peer, 0, block.bytes)
                                    : CTN_STEP_WAIT;
}

/** A block has another length or was refused: cancel the receives posted for
 * it, and report it. */
static ctn_step_t receive_mismatch(ctn_op_t *op, ctn_pairwise_t *x,
                                   uint32_t peer, uint64_t found,
                                   uint64_t expected)
{
    for (uint32_t slot = 0; x->has_posted && slot < x->slots; slot++) {
        if (pairwise_receive_peer(
                x, pairwise_round_of(x, slot, x->stream[slot].receive_turn)) ==
            peer) {
            pairwise_cancel(op, slot);
        }
    }
    ctn_pairwise_mismatch(x, peer, true, found, expected);
    return CTN_STEP_NEXT;
}

/** Flush: the operation does not end before its puts have reached other nodes.
 */
static ctn_step_t flush(ctn_op_t *op)
{
    catena_status_t status = ctn_op_flush(op);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

ctn_step_t ctn_pairwise_notify(ctn_op_t *op, ctn_pairwise_t *x)
{
    for (uint32_t i = 0; i < x->n; i++) {
        size_t bytes = ctn_blocks_bytes(x->receive, pairwise_rank_of(x, i));
        if (pairwise_is_remote(x, i) && bytes > 0 && bytes <= x->remote_above &&
            send_cts(op, x, i, CTN_CTS_REFUSED, bytes) == CTN_STEP_FAIL) {
            return CTN_STEP_FAIL;
        }
    }
    return flush(op);
}

/** The sender of an expected eager block may have another length, and wait for
 * a CTS. This operation may end before the CTS arrives, so the CTS is flushed.
 */
static ctn_step_t send_late_cts(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                                uint32_t slot, size_t bytes)
{
    x->stream[slot].late_cts = true;
    ctn_step_t step = send_cts(op, x, peer, 0, bytes);
    return step != CTN_STEP_FAIL && pairwise_is_remote(x, peer) ? flush(op)
                                                                : step;
}

/** Receive an inline or eager block that has arrived. WAIT: it has not, or may
 * not be copied yet. */
static ctn_step_t receive_eager(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                                uint32_t slot, const ctn_span_t *block,
                                pairwise_protocol_t protocol)
{
    const unsigned char *memory = (const void *)ctn_group_block(x->topo->group);
    const ctn_pairwise_stream_t *stream = &x->stream[slot];
    const ctn_slot_t *own = ctn_op_slot(op, slot);
    if (ctn_word_load(&own->word[0]) !=
            ctn_flag(op->seq, pairwise_eager_count(stream->receive_turn,
                                                   block->bytes)) ||
        !may_overwrite(op, x, stream, NULL)) {
        return CTN_STEP_WAIT;
    }
    if (protocol == PAIRWISE_INLINE || !stream->posted) {
        ctn_span_write(op->exec, block, 0, block->bytes,
                       protocol == PAIRWISE_INLINE
                           ? own->data
                           : memory + pairwise_eager_at(x, op->seq, slot, peer,
                                                        block->bytes));
    }
    return CTN_STEP_NEXT;
}

/** Whether there is an RTS. @param[out] rts of a block of any length */
static bool has_rts(const ctn_op_t *op, const ctn_pairwise_t *x, uint32_t slot,
                    pairwise_rts_t *rts)
{
    const ctn_slot_t *own = ctn_op_slot(op, slot);
    uint32_t turn = pairwise_turn(x->stream[slot].receive_turn);
    if (ctn_word_load(&own->word[0]) !=
        ctn_flag(op->seq, turn | PAIRWISE_RTS)) {
        return false;
    }
    memcpy(rts, own->data, sizeof(*rts));
    return true;
}

/** Copy a block from the memory of its sender.
 * @return whether it is there. A peer that has aborted may have used its buffer
 *         for something else */
static bool read_block(ctn_op_t *op, ctn_endpoint_t *from,
                       const ctn_span_t *block, uint64_t source)
{
    bool there = ctn_read_place(op->exec, from, source, block);
    ctn_exec_check_abort_flag(op->exec);
    return there && op->exec->status == CATENA_OK;
}

/** Read the block of an RTS of the right length, and notify its sender. */
static ctn_step_t receive_by_rts(ctn_op_t *op, const ctn_pairwise_t *x,
                                 uint32_t peer, const ctn_span_t *block,
                                 uint64_t source)
{
    const ctn_member_t *from = pairwise_member(x, peer);
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, from->address.process, &endpoint);
    if (status == CATENA_OK && !read_block(op, endpoint, block, source)) {
        return op->exec->status != CATENA_OK
                   ? ctn_op_fail(op, op->exec->status)
                   : CTN_STEP_WAIT; /* its group fails */
    }
    if (status == CATENA_OK) {
        op->exec->tally.bytes += block->bytes;
        status = ctn_transfer_send_cts(op, from->address, cts_at(op, x, from),
                                       PAIRWISE_READ, 0, block->bytes);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Receive what has arrived of a block, by its protocol. */
static ctn_step_t receive_block(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                                uint32_t slot, const ctn_span_t *block)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    pairwise_protocol_t protocol = pairwise_protocol_of(x, block->bytes, peer);
    bool eager = protocol != PAIRWISE_RENDEZVOUS;
    pairwise_rts_t rts;
    if (block->bytes > CTN_SMALL_EAGER_BYTES && has_rts(op, x, slot, &rts)) {
        /* with another length: see has_mismatch */
        return rts.bytes == block->bytes && may_overwrite(op, x, stream, NULL)
                   ? receive_by_rts(op, x, peer, block, rts.source)
                   : CTN_STEP_WAIT;
    }
    if (eager) {
        return receive_eager(op, x, peer, slot, block, protocol);
    }
    ctn_transfer_recv_t *t = &x->transfer[slot];
    return may_overwrite(op, x, stream, t)
               ? ctn_transfer_recv_block(op, t, block)
               : CTN_STEP_WAIT;
}

ctn_step_t ctn_pairwise_receive(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t round = pairwise_round_of(x, slot, stream->receive_turn);
    uint32_t peer = pairwise_receive_peer(x, round);
    size_t bytes = pairwise_bytes_of(x, x->receive, round, peer);
    bool eager = pairwise_protocol_of(x, bytes, peer) != PAIRWISE_RENDEZVOUS;
    ctn_step_t step = ctn_pairwise_send_cts(op, x, slot);
    if (step != CTN_STEP_WAIT ||
        pairwise_is_undecided(x, peer, x->posted.staged)) {
        return step;
    }
    ctn_span_t block = pairwise_block_of(x, x->receive, round, peer);
    step = receive_block(op, x, peer, slot, &block);
    if (step != CTN_STEP_WAIT) {
        return step;
    }
    uint64_t found = 0;
    pairwise_rts_t rts;
    bool mismatch = has_mismatch(op, x, slot, bytes, &found);
    op->waits_for = pairwise_rank_of(x, peer);
    if (stream->receive_turn == 0 && eager && !stream->late_cts &&
        (mismatch ? has_rts(op, x, slot, &rts)
                  : op->exec->peer_checks != x->peer_checks)) {
        step = send_late_cts(op, x, peer, slot, bytes);
    }
    return mismatch && step != CTN_STEP_FAIL
               ? receive_mismatch(op, x, peer, found, bytes)
               : step;
}
