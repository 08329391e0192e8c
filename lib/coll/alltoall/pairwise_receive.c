/* The receiving side of an exchange in rounds: grants, and taking what has come
 * of the way that both sides know. */

#include "coll/alltoall/pairwise_stream.h"

#include <stdlib.h>
#include <string.h>

#include "exec/slot.h"

/** Tell a peer that a slot is ready for its block, where that is to go, and how
 * many parts have been taken. */
static ctn_step_t grant(ctn_op_t *op, ctn_pairwise_t *x,
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

/** In place, a part may be overwritten when it has left: the transport has
 * none of it any more. The two ways may be cut into parts of different sizes.
 */
static bool may_overwrite(const ctn_op_t *op, const ctn_pairwise_t *x,
                          const ctn_pairwise_stream_t *stream)
{
    if (!x->in_place) {
        return true;
    }
    size_t end =
        (stream->parts_received + 1) * pairwise_part_size(x, stream->place);
    return (stream->send_turn > stream->receive_turn ||
            stream->parts_sent * pairwise_part_size(x, stream->sent_to) >=
                end) &&
           op->pending == 0;
}

/** What a word holds when a block of so many bytes comes as expected. */
static uint32_t expected_count(const ctn_pairwise_stream_t *stream,
                               pairwise_passage_t passage, size_t bytes)
{
    return passage == PAIRWISE_GRANTED
               ? pairwise_part_count(stream->receive_turn,
                                     stream->parts_received)
               : pairwise_small_count(stream->receive_turn, bytes);
}

static bool has_come(const ctn_op_t *op, const ctn_pairwise_t *x, uint32_t slot,
                     pairwise_passage_t passage, size_t bytes)
{
    const ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t part = stream->parts_received;
    return ctn_word_load(
               &ctn_op_slot(op, slot)->word[part % CTN_EAGER_FRAGMENTS]) ==
               ctn_flag(op->seq, expected_count(stream, passage, bytes)) &&
           may_overwrite(op, x, stream);
}

/** What has not come as expected may have come in another length, or have been
 * refused. */
static bool has_come_wrong(const ctn_op_t *op, const ctn_pairwise_t *x,
                           uint32_t slot, size_t expected, uint64_t *found)
{
    const ctn_pairwise_stream_t *stream = &x->stream[slot];
    const ctn_slot_t *own = ctn_op_slot(op, slot);
    uint64_t word = ctn_word_load(&own->word[0]);
    uint32_t count = ctn_flag_count(word);
    uint32_t what = count & PAIRWISE_REFUSED;
    if (!ctn_flag_matches(word, op->seq) || stream->parts_received > 0 ||
        (count & ~0xfffffu) != pairwise_turn(stream->receive_turn) ||
        (what == expected && what < PAIRWISE_PART)) {
        return false;
    }
    *found = what;
    if (what == PAIRWISE_REFUSED) {
        memcpy(found, own->data, sizeof(*found));
    }
    return what < PAIRWISE_PART || what == PAIRWISE_REFUSED;
}

static const unsigned char *own_wide(const ctn_op_t *op,
                                     const ctn_pairwise_t *x, uint32_t slot,
                                     uint32_t part)
{
    const catena_group_t *group = x->topo->group;
    return (unsigned char *)group->block +
           ctn_group_eager(group, op->seq, slot) +
           part * (ctn_group_eager_bytes(group) / CTN_EAGER_FRAGMENTS);
}

/** Offset of the memory where a slot stages large parts; CTN_STAGED: there is
 * none, and it takes more messages. */
static uint64_t stage_at(const ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    uint64_t offset;
    if (x->stage == NULL) {
        x->stage = calloc(x->slots, sizeof(*x->stage));
    }
    if (x->stage != NULL && x->stage[slot] == NULL) {
        x->stage[slot] =
            ctn_heap_alloc(op->exec->heap, 4096,
                           CTN_EAGER_FRAGMENTS * CTN_LARGE_FRAGMENT_BYTES);
    }
    return x->stage != NULL &&
                   ctn_heap_contains(op->exec->heap, x->stage[slot], 1, &offset)
               ? offset | PAIRWISE_AT_STAGE
               : CTN_STAGED;
}

/** What to say of where a slot's incoming block is to go. In place the partner
 * may write only what has been sent: staged. */
static uint64_t place_for(const ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot,
                          const ctn_span_t *block)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint64_t offset =
        x->in_place ? CTN_STAGED : ctn_span_place(op->exec, block);
    stream->place = CTN_PLACE_BUFFER;
    if (offset == CTN_STAGED) {
        offset = block->bytes > ctn_group_eager_bytes(x->topo->group)
                     ? stage_at(op, x, slot)
                     : CTN_STAGED;
        stream->place = offset == CTN_STAGED ? CTN_PLACE_WIDE : CTN_PLACE_LARGE;
    }
    return offset;
}

static const unsigned char *stage_of(const ctn_op_t *op,
                                     const ctn_pairwise_t *x, uint32_t slot,
                                     uint32_t part)
{
    return x->stream[slot].place == CTN_PLACE_WIDE
               ? own_wide(op, x, slot, part % CTN_EAGER_FRAGMENTS)
               : x->stage[slot] +
                     part % CTN_EAGER_FRAGMENTS * CTN_LARGE_FRAGMENT_BYTES;
}

static void take_plain(void *context, const void *data, size_t bytes)
{
    memcpy(context, data, bytes);
}

static void take_typed(void *context, const void *data, size_t bytes)
{
    const ctn_expected_t *expected = context;
    ctn_span_write(expected->exec, &expected->block, expected->from, bytes,
                   data);
}

/** What is to be known when a part of a derived type comes; NULL: no memory. */
static ctn_expected_t *note_expected(const ctn_op_t *op, ctn_pairwise_t *x,
                                     uint32_t slot, const ctn_span_t *block,
                                     size_t from, uint32_t word)
{
    if (x->expected == NULL) {
        x->expected =
            calloc(x->slots, CTN_EAGER_FRAGMENTS * sizeof(*x->expected));
    }
    if (x->expected == NULL) {
        return NULL;
    }
    ctn_expected_t *expected = &x->expected[slot * CTN_EAGER_FRAGMENTS + word];
    *expected = (ctn_expected_t){op->exec, *block, from};
    return expected;
}

/** Have a part from another node, of those that are `size` bytes long but for
 * the last, go to its place at once when it comes: a copy less, and no memory
 * that has left the cache since the last time.
 * @param count what its word holds */
static void expect_part(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                        uint32_t slot, const ctn_span_t *block, size_t size,
                        uint32_t part, uint32_t count)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t word = part % CTN_EAGER_FRAGMENTS;
    stream->straight &= (uint8_t) ~(1u << word);
    if (x->in_place || x->list != NULL || op->exec->drop_data ||
        !pairwise_is_remote(x, peer)) {
        return;
    }
    void *to = block->type == NULL
                   ? (void *)(block->base + part * size)
                   : note_expected(op, x, slot, block, part * size, word);
    uint64_t value = ctn_flag(op->seq, count);
    if (to != NULL &&
        ctn_expect(op->exec->network, &ctn_op_slot(op, slot)->word[word], value,
                   pairwise_bytes_of_part(block->bytes, size, part),
                   block->type == NULL ? take_plain : take_typed, to)) {
        stream->straight |= (uint8_t)(1u << word);
        x->expects = true;
    }
}

/** The first parts of a staged block, before they are granted. */
static void expect_first(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                         uint32_t slot, const ctn_span_t *block)
{
    size_t size = pairwise_part_size(x, x->stream[slot].place);
    uint32_t parts = pairwise_parts_of(block->bytes, size);
    for (uint32_t part = 0; part < parts && part < CTN_EAGER_FRAGMENTS;
         part++) {
        expect_part(op, x, peer, slot, block, size, part,
                    pairwise_part_count(x->stream[slot].receive_turn, part));
    }
}

/** Put a part that has come to its place, if it is not there. */
static void place_part(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot,
                       const ctn_span_t *block, size_t size, uint32_t part)
{
    if ((x->stream[slot].straight >> part % CTN_EAGER_FRAGMENTS & 1) == 0) {
        ctn_span_write(op->exec, block, part * size,
                       pairwise_bytes_of_part(block->bytes, size, part),
                       stage_of(op, x, slot, part));
    }
}

/** One part of a staged block has come. */
static ctn_step_t receive_part(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                               uint32_t slot, const ctn_span_t *block)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    size_t size = pairwise_part_size(x, stream->place);
    uint32_t parts = pairwise_parts_of(block->bytes, size);
    uint32_t part = stream->parts_received++;
    place_part(op, x, slot, block, size, part);
    if (stream->parts_received == parts) {
        return CTN_STEP_NEXT;
    }
    if (part + CTN_EAGER_FRAGMENTS >= parts) {
        return CTN_STEP_MOVED;
    }
    expect_part(
        op, x, peer, slot, block, size, part + CTN_EAGER_FRAGMENTS,
        pairwise_part_count(stream->receive_turn, part + CTN_EAGER_FRAGMENTS));
    return grant(op, x, pairwise_member(x, peer),
                 stream->place == CTN_PLACE_WIDE ? CTN_STAGED
                                                 : stage_at(op, x, slot),
                 block->bytes, stream->parts_received);
}

ctn_step_t ctn_pairwise_grant(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    if (stream->prepared) {
        return CTN_STEP_WAIT;
    }
    uint32_t round = pairwise_round_of(x, slot, stream->receive_turn);
    uint32_t peer = pairwise_receive_peer(x, round);
    pairwise_passage_t passage = pairwise_passage_of(
        x, pairwise_bytes_of(x, x->receive, round, peer), peer);
    ctn_span_t block = pairwise_block_of(x, x->receive, round, peer);
    bool ask = passage == PAIRWISE_GRANTED || stream->receive_turn > 0;
    stream->prepared = true;
    if (stream->receive_turn > 0) {
        /* Counts come round again after many turns, all of which may have been
         * empty: nobody writes here before the grant is out. In the first turn
         * a block of another length may have come unasked. */
        ctn_slot_t *own = ctn_op_slot(op, slot);
        ctn_word_store(&own->word[0], 0);
        ctn_word_store(&own->word[1], 0);
    }
    uint64_t offset = CTN_STAGED;
    if (passage == PAIRWISE_EAGER) {
        stream->place = CTN_PLACE_WIDE;
        expect_part(op, x, peer, slot, &block, block.bytes, 0,
                    pairwise_small_count(stream->receive_turn, block.bytes));
    } else if (passage == PAIRWISE_GRANTED) {
        offset = place_for(op, x, slot, &block);
        if (stream->place != CTN_PLACE_BUFFER) {
            expect_first(op, x, peer, slot, &block);
        }
    }
    return ask ? grant(op, x, pairwise_member(x, peer), offset, block.bytes, 0)
               : CTN_STEP_WAIT;
}

/** A block did not come as expected. */
static ctn_step_t receive_none(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                               uint64_t found, uint64_t expected)
{
    for (uint32_t slot = 0; x->expects && slot < x->slots; slot++) {
        if (pairwise_receive_peer(
                x, pairwise_round_of(x, slot, x->stream[slot].receive_turn)) ==
            peer) {
            for (uint32_t word = 0; word < CTN_EAGER_FRAGMENTS; word++) {
                ctn_unexpect(op->exec->network,
                             &ctn_op_slot(op, slot)->word[word]);
            }
        }
    }
    ctn_pairwise_differ(x, peer, true, found, expected);
    return CTN_STEP_NEXT;
}

/** Puts to another node are there before the operation ends. */
static ctn_step_t flush(ctn_op_t *op)
{
    catena_status_t status = ctn_op_flush(op);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

ctn_step_t ctn_pairwise_tell(ctn_op_t *op, ctn_pairwise_t *x)
{
    for (uint32_t i = 0; i < x->n; i++) {
        size_t bytes = ctn_blocks_bytes(x->receive, pairwise_rank_of(x, i));
        if (pairwise_is_remote(x, i) && bytes > 0 && bytes <= x->remote_above &&
            grant(op, x, pairwise_member(x, i), PAIRWISE_NOWHERE, bytes, 0) ==
                CTN_STEP_FAIL) {
            return CTN_STEP_FAIL;
        }
    }
    return flush(op);
}

/** The sender of a block that should have come unasked may be waiting for a
 * grant, since it has another length. The grant may come when its operation is
 * over: so this one does not end before it is there. */
static ctn_step_t ask(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                      uint32_t slot, size_t bytes)
{
    x->stream[slot].asked = true;
    ctn_step_t step =
        grant(op, x, pairwise_member(x, peer), CTN_STAGED, bytes, 0);
    return step != CTN_STEP_FAIL && pairwise_is_remote(x, peer) ? flush(op)
                                                                : step;
}

ctn_step_t ctn_pairwise_receive(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    uint32_t round = pairwise_round_of(x, slot, stream->receive_turn);
    uint32_t peer = pairwise_receive_peer(x, round);
    size_t bytes = pairwise_bytes_of(x, x->receive, round, peer);
    pairwise_passage_t passage = pairwise_passage_of(x, bytes, peer);
    ctn_step_t granted = ctn_pairwise_grant(op, x, slot);
    if (granted != CTN_STEP_WAIT) {
        return granted;
    }
    if (!has_come(op, x, slot, passage, bytes)) {
        uint64_t found;
        if (has_come_wrong(op, x, slot, bytes, &found)) {
            return receive_none(op, x, peer, found, bytes);
        }
        op->waits_for = pairwise_rank_of(x, peer);
        return op->exec->peer_checks != x->peer_checks &&
                       stream->receive_turn == 0 &&
                       passage != PAIRWISE_GRANTED && !stream->asked
                   ? ask(op, x, peer, slot, bytes)
                   : CTN_STEP_WAIT;
    }
    ctn_span_t block = pairwise_block_of(x, x->receive, round, peer);
    if (passage == PAIRWISE_INLINE) {
        ctn_span_write(op->exec, &block, 0, block.bytes,
                       ctn_op_slot(op, slot)->data);
    } else if (passage == PAIRWISE_EAGER) {
        place_part(op, x, slot, &block, block.bytes, 0);
    } else if (stream->place != CTN_PLACE_BUFFER) {
        return receive_part(op, x, peer, slot, &block);
    }
    return CTN_STEP_NEXT;
}
