#include "coll/pairwise.h"

#include <stdlib.h>
#include <string.h>

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

static bool is_remote(const ctn_pairwise_t *x, uint32_t i)
{
    const ctn_roster_t *roster = &x->topo->roster;
    uint32_t index = index_of(x, i);
    return index < roster->first[x->topo->node_index] ||
           index >= roster->first[x->topo->node_index + 1];
}

typedef enum passage {
    PASSAGE_INLINE,
    PASSAGE_EAGER,
    PASSAGE_GRANTED
} passage_t;

static inline passage_t passage_of(const ctn_pairwise_t *x, size_t bytes,
                                   uint32_t peer)
{
    if (bytes <= CTN_LINE_BYTES) {
        return PASSAGE_INLINE;
    }
    if (bytes <= x->near_eager) {
        return bytes <= CTN_INLINE_BYTES && is_remote(x, peer) ? PASSAGE_INLINE
                                                               : PASSAGE_EAGER;
    }
    return bytes <= CTN_FAR_EAGER && is_remote(x, peer) ? PASSAGE_EAGER
                                                        : PASSAGE_GRANTED;
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

/** Whether the block of a round has been sent by posts. */
static inline bool goes_straight(const ctn_pairwise_t *x, uint32_t round)
{
    uint32_t peer = send_peer(x, round);
    return x->by_posts && !ctn_posted_is_unsent(&x->posted, peer) &&
           !ctn_posted_is_staged(&x->posted, peer);
}

/** Whether a stream has a round to send in; *turn is moved to it. */
static inline bool has_send(const ctn_pairwise_t *x, uint32_t slot,
                            uint32_t *turn)
{
    uint32_t round = round_of(x, slot, *turn);
    while (round < x->limit &&
           (goes_straight(x, round) ||
            bytes_of(x, x->send, round, send_peer(x, round)) == 0)) {
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
    if (x->by_posts && !x->posted.out_of_reach) {
        return false;
    }
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
                 x->receive->bytes <= CTN_LINE_BYTES;
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

/** Blocks of one length among all of a node that are too large for rows. */
static bool goes_by_posts(const ctn_pairwise_t *x)
{
    return x->list == NULL && x->window == 0 && x->receive->counts == NULL &&
           x->n == ctn_topo_local_size(x->topo) && ctn_posted_suits(x->n);
}

void ctn_pairwise_begin(ctn_pairwise_t *x)
{
    ctn_pairwise_clear(x);
    x->opened = false;
    x->by_posts = false;
    x->by_rows = x->list == NULL && x->window == 0 &&
                 x->receive->counts == NULL &&
                 x->n == ctn_topo_local_size(x->topo) &&
                 ctn_rows_suit(x->receive->bytes, x->n, x->topo->crowded);
    if (x->by_rows) {
        return;
    }
    x->slots = slots_for(x);
    x->near_eager = x->topo->crowded ? CTN_CROWDED_EAGER : CTN_NEAR_EAGER;
    memset(x->stream, 0, x->slots * sizeof(x->stream[0]));
    ctn_pairwise_extend(x, x->n);
    x->by_posts = goes_by_posts(x);
}

static void copy_own_block(ctn_op_t *op, const ctn_pairwise_t *x)
{
    if (x->in_place || x->list != NULL) {
        return;
    }
    uint32_t me = rank_of(x, x->me);
    ctn_span_t source = ctn_blocks_at(x->send, me);
    ctn_span_t target = ctn_blocks_at(x->receive, me);
    if (source.bytes > 0) {
        ctn_span_copy(op->exec, &target, &source);
    }
}

void ctn_pairwise_finish(const ctn_op_t *op, ctn_pairwise_t *x)
{
    /* After a failure peers may still write to the stages. */
    for (uint32_t slot = 0;
         x->stage != NULL && slot < x->slots && op->status == CATENA_OK;
         slot++) {
        ctn_heap_free(op->exec->heap, x->stage[slot]);
    }
    free(x->stage);
    x->stage = NULL;
    if (x->packed) {
        ctn_bounce_trim(op->exec);
    }
}

/* ---- parts ---- */

/* A grant's offset is that of a buffer, or says that the block is staged: in
 * the slot's wide payload (CTN_STAGED), or at an offset marked so. */

#define AT_STAGE (UINT64_C(1) << 63)

static inline ctn_place_t place_in(const ctn_grant_t *grant)
{
    return grant->offset == CTN_STAGED       ? CTN_PLACE_WIDE
           : (grant->offset & AT_STAGE) != 0 ? CTN_PLACE_LARGE
                                             : CTN_PLACE_BUFFER;
}

/** Bytes of a part by where it goes. */
static inline size_t part_size(ctn_place_t place)
{
    return place == CTN_PLACE_WIDE ? CTN_PART_BYTES : CTN_LARGE_PART_BYTES;
}

static inline uint32_t parts_of(size_t bytes, size_t part_bytes)
{
    return (uint32_t)((bytes + part_bytes - 1) / part_bytes);
}

static inline size_t bytes_of_part(size_t bytes, size_t part_bytes,
                                   uint32_t part)
{
    size_t rest = bytes - part * part_bytes;
    return rest < part_bytes ? rest : part_bytes;
}

/* ---- sending ---- */

/** Words count what a slot serves: its turn, and parts within it. They need
 * only differ from what the slot held before. */
static inline uint32_t count_of(uint32_t turn, uint32_t part)
{
    return turn << 20 | ((part + 1) & 0xfffff);
}

/** One put: some of a block's stream, and the word that announces it. */
typedef struct put {
    const ctn_member_t *to;
    const ctn_span_t *block;
    size_t from;
    size_t bytes;
    uint64_t offset; /* in the target's arena */
    uint32_t slot;
    uint32_t part;
    uint32_t word; /* which of the slot's */
    uint32_t count;
} put_t;

/** Send data that are no plain memory: packed straight into the target when
 * that can be reached, else by way of bounce memory. 1: sent, 0: the network
 * still has all of that, < 0: status. */
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
    ctn_bounce_t *bounce;
    status = ctn_bounce_get(op, &bounce);
    if (status != CATENA_OK || bounce == NULL) {
        return status;
    }
    x->packed = true;
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
    uint64_t word_offset = ctn_slot_word_offset(op->channel, p->to->address,
                                                op->seq, p->slot, p->word);
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
                     const ctn_span_t *block, uint32_t slot, passage_t passage)
{
    put_t p = {
        .to = to,
        .block = block,
        .bytes = block->bytes,
        .offset =
            passage == PASSAGE_INLINE
                ? ctn_slot_data_offset(op->channel, to->address, op->seq, slot)
                : ctn_wide_offset(to->address, op->seq, slot, 0),
        .slot = slot,
        .count = count_of(x->stream[slot].send_turn, 0),
    };
    return put(op, x, &p);
}

/** Send parts of a block up to part `end`, beginning at `offset` in the
 * target's arena; they are staged in rotation, or follow each other. 1:
 * something was sent, 0: nothing, < 0: status. */
static int put_parts(ctn_op_t *op, ctn_pairwise_t *x, put_t p, uint64_t offset,
                     uint32_t end)
{
    ctn_stream_t *stream = &x->stream[p.slot];
    size_t size = part_size(stream->sent_to);
    uint32_t parts = parts_of(p.block->bytes, size);
    bool staged = stream->sent_to != CTN_PLACE_BUFFER;
    int sent = 0;
    while (stream->parts_sent < parts && stream->parts_sent < end) {
        uint32_t part = stream->parts_sent;
        uint32_t place = staged ? part % CTN_PARTS : part;
        bool last = part + 1 == parts;
        p.part = part;
        p.from = part * size;
        p.bytes = bytes_of_part(p.block->bytes, size, part);
        p.offset = offset + place * size;
        /* Straight into a buffer, only the last is waited for. */
        p.word = staged ? place : last ? 0 : 1;
        p.count = count_of(stream->send_turn, staged || !last ? part : 0);
        int result = put(op, x, &p);
        if (result <= 0) {
            return result < 0 ? result : sent;
        }
        stream->parts_sent++;
        sent = 1;
    }
    return sent;
}

/** A block into the receiver's buffer: at once when it is plain or the buffer
 * within reach, else in parts. */
static int put_straight(ctn_op_t *op, ctn_pairwise_t *x, put_t p, uint64_t at)
{
    ctn_stream_t *stream = &x->stream[p.slot];
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, p.to->address.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    if (p.block->type != NULL && ctn_pointer(endpoint, at) == NULL) {
        return put_parts(op, x, p, at, UINT32_MAX);
    }
    p.offset = at;
    p.bytes = p.block->bytes;
    p.count = count_of(stream->send_turn, 0);
    stream->parts_sent = parts_of(p.bytes, part_size(CTN_PLACE_BUFFER));
    return put(op, x, &p);
}

/** What a grant allows. */
static int put_granted(ctn_op_t *op, ctn_pairwise_t *x, put_t p,
                       const ctn_grant_t *grant)
{
    uint32_t taken = ctn_tag_count(ctn_word_load(&grant->word));
    ctn_stream_t *stream = &x->stream[p.slot];
    stream->sent_to = (uint8_t)place_in(grant);
    switch (stream->sent_to) {
    case CTN_PLACE_BUFFER:
        return put_straight(op, x, p, grant->offset);
    case CTN_PLACE_LARGE:
        return put_parts(op, x, p, grant->offset & ~AT_STAGE,
                         taken + CTN_PARTS);
    default:
        return put_parts(op, x, p,
                         ctn_wide_offset(p.to->address, op->seq, p.slot, 0),
                         taken + CTN_PARTS);
    }
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
    passage_t passage = passage_of(x, bytes_of(x, x->send, round, peer), peer);
    bool small = passage != PASSAGE_GRANTED;
    if (x->by_posts && ctn_posted_is_unsent(&x->posted, peer)) {
        return CTN_STEP_WAIT; /* it has not said which way */
    }
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
        sent = put_small(op, x, to, &block, slot, passage);
        over = sent > 0;
    } else {
        put_t p = {.to = to, .block = &block, .slot = slot};
        sent = put_granted(op, x, p, grant);
        over = stream->parts_sent ==
               parts_of(block.bytes, part_size(stream->sent_to));
    }
    if (sent < 0) {
        return ctn_op_fail(op, (catena_status_t)sent);
    }
    return over ? CTN_STEP_NEXT : sent > 0 ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/* ---- receiving ---- */

/** Tell a peer that a slot is ready for its block, where that is to go, and how
 * many parts have been taken. */
static ctn_step_t grant(ctn_op_t *op, ctn_pairwise_t *x,
                        const ctn_member_t *from, uint64_t offset,
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
        status = ctn_put_signal(endpoint, &offset, sizeof(offset),
                                at + offsetof(ctn_grant_t, offset),
                                at + offsetof(ctn_grant_t, word),
                                ctn_tag(op->seq, taken), &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** In place, a part may be overwritten when it has left: the transport has
 * none of it any more. The two ways may be cut into parts of different sizes.
 */
static bool may_overwrite(const ctn_op_t *op, const ctn_pairwise_t *x,
                          const ctn_stream_t *stream)
{
    if (!x->in_place) {
        return true;
    }
    size_t end = (stream->parts_received + 1) * part_size(stream->place);
    return (stream->send_turn > stream->receive_turn ||
            stream->parts_sent * part_size(stream->sent_to) >= end) &&
           op->pending == 0;
}

static bool has_come(const ctn_op_t *op, const ctn_pairwise_t *x, uint32_t slot)
{
    const ctn_stream_t *stream = &x->stream[slot];
    uint32_t part = stream->parts_received;
    return ctn_word_load(&ctn_op_slot(op, slot)->word[part % CTN_PARTS]) ==
               ctn_tag(op->seq, count_of(stream->receive_turn, part)) &&
           may_overwrite(op, x, stream);
}

static const unsigned char *own_wide(const ctn_op_t *op,
                                     const ctn_pairwise_t *x, uint32_t slot,
                                     uint32_t part)
{
    return x->topo->group->block->wide[op->seq % CTN_RINGS][slot][part];
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
        x->stage[slot] = ctn_heap_alloc(op->exec->heap, 4096,
                                        CTN_PARTS * CTN_LARGE_PART_BYTES);
    }
    return x->stage != NULL &&
                   ctn_heap_contains(op->exec->heap, x->stage[slot], 1, &offset)
               ? offset | AT_STAGE
               : CTN_STAGED;
}

/** What to say of where a slot's incoming block is to go. In place the partner
 * may write only what has been sent: staged. */
static uint64_t place_for(const ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot,
                          const ctn_span_t *block)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint64_t offset =
        x->in_place ? CTN_STAGED : ctn_span_place(op->exec, block);
    stream->place = CTN_PLACE_BUFFER;
    if (offset == CTN_STAGED) {
        offset = block->bytes > CTN_PARTS * CTN_PART_BYTES
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
               ? own_wide(op, x, slot, part % CTN_PARTS)
               : x->stage[slot] + part % CTN_PARTS * CTN_LARGE_PART_BYTES;
}

/** One part of a staged block has come. */
static ctn_step_t receive_part(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                               uint32_t slot, const ctn_span_t *block)
{
    ctn_stream_t *stream = &x->stream[slot];
    size_t size = part_size(stream->place);
    uint32_t parts = parts_of(block->bytes, size);
    uint32_t part = stream->parts_received++;
    ctn_span_write(op->exec, block, part * size,
                   bytes_of_part(block->bytes, size, part),
                   stage_of(op, x, slot, part));
    if (stream->parts_received == parts) {
        return CTN_STEP_NEXT;
    }
    if (part + CTN_PARTS >= parts) {
        return CTN_STEP_MOVED;
    }
    return grant(op, x, member(x, peer),
                 stream->place == CTN_PLACE_WIDE ? CTN_STAGED
                                                 : stage_at(op, x, slot),
                 stream->parts_received);
}

/** Grant a slot's round if it has to be and has not been. WAIT: not so. */
static ctn_step_t grant_round(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t round = round_of(x, slot, stream->receive_turn);
    uint32_t peer = receive_peer(x, round);
    passage_t passage =
        passage_of(x, bytes_of(x, x->receive, round, peer), peer);
    if (stream->granted ||
        (passage != PASSAGE_GRANTED && stream->receive_turn == 0)) {
        return CTN_STEP_WAIT;
    }
    ctn_span_t block = block_of(x, x->receive, round, peer);
    /* Counts come round again after many turns, all of which may have been
     * empty: nobody writes here before the grant is out. */
    ctn_slot_t *own = ctn_op_slot(op, slot);
    ctn_word_store(&own->word[0], 0);
    ctn_word_store(&own->word[1], 0);
    stream->granted = true;
    return grant(op, x, member(x, peer),
                 passage == PASSAGE_GRANTED ? place_for(op, x, slot, &block)
                                            : CTN_STAGED,
                 0);
}

static ctn_step_t receive_round(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t round = round_of(x, slot, stream->receive_turn);
    uint32_t peer = receive_peer(x, round);
    passage_t passage =
        passage_of(x, bytes_of(x, x->receive, round, peer), peer);
    ctn_step_t granted = grant_round(op, x, slot);
    if (granted != CTN_STEP_WAIT) {
        return granted;
    }
    if (!has_come(op, x, slot)) {
        op->waits_for = rank_of(x, peer);
        return CTN_STEP_WAIT;
    }
    ctn_span_t block = block_of(x, x->receive, round, peer);
    if (passage == PASSAGE_INLINE) {
        ctn_span_write(op->exec, &block, 0, block.bytes,
                       ctn_op_slot(op, slot)->data);
    } else if (passage == PASSAGE_EAGER) {
        ctn_span_write(op->exec, &block, 0, block.bytes,
                       own_wide(op, x, slot, 0));
    } else if (stream->place != CTN_PLACE_BUFFER) {
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
            if (has_receive(x, slot, &stream->receive_turn)) {
                got = grant_round(op, x, slot);
                got = got == CTN_STEP_WAIT ? CTN_STEP_MOVED : got;
            }
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

/** What others wait for comes first: all grants, before anything is copied. Of
 * two that copy first and grant then, one would wait for the other to end. */
static ctn_step_t grant_all(ctn_op_t *op, ctn_pairwise_t *x)
{
    for (uint64_t left = x->open; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        if (has_receive(x, slot, &x->stream[slot].receive_turn) &&
            grant_round(op, x, slot) == CTN_STEP_FAIL) {
            return CTN_STEP_FAIL;
        }
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t advance_all(ctn_op_t *op, ctn_pairwise_t *x)
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
    return x->packed && ctn_bounce_has(op) ? CTN_STEP_WAIT : CTN_STEP_NEXT;
}

static ctn_step_t advance_rows(ctn_op_t *op, ctn_pairwise_t *x)
{
    if (ctn_rows_advance(op->exec, &x->rows)) {
        return CTN_STEP_NEXT;
    }
    op->waits_for = ctn_rows_missing(&x->rows);
    /* All that had come was taken: another look at once would find nothing. */
    return CTN_STEP_WAIT;
}

static void open_posted(ctn_op_t *op, ctn_pairwise_t *x)
{
    x->posted = (ctn_posted_t){.topo = x->topo,
                               .send = x->send,
                               .receive = x->receive,
                               .in_place = x->in_place};
    if (!x->announced) {
        ctn_posted_announce(op, x->topo, x->send, x->receive, x->in_place,
                            CTN_STAGED);
    }
    ctn_posted_begin(op, &x->posted);
}

static ctn_step_t advance_posted(ctn_op_t *op, ctn_pairwise_t *x)
{
    const ctn_posted_t *posted = &x->posted;
    bool moved = ctn_posted_advance(op, &x->posted);
    ctn_step_t rest = CTN_STEP_NEXT;
    if (posted->staged != 0 || posted->out_of_reach) {
        rest = advance_all(op, x);
    }
    if (rest == CTN_STEP_FAIL ||
        (rest == CTN_STEP_NEXT && (posted->unsent | posted->awaited) == 0)) {
        return rest;
    }
    return moved || rest == CTN_STEP_MOVED ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

static ctn_step_t advance_any(ctn_op_t *op, ctn_pairwise_t *x)
{
    return x->by_rows    ? advance_rows(op, x)
           : x->by_posts ? advance_posted(op, x)
                         : advance_all(op, x);
}

ctn_step_t ctn_pairwise_advance(ctn_op_t *op, ctn_pairwise_t *x)
{
    if (x->opened) {
        return advance_any(op, x);
    }
    x->opened = true;
    if (x->by_rows) {
        x->rows = (ctn_rows_t){.topo = x->topo,
                               .send = x->send,
                               .receive = x->receive,
                               .seq = op->seq,
                               .in_place = x->in_place};
        ctn_rows_begin(op->exec, &x->rows);
        return advance_rows(op, x);
    }
    if (x->by_posts) {
        open_posted(op, x);
    }
    if (grant_all(op, x) == CTN_STEP_FAIL) {
        return CTN_STEP_FAIL;
    }
    ctn_step_t step = advance_any(op, x);
    copy_own_block(op, x);
    return step == CTN_STEP_WAIT ? CTN_STEP_MOVED : step;
}
