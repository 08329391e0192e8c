/* The inline path (call/inline.h): its credit, its messages, and the calls and
 * requests that take it without phases. */

#include "neighbor/call/inline.h"

#include <string.h>

#include "exec/inline.h"
#include "neighbor/call/executor.h"

/* ---- credits ---- */

bool ctn_inline_may_send(ctn_inline_path_t *path, uint64_t seq)
{
    if (seq < path->allowed) {
        return true;
    }
    ctn_inline_sync(path);
    for (uint32_t o = 0; o < path->sends; o++) {
        if (!ctn_link_has_credit(&path->out[o], seq)) {
            return false;
        }
    }
    return true;
}

void ctn_inline_sync(const ctn_inline_path_t *path)
{
    for (uint32_t o = 0; o < path->sends; o++) {
        ctn_link_out_t *out = &path->out[o];
        if (out->complete + CTN_LINK_GENERATIONS < path->allowed) {
            out->complete = path->allowed - CTN_LINK_GENERATIONS;
        }
    }
}

void ctn_inline_all_received(ctn_inline_path_t *path, uint64_t seq)
{
    uint64_t allowed = ctn_link_completed_before(seq) + CTN_LINK_GENERATIONS;
    path->allowed = allowed > path->allowed ? allowed : path->allowed;
}

/* ---- copying ---- */

bool ctn_inline_may_zcopy(const ctn_exec_t *exec, const ctn_inline_path_t *path,
                          ctn_inline_exchange_t *x)
{
    if (x->blocks != NULL || x->in_place || x->send_step < 0 ||
        (x->bytes <= path->most_bytes &&
         !ctn_link_uses_posted(exec, x->bytes) &&
         !ctn_link_prefers_zcopy(exec, x->bytes))) {
        return false;
    }
    size_t before = (size_t)x->send_step * path->end[path->sends - 1].neighbor;
    return ctn_heap_contains(exec->heap, x->send, before + x->bytes,
                             &x->zcopy_offset);
}

/* ---- messages ---- */

/** The slot of operation `seq`. */
static inline ctn_slot_t *slot_of(const ctn_inline_end_t *end, uint64_t seq)
{
    return end->slots + ctn_link_generation(seq);
}

/** Where the data of a message lie: in the slot or in its eager buffer. */
static inline unsigned char *payload_of(const ctn_inline_end_t *end,
                                        uint64_t seq, size_t bytes)
{
    return bytes <= CTN_INLINE_BYTES
               ? slot_of(end, seq)->data
               : end->eager +
                     ctn_link_eager_at(seq, true, end->eager_bytes, bytes);
}

/** The block of sent message m. */
static inline unsigned char *sent_block(const ctn_inline_exchange_t *x,
                                        uint32_t m, size_t *bytes)
{
    if (x->blocks != NULL) {
        const ctn_span_t *block = x->blocks->send[m].block;
        *bytes = block->bytes;
        return block->base;
    }
    *bytes = x->bytes;
    return x->send + (ptrdiff_t)x->end[m].neighbor * x->send_step;
}

/** The target of received message m. */
static inline unsigned char *received_block(const ctn_inline_exchange_t *x,
                                            uint32_t m, size_t *bytes)
{
    if (x->blocks != NULL) {
        const ctn_span_t *block = x->blocks->receive[m].block;
        *bytes = block->bytes;
        return block->base;
    }
    *bytes = x->bytes;
    return x->recv + (ptrdiff_t)x->end[x->sends + m].neighbor * x->recv_step;
}

/** Posts the receive buffers of long blocks for senders that come later. In
 * place they still hold data to be sent. */
static void post_all(ctn_exec_t *exec, const ctn_inline_exchange_t *x,
                     uint64_t seq)
{
    for (uint32_t m = 0; m < x->receives && !x->in_place; m++) {
        size_t bytes;
        const unsigned char *into = received_block(x, m, &bytes);
        uint64_t offset;
        if (ctn_link_may_post(exec, into, bytes, &offset)) {
            const ctn_inline_end_t *end = &x->end[x->sends + m];
            const unsigned char *cts =
                (void *)&end->control->unsolicited[ctn_link_entry(seq)];
            (void)ctn_transfer_offer(exec, end->peer,
                                     (uint64_t)(cts - end->arena), seq, offset,
                                     bytes, ctn_link_cts_bytes(seq, bytes));
        }
    }
}

/** Sends a message through its slot or eager buffer. */
static inline void send_eager(ctn_exec_t *exec, const ctn_inline_exchange_t *x,
                              uint32_t m, uint64_t seq)
{
    const ctn_inline_end_t *end = &x->end[m];
    size_t bytes;
    const unsigned char *data = sent_block(x, m, &bytes);
    ctn_exec_copy(exec, payload_of(end, seq, bytes), data, bytes);
    ctn_exec_post(exec, &slot_of(end, seq)->word[0], ctn_flag(seq, bytes));
}

/** Sends a message of an exchange with long blocks: to the posted buffer of its
 * receiver, as zero-copy send, or like a short one. @return whether it is a
 * zero-copy send */
static bool send_long(ctn_exec_t *exec, const ctn_inline_exchange_t *x,
                      uint32_t m, uint64_t seq)
{
    const ctn_inline_end_t *end = &x->end[m];
    ctn_slot_t *slot = slot_of(end, seq);
    size_t bytes;
    uint64_t to;
    const unsigned char *data = sent_block(x, m, &bytes);
    if (ctn_link_is_posted(exec, end->control, seq, bytes, &to)) {
        ctn_exec_copy(exec, end->arena + to, data, bytes);
        ctn_exec_post(exec, &slot->word[0],
                      ctn_flag(seq, ctn_transfer_whole(bytes)));
        return false;
    }
    if (x->zcopy) {
        ctn_link_rts_t rts = {.bytes = bytes,
                              .place =
                                  x->zcopy_offset + (uint64_t)(data - x->send)};
        memcpy(slot->data, &rts, sizeof(rts));
        ctn_exec_post(exec, &slot->word[0], ctn_flag(seq, CTN_LINK_RTS));
        return true;
    }
    send_eager(exec, x, m, seq);
    return false;
}

/** send_all for long blocks. */
__attribute__((noinline)) static void
send_all_long(ctn_exec_t *exec, ctn_inline_exchange_t *x, uint64_t seq)
{
    post_all(exec, x, seq);
    for (uint32_t m = 0; m < x->sends; m++) {
        x->zcopied |= (uint64_t)send_long(exec, x, m, seq) << m;
    }
}

/** Copies the blocks from this rank to itself. */
CTN_COLD static void make_local_copies(ctn_exec_t *exec,
                                       const ctn_inline_exchange_t *x)
{
    const ctn_schedule_t *schedule = x->local_copies;
    for (uint32_t t = 0; t < schedule->local_copies; t++) {
        const ctn_local_copy_t *self = &schedule->local_copy[t];
        ctn_exec_copy(exec, x->recv + (ptrdiff_t)self->to.index * x->recv_step,
                      x->send + (ptrdiff_t)self->from.index * x->send_step,
                      x->bytes);
    }
}

/** The mask of all messages that this rank receives. */
static inline uint64_t all_received(const ctn_inline_exchange_t *x)
{
    return UINT64_MAX >> (64 - x->receives);
}

/** Sends all messages. No zero-copy send is to be read before. */
static inline void send_all(ctn_exec_t *exec, ctn_inline_exchange_t *x,
                            uint64_t seq)
{
    if (x->zcopy || x->bytes >= CTN_LINK_POSTED_MIN) {
        send_all_long(exec, x, seq);
    } else {
        for (uint32_t m = 0; m < x->sends; m++) {
            send_eager(exec, x, m, seq);
        }
    }
    if (x->local_copies != NULL) {
        make_local_copies(exec, x);
    }
}

/** Receives a message with another count in its flag than the length of its
 * block: one in the posted buffer, or a zero-copy message, which is copied.
 * False: its length or layout differs from what is expected. */
CTN_COLD static bool receive_other(ctn_exec_t *exec,
                                   const ctn_inline_end_t *end, uint64_t seq,
                                   uint32_t count, unsigned char *into,
                                   size_t bytes)
{
    if ((count & CTN_FRAGMENT_COUNT) != 0) {
        return true;
    }
    ctn_link_rts_t rts;
    memcpy(&rts, slot_of(end, seq)->data, sizeof(rts));
    if (count != CTN_LINK_RTS || rts.bytes != bytes || rts.layout.run != 0) {
        return false;
    }
    if (ctn_is_address(rts.place)) {
        const ctn_span_t block = {into, bytes, NULL};
        (void)ctn_read_place(exec, end->peer, rts.place, &block);
    } else {
        ctn_exec_copy(exec, into, end->arena + rts.place, bytes);
    }
    ctn_exec_post(exec, &end->control->zcopy_read[ctn_link_entry(seq)],
                  ctn_flag64(seq));
    return true;
}

/** Receives those of the missing messages that have arrived, as
 * ctn_inline_receive, whose result it adds to *mismatch. */
static inline void receive_arrived(ctn_exec_t *exec,
                                   const ctn_inline_exchange_t *x, uint64_t seq,
                                   uint64_t *missing, uint64_t *mismatch)
{
    for (uint64_t left = *missing; left != 0; left &= left - 1) {
        uint32_t m = (uint32_t)__builtin_ctzll(left);
        const ctn_inline_end_t *end = &x->end[x->sends + m];
        uint64_t word = ctn_word_load(&slot_of(end, seq)->word[0]);
        if (!ctn_flag_matches(word, seq)) {
            continue;
        }
        size_t bytes;
        unsigned char *into = received_block(x, m, &bytes);
        uint32_t count = ctn_flag_count(word);
        *missing &= ~(left & -left);
        if (count == bytes) {
            ctn_exec_copy(exec, into, payload_of(end, seq, bytes), bytes);
        } else if (!receive_other(exec, end, seq, count, into, bytes)) {
            *mismatch |= left & -left;
        }
    }
}

void ctn_inline_send(ctn_exec_t *exec, ctn_inline_exchange_t *x, uint64_t seq)
{
    x->missing = all_received(x);
    send_all(exec, x, seq);
}

uint64_t ctn_inline_receive(ctn_exec_t *exec, ctn_inline_exchange_t *x,
                            uint64_t seq)
{
    uint64_t mismatch = 0;
    receive_arrived(exec, x, seq, &x->missing, &mismatch);
    return mismatch;
}

bool ctn_inline_is_read(ctn_inline_exchange_t *x, uint64_t seq)
{
    for (uint64_t left = x->zcopied; left != 0; left &= left - 1) {
        const ctn_link_control_t *control =
            x->end[__builtin_ctzll(left)].control;
        if (ctn_word_load(&control->zcopy_read[ctn_link_entry(seq)]) ==
            ctn_flag64(seq)) {
            x->zcopied &= ~(left & -left);
        }
    }
    return x->zcopied == 0;
}

/* ---- without phases ---- */

/** Takes a number for an operation that runs without phases. False: another
 * operation is under way, other links were used last, words are to be zeroed,
 * or a generation is not free. */
static inline bool take_number(ctn_inline_path_t *path,
                               catena_neighborhood_t *neighborhood,
                               uint64_t *seq)
{
    const ctn_exec_t *exec = neighborhood->exec;
    ctn_sequence_t *sequence = &neighborhood->sequence;
    uint64_t next = sequence->started;
    if (neighborhood->ran != path->in || next != sequence->complete ||
        ctn_link_zeroes(next) || exec->active != NULL ||
        exec->status != CATENA_OK || exec->deaths != NULL ||
        (next >= path->allowed && !ctn_inline_may_send(path, next))) {
        return false;
    }
    *seq = next;
    sequence->started = next + 1;
    return true;
}

/** op->start of a persistent operation. False: nothing was done; the phases
 * have to run. The operation is then the only one in exec->active, so its list
 * pointers stay NULL. */
static bool start(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_exec_t *exec = op->exec;
    if (!x->rests || !take_number(x->path, x->neighborhood, &op->seq)) {
        return false;
    }
    ctn_inline_send(exec, &x->inlined, op->seq);
    ctn_exec_wake(exec);
    op->phase = CTN_EXCHANGE_SHORT;
    op->state = CTN_OP_ACTIVE;
    op->linked = true;
    exec->active = op;
    return true;
}

/** Whether this operation was started inline and is the only one under way: one
 * that started later would stand before it in exec->active, or have a higher
 * number. */
static inline bool is_sole(const ctn_op_t *op)
{
    const ctn_exchange_t *x = (const ctn_exchange_t *)(const void *)op->memory;
    return op->exec->active == op && op->next == NULL &&
           op->phase == CTN_EXCHANGE_SHORT && x->rests &&
           op->sequence->started == op->seq + 1;
}

/** Receives until all messages have arrived, or the context was aborted.
 * @return a mask of the messages that are left to the phases: some have a
 * mismatch */
static inline uint64_t receive_all(ctn_exec_t *exec,
                                   const ctn_inline_exchange_t *x, uint64_t seq,
                                   uint64_t missing, ctn_backoff_t *backoff)
{
    uint64_t mismatch = 0;
    do {
        receive_arrived(exec, x, seq, &missing, &mismatch);
    } while (missing != 0 && ctn_inline_yield(exec, backoff));
    return missing | mismatch;
}

/** Waits until all zero-copy sends have been read. False: the operation was
 * aborted. */
CTN_COLD static bool await_readers(ctn_exec_t *exec, ctn_inline_exchange_t *x,
                                   uint64_t seq, ctn_backoff_t *backoff)
{
    ctn_exec_wake(exec); /* the owners of zero-copy blocks */
    while (x->zcopied != 0 && !ctn_inline_is_read(x, seq)) {
        if (!ctn_inline_wait(exec, backoff)) {
            return false;
        }
    }
    return true;
}

/** Receives the messages in `missing`, and awaits the readers of the own ones.
 * False: the phases have to end the operation. */
static inline bool complete(ctn_exec_t *exec, ctn_exchange_t *x, uint64_t seq,
                            uint64_t missing)
{
    ctn_backoff_t backoff = {0};
    uint64_t left = receive_all(exec, &x->inlined, seq, missing, &backoff);
    if (left != 0) {
        x->inlined.missing = left;
        return false;
    }
    ctn_inline_all_received(x->path, seq);
    if (x->inlined.zcopied != 0 &&
        !await_readers(exec, &x->inlined, seq, &backoff)) {
        x->inlined.missing = 0;
        return false;
    }
    ctn_neighbor_record(x->of, x->collective, x->inlined.schedule, x->rule);
    return true;
}

/** Its op->wait. False: the phases have to end the operation. */
static bool wait(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (!is_sole(op) || !complete(op->exec, x, op->seq, x->inlined.missing)) {
        return false;
    }
    op->linked = false;
    op->waits_for = -1;
    op->exec->active = NULL;
    op->state = CTN_OP_DONE;
    op->status = op->exec->status;
    op->sequence->complete = op->sequence->started;
    if (op->recorded != 0) {
        ctn_recorder_op_ended(op);
    }
    return true;
}

void ctn_inline_request(ctn_op_t *op)
{
    const ctn_exchange_t *x = ctn_op_state(op);
    if (x->path != NULL && x->inlined.blocks == NULL) {
        op->start = start;
        op->wait = wait;
    }
}

/** The operation of a call with equal arguments, or NULL. */
static inline ctn_op_t *find_kept(ctn_inline_path_t *path,
                                  const ctn_neighbor_collective_t *collective,
                                  const ctn_arguments_t *args)
{
    ctn_inline_call_cache_t *cache = path->cache;
    cache += cache->collective != collective;
    return cache->collective == collective &&
                   cache->send_type == args->send.type &&
                   cache->recv_type == args->recv.type &&
                   cache->send_count == args->send.count &&
                   cache->recv_count == args->recv.count &&
                   args->send.buffer != NULL && args->recv.buffer != NULL &&
                   args->send.buffer != CATENA_IN_PLACE &&
                   args->recv.buffer != CATENA_IN_PLACE
               ? cache->op
               : NULL;
}

/** Ends a call that ran inline, but for messages with a mismatch. */
CTN_COLD static catena_status_t end_by_phases(ctn_op_t *op, uint64_t seq)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_exchange_set_buffers(x, x->inlined.send, x->inlined.recv);
    op->seq = seq;
    ctn_op_began(op, CTN_EXCHANGE_SHORT);
    return ctn_op_wait(op);
}

bool ctn_inline_call(const ctn_neighbor_collective_t *collective,
                     const ctn_arguments_t *args,
                     catena_neighborhood_t *neighborhood,
                     ctn_recorded_call_t *record, catena_status_t *status)
{
    ctn_inline_path_t *path = neighborhood->path;
    ctn_op_t *op = path != NULL ? find_kept(path, collective, args) : NULL;
    if (op == NULL) {
        return false;
    }
    ctn_exec_t *exec = neighborhood->exec;
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_call_moves(record, x->inlined.bytes);
    ctn_call_reduces(record, &x->by);
    /* The caller's buffers. catena writes only to receive buffers. */
    x->inlined.send = (unsigned char *)(uintptr_t)args->send.buffer;
    x->inlined.recv = (unsigned char *)(uintptr_t)args->recv.buffer;
    x->inlined.zcopy = ctn_inline_may_zcopy(exec, path, &x->inlined);
    uint64_t seq;
    if ((x->inlined.bytes > path->most_bytes && !x->inlined.zcopy) ||
        !x->rests || !take_number(path, neighborhood, &seq)) {
        return false;
    }
    send_all(exec, &x->inlined, seq);
    ctn_exec_wake(exec);
    if (!complete(exec, x, seq, all_received(&x->inlined))) {
        *status = end_by_phases(op, seq);
        return true;
    }
    neighborhood->sequence.complete = seq + 1;
    *status = exec->status;
    return true;
}
