/* The sending side of an exchange in rounds: puts, as the CTS allow. */

#include "coll/alltoall/pairwise_stream.h"

/** One put: a range of a block's stream, and the word that signals it. */
typedef struct put {
    const ctn_member_t *to;
    const ctn_span_t *block;
    size_t from; /* position in the stream */
    size_t bytes;
    uint64_t offset; /* in the target's arena */
    uint32_t slot;
    uint32_t word;  /* index in the slot */
    uint32_t count; /* of that word, see pairwise_stream.h */
} put_t;

/** Send non-contiguous data: packed into the target's memory if this process
 * can write there, else through a staging buffer. 1: sent, 0: all staging
 * buffers are in use by the network, < 0: status. */
static int put_packed(ctn_op_t *op, ctn_pairwise_t *x, ctn_endpoint_t *endpoint,
                      const put_t *p, uint64_t word_offset, uint64_t value)
{
    catena_status_t status;
    void *there = ctn_pointer(endpoint, p->offset);
    if (there != NULL) {
        ctn_span_read(op->exec, p->block, p->from, p->bytes, there);
        status = ctn_signal(endpoint, word_offset, value);
        return status == CATENA_OK ? 1 : status;
    }
    ctn_staging_t *staging;
    status = ctn_staging_get(op, &staging);
    if (status != CATENA_OK || staging == NULL) {
        return status;
    }
    x->packed = true;
    ctn_span_read(op->exec, p->block, p->from, p->bytes, staging->data);
    status = ctn_put_signal(endpoint, ctn_exec_data(op->exec, staging->data),
                            p->bytes, p->offset, word_offset, value,
                            &staging->pending);
    return status == CATENA_OK ? 1 : status;
}

/** Do a put. 1: sent, 0: all staging buffers are in use, < 0: status. */
static int put(ctn_op_t *op, ctn_pairwise_t *x, const put_t *p)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, p->to->address.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t word_offset = ctn_slot_word_offset(op->sequence, p->to->address,
                                                op->seq, p->slot, p->word);
    uint64_t value = ctn_flag(op->seq, p->count);
    if (p->block->type != NULL) {
        return put_packed(op, x, endpoint, p, word_offset, value);
    }
    status = ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, p->block->base + p->from), p->bytes,
        p->offset, word_offset, value, &op->pending);
    return status == CATENA_OK ? 1 : status;
}

/** Send an inline or eager block; as put. */
static int put_eager(ctn_op_t *op, ctn_pairwise_t *x, const ctn_member_t *to,
                     const ctn_span_t *block, uint32_t slot,
                     pairwise_protocol_t protocol)
{
    put_t p = {
        .to = to,
        .block = block,
        .bytes = block->bytes,
        .offset =
            protocol == PAIRWISE_INLINE
                ? ctn_slot_data_offset(op->sequence, to->address, op->seq, slot)
                : to->address.offset +
                      ctn_group_eager(x->topo->group, op->seq, slot),
        .slot = slot,
        .count = pairwise_eager_count(x->stream[slot].send_turn, block->bytes),
    };
    return put(op, x, &p);
}

/** Send the fragments of a block with numbers below `end`. They are written
 * from `offset` in the target's arena on: if staged, to CTN_EAGER_FRAGMENTS
 * places in rotation, else one after the other. 1: something was sent, 0:
 * nothing, < 0: status. */
static int put_fragments(ctn_op_t *op, ctn_pairwise_t *x, put_t p,
                         uint64_t offset, uint32_t end)
{
    ctn_pairwise_stream_t *stream = &x->stream[p.slot];
    size_t size = pairwise_fragment_size(x, stream->send_target);
    uint32_t fragments = pairwise_fragments_of(p.block->bytes, size);
    bool staged = stream->send_target != CTN_TARGET_BUFFER;
    int sent = 0;
    while (stream->fragments_sent < fragments && stream->fragments_sent < end) {
        uint32_t fragment = stream->fragments_sent;
        uint32_t place = staged ? fragment % CTN_EAGER_FRAGMENTS : fragment;
        bool last = fragment + 1 == fragments;
        p.from = fragment * size;
        p.bytes = pairwise_bytes_of_fragment(p.block->bytes, size, fragment);
        p.offset = offset + place * size;
        /* Of fragments in its buffer the receiver only awaits the last one, by
         * word 0 and the count of fragment 0. */
        p.word = staged ? place : last ? 0 : 1;
        p.count = pairwise_fragment_count(stream->send_turn,
                                          staged || !last ? fragment : 0);
        int result = put(op, x, &p);
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
static int put_to_buffer(ctn_op_t *op, ctn_pairwise_t *x, put_t p, uint64_t at)
{
    ctn_pairwise_stream_t *stream = &x->stream[p.slot];
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, p.to->address.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    if (p.block->type != NULL && ctn_pointer(endpoint, at) == NULL) {
        return put_fragments(op, x, p, at, UINT32_MAX);
    }
    p.offset = at;
    p.bytes = p.block->bytes;
    p.count = pairwise_fragment_count(stream->send_turn, 0);
    stream->fragments_sent = pairwise_fragments_of(
        p.bytes, pairwise_fragment_size(x, CTN_TARGET_BUFFER));
    return put(op, x, &p);
}

/** Where the CTS wants the block. */
static ctn_pairwise_target_t target_of(const ctn_cts_t *cts)
{
    return cts->offset == CTN_STAGED                  ? CTN_TARGET_EAGER
           : (cts->offset & PAIRWISE_AT_STAGING) != 0 ? CTN_TARGET_STAGING
                                                      : CTN_TARGET_BUFFER;
}

/** Send what the CTS allows; as put_fragments. */
static int put_rendezvous(ctn_op_t *op, ctn_pairwise_t *x, put_t p,
                          const ctn_cts_t *cts)
{
    uint32_t taken = ctn_flag_count(ctn_word_load(&cts->word));
    ctn_pairwise_stream_t *stream = &x->stream[p.slot];
    stream->send_target = (uint8_t)target_of(cts);
    switch (stream->send_target) {
    case CTN_TARGET_BUFFER:
        return put_to_buffer(op, x, p, cts->offset);
    case CTN_TARGET_STAGING:
        return put_fragments(op, x, p, cts->offset & ~PAIRWISE_AT_STAGING,
                             taken + CTN_EAGER_FRAGMENTS);
    default:
        return put_fragments(
            op, x, p,
            p.to->address.offset +
                ctn_group_eager(x->topo->group, op->seq, p.slot),
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
static ctn_step_t refuse(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                         uint32_t slot, uint64_t bytes)
{
    const ctn_member_t *to = pairwise_member(x, peer);
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, to->address.process, &endpoint);
    if (status == CATENA_OK) {
        uint32_t turn = x->stream[slot].send_turn;
        status = ctn_put_signal(
            endpoint, &bytes, sizeof(bytes),
            ctn_slot_data_offset(op->sequence, to->address, op->seq, slot),
            ctn_slot_word_offset(op->sequence, to->address, op->seq, slot, 0),
            ctn_flag(op->seq, pairwise_turn(turn) | PAIRWISE_REFUSED),
            &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

ctn_step_t ctn_pairwise_send(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t round = pairwise_round_of(x, slot, stream->send_turn);
    uint32_t peer = pairwise_send_peer(x, round);
    const ctn_cts_t *cts = NULL;
    pairwise_protocol_t protocol = pairwise_protocol_of(
        x, pairwise_bytes_of(x, x->send, round, peer), peer);
    bool small = protocol != PAIRWISE_RENDEZVOUS;
    if (x->by_posted && ctn_posted_is_unsent(&x->posted, peer)) {
        return CTN_STEP_WAIT; /* its descriptor is not published yet */
    }
    if (!small || stream->send_turn > 0) {
        cts = cts_of(op, x, pairwise_rank_of(x, peer));
        if (cts == NULL) {
            op->waits_for = pairwise_rank_of(x, peer);
            return CTN_STEP_WAIT;
        }
    }
    const ctn_member_t *to = pairwise_member(x, peer);
    ctn_span_t block = pairwise_block_of(x, x->send, round, peer);
    if (x->list != NULL && x->status != CATENA_OK &&
        stream->fragments_sent == 0) {
        return refuse(op, x, peer, slot, PAIRWISE_NOTHING);
    }
    if (cts != NULL && cts->bytes != block.bytes) {
        ctn_pairwise_mismatch(x, peer, false, block.bytes, cts->bytes);
        return cts->offset == PAIRWISE_NOWHERE
                   ? CTN_STEP_NEXT
                   : refuse(op, x, peer, slot, block.bytes);
    }
    int sent;
    bool over;
    if (small) {
        sent = put_eager(op, x, to, &block, slot, protocol);
        over = sent > 0;
    } else {
        put_t p = {.to = to, .block = &block, .slot = slot};
        sent = put_rendezvous(op, x, p, cts);
        over = stream->fragments_sent ==
               pairwise_fragments_of(
                   block.bytes, pairwise_fragment_size(x, stream->send_target));
    }
    if (sent < 0) {
        return ctn_op_fail(op, (catena_status_t)sent);
    }
    return over ? CTN_STEP_NEXT : sent > 0 ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}
