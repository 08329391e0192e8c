/* The inline path (call/inline.h): its credit, its messages, and the calls and
 * requests that take it without phases. */

#include "neighbor/call/inline.h"

#include <string.h>

#include "exec/inline.h"
#include "neighbor/call/call.h"

/* ---- credits ---- */

/** Operations below this number have a free generation in this link. */
static uint64_t allowed_by(const ctn_link_out_t *out)
{
    uint64_t stored = ctn_word_load(&out->control->complete);
    return (stored > out->complete ? stored : out->complete) +
           CTN_LINK_GENERATIONS;
}

/** Raises neighborhood->allowed to what all links allow: the general path may
 * have raised their counts. */
static void ask_links(catena_neighborhood_t *neighborhood)
{
    const ctn_inline_path_t *path = neighborhood->path;
    uint64_t allowed = UINT64_MAX;
    for (uint32_t o = 0; o < path->sends; o++) {
        uint64_t by = allowed_by(&path->out[o]);
        allowed = by < allowed ? by : allowed;
    }
    if (allowed > neighborhood->allowed) {
        neighborhood->allowed = allowed;
    }
}

void ctn_inline_sync(catena_neighborhood_t *neighborhood)
{
    const ctn_inline_path_t *path = neighborhood->path;
    for (uint32_t o = 0; neighborhood->ahead && o < path->sends; o++) {
        uint64_t complete = neighborhood->allowed - CTN_LINK_GENERATIONS;
        if (path->out[o].complete < complete) {
            path->out[o].complete = complete;
        }
    }
    neighborhood->ahead = false;
}

CTN_HOT bool ctn_inline_may_send(catena_neighborhood_t *neighborhood,
                                 uint64_t seq)
{
    if (seq >= neighborhood->allowed) {
        ask_links(neighborhood);
    }
    return seq < neighborhood->allowed;
}

CTN_HOT void ctn_inline_all_received(catena_neighborhood_t *neighborhood,
                                     uint64_t seq)
{
    uint64_t allowed = ctn_link_completed_before(seq) + CTN_LINK_GENERATIONS;
    if (allowed > neighborhood->allowed) {
        neighborhood->allowed = allowed;
    }
    neighborhood->ahead = true;
}

/* ---- copying ---- */

bool ctn_inline_may_zcopy(const ctn_exec_t *exec, const ctn_inline_path_t *path,
                          ctn_inline_exchange_t *x)
{
    if (x->blocks != NULL || x->in_place || x->send_step < 0 ||
        (x->bytes <= path->most_bytes &&
         !ctn_link_uses_posted(exec, x->bytes))) {
        return false;
    }
    size_t before = (size_t)x->send_step * path->end[path->sends - 1].neighbor;
    return ctn_heap_contains(exec->heap, x->send, before + x->bytes,
                             &x->zcopy_offset);
}

/** Copies a block of 1 to 15 bytes. */
static inline void copy_short(unsigned char *target,
                              const unsigned char *source, size_t bytes)
{
    if (bytes >= 8) { /* the two copies may overlap */
        uint64_t first, last;
        memcpy(&first, source, 8);
        memcpy(&last, source + bytes - 8, 8);
        memcpy(target, &first, 8);
        memcpy(target + bytes - 8, &last, 8);
        return;
    }
    for (size_t i = 0; i < bytes; i++) { /* volatile: not a call of memcpy */
        *(volatile unsigned char *)&target[i] = source[i];
    }
}

/** Copies a block that is not empty. Short ones in a loop, unrolled only twice,
 * so that its code takes few cache lines: on oversubscribed cores a rank finds
 * its caches cold whenever it runs. The last 16 bytes are copied apart and may
 * overlap those before. */
CTN_HOT_POLL static void copy(ctn_exec_t *exec, unsigned char *target,
                              const unsigned char *source, size_t bytes)
{
    enum { VECTOR = 16, SHORT_BYTES = 1024 };
    if (bytes > SHORT_BYTES || exec->drop_data) {
        ctn_exec_copy(exec, target, source, bytes);
        return;
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
    if (bytes < VECTOR) {
        copy_short(target, source, bytes);
        return;
    }
#pragma GCC unroll 2
    for (size_t at = 0; at < bytes - VECTOR; at += VECTOR) {
        memcpy(target + at, source + at, VECTOR);
    }
    memcpy(target + bytes - VECTOR, source + bytes - VECTOR, VECTOR);
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
                     ctn_link_generation(seq) * (size_t)end->eager_bytes;
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
static void post_all(const ctn_exec_t *exec, const ctn_inline_exchange_t *x,
                     uint64_t seq)
{
    for (uint32_t m = 0; m < x->receives && !x->in_place; m++) {
        size_t bytes;
        const unsigned char *into = received_block(x, m, &bytes);
        uint64_t offset;
        if (ctn_link_may_post(exec, into, bytes, &offset)) {
            (void)ctn_link_post(slot_of(&x->end[x->sends + m], seq), seq,
                                offset, bytes);
        }
    }
}

/** Sends a message: to the posted buffer of its receiver, as zero-copy send, or
 * through slot or eager buffer. @return whether it is a zero-copy send */
static inline bool send_message(ctn_exec_t *exec,
                                const ctn_inline_exchange_t *x, uint32_t m,
                                uint64_t seq)
{
    const ctn_inline_end_t *end = &x->end[m];
    ctn_slot_t *slot = slot_of(end, seq);
    size_t bytes;
    uint64_t to;
    const unsigned char *data = sent_block(x, m, &bytes);
    if (ctn_link_is_posted(exec, slot, seq, bytes, &to)) {
        copy(exec, end->arena + to, data, bytes);
        ctn_exec_post(exec, &slot->word[0], ctn_flag(seq, CTN_LINK_PUT));
        return false;
    }
    if (x->zcopy) {
        ctn_link_rts_t rts = {.bytes = bytes,
                              .offset =
                                  x->zcopy_offset + (uint64_t)(data - x->send)};
        memcpy(slot->data, &rts, sizeof(rts));
        ctn_exec_post(exec, &slot->word[0], ctn_flag(seq, CTN_LINK_ZCOPY));
        return true;
    }
    copy(exec, payload_of(end, seq, bytes), data, bytes);
    ctn_exec_post(exec, &slot->word[0], ctn_flag(seq, bytes));
    return false;
}

/** Copies the blocks from this rank to itself. */
CTN_COLD static void make_local_copies(ctn_exec_t *exec,
                                       const ctn_inline_exchange_t *x)
{
    const ctn_schedule_t *schedule = x->local_copies;
    for (uint32_t t = 0; t < schedule->local_copies; t++) {
        const ctn_local_copy_t *self = &schedule->local_copy[t];
        copy(exec, x->recv + (ptrdiff_t)self->to.index * x->recv_step,
             x->send + (ptrdiff_t)self->from.index * x->send_step, x->bytes);
    }
}

static inline void send_all(ctn_exec_t *exec, ctn_inline_exchange_t *x,
                            uint64_t seq)
{
    x->missing = UINT64_MAX >> (64 - x->receives);
    x->zcopied = 0;
    if (x->bytes >= CTN_LINK_POSTED_MIN) {
        post_all(exec, x, seq);
    }
    for (uint32_t m = 0; m < x->sends; m++) {
        x->zcopied |= (uint64_t)send_message(exec, x, m, seq) << m;
    }
    if (x->local_copies != NULL) {
        make_local_copies(exec, x);
    }
}

/** Copies a zero-copy message if its length and layout are as expected. */
CTN_COLD static bool read_zcopy(ctn_exec_t *exec, const ctn_inline_end_t *end,
                                uint64_t seq, unsigned char *into, size_t bytes)
{
    ctn_link_rts_t rts;
    memcpy(&rts, slot_of(end, seq)->data, sizeof(rts));
    if (rts.bytes != bytes || rts.layout.run != 0) {
        return false;
    }
    copy(exec, into, end->arena + rts.offset, bytes);
    ctn_exec_post(exec, &end->control->zcopy_read[ctn_link_entry(seq)],
                  ctn_flag64(seq));
    return true;
}

static inline uint64_t receive_arrived(ctn_exec_t *exec,
                                       ctn_inline_exchange_t *x, uint64_t seq)
{
    uint64_t mismatch = 0;
    for (uint64_t left = x->missing; left != 0; left &= left - 1) {
        uint32_t m = (uint32_t)__builtin_ctzll(left);
        const ctn_inline_end_t *end = &x->end[x->sends + m];
        uint64_t word = ctn_word_load(&slot_of(end, seq)->word[0]);
        if (!ctn_flag_matches(word, seq) || ctn_link_word_is_posted(word)) {
            continue;
        }
        size_t bytes;
        unsigned char *into = received_block(x, m, &bytes);
        uint32_t count = ctn_flag_count(word);
        x->missing &= ~(left & -left);
        if (count == bytes) {
            copy(exec, into, payload_of(end, seq, bytes), bytes);
        } else if (count != CTN_LINK_PUT &&
                   (count != CTN_LINK_ZCOPY ||
                    !read_zcopy(exec, end, seq, into, bytes))) {
            mismatch |= left & -left;
        }
    }
    return mismatch;
}

CTN_HOT void ctn_inline_send(ctn_exec_t *exec, ctn_inline_exchange_t *x,
                             uint64_t seq)
{
    send_all(exec, x, seq);
}

CTN_HOT uint64_t ctn_inline_receive(ctn_exec_t *exec, ctn_inline_exchange_t *x,
                                    uint64_t seq)
{
    return receive_arrived(exec, x, seq);
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
 * or a generation is not free.
 * @param in schedule->in */
static inline bool take_number(catena_neighborhood_t *neighborhood,
                               const ctn_link_in_t *in, uint64_t *seq)
{
    const ctn_exec_t *exec = neighborhood->exec;
    ctn_sequence_t *sequence = &neighborhood->sequence;
    uint64_t next = sequence->started;
    if (neighborhood->ran != in || next != sequence->complete ||
        ctn_link_zeroes(next) || exec->active != NULL ||
        exec->status != CATENA_OK ||
        (next >= neighborhood->allowed &&
         !ctn_inline_may_send(neighborhood, next))) {
        return false;
    }
    *seq = next;
    sequence->started = next + 1;
    return true;
}

/** Receives until all messages have arrived, or the operation was aborted.
 * @return a mask of those with a mismatch */
static inline uint64_t receive_all(ctn_exec_t *exec, ctn_inline_exchange_t *x,
                                   uint64_t seq, ctn_backoff_t *backoff)
{
    uint64_t mismatch = 0;
    do {
        mismatch |= receive_arrived(exec, x, seq);
    } while (x->missing != 0 && ctn_inline_yield(exec, backoff));
    return mismatch;
}

/** Waits until all zero-copy sends have been read. False: the operation was
 * aborted. */
static inline bool await_readers(ctn_exec_t *exec, ctn_inline_exchange_t *x,
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

/** Ends an operation that took its number with take_number. @return its status
 */
static inline catena_status_t end_number(catena_neighborhood_t *neighborhood)
{
    neighborhood->sequence.complete = neighborhood->sequence.started;
    return neighborhood->exec->status;
}

/** The cache entry of a call, of the two for both patterns, or NULL. */
static inline ctn_inline_call_cache_t *
find_cached(ctn_inline_path_t *path,
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
               ? cache
               : NULL;
}

/** Messages with a mismatch take the general path, which reports it. This
 * enters the call into the cache again. */
CTN_COLD static catena_status_t
end_mismatch(ctn_inline_call_cache_t *cache, const ctn_arguments_t *args,
             catena_neighborhood_t *neighborhood, uint64_t seq,
             uint64_t mismatch)
{
    ctn_exchange_t x = {.collective = cache->collective};
    uint64_t zcopied = cache->exchange.zcopied;
    catena_status_t status =
        ctn_neighbor_validate(cache->collective, args, neighborhood, &x);
    status =
        status == CATENA_OK ? ctn_exchange_rest(&x, seq, mismatch) : status;
    cache->exchange.zcopied = zcopied;
    return status;
}

CTN_HOT_POLL bool ctn_inline_call(const ctn_neighbor_collective_t *collective,
                                  const ctn_arguments_t *args,
                                  catena_neighborhood_t *neighborhood,
                                  catena_status_t *status)
{
    ctn_exec_t *exec = neighborhood->exec;
    ctn_inline_path_t *path = neighborhood->path;
    ctn_inline_call_cache_t *cache =
        path != NULL ? find_cached(path, collective, args) : NULL;
    uint64_t seq;
    if (cache == NULL) {
        return false;
    }
    ctn_inline_exchange_t *x = &cache->exchange;
    /* The caller's buffers. catena writes only to receive buffers. */
    x->send = (unsigned char *)(uintptr_t)args->send.buffer;
    x->recv = (unsigned char *)(uintptr_t)args->recv.buffer;
    x->zcopy = ctn_inline_may_zcopy(exec, path, x);
    if ((x->bytes > path->most_bytes && !x->zcopy) ||
        !take_number(neighborhood, path->in, &seq)) {
        return false;
    }
    ctn_backoff_t backoff = {0};
    send_all(exec, x, seq);
    ctn_exec_wake(exec);
    uint64_t mismatch = receive_all(exec, x, seq, &backoff);
    ctn_neighbor_record(neighborhood, collective, cache->schedule);
    ctn_inline_all_received(neighborhood, seq);
    /* Releases messages with a mismatch before this rank waits for its own
     * zero-copy sends, since their senders may wait for the release. */
    *status = mismatch != 0
                  ? end_mismatch(cache, args, neighborhood, seq, mismatch)
                  : CATENA_OK;
    (void)await_readers(exec, x, seq, &backoff);
    catena_status_t ended = end_number(neighborhood);
    *status = ended != CATENA_OK ? ended : *status;
    return true;
}

/* ---- requests ---- */

/** op->start of a persistent request. False: nothing was done; the phases have
 * to run. The request is then the only operation in exec->active, so its list
 * pointers stay NULL. */
CTN_HOT_POLL static bool start(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_exec_t *exec = op->exec;
    if (!x->rests || !take_number(x->neighborhood, x->path->in, &op->seq)) {
        return false;
    }
    send_all(exec, &x->inlined, op->seq);
    ctn_exec_wake(exec);
    x->neighborhood->begun = op->seq + 1;
    x->sole = true;
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
    return op->exec->active == op && op->phase == CTN_EXCHANGE_SHORT &&
           x->sole && x->rests && op->sequence->started == op->seq + 1;
}

/** Its op->wait. False: the phases have to end the operation. */
CTN_HOT_POLL static bool wait(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_backoff_t backoff = {0};
    if (!is_sole(op)) {
        return false;
    }
    /* Messages with a mismatch are left to the phases. */
    uint64_t mismatch = receive_all(op->exec, &x->inlined, op->seq, &backoff);
    x->inlined.missing |= mismatch;
    if (x->inlined.missing != 0) {
        return false;
    }
    ctn_inline_all_received(x->neighborhood, op->seq);
    if (!await_readers(op->exec, &x->inlined, op->seq, &backoff)) {
        return false;
    }
    ctn_neighbor_record(x->of, x->collective, x->execution->schedule->copy_of);
    op->linked = false;
    op->exec->active = NULL;
    op->state = CTN_OP_DONE;
    op->status = end_number(x->neighborhood);
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
