#include "coll/pairwise.h"

#include <stdlib.h>
#include <string.h>

typedef enum passage {
    PASSAGE_INLINE,
    PASSAGE_WIDE,
    PASSAGE_GRANTED
} passage_t;

static inline passage_t passage_of(size_t bytes)
{
    return bytes <= CTN_INLINE_BYTES ? PASSAGE_INLINE
           : bytes <= CTN_PART_BYTES ? PASSAGE_WIDE
                                     : PASSAGE_GRANTED;
}

static uint32_t index_of(const ctn_pairwise_t *x, uint32_t i)
{
    const ctn_roster_t *roster = &x->topo->roster;
    return x->by_rank != NULL ? x->by_rank[i]
                              : roster->first[x->topo->node_index] + i;
}

static const ctn_member_t *member(const ctn_pairwise_t *x, uint32_t i)
{
    return &x->topo->roster.member[index_of(x, i)];
}

/** Its rank in the group. Polls ask for no more than this of most members, so
 * nothing of theirs is read where it is known. */
static inline uint32_t rank_of(const ctn_pairwise_t *x, uint32_t i)
{
    return x->by_rank != NULL ? i : member(x, i)->rank;
}

/* ---- rounds ---- */

/** The round of a slot's turn; n or more: there is none. */
static inline uint32_t round_of(const ctn_pairwise_t *x, uint32_t slot,
                                uint32_t turn)
{
    return slot + turn * x->slots;
}

static inline uint32_t send_peer(const ctn_pairwise_t *x, uint32_t round)
{
    switch (x->order) {
    case CTN_ORDER_SHIFT:
        return round < x->n - x->me ? x->me + round : x->me + round - x->n;
    case CTN_ORDER_LISTED:
        return x->list[round].to;
    case CTN_ORDER_PAIRED:
    default:
        return round >= x->me ? round - x->me : round + x->n - x->me;
    }
}

static inline uint32_t receive_peer(const ctn_pairwise_t *x, uint32_t round)
{
    switch (x->order) {
    case CTN_ORDER_SHIFT:
        return round <= x->me ? x->me - round : x->me + x->n - round;
    case CTN_ORDER_LISTED:
        return x->list[round].from;
    case CTN_ORDER_PAIRED:
    default:
        return send_peer(x, round);
    }
}

static ctn_span_t block_of(const ctn_pairwise_t *x, const ctn_blocks_t *blocks,
                           uint32_t round, uint32_t peer)
{
    return x->list != NULL ? x->list[round].block
                           : ctn_blocks_at(blocks, rank_of(x, peer));
}

static bool is_remote(const ctn_pairwise_t *x, uint32_t i)
{
    const ctn_roster_t *roster = &x->topo->roster;
    uint32_t index = index_of(x, i);
    return index < roster->first[x->topo->node_index] ||
           index >= roster->first[x->topo->node_index + 1];
}

/** Bytes that a round moves in one direction; 0: it is passed over. */
static inline size_t bytes_of(const ctn_pairwise_t *x,
                              const ctn_blocks_t *blocks, uint32_t round,
                              uint32_t peer)
{
    if (x->list != NULL) {
        return x->list[round].block.bytes;
    }
    if (peer == x->me) {
        return 0;
    }
    size_t bytes = ctn_blocks_bytes(blocks, rank_of(x, peer));
    return bytes <= x->remote_above && is_remote(x, peer) ? 0 : bytes;
}

/** Whether a stream has a round to send in; *turn is moved to it. */
static inline bool has_send(const ctn_pairwise_t *x, uint32_t slot,
                            uint32_t *turn)
{
    uint32_t round = round_of(x, slot, *turn);
    while (round < x->limit &&
           bytes_of(x, x->send, round, send_peer(x, round)) == 0) {
        ++*turn;
        round += x->slots;
    }
    return round < x->limit;
}

/** Likewise to receive in. */
static inline bool has_receive(const ctn_pairwise_t *x, uint32_t slot,
                               uint32_t *turn)
{
    uint32_t round = round_of(x, slot, *turn);
    while (round < x->limit &&
           bytes_of(x, x->receive, round, receive_peer(x, round)) == 0) {
        ++*turn;
        round += x->slots;
    }
    return round < x->limit;
}

/* ---- beginning and end ---- */

static uint32_t slots_for(const ctn_pairwise_t *x)
{
    bool small = x->list == NULL && x->receive->counts == NULL &&
                 passage_of(x->receive->bytes) == PASSAGE_INLINE;
    uint32_t most = small ? CTN_SLOTS : CTN_WIDE_SLOTS;
    if (x->window > 0 && x->window < most) {
        most = x->window;
    }
    return x->n < most ? x->n : most;
}

void ctn_pairwise_extend(ctn_pairwise_t *x, uint32_t limit)
{
    x->limit = limit;
    x->open = x->slots == 64 ? UINT64_MAX : (UINT64_C(1) << x->slots) - 1;
}

void ctn_pairwise_begin(ctn_op_t *op, ctn_pairwise_t *x)
{
    x->slots = slots_for(x);
    x->bounce = NULL;
    memset(x->stream, 0, x->slots * sizeof(x->stream[0]));
    ctn_pairwise_extend(x, x->n);
    if (!x->in_place && x->list == NULL) {
        uint32_t me = rank_of(x, x->me);
        ctn_span_t source = ctn_blocks_at(x->send, me);
        ctn_span_t target = ctn_blocks_at(x->receive, me);
        if (source.bytes > 0) {
            ctn_span_copy(op->exec, &target, &source);
        }
    }
}

void ctn_pairwise_finish(const ctn_op_t *op, ctn_pairwise_t *x)
{
    /* After an error the network may still hold parts of it. */
    if (op->exec->status == CATENA_OK) {
        free(x->bounce);
    }
    x->bounce = NULL;
}

static bool bounce_is_free(const ctn_pairwise_t *x)
{
    for (uint32_t i = 0; x->bounce != NULL && i < x->slots * CTN_PARTS; i++) {
        if (x->bounce[i].pending != 0) {
            return false;
        }
    }
    return true;
}

/* ---- sending ---- */

/** Words count what a slot serves: its turn, and parts within it. They need
 * only differ from what the slot held before. */
static inline uint32_t count_of(uint32_t turn, uint32_t part)
{
    return turn << 20 | ((part + 1) & 0xfffff);
}

static inline uint32_t parts_of(size_t bytes)
{
    return (uint32_t)((bytes + CTN_PART_BYTES - 1) / CTN_PART_BYTES);
}

static inline size_t part_bytes(size_t bytes, uint32_t part)
{
    size_t rest = bytes - (size_t)part * CTN_PART_BYTES;
    return rest < CTN_PART_BYTES ? rest : CTN_PART_BYTES;
}

/** One put: some of a block's stream, and the word that announces it. */
typedef struct put {
    const ctn_member_t *to;
    const ctn_span_t *block;
    size_t from;
    size_t bytes;
    uint64_t offset; /* in the target's arena */
    uint32_t slot;
    uint32_t part; /* which word */
    uint32_t count;
} put_t;

/** Send data that are no plain memory: packed straight into the target when
 * that can be reached, else by way of a part of the bounce memory. 1: sent,
 * 0: the network still has what that part held, < 0: status. */
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
    if (x->bounce == NULL) {
        x->bounce = calloc((size_t)x->slots * CTN_PARTS, sizeof(ctn_bounce_t));
    }
    if (x->bounce == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_bounce_t *bounce = &x->bounce[p->slot * CTN_PARTS + p->part];
    if (bounce->pending != 0) {
        return 0;
    }
    ctn_span_read(op->exec, p->block, p->from, p->bytes, bounce->data);
    status = ctn_put_signal(endpoint, ctn_exec_data(op->exec, bounce->data),
                            p->bytes, p->offset, word_offset, value,
                            &bounce->pending);
    return status == CATENA_OK ? 1 : status;
}

static int put(ctn_op_t *op, ctn_pairwise_t *x, const put_t *p)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, p->to->address.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t word_offset = ctn_slot_word_offset(
        p->to->address, op->channel->base, op->seq, p->slot, p->part);
    uint64_t value = ctn_tag(op->seq, p->count);
    if (p->block->type != NULL) {
        return put_packed(op, x, endpoint, p, word_offset, value);
    }
    status = ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, p->block->base + p->from), p->bytes,
        p->offset, word_offset, value, &op->pending);
    return status == CATENA_OK ? 1 : status;
}

/** A block of one part, into the slot. */
static int put_small(ctn_op_t *op, ctn_pairwise_t *x, const ctn_member_t *to,
                     const ctn_span_t *block, uint32_t slot)
{
    put_t p = {
        .to = to,
        .block = block,
        .bytes = block->bytes,
        .offset = passage_of(block->bytes) == PASSAGE_INLINE
                      ? ctn_slot_data_offset(to->address, op->channel->base,
                                             op->seq, slot)
                      : ctn_wide_offset(to->address, op->seq, slot, 0),
        .slot = slot,
        .count = count_of(x->stream[slot].send_turn, 0),
    };
    return put(op, x, &p);
}

/** A block into the receiver's buffer: at once when it is plain or the buffer
 * within reach, else in parts, the last of which is announced. */
static int put_straight(ctn_op_t *op, ctn_pairwise_t *x, const ctn_member_t *to,
                        const ctn_span_t *block, uint32_t slot, uint64_t at)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t parts = parts_of(block->bytes);
    put_t p = {.to = to, .block = block, .offset = at, .slot = slot};
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, to->address.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    if (block->type == NULL || ctn_pointer(endpoint, at) != NULL) {
        p.bytes = block->bytes;
        p.count = count_of(stream->send_turn, 0);
        stream->parts_sent = parts;
        return put(op, x, &p);
    }
    int sent = 0;
    while (stream->parts_sent < parts) {
        uint32_t part = stream->parts_sent;
        bool last = part + 1 == parts;
        p.from = (size_t)part * CTN_PART_BYTES;
        p.bytes = part_bytes(block->bytes, part);
        p.offset = at + p.from;
        p.part = last ? 0 : 1;
        p.count = count_of(stream->send_turn, last ? 0 : part);
        int result = put(op, x, &p);
        if (result <= 0) {
            return result < 0 ? result : sent;
        }
        stream->parts_sent++;
        sent = 1;
    }
    return sent;
}

/** Parts as far as the receiver has taken earlier ones. */
static int put_staged(ctn_op_t *op, ctn_pairwise_t *x, const ctn_member_t *to,
                      const ctn_span_t *block, uint32_t slot, uint32_t taken)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t parts = parts_of(block->bytes);
    int sent = 0;
    while (stream->parts_sent < parts &&
           stream->parts_sent < taken + CTN_PARTS) {
        uint32_t part = stream->parts_sent;
        put_t p = {
            .to = to,
            .block = block,
            .from = (size_t)part * CTN_PART_BYTES,
            .bytes = part_bytes(block->bytes, part),
            .offset =
                ctn_wide_offset(to->address, op->seq, slot, part % CTN_PARTS),
            .slot = slot,
            .part = part % CTN_PARTS,
            .count = count_of(stream->send_turn, part),
        };
        int result = put(op, x, &p);
        if (result <= 0) {
            return result < 0 ? result : sent;
        }
        stream->parts_sent++;
        sent = 1;
    }
    return sent;
}

/** What a peer allows in this operation; NULL: nothing yet. */
static const ctn_grant_t *grant_of(const ctn_op_t *op, const ctn_pairwise_t *x,
                                   uint32_t rank)
{
    const ctn_grant_t *grant =
        &x->topo->grants[(op->seq % CTN_RINGS) * x->topo->roster.size + rank];
    return ctn_tag_matches(ctn_word_load(&grant->word), op->seq) ? grant : NULL;
}

/** Send what may be sent of the slot's round. MOVED: something was; NEXT:
 * the round is over. */
static ctn_step_t send_round(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t round = round_of(x, slot, stream->send_turn);
    uint32_t peer = send_peer(x, round);
    const ctn_grant_t *grant = NULL;
    bool small =
        passage_of(bytes_of(x, x->send, round, peer)) != PASSAGE_GRANTED;
    if (!small || stream->send_turn > 0) {
        grant = grant_of(op, x, rank_of(x, peer));
        if (grant == NULL) {
            op->waits_for = rank_of(x, peer);
            return CTN_STEP_WAIT;
        }
    }
    const ctn_member_t *to = member(x, peer);
    ctn_span_t block = block_of(x, x->send, round, peer);
    int sent;
    bool over;
    if (small) {
        sent = put_small(op, x, to, &block, slot);
        over = sent > 0;
    } else {
        sent = grant->offset != CTN_STAGED
                   ? put_straight(op, x, to, &block, slot, grant->offset)
                   : put_staged(op, x, to, &block, slot,
                                ctn_tag_count(ctn_word_load(&grant->word)));
        over = stream->parts_sent == parts_of(block.bytes);
    }
    if (sent < 0) {
        return ctn_op_fail(op, (catena_status_t)sent);
    }
    return over ? CTN_STEP_NEXT : sent > 0 ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/* ---- receiving ---- */

static ctn_step_t grant(ctn_op_t *op, ctn_pairwise_t *x,
                        const ctn_member_t *from, uint64_t place,
                        uint32_t taken)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, from->address.process, &endpoint);
    if (status == CATENA_OK) {
        uint64_t at =
            from->grants + ((op->seq % CTN_RINGS) * x->topo->roster.size +
                            x->topo->group->lane.chain.rank) *
                               sizeof(ctn_grant_t);
        status = ctn_put_signal(endpoint, &place, sizeof(place),
                                at + offsetof(ctn_grant_t, offset),
                                at + offsetof(ctn_grant_t, word),
                                ctn_tag(op->seq, taken), &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** In place, a block may be overwritten when it has left: the transport has
 * no part of it any more. */
static bool may_overwrite(const ctn_op_t *op, const ctn_pairwise_t *x,
                          const ctn_stream_t *stream, uint32_t part)
{
    return !x->in_place || ((stream->send_turn > stream->receive_turn ||
                             stream->parts_sent > part) &&
                            op->pending == 0);
}

static bool has_come(const ctn_op_t *op, const ctn_pairwise_t *x, uint32_t slot,
                     uint32_t part)
{
    const ctn_stream_t *stream = &x->stream[slot];
    return ctn_word_load(&ctn_op_slot(op, slot)->word[part % CTN_PARTS]) ==
               ctn_tag(op->seq, count_of(stream->receive_turn, part)) &&
           may_overwrite(op, x, stream, part);
}

static const unsigned char *own_wide(const ctn_op_t *op,
                                     const ctn_pairwise_t *x, uint32_t slot,
                                     uint32_t part)
{
    return x->topo->group->lane.block->wide[op->seq % CTN_RINGS][slot][part];
}

/** One part of a staged block has come. */
static ctn_step_t receive_part(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                               uint32_t slot, const ctn_span_t *block)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t parts = parts_of(block->bytes);
    uint32_t part = stream->parts_received++;
    ctn_span_write(op->exec, block, (size_t)part * CTN_PART_BYTES,
                   part_bytes(block->bytes, part),
                   own_wide(op, x, slot, part % CTN_PARTS));
    if (stream->parts_received == parts) {
        return CTN_STEP_NEXT;
    }
    return part + CTN_PARTS < parts ? grant(op, x, member(x, peer), CTN_STAGED,
                                            stream->parts_received)
                                    : CTN_STEP_MOVED;
}

/** In place the partner may write only what has been sent: staged. */
static uint64_t place_of(const ctn_op_t *op, const ctn_pairwise_t *x,
                         const ctn_span_t *block)
{
    return x->in_place ? CTN_STAGED : ctn_span_place(op->exec, block);
}

static ctn_step_t receive_round(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t round = round_of(x, slot, stream->receive_turn);
    uint32_t peer = receive_peer(x, round);
    passage_t passage = passage_of(bytes_of(x, x->receive, round, peer));
    if (!stream->granted &&
        (passage == PASSAGE_GRANTED || stream->receive_turn > 0)) {
        ctn_span_t block = block_of(x, x->receive, round, peer);
        stream->granted = true;
        return grant(op, x, member(x, peer), place_of(op, x, &block), 0);
    }
    if (!has_come(op, x, slot, stream->parts_received)) {
        op->waits_for = rank_of(x, peer);
        return CTN_STEP_WAIT;
    }
    ctn_span_t block = block_of(x, x->receive, round, peer);
    if (passage == PASSAGE_INLINE) {
        ctn_span_write(op->exec, &block, 0, block.bytes,
                       ctn_op_slot(op, slot)->data);
    } else if (passage == PASSAGE_WIDE) {
        ctn_span_write(op->exec, &block, 0, block.bytes,
                       own_wide(op, x, slot, 0));
    } else if (place_of(op, x, &block) == CTN_STAGED) {
        return receive_part(op, x, peer, slot, &block);
    }
    return CTN_STEP_NEXT;
}

/* ---- both ---- */

static ctn_step_t advance_stream(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    ctn_step_t sent = CTN_STEP_NEXT;
    ctn_step_t got = CTN_STEP_NEXT;
    bool moved = false;
    if (has_send(x, slot, &stream->send_turn)) {
        sent = send_round(op, x, slot);
        if (sent == CTN_STEP_NEXT) {
            stream->send_turn++;
            stream->parts_sent = 0;
            moved = true;
            sent = has_send(x, slot, &stream->send_turn) ? CTN_STEP_MOVED
                                                         : CTN_STEP_NEXT;
        }
    }
    if (sent != CTN_STEP_FAIL && has_receive(x, slot, &stream->receive_turn)) {
        got = receive_round(op, x, slot);
        if (got == CTN_STEP_NEXT) {
            stream->receive_turn++;
            stream->parts_received = 0;
            stream->granted = false;
            moved = true;
            got = has_receive(x, slot, &stream->receive_turn) ? CTN_STEP_MOVED
                                                              : CTN_STEP_NEXT;
        }
    }
    if (sent == CTN_STEP_FAIL || got == CTN_STEP_FAIL) {
        return CTN_STEP_FAIL;
    }
    if (sent == CTN_STEP_NEXT && got == CTN_STEP_NEXT) {
        return CTN_STEP_NEXT;
    }
    moved |= sent == CTN_STEP_MOVED || got == CTN_STEP_MOVED;
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

ctn_step_t ctn_pairwise_advance(ctn_op_t *op, ctn_pairwise_t *x)
{
    ctn_step_t result = CTN_STEP_WAIT;
    for (uint64_t left = x->open; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        ctn_step_t step = advance_stream(op, x, slot);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step == CTN_STEP_NEXT) {
            x->open &= ~(UINT64_C(1) << slot);
        }
        if (step != CTN_STEP_WAIT) {
            result = CTN_STEP_MOVED;
        }
    }
    if (x->open != 0) {
        return result;
    }
    return bounce_is_free(x) ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}
