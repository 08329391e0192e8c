#include "coll/pairwise.h"

#include <string.h>

static const ctn_member_t *member(const ctn_pairwise_t *x, uint32_t i)
{
    const ctn_roster_t *roster = &x->topo->roster;
    uint32_t index =
        x->order != NULL ? x->order[i] : roster->first[x->topo->node_index] + i;
    return &roster->member[index];
}

/** Its rank in the group. Polls ask for no more than this of most members, so
 * nothing of theirs is read where it is known. */
static uint32_t rank_of(const ctn_pairwise_t *x, uint32_t i)
{
    return x->order != NULL ? i : member(x, i)->rank;
}

/** The round of a slot's turn; n or more: there is none. */
static uint32_t round_of(const ctn_pairwise_t *x, uint32_t slot, uint32_t turn)
{
    return slot + turn * x->slots;
}

static uint32_t partner(const ctn_pairwise_t *x, uint32_t round)
{
    return round >= x->me ? round - x->me : round + x->n - x->me;
}

static const unsigned char *send_block(const ctn_pairwise_t *x,
                                       const ctn_member_t *to)
{
    return x->send + to->rank * x->bytes;
}

static unsigned char *receive_block(const ctn_pairwise_t *x,
                                    const ctn_member_t *from)
{
    return x->receive + from->rank * x->bytes;
}

uint64_t ctn_heap_place(ctn_exec_t *exec, const void *block, size_t bytes)
{
    uint64_t offset;
    return ctn_heap_contains(exec->heap, block, bytes, &offset) ? offset
                                                                : CTN_STAGED;
}

/** The count that announces `part` of a turn: a slot serves many, so it goes on
 * from where the earlier ones ended. */
static uint32_t count_of(const ctn_pairwise_t *x, uint32_t turn, uint32_t part)
{
    return turn * x->parts + part + 1;
}

static size_t part_bytes(const ctn_pairwise_t *x, uint32_t part)
{
    size_t rest = x->bytes - (size_t)part * CTN_PART_BYTES;
    return rest < CTN_PART_BYTES ? rest : CTN_PART_BYTES;
}

void ctn_pairwise_begin(ctn_op_t *op, ctn_pairwise_t *x)
{
    x->passage = x->bytes <= CTN_INLINE_BYTES ? CTN_PASSAGE_INLINE
                 : x->bytes <= CTN_PART_BYTES ? CTN_PASSAGE_WIDE
                                              : CTN_PASSAGE_GRANTED;
    /* In place the partner may write only what has been sent: staged. */
    x->receive_offset = x->in_place
                            ? CTN_STAGED
                            : ctn_heap_place(op->exec, x->receive,
                                             x->topo->roster.size * x->bytes);
    uint32_t most =
        x->passage == CTN_PASSAGE_INLINE ? CTN_SLOTS : CTN_WIDE_SLOTS;
    x->slots = x->n < most ? x->n : most;
    x->parts = (uint32_t)((x->bytes + CTN_PART_BYTES - 1) / CTN_PART_BYTES);
    x->open = x->slots == 64 ? UINT64_MAX : (UINT64_C(1) << x->slots) - 1;
    for (uint32_t s = 0; s < x->slots; s++) {
        x->stream[s] = (ctn_stream_t){0};
    }
    if (!x->in_place) {
        const ctn_member_t *self = member(x, x->me);
        ctn_exec_copy(op->exec, receive_block(x, self), send_block(x, self),
                      x->bytes);
    }
}

/* ---- sending ---- */

/** What a peer allows in this operation; NULL: nothing yet. */
static const ctn_grant_t *grant_of(const ctn_op_t *op, const ctn_pairwise_t *x,
                                   uint32_t rank)
{
    const ctn_grant_t *grant =
        &x->topo->grants[(op->seq % CTN_RINGS) * x->topo->roster.size + rank];
    return ctn_tag_matches(ctn_word_load(&grant->word), op->seq) ? grant : NULL;
}

static catena_status_t put(ctn_op_t *op, ctn_pairwise_t *x,
                           const ctn_member_t *to, const unsigned char *source,
                           size_t bytes, uint64_t offset, uint32_t slot,
                           uint32_t part)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, to->address.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    return ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, source), bytes, offset,
        ctn_slot_word_offset(to->address, op->channel->base, op->seq, slot,
                             part % CTN_PARTS),
        ctn_tag(op->seq, count_of(x, x->stream[slot].send_turn, part)),
        &op->pending);
}

static catena_status_t put_small(ctn_op_t *op, ctn_pairwise_t *x,
                                 const ctn_member_t *to, uint32_t slot)
{
    uint64_t offset = x->passage == CTN_PASSAGE_INLINE
                          ? ctn_slot_data_offset(to->address, op->channel->base,
                                                 op->seq, slot)
                          : ctn_wide_offset(to->address, op->seq, slot, 0);
    return put(op, x, to, send_block(x, to), x->bytes, offset, slot, 0);
}

/** Parts as far as the receiver has taken earlier ones. */
static catena_status_t put_parts(ctn_op_t *op, ctn_pairwise_t *x,
                                 const ctn_member_t *to, uint32_t slot,
                                 uint32_t taken)
{
    ctn_stream_t *stream = &x->stream[slot];
    catena_status_t status = CATENA_OK;
    while (status == CATENA_OK && stream->parts_sent < x->parts &&
           stream->parts_sent < taken + CTN_PARTS) {
        uint32_t part = stream->parts_sent++;
        status =
            put(op, x, to, send_block(x, to) + (size_t)part * CTN_PART_BYTES,
                part_bytes(x, part),
                ctn_wide_offset(to->address, op->seq, slot, part % CTN_PARTS),
                slot, part);
    }
    return status;
}

/** Send what may be sent of the slot's round. MOVED: something was; NEXT:
 * the round is over. */
static ctn_step_t send_round(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t peer = partner(x, round_of(x, slot, stream->send_turn));
    catena_status_t status;
    bool over = true;
    bool moved = true;
    if (x->passage != CTN_PASSAGE_GRANTED && stream->send_turn == 0) {
        status = put_small(op, x, member(x, peer), slot);
    } else {
        const ctn_grant_t *grant = grant_of(op, x, rank_of(x, peer));
        if (grant == NULL) {
            op->waits_for = rank_of(x, peer);
            return CTN_STEP_WAIT;
        }
        const ctn_member_t *to = member(x, peer);
        if (x->passage != CTN_PASSAGE_GRANTED) {
            status = put_small(op, x, to, slot);
        } else if (grant->offset != CTN_STAGED) {
            uint64_t at =
                grant->offset + x->topo->group->lane.chain.rank * x->bytes;
            status = put(op, x, to, send_block(x, to), x->bytes, at, slot, 0);
        } else {
            uint32_t before = stream->parts_sent;
            status = put_parts(op, x, to, slot,
                               ctn_tag_count(ctn_word_load(&grant->word)));
            moved = stream->parts_sent > before;
            over = stream->parts_sent == x->parts;
        }
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    return over ? CTN_STEP_NEXT : moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/* ---- receiving ---- */

static ctn_step_t grant(ctn_op_t *op, ctn_pairwise_t *x,
                        const ctn_member_t *from, uint32_t taken)
{
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, from->address.process, &endpoint);
    if (status == CATENA_OK) {
        uint64_t at =
            from->grants + ((op->seq % CTN_RINGS) * x->topo->roster.size +
                            x->topo->group->lane.chain.rank) *
                               sizeof(ctn_grant_t);
        status = ctn_put_signal(endpoint, &x->receive_offset,
                                sizeof(x->receive_offset),
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

static const unsigned char *own_wide(const ctn_op_t *op,
                                     const ctn_pairwise_t *x, uint32_t slot,
                                     uint32_t part)
{
    return x->topo->group->lane.block->wide[op->seq % CTN_RINGS][slot][part];
}

static ctn_step_t receive_staged(ctn_op_t *op, ctn_pairwise_t *x, uint32_t peer,
                                 uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t part = stream->parts_received;
    const uint64_t *word = &ctn_op_slot(op, slot)->word[part % CTN_PARTS];
    uint32_t count = count_of(x, stream->receive_turn, part);
    if (ctn_word_load(word) != ctn_tag(op->seq, count) ||
        !may_overwrite(op, x, stream, part)) {
        op->waits_for = rank_of(x, peer);
        return CTN_STEP_WAIT;
    }
    const ctn_member_t *from = member(x, peer);
    ctn_exec_copy(op->exec,
                  receive_block(x, from) + (size_t)part * CTN_PART_BYTES,
                  own_wide(op, x, slot, part % CTN_PARTS), part_bytes(x, part));
    stream->parts_received++;
    if (stream->parts_received == x->parts) {
        return CTN_STEP_NEXT;
    }
    return part + CTN_PARTS < x->parts
               ? grant(op, x, from, stream->parts_received)
               : CTN_STEP_MOVED;
}

static ctn_step_t receive_round(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    uint32_t peer = partner(x, round_of(x, slot, stream->receive_turn));
    if (!stream->granted &&
        (x->passage == CTN_PASSAGE_GRANTED || stream->receive_turn > 0)) {
        stream->granted = true;
        return grant(op, x, member(x, peer), 0);
    }
    if (x->passage == CTN_PASSAGE_GRANTED && x->receive_offset == CTN_STAGED) {
        return receive_staged(op, x, peer, slot);
    }
    if (ctn_word_load(&ctn_op_slot(op, slot)->word[0]) !=
            ctn_tag(op->seq, count_of(x, stream->receive_turn, 0)) ||
        !may_overwrite(op, x, stream, 0)) {
        op->waits_for = rank_of(x, peer);
        return CTN_STEP_WAIT;
    }
    const ctn_member_t *from = member(x, peer);
    if (x->passage == CTN_PASSAGE_INLINE) {
        ctn_exec_copy(op->exec, receive_block(x, from),
                      ctn_op_slot(op, slot)->data, x->bytes);
    } else if (x->passage == CTN_PASSAGE_WIDE) {
        ctn_exec_copy(op->exec, receive_block(x, from),
                      own_wide(op, x, slot, 0), x->bytes);
    }
    return CTN_STEP_NEXT;
}

/* ---- both ---- */

/** Whether a round is left; one in which a member would meet itself is
 * skipped. */
static bool has_round(const ctn_pairwise_t *x, uint32_t slot, uint32_t *turn)
{
    uint32_t round = round_of(x, slot, *turn);
    if (round < x->n && partner(x, round) == x->me) {
        ++*turn;
        round += x->slots;
    }
    return round < x->n;
}

static ctn_step_t advance_stream(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_stream_t *stream = &x->stream[slot];
    ctn_step_t sent = CTN_STEP_WAIT;
    ctn_step_t got = CTN_STEP_WAIT;
    if (has_round(x, slot, &stream->send_turn)) {
        sent = send_round(op, x, slot);
        if (sent == CTN_STEP_NEXT) {
            stream->send_turn++;
            stream->parts_sent = 0;
        }
    }
    if (has_round(x, slot, &stream->receive_turn) && sent != CTN_STEP_FAIL) {
        got = receive_round(op, x, slot);
        if (got == CTN_STEP_NEXT) {
            stream->receive_turn++;
            stream->parts_received = 0;
            stream->granted = false;
        }
    }
    if (sent == CTN_STEP_FAIL || got == CTN_STEP_FAIL) {
        return CTN_STEP_FAIL;
    }
    if (!has_round(x, slot, &stream->send_turn) &&
        !has_round(x, slot, &stream->receive_turn)) {
        return CTN_STEP_NEXT;
    }
    return sent == CTN_STEP_WAIT && got == CTN_STEP_WAIT ? CTN_STEP_WAIT
                                                         : CTN_STEP_MOVED;
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
    return x->open == 0 ? CTN_STEP_NEXT : result;
}
