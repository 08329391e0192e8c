/* The receiving side of an exchange in rounds: sending CTS, and receiving
 * blocks by the protocol that both sides know. */

#include "coll/alltoall/pairwise_stream.h"

#include <stdlib.h>
#include <string.h>

#include "exec/slot.h"

/** Send a CTS to member `from`: the slot is ready for its block, which goes to
 * `offset`, and `taken` fragments of it have been taken. MOVED: sent. */
static ctn_step_t send_cts(ctn_op_t *op, ctn_pairwise_t *x,
                           const ctn_member_t *from, uint64_t offset,
                           uint64_t bytes, uint32_t taken)
{
    ctn_endpoint_t *endpoint;
    uint64_t what[] = {offset, bytes};
    catena_status_t status =
        ctn_exec_connect(op->exec, from->address.process, &endpoint);
    if (status == CATENA_OK) {
        uint64_t at = from->cts_table + ((op->seq % CTN_GENERATIONS) *
                                             x->topo->member_table.size +
                                         x->topo->group->chain.place.rank) *
                                            sizeof(ctn_cts_t);
        status = ctn_put_signal(endpoint, what, sizeof(what),
                                at + offsetof(ctn_cts_t, offset),
                                at + offsetof(ctn_cts_t, word),
                                ctn_flag(op->seq, taken), &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** Whether the next incoming fragment may be copied to its place. In place, it
 * overwrites a part of the outgoing block, which must have been sent and no
 * longer be in use by the transport. The fragments of the two directions may
 * differ in size. */
static bool may_overwrite(const ctn_op_t *op, const ctn_pairwise_t *x,
                          const ctn_pairwise_stream_t *stream)
{
    if (!x->in_place) {
        return true;
    }
    /* of the incoming fragment, in the block */
    size_t end = (stream->fragments_received + 1) *
                 pairwise_fragment_size(x, stream->target);
    return (stream->send_turn > stream->receive_turn ||
            stream->fragments_sent *
                    pairwise_fragment_size(x, stream->send_target) >=
                end) &&
           op->pending == 0;
}

/** Count in the word of a block that arrives with the expected length. */
static uint32_t expected_count(const ctn_pairwise_stream_t *stream,
                               pairwise_protocol_t protocol, size_t bytes)
{
    return protocol == PAIRWISE_RENDEZVOUS
               ? pairwise_fragment_count(stream->receive_turn,
                                         stream->fragments_received)
               : pairwise_eager_count(stream->receive_turn, bytes);
}

/** Whether the block, or its next fragment, has arrived and may be copied. */
static bool has_arrived(const ctn_op_t *op, const ctn_pairwise_t *x,
                        uint32_t slot, pairwise_protocol_t protocol,
                        size_t bytes)
{
    const ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t fragment = stream->fragments_received;
    return ctn_word_load(
               &ctn_op_slot(op, slot)->word[fragment % CTN_EAGER_FRAGMENTS]) ==
               ctn_flag(op->seq, expected_count(stream, protocol, bytes)) &&
           may_overwrite(op, x, stream);
}

/** Whether the block has arrived with another length, or was refused.
 * @param[out] found its length, or PAIRWISE_NOTHING */
static bool has_mismatch(const ctn_op_t *op, const ctn_pairwise_t *x,
                         uint32_t slot, size_t expected, uint64_t *found)
{
    const ctn_pairwise_stream_t *stream = &x->stream[slot];
    const ctn_slot_t *own = ctn_op_slot(op, slot);
    uint64_t word = ctn_word_load(&own->word[0]);
    uint32_t count = ctn_flag_count(word);
    uint32_t what = count & PAIRWISE_REFUSED; /* without the turn */
    if (!ctn_flag_matches(word, op->seq) || stream->fragments_received > 0 ||
        (count & ~0xfffffu) != pairwise_turn(stream->receive_turn) ||
        (what == expected && what < PAIRWISE_FRAGMENT)) {
        return false;
    }
    *found = what;
    if (what == PAIRWISE_REFUSED) {
        memcpy(found, own->data, sizeof(*found));
    }
    return what < PAIRWISE_FRAGMENT || what == PAIRWISE_REFUSED;
}

/** A fragment in the eager buffer of this member's slot. */
static const unsigned char *own_eager(const ctn_op_t *op,
                                      const ctn_pairwise_t *x, uint32_t slot,
                                      uint32_t fragment)
{
    const catena_group_t *group = x->topo->group;
    return (unsigned char *)ctn_group_block(group) +
           ctn_group_eager(group, op->seq, slot) +
           fragment * (ctn_group_eager_bytes(group) / CTN_EAGER_FRAGMENTS);
}

/** Offset for a CTS of the memory in which a slot stages large fragments,
 * allocated if need be; CTN_STAGED: there is no memory, so the eager buffer is
 * used, with more messages. */
static uint64_t staging_at(const ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    uint64_t offset;
    if (x->staging == NULL) {
        x->staging = calloc(x->slots, sizeof(*x->staging));
    }
    if (x->staging != NULL && x->staging[slot] == NULL) {
        x->staging[slot] =
            ctn_heap_alloc(op->exec->heap, 4096,
                           CTN_EAGER_FRAGMENTS * CTN_LARGE_FRAGMENT_BYTES);
    }
    return x->staging != NULL && ctn_heap_contains(op->exec->heap,
                                                   x->staging[slot], 1, &offset)
               ? offset | PAIRWISE_AT_STAGING
               : CTN_STAGED;
}

/** Where a slot's incoming block goes, for the CTS. In place the partner may
 * overwrite only what has been sent, so the block is staged. */
static uint64_t target_for(const ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot,
                           const ctn_span_t *block)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint64_t offset =
        x->in_place ? CTN_STAGED : ctn_span_offset(op->exec, block);
    stream->target = CTN_TARGET_BUFFER;
    if (offset == CTN_STAGED) {
        offset = block->bytes > ctn_group_eager_bytes(x->topo->group)
                     ? staging_at(op, x, slot)
                     : CTN_STAGED;
        stream->target =
            offset == CTN_STAGED ? CTN_TARGET_EAGER : CTN_TARGET_STAGING;
    }
    return offset;
}

/** Where an incoming staged fragment is. */
static const unsigned char *staging_of(const ctn_op_t *op,
                                       const ctn_pairwise_t *x, uint32_t slot,
                                       uint32_t fragment)
{
    return x->stream[slot].target == CTN_TARGET_EAGER
               ? own_eager(op, x, slot, fragment % CTN_EAGER_FRAGMENTS)
               : x->staging[slot] +
                     fragment % CTN_EAGER_FRAGMENTS * CTN_LARGE_FRAGMENT_BYTES;
}

/* Handlers of posted receives; see post_fragment. */

static void copy_plain(void *context, const void *data, size_t bytes)
{
    memcpy(context, data, bytes);
}

static void unpack_typed(void *context, const void *data, size_t bytes)
{
    const ctn_pairwise_posted_t *expected = context;
    ctn_span_write(expected->exec, &expected->block, expected->from, bytes,
                   data);
}

/** Record the destination of a posted fragment of a derived type; NULL: no
 * memory. */
static ctn_pairwise_posted_t *record_posted(const ctn_op_t *op,
                                            ctn_pairwise_t *x, uint32_t slot,
                                            const ctn_span_t *block,
                                            size_t from, uint32_t word)
{
    if (x->expected == NULL) {
        x->expected =
            calloc(x->slots, CTN_EAGER_FRAGMENTS * sizeof(*x->expected));
    }
    if (x->expected == NULL) {
        return NULL;
    }
    ctn_pairwise_posted_t *expected =
        &x->expected[slot * CTN_EAGER_FRAGMENTS + word];
    *expected = (ctn_pairwise_posted_t){op->exec, *block, from};
    return expected;
}

/** Post a receive for a fragment from another node, so that it is written to
 * its place on arrival: this saves the copy from staging, which by then may
 * have left the cache. All fragments have `size` bytes, the last one at most.
 * @param count that of the word which signals the fragment */
static void post_fragment(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                          uint32_t slot, const ctn_span_t *block, size_t size,
                          uint32_t fragment, uint32_t count)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t word = fragment % CTN_EAGER_FRAGMENTS;
    stream->posted_fragments &= (uint8_t) ~(1u << word);
    if (x->in_place || x->list != NULL || op->exec->drop_data ||
        !pairwise_is_remote(x, peer)) {
        return;
    }
    void *to = block->type == NULL
                   ? (void *)(block->base + fragment * size)
                   : record_posted(op, x, slot, block, fragment * size, word);
    uint64_t value = ctn_flag(op->seq, count);
    if (to != NULL &&
        ctn_post_receive(
            op->exec->network, &ctn_op_slot(op, slot)->word[word], value,
            pairwise_bytes_of_fragment(block->bytes, size, fragment),
            block->type == NULL ? copy_plain : unpack_typed, to)) {
        stream->posted_fragments |= (uint8_t)(1u << word);
        x->has_posted = true;
    }
}

/** Post receives for the first fragments of a staged block, before its CTS is
 * sent. */
static void post_first(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                       uint32_t slot, const ctn_span_t *block)
{
    size_t size = pairwise_fragment_size(x, x->stream[slot].target);
    uint32_t fragments = pairwise_fragments_of(block->bytes, size);
    for (uint32_t fragment = 0;
         fragment < fragments && fragment < CTN_EAGER_FRAGMENTS; fragment++) {
        post_fragment(
            op, x, peer, slot, block, size, fragment,
            pairwise_fragment_count(x->stream[slot].receive_turn, fragment));
    }
}

/** Copy an arrived fragment to its place, unless a posted receive has done so.
 */
static void place_fragment(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot,
                           const ctn_span_t *block, size_t size,
                           uint32_t fragment)
{
    if ((x->stream[slot].posted_fragments >> fragment % CTN_EAGER_FRAGMENTS &
         1) == 0) {
        ctn_span_write(op->exec, block, fragment * size,
                       pairwise_bytes_of_fragment(block->bytes, size, fragment),
                       staging_of(op, x, slot, fragment));
    }
}

/** One fragment of a staged block has arrived. */
static ctn_step_t receive_fragment(ctn_op_t *op, ctn_pairwise_t *x,
                                   uint32_t peer, uint32_t slot,
                                   const ctn_span_t *block)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    size_t size = pairwise_fragment_size(x, stream->target);
    uint32_t fragments = pairwise_fragments_of(block->bytes, size);
    uint32_t fragment = stream->fragments_received++;
    place_fragment(op, x, slot, block, size, fragment);
    if (stream->fragments_received == fragments) {
        return CTN_STEP_NEXT;
    }
    if (fragment + CTN_EAGER_FRAGMENTS >= fragments) {
        return CTN_STEP_MOVED;
    }
    post_fragment(op, x, peer, slot, block, size,
                  fragment + CTN_EAGER_FRAGMENTS,
                  pairwise_fragment_count(stream->receive_turn,
                                          fragment + CTN_EAGER_FRAGMENTS));
    return send_cts(op, x, pairwise_member(x, peer),
                    stream->target == CTN_TARGET_EAGER
                        ? CTN_STAGED
                        : staging_at(op, x, slot),
                    block->bytes, stream->fragments_received);
}

ctn_step_t ctn_pairwise_send_cts(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    if (stream->prepared) {
        return CTN_STEP_WAIT;
    }
    uint32_t round = pairwise_round_of(x, slot, stream->receive_turn);
    uint32_t peer = pairwise_receive_peer(x, round);
    pairwise_protocol_t protocol = pairwise_protocol_of(
        x, pairwise_bytes_of(x, x->receive, round, peer), peer);
    ctn_span_t block = pairwise_block_of(x, x->receive, round, peer);
    bool needs_cts =
        protocol == PAIRWISE_RENDEZVOUS || stream->receive_turn > 0;
    stream->prepared = true;
    if (stream->receive_turn > 0) {
        /* Clear the words: counts repeat after many turns, and the turns since
         * may have been empty. No peer writes here before it has the CTS. Not
         * in turn 0, whose eager block may have arrived already. */
        ctn_slot_t *own = ctn_op_slot(op, slot);
        ctn_word_store(&own->word[0], 0);
        ctn_word_store(&own->word[1], 0);
    }
    uint64_t offset = CTN_STAGED;
    if (protocol == PAIRWISE_EAGER) {
        stream->target = CTN_TARGET_EAGER;
        post_fragment(op, x, peer, slot, &block, block.bytes, 0,
                      pairwise_eager_count(stream->receive_turn, block.bytes));
    } else if (protocol == PAIRWISE_RENDEZVOUS) {
        offset = target_for(op, x, slot, &block);
        if (stream->target != CTN_TARGET_BUFFER) {
            post_first(op, x, peer, slot, &block);
        }
    }
    return needs_cts ? send_cts(op, x, pairwise_member(x, peer), offset,
                                block.bytes, 0)
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
            for (uint32_t word = 0; word < CTN_EAGER_FRAGMENTS; word++) {
                ctn_cancel_receive(op->exec->network,
                                   &ctn_op_slot(op, slot)->word[word]);
            }
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
            send_cts(op, x, pairwise_member(x, i), PAIRWISE_NOWHERE, bytes,
                     0) == CTN_STEP_FAIL) {
            return CTN_STEP_FAIL;
        }
    }
    return flush(op);
}

/** The sender of an expected eager block may have another length and wait for a
 * CTS. This operation may end before the CTS arrives, so the CTS is flushed. */
static ctn_step_t send_late_cts(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                                uint32_t slot, size_t bytes)
{
    x->stream[slot].late_cts = true;
    ctn_step_t step =
        send_cts(op, x, pairwise_member(x, peer), CTN_STAGED, bytes, 0);
    return step != CTN_STEP_FAIL && pairwise_is_remote(x, peer) ? flush(op)
                                                                : step;
}

ctn_step_t ctn_pairwise_receive(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t round = pairwise_round_of(x, slot, stream->receive_turn);
    uint32_t peer = pairwise_receive_peer(x, round);
    size_t bytes = pairwise_bytes_of(x, x->receive, round, peer);
    pairwise_protocol_t protocol = pairwise_protocol_of(x, bytes, peer);
    ctn_step_t cts = ctn_pairwise_send_cts(op, x, slot);
    if (cts != CTN_STEP_WAIT) {
        return cts;
    }
    if (!has_arrived(op, x, slot, protocol, bytes)) {
        uint64_t found;
        if (has_mismatch(op, x, slot, bytes, &found)) {
            return receive_mismatch(op, x, peer, found, bytes);
        }
        op->waits_for = pairwise_rank_of(x, peer);
        return op->exec->peer_checks != x->peer_checks &&
                       stream->receive_turn == 0 &&
                       protocol != PAIRWISE_RENDEZVOUS && !stream->late_cts
                   ? send_late_cts(op, x, peer, slot, bytes)
                   : CTN_STEP_WAIT;
    }
    ctn_span_t block = pairwise_block_of(x, x->receive, round, peer);
    if (protocol == PAIRWISE_INLINE) {
        ctn_span_write(op->exec, &block, 0, block.bytes,
                       ctn_op_slot(op, slot)->data);
    } else if (protocol == PAIRWISE_EAGER) {
        place_fragment(op, x, slot, &block, block.bytes, 0);
    } else if (stream->target != CTN_TARGET_BUFFER) {
        return receive_fragment(op, x, peer, slot, &block);
    }
    return CTN_STEP_NEXT;
}
