/* The sending side of an exchange in rounds: puts, as the CTS allow. */

#include "coll/alltoall/pairwise_stream.h"

/** A round, for its sender. */
typedef struct outgoing {
    uint32_t peer; /* member */
    uint32_t slot;
    ctn_pairwise_stream_t *stream; /* of the slot */
    ctn_span_t block;
    ctn_address_t to; /* of the peer */
    ctn_endpoint_t *endpoint;
} outgoing_t;

/** Put `bytes` of the block, from position `from` of its stream on, to `offset`
 * of the peer's arena, with `count` in word `word` of the slot. As
 * ctn_put_spans. */
static int put(ctn_op_t *op, const outgoing_t *out, size_t from, size_t bytes,
               uint64_t offset, uint32_t word, uint32_t count)
{
    ctn_put_t put = {.endpoint = out->endpoint,
                     .offset = offset,
                     .word = ctn_slot_word_offset(op->sequence, out->to,
                                                  op->seq, out->slot, word),
                     .value = ctn_flag(op->seq, count)};
    ctn_span_cursor_t cursor = {&out->block, from};
    return ctn_put_spans(op, &put, &cursor, bytes);
}

/** Offset in the peer's arena of the slot's eager buffer. */
static uint64_t eager_at(const ctn_op_t *op, const ctn_pairwise_t *x,
                         const outgoing_t *out)
{
    return out->to.offset + ctn_group_eager(x->topo->group, op->seq, out->slot);
}

/** Send an inline or eager block; as put. */
static int put_eager(ctn_op_t *op, const ctn_pairwise_t *x,
                     const outgoing_t *out, pairwise_protocol_t protocol)
{
    uint64_t offset =
        protocol == PAIRWISE_INLINE
            ? ctn_slot_data_offset(op->sequence, out->to, op->seq, out->slot)
            : eager_at(op, x, out);
    return put(op, out, 0, out->block.bytes, offset, 0,
               pairwise_eager_count(out->stream->send_turn, out->block.bytes));
}

/** Send the fragments of a block with numbers below `end`. They are written
 * from `offset` in the target's arena on: if staged, to CTN_EAGER_FRAGMENTS
 * places in rotation, else one after the other. 1: something was sent, 0:
 * nothing, < 0: status. */
static int put_fragments(ctn_op_t *op, const ctn_pairwise_t *x,
                         const outgoing_t *out, uint64_t offset, uint32_t end)
{
    ctn_pairwise_stream_t *stream = out->stream;
    size_t size = pairwise_fragment_size(x, stream->send_target);
    uint32_t fragments = pairwise_fragments_of(out->block.bytes, size);
    bool staged = stream->send_target != CTN_TARGET_BUFFER;
    int sent = 0;
    while (stream->fragments_sent < fragments && stream->fragments_sent < end) {
        uint32_t fragment = stream->fragments_sent;
        uint32_t place = staged ? fragment % CTN_EAGER_FRAGMENTS : fragment;
        bool last = fragment + 1 == fragments;
        /* Of fragments in its buffer the receiver only awaits the last one, by
         * word 0 and the count of fragment 0. */
        int result =
            put(op, out, fragment * size,
                pairwise_bytes_of_fragment(out->block.bytes, size, fragment),
                offset + place * size, staged ? place : !last,
                pairwise_fragment_count(stream->send_turn,
                                        staged || !last ? fragment : 0));
        if (result <= 0) {
            return result < 0 ? result : sent;
        }
        stream->fragments_sent++;
        sent = 1;
    }
    return sent;
}

/** Write a block into the receiver's buffer, at offset `at` of its arena: in
 * one put if the block is contiguous here or this process can write to the
 * buffer, else in fragments. */
static int put_to_buffer(ctn_op_t *op, const ctn_pairwise_t *x,
                         const outgoing_t *out, uint64_t at)
{
    if (out->block.type != NULL && ctn_pointer(out->endpoint, at) == NULL) {
        return put_fragments(op, x, out, at, UINT32_MAX);
    }
    out->stream->fragments_sent = pairwise_fragments_of(
        out->block.bytes, pairwise_fragment_size(x, CTN_TARGET_BUFFER));
    return put(op, out, 0, out->block.bytes, at, 0,
               pairwise_fragment_count(out->stream->send_turn, 0));
}

/** Where the CTS wants the block. */
static ctn_pairwise_target_t target_of(const ctn_cts_t *cts)
{
    return cts->offset == CTN_STAGED                  ? CTN_TARGET_EAGER
           : (cts->offset & PAIRWISE_AT_STAGING) != 0 ? CTN_TARGET_STAGING
                                                      : CTN_TARGET_BUFFER;
}

/** Send what the CTS allows; as put_fragments. */
static int put_rendezvous(ctn_op_t *op, const ctn_pairwise_t *x,
                          const outgoing_t *out, const ctn_cts_t *cts)
{
    uint32_t taken = ctn_flag_count(ctn_word_load(&cts->word));
    out->stream->send_target = (uint8_t)target_of(cts);
    switch (out->stream->send_target) {
    case CTN_TARGET_BUFFER:
        return put_to_buffer(op, x, out, cts->offset);
    case CTN_TARGET_STAGING:
        return put_fragments(op, x, out, cts->offset & ~PAIRWISE_AT_STAGING,
                             taken + CTN_EAGER_FRAGMENTS);
    default:
        return put_fragments(op, x, out, eager_at(op, x, out),
                             taken + CTN_EAGER_FRAGMENTS);
    }
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

/** Send what is possible of a block.
 * @param cts the peer's; NULL: the block needs none */
static ctn_step_t send_block(ctn_op_t *op, ctn_pairwise_t *x,
                             const outgoing_t *out,
                             pairwise_protocol_t protocol, const ctn_cts_t *cts)
{
    ctn_pairwise_stream_t *stream = out->stream;
    if (x->list != NULL && x->status != CATENA_OK &&
        stream->fragments_sent == 0) {
        return refuse(op, out, PAIRWISE_NOTHING);
    }
    if (cts != NULL && cts->bytes != out->block.bytes) {
        ctn_pairwise_mismatch(x, out->peer, false, out->block.bytes,
                              cts->bytes);
        return cts->offset == PAIRWISE_NOWHERE
                   ? CTN_STEP_NEXT
                   : refuse(op, out, out->block.bytes);
    }
    bool small = protocol != PAIRWISE_RENDEZVOUS;
    int sent = small ? put_eager(op, x, out, protocol)
                     : put_rendezvous(op, x, out, cts);
    if (sent < 0) {
        return ctn_op_fail(op, (catena_status_t)sent);
    }
    bool over = small ? sent > 0
                      : stream->fragments_sent ==
                            pairwise_fragments_of(
                                out->block.bytes,
                                pairwise_fragment_size(x, stream->send_target));
    return over ? CTN_STEP_NEXT : sent > 0 ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

ctn_step_t ctn_pairwise_send(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t round = pairwise_round_of(x, slot, stream->send_turn);
    uint32_t peer = pairwise_send_peer(x, round);
    const ctn_cts_t *cts = NULL;
    pairwise_protocol_t protocol = pairwise_protocol_of(
        x, pairwise_bytes_of(x, x->send, round, peer), peer);
    if (x->by_posted && ctn_posted_is_unsent(&x->posted, peer)) {
        return CTN_STEP_WAIT; /* its descriptor is not published yet */
    }
    if (protocol == PAIRWISE_RENDEZVOUS || stream->send_turn > 0) {
        cts = cts_of(op, x, pairwise_rank_of(x, peer));
        if (cts == NULL) {
            op->waits_for = pairwise_rank_of(x, peer);
            return CTN_STEP_WAIT;
        }
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
