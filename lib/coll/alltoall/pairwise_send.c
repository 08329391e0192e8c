/* The sending side of an exchange in rounds: puts, as the CTS allow, and
 * RTS to receivers of the node. */

#include "coll/alltoall/pairwise_stream.h"

#include "exec/attach.h"

/** A round, for its sender. */
typedef struct outgoing {
    uint32_t peer; /* member */
    uint32_t slot;
    ctn_pairwise_stream_t *stream; /* of the slot */
    ctn_span_t block;
    ctn_address_t to; /* of the peer */
    ctn_endpoint_t *endpoint;
} outgoing_t;

/** Send an inline or eager block. As ctn_put_spans. */
static int put_eager(ctn_op_t *op, const ctn_pairwise_t *x,
                     const outgoing_t *out, pairwise_protocol_t protocol)
{
    ctn_put_t put = {
        .endpoint = out->endpoint,
        .offset = protocol == PAIRWISE_INLINE
                      ? ctn_slot_data_offset(op->sequence, out->to, op->seq,
                                             out->slot)
                      : out->to.offset + pairwise_eager_at(x, op->seq,
                                                           out->slot, out->peer,
                                                           out->block.bytes),
        .word =
            ctn_slot_word_offset(op->sequence, out->to, op->seq, out->slot, 0),
        .value = ctn_flag(op->seq, pairwise_eager_count(out->stream->send_turn,
                                                        out->block.bytes))};
    ctn_span_cursor_t cursor = {&out->block, 0};
    return ctn_put_spans(op, &put, &cursor, out->block.bytes);
}

/** Send what the CTS allows of a block. */
static ctn_step_t send_transfer(ctn_op_t *op, const outgoing_t *out,
                                const ctn_cts_t *cts)
{
    ctn_transfer_send_t transfer = {.to = out->to,
                                    .cts = cts,
                                    .endpoint = out->endpoint,
                                    .sent = out->stream->fragments_sent};
    ctn_step_t step =
        ctn_transfer_send_block(op, &transfer, &out->block, out->block.bytes);
    out->stream->fragments_sent = transfer.sent;
    out->stream->send_shift = (uint8_t)ctn_transfer_send_shift(&transfer);
    return step;
}

/** The CTS of a peer for this operation; NULL: not received yet. */
static const ctn_cts_t *cts_of(const ctn_op_t *op, const ctn_pairwise_t *x,
                               uint32_t rank)
{
    const ctn_cts_t *cts = &x->topo->cts_table[(op->seq % CTN_GENERATIONS) *
                                                   x->topo->member_table.size +
                                               rank];
    return ctn_flag_matches(ctn_word_load(&cts->word), op->seq) ? cts : NULL;
}

/** Refuse to send: the receiver expects another length, or this member did not
 * receive a block that it has to forward. The receiver only gets `bytes`, the
 * length of the block or PAIRWISE_NOTHING. */
static ctn_step_t refuse(ctn_op_t *op, const outgoing_t *out, uint64_t bytes)
{
    catena_status_t status = ctn_put_signal(
        out->endpoint, &bytes, sizeof(bytes),
        ctn_slot_data_offset(op->sequence, out->to, op->seq, out->slot),
        ctn_slot_word_offset(op->sequence, out->to, op->seq, out->slot, 0),
        ctn_flag(op->seq,
                 pairwise_turn(out->stream->send_turn) | PAIRWISE_REFUSED),
        &op->pending);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Whether the receiver reads a block, and where. A block that fits an eager
 * buffer is read only from the heap. */
static bool may_be_read(const ctn_op_t *op, const ctn_pairwise_t *x,
                        const outgoing_t *out, pairwise_protocol_t protocol,
                        uint64_t *source)
{
    if (out->block.bytes <= CTN_SMALL_EAGER_BYTES || x->in_place ||
        x->list != NULL || out->block.type != NULL ||
        ctn_pointer(out->endpoint, 0) == NULL) {
        return false;
    }
    *source = ctn_place_for(op->exec, out->endpoint, out->block.base,
                            out->block.bytes);
    return protocol == PAIRWISE_RENDEZVOUS ? *source != CTN_STAGED
                                           : *source <= CTN_PLACE_MOST;
}

static ctn_step_t send_rts(ctn_op_t *op, const outgoing_t *out, uint64_t source)
{
    pairwise_rts_t rts = {out->block.bytes, source};
    catena_status_t status = ctn_put_signal(
        out->endpoint, &rts, sizeof(rts),
        ctn_slot_data_offset(op->sequence, out->to, op->seq, out->slot),
        ctn_slot_word_offset(op->sequence, out->to, op->seq, out->slot, 0),
        ctn_flag(op->seq, pairwise_turn(out->stream->send_turn) | PAIRWISE_RTS),
        &op->pending);
    op->exec->tally.messages++;
    out->stream->rts_sent = true;
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** Wait until the receiver has read the block, or expects another length. */
static ctn_step_t await_reader(ctn_pairwise_t *x, uint32_t peer, size_t bytes,
                               const ctn_cts_t *cts)
{
    if (cts != NULL && cts->bytes != bytes) {
        ctn_pairwise_mismatch(x, peer, false, bytes, cts->bytes);
        return CTN_STEP_NEXT;
    }
    return cts != NULL &&
                   ctn_flag_count(ctn_word_load(&cts->word)) == PAIRWISE_READ
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

/** Send what is possible of a block.
 * @param cts the peer's; NULL: it has sent none, or the block needs none */
static ctn_step_t send_block(ctn_op_t *op, ctn_pairwise_t *x,
                             const outgoing_t *out,
                             pairwise_protocol_t protocol, const ctn_cts_t *cts)
{
    if (x->list != NULL && x->status != CATENA_OK &&
        out->stream->fragments_sent == 0) {
        return refuse(op, out, PAIRWISE_NOTHING);
    }
    if (cts != NULL && cts->bytes != out->block.bytes) {
        ctn_pairwise_mismatch(x, out->peer, false, out->block.bytes,
                              cts->bytes);
        return cts->place == CTN_CTS_REFUSED
                   ? CTN_STEP_NEXT
                   : refuse(op, out, out->block.bytes);
    }
    uint64_t source;
    if (may_be_read(op, x, out, protocol, &source)) {
        return send_rts(op, out, source);
    }
    if (protocol == PAIRWISE_RENDEZVOUS) {
        return cts != NULL ? send_transfer(op, out, cts) : CTN_STEP_WAIT;
    }
    int sent = put_eager(op, x, out, protocol);
    op->exec->tally.messages += sent > 0;
    return sent < 0   ? ctn_op_fail(op, (catena_status_t)sent)
           : sent > 0 ? CTN_STEP_NEXT
                      : CTN_STEP_WAIT;
}

ctn_step_t ctn_pairwise_send(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t round = pairwise_round_of(x, slot, stream->send_turn);
    uint32_t peer = pairwise_send_peer(x, round);
    size_t bytes = pairwise_bytes_of(x, x->send, round, peer);
    pairwise_protocol_t protocol = pairwise_protocol_of(x, bytes, peer);
    if (pairwise_is_undecided(x, peer, 0)) {
        return CTN_STEP_WAIT;
    }
    const ctn_cts_t *cts = NULL;
    op->waits_for = pairwise_rank_of(x, peer);
    if (protocol == PAIRWISE_RENDEZVOUS || stream->send_turn > 0 ||
        stream->rts_sent) {
        cts = cts_of(op, x, pairwise_rank_of(x, peer));
    }
    if (stream->rts_sent) {
        return await_reader(x, peer, bytes, cts);
    }
    /* In turn 0 the slot is free. With several turns an RTS needs a CTS, too: a
     * peer that by mistake expects no block may already be in the next turn. */
    bool needs_cts = stream->send_turn > 0;
    if (protocol == PAIRWISE_RENDEZVOUS) {
        needs_cts = x->slots < x->n || pairwise_is_remote(x, peer);
    }
    if (cts == NULL && needs_cts) {
        return CTN_STEP_WAIT;
    }
    outgoing_t out = {.peer = peer,
                      .slot = slot,
                      .stream = stream,
                      .block = pairwise_block_of(x, x->send, round, peer),
                      .to = pairwise_member(x, peer)->address};
    catena_status_t status =
        ctn_exec_connect(op->exec, out.to.process, &out.endpoint);
    return status == CATENA_OK ? send_block(op, x, &out, protocol, cts)
                               : ctn_op_fail(op, status);
}
