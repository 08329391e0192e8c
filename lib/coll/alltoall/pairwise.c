/* The rounds of an exchange: which slots have something to send or to receive;
 * and the choice of the shorter paths on a node. See pairwise.h. */

#include "coll/alltoall/pairwise_stream.h"

#include <stdlib.h>
#include <string.h>

#include "coll/alltoall/aggregated.h"
#include "exec/message.h"
#include "exec/slot.h"

/* ---- beginning and end ---- */

/** Return whether all blocks are inline in a slot. */
static bool is_inline(const ctn_pairwise_t *x)
{
    return x->list == NULL && x->receive->counts == NULL &&
           x->receive->bytes <= CTN_LINE_BYTES;
}

/** Number of slots to use (W). Only blocks that are inline everywhere can use
 * the slots that have no eager buffer. */
static uint32_t slots_for(const ctn_pairwise_t *x)
{
    uint32_t most =
        is_inline(x) ? CTN_PAIRWISE_SLOTS : CTN_PAIRWISE_EAGER_SLOTS;
    if (x->window > 0 && x->window < most) {
        most = x->window;
    }
    return x->n < most ? x->n : most;
}

void ctn_pairwise_extend(ctn_pairwise_t *x, uint32_t limit)
{
    x->limit = limit;
    x->open = x->slots == 64 ? UINT64_MAX : (UINT64_C(1) << x->slots) - 1;
    if (x->slots == x->n && x->list == NULL) {
        /* Each slot has one round, and nothing moves in the one in which this
         * member is its own partner. */
        x->open &= ~(UINT64_C(1) << pairwise_own_round(x));
    }
}

/** Whether the exchange takes the path of posted.c: blocks of one length among
 * all members of a node, too long for eager rows. */
static bool goes_by_posted(const ctn_pairwise_t *x)
{
    return x->list == NULL && x->window == 0 && x->receive->counts == NULL &&
           x->n == ctn_topo_local_size(x->topo) &&
           x->n <= CTN_EAGER_ROWS_MEMBERS;
}

void ctn_pairwise_begin(ctn_pairwise_t *x)
{
    ctn_pairwise_clear(x);
    x->opened = false;
    x->status = CATENA_OK;
    x->peer_checks = x->topo->group->exec->peer_checks;
    x->by_posted = false;
    x->by_eager_rows =
        x->list == NULL && x->window == 0 && x->receive->counts == NULL &&
        x->n == ctn_topo_local_size(x->topo) &&
        ctn_eager_rows_fit(x->receive->bytes, x->n, x->topo->oversubscribed);
    if (x->by_eager_rows) {
        return;
    }
    x->slots = slots_for(x);
    memset(x->stream, 0, x->slots * sizeof(x->stream[0]));
    ctn_pairwise_extend(x, x->n);
    x->by_posted = goes_by_posted(x);
}

void ctn_pairwise_mismatch(ctn_pairwise_t *x, uint32_t other, bool sends,
                           uint64_t found, uint64_t expected)
{
    uint32_t rank = pairwise_rank_of(x, other);
    uint32_t me = x->topo->group->chain.place.rank;
    x->status = CATENA_ERR_ARG;
    if (found !=
        PAIRWISE_NOTHING) { /* else another rank has reported the reason */
        const char *call = x->receive->types != NULL    ? "alltoallw"
                           : x->receive->counts != NULL ? "alltoallv"
                                                        : "alltoall";
        (void)ctn_message_report_length(x->topo->group->exec, call,
                                        sends ? rank : me, sends ? me : rank,
                                        found, expected);
    }
}

/** Copy this member's block for itself. */
static void copy_own_block(ctn_op_t *op, ctn_pairwise_t *x)
{
    if (x->in_place || x->list != NULL) {
        return;
    }
    uint32_t me = pairwise_rank_of(x, x->me);
    ctn_span_t source = ctn_blocks_at(x->send, me);
    ctn_span_t target = ctn_blocks_at(x->receive, me);
    if (source.bytes != target.bytes) {
        ctn_pairwise_mismatch(x, x->me, true, source.bytes, target.bytes);
    } else if (source.bytes > 0) {
        ctn_span_copy(op->exec, &target, &source);
    }
}

void ctn_pairwise_finish(const ctn_op_t *op, ctn_pairwise_t *x)
{
    for (uint32_t slot = 0; x->transfer != NULL && slot < x->slots; slot++) {
        ctn_transfer_recv_close(op, &x->transfer[slot]);
    }
    for (uint32_t slot = 0;
         x->has_posted && slot < x->slots && op->status != CATENA_OK; slot++) {
        pairwise_cancel(op, slot);
    }
    ctn_posted_finish(op, x);
    x->transfer = NULL;
    free(x->records);
    x->records = NULL;
}

/* ---- the rounds of a slot ---- */

/** Whether the blocks for and from a peer do not use slots: they go by buffer
 * descriptors, or are not exchanged because their lengths differ. */
static inline bool is_posted(const ctn_pairwise_t *x, uint32_t peer)
{
    return x->by_posted &&
           ((x->posted.undecided | x->posted.staged) >> peer & 1) == 0;
}

/** Whether a slot has another round with something to send; *turn is advanced
 * to it. */
static inline bool has_send(const ctn_pairwise_t *x, uint32_t slot,
                            uint32_t *turn)
{
    uint32_t round = pairwise_round_of(x, slot, *turn);
    while (round < x->limit &&
           (is_posted(x, pairwise_send_peer(x, round)) ||
            pairwise_bytes_of(x, x->send, round,
                              pairwise_send_peer(x, round)) == 0)) {
        ++*turn;
        round += x->slots;
    }
    return round < x->limit;
}

/** Whether a slot has another round with something to receive; *turn is
 * advanced to it. */
static inline bool has_receive(ctn_pairwise_t *x, uint32_t slot, uint32_t *turn)
{
    uint32_t round = pairwise_round_of(x, slot, *turn);
    while (round < x->limit &&
           (is_posted(x, pairwise_receive_peer(x, round)) ||
            pairwise_bytes_of(x, x->receive, round,
                              pairwise_receive_peer(x, round)) == 0)) {
        ++*turn;
        round += x->slots;
        x->stream[slot].prepared = false;
    }
    return round < x->limit;
}

/** Send and receive what is possible in one slot. NEXT: it has no more rounds.
 */
static ctn_step_t advance_stream(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot)
{
    ctn_pairwise_stream_t *stream = &x->stream[slot];
    ctn_step_t sent = CTN_STEP_NEXT;
    ctn_step_t got = CTN_STEP_NEXT;
    bool moved = false;
    if (has_send(x, slot, &stream->send_turn)) {
        sent = ctn_pairwise_send(op, x, slot);
        if (sent == CTN_STEP_NEXT) {
            stream->send_turn++;
            stream->fragments_sent = 0;
            stream->rts_sent = false;
            moved = true;
            sent = has_send(x, slot, &stream->send_turn) ? CTN_STEP_MOVED
                                                         : CTN_STEP_NEXT;
        }
    }
    if (sent != CTN_STEP_FAIL && has_receive(x, slot, &stream->receive_turn)) {
        got = ctn_pairwise_receive(op, x, slot);
        if (got == CTN_STEP_NEXT) {
            stream->receive_turn++;
            stream->prepared = false;
            moved = true;
            if (has_receive(x, slot, &stream->receive_turn)) {
                got = ctn_pairwise_send_cts(op, x, slot);
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

bool ctn_pairwise_awaits_remote(const ctn_pairwise_t *x)
{
    for (uint64_t left = x->open; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        for (uint32_t round =
                 pairwise_round_of(x, slot, x->stream[slot].receive_turn);
             round < x->limit; round += x->slots) {
            uint32_t peer = pairwise_receive_peer(x, round);
            if (pairwise_is_remote(x, peer) &&
                pairwise_bytes_of(x, x->receive, round, peer) > 0) {
                return true;
            }
        }
    }
    return false;
}

/** Send every CTS of the first rounds. This comes before any copy, since other
 * ranks wait for it: a member that copied first would hold up its senders. */
static ctn_step_t send_all_cts(ctn_op_t *op, ctn_pairwise_t *x)
{
    for (uint64_t left = x->open; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        if (has_receive(x, slot, &x->stream[slot].receive_turn) &&
            ctn_pairwise_send_cts(op, x, slot) == CTN_STEP_FAIL) {
            return CTN_STEP_FAIL;
        }
    }
    return CTN_STEP_NEXT;
}

/** Advance all slots with unfinished rounds. */
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
        if (result == CTN_STEP_WAIT &&
            op->exec->peer_checks != x->peer_checks) {
            /* advance_stream has sent the late CTS. */
            x->peer_checks = op->exec->peer_checks;
            if (x->by_rank != NULL) { /* else the operation may aggregate */
                ctn_aggregated_check_mismatch(op, x->topo, 0);
            }
        }
        return result;
    }
    return CTN_STEP_NEXT;
}

/** Advance an exchange in eager rows. */
static ctn_step_t advance_eager_rows(ctn_op_t *op, ctn_pairwise_t *x)
{
    if (ctn_eager_rows_advance(op->exec, &x->rows)) {
        x->status = x->rows.status;
        return CTN_STEP_NEXT;
    }
    op->waits_for = ctn_eager_rows_missing(&x->rows);
    /* Not MOVED, although some rows may have been read: an immediate second
     * poll would find nothing. */
    return CTN_STEP_WAIT;
}

/** Advance an exchange by buffer descriptors, and the blocks that it leaves to
 * the slots. */
static ctn_step_t advance_posted(ctn_op_t *op, ctn_pairwise_t *x)
{
    const ctn_posted_t *posted = &x->posted;
    bool moved = ctn_posted_advance(op, x);
    ctn_step_t rest = CTN_STEP_NEXT; /* of the blocks that use slots */
    if (posted->staged != 0) {
        rest = advance_all(op, x);
    }
    if (rest == CTN_STEP_FAIL ||
        (rest == CTN_STEP_NEXT && (posted->undecided | posted->awaited) == 0)) {
        return rest;
    }
    return moved || rest == CTN_STEP_MOVED ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

static ctn_step_t advance_any(ctn_op_t *op, ctn_pairwise_t *x)
{
    return x->by_eager_rows ? advance_eager_rows(op, x)
           : x->by_posted   ? advance_posted(op, x)
                            : advance_all(op, x);
}

ctn_step_t ctn_pairwise_end(ctn_op_t *op, const ctn_pairwise_t *x)
{
    if (x->status == CATENA_OK) {
        return CTN_STEP_NEXT;
    }
    op->clean = true;
    return ctn_op_fail(op, x->status);
}

/** How many eager buffers receive blocks of this exchange. */
static uint32_t eager_buffers_of(const ctn_pairwise_t *x)
{
    if (!pairwise_is_pair(x)) {
        return x->slots;
    }
    uint32_t other = 1 - x->me;
    size_t bytes = ctn_blocks_bytes(x->receive, other);
    return bytes > CTN_ROTATE_ABOVE &&
                   pairwise_protocol_of(x, bytes, other) == PAIRWISE_EAGER
               ? PAIRWISE_PAIR_BUFFERS
               : x->slots;
}

ctn_step_t ctn_pairwise_advance(ctn_op_t *op, ctn_pairwise_t *x)
{
    if (x->opened) {
        return advance_any(op, x);
    }
    x->opened = true;
    if (x->by_eager_rows) {
        x->rows = (ctn_eager_rows_t){.topo = x->topo,
                                     .send = x->send,
                                     .receive = x->receive,
                                     .seq = op->seq,
                                     .in_place = x->in_place};
        ctn_eager_rows_begin(op->exec, &x->rows);
        return advance_eager_rows(op, x);
    }
    /* Mark all slots as used, so that they are cleared between operations: a
     * block of unexpected length may arrive in any of them. */
    (void)ctn_op_slot(op, x->slots > 0 ? x->slots - 1 : 0);
    if (!is_inline(x) && x->n > 1 &&
        ctn_group_take_eager(x->topo->group, eager_buffers_of(x)) !=
            CATENA_OK) {
        /* the other members wait for this one */
        return ctn_op_fail(op, ctn_op_give_up(op, CATENA_ERR_NO_MEMORY));
    }
    if (x->by_posted) {
        ctn_posted_begin(op, x);
    }
    if (send_all_cts(op, x) == CTN_STEP_FAIL) {
        return CTN_STEP_FAIL;
    }
    ctn_step_t step = advance_any(op, x);
    copy_own_block(op, x);
    return step == CTN_STEP_WAIT ? CTN_STEP_MOVED : step;
}
