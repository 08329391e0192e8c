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
static void copy(ctn_exec_t *exec, unsigned char *target,
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
                                     bytes);
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
    if (ctn_link_is_posted(exec, end->control, seq, bytes, &to)) {
        copy(exec, end->arena + to, data, bytes);
        ctn_exec_post(exec, &slot->word[0],
                      ctn_flag(seq, ctn_transfer_whole(bytes)));
        return false;
    }
    if (x->zcopy) {
        ctn_link_rts_t rts = {.bytes = bytes,
                              .offset =
                                  x->zcopy_offset + (uint64_t)(data - x->send)};
        memcpy(slot->data, &rts, sizeof(rts));
        ctn_exec_post(exec, &slot->word[0], ctn_flag(seq, CTN_LINK_RTS));
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
        if (!ctn_flag_matches(word, seq)) {
            continue;
        }
        size_t bytes;
        unsigned char *into = received_block(x, m, &bytes);
        uint32_t count = ctn_flag_count(word);
        x->missing &= ~(left & -left);
        if (count == bytes) {
            copy(exec, into, payload_of(end, seq, bytes), bytes);
        } else if ((count & CTN_FRAGMENT_COUNT) == 0 &&
                   (count != CTN_LINK_RTS ||
                    !read_zcopy(exec, end, seq, into, bytes))) {
            mismatch |= left & -left;
        }
    }
    return mismatch;
}

void ctn_inline_send(ctn_exec_t *exec, ctn_inline_exchange_t *x, uint64_t seq)
{
    send_all(exec, x, seq);
}

uint64_t ctn_inline_receive(ctn_exec_t *exec, ctn_inline_exchange_t *x,
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

/** Whether an exchange whose last start went inline may do so again: this path
 * was used last, no words are to be zeroed, and the generation is free in all
 * links. */
static inline bool may_begin(const ctn_exchange_t *x)
{
    const catena_neighborhood_t *neighborhood = x->neighborhood;
    uint64_t next = neighborhood->sequence.started;
    return x->rests && neighborhood->ran == x->path->in &&
           !ctn_link_zeroes(next) && ctn_inline_may_send(x->path, next);
}

static bool op_may_begin(ctn_op_t *op)
{
    return may_begin(ctn_op_state(op));
}

static ctn_step_t publish(ctn_exec_t *exec, void *state, uint64_t seq,
                          catena_status_t *status)
{
    ctn_exchange_t *x = state;
    (void)status;
    x->seq = seq;
    x->complete = false;
    send_all(exec, &x->inlined, seq);
    return CTN_STEP_WAIT;
}

/** Receives what has arrived, then waits for the readers of zero-copy sends. */
static ctn_step_t collect(ctn_exec_t *exec, void *state, uint32_t loads,
                          catena_status_t *status)
{
    ctn_exchange_t *x = state;
    ctn_inline_exchange_t *inlined = &x->inlined;
    (void)loads;
    (void)status;
    if (inlined->missing != 0) {
        uint64_t mismatch = receive_arrived(exec, inlined, x->seq);
        if (mismatch != 0) { /* left to the phases */
            inlined->missing |= mismatch;
            ctn_exchange_set_buffers(x, inlined->send, inlined->recv);
            return CTN_STEP_NEXT;
        }
        if (inlined->missing != 0) {
            return CTN_STEP_WAIT;
        }
        ctn_inline_all_received(x->path, x->seq);
    }
    if (inlined->zcopied != 0 && !ctn_inline_is_read(inlined, x->seq)) {
        return CTN_STEP_WAIT;
    }
    x->complete = true;
    return CTN_STEP_DONE;
}

const ctn_inline_t ctn_exchange_inline = {.may = op_may_begin,
                                          .publish = publish,
                                          .collect = collect,
                                          .phase = CTN_EXCHANGE_SHORT};

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

bool ctn_inline_call(const ctn_neighbor_collective_t *collective,
                     const ctn_arguments_t *args,
                     catena_neighborhood_t *neighborhood,
                     catena_status_t *status)
{
    ctn_inline_path_t *path = neighborhood->path;
    ctn_op_t *op = path != NULL ? find_kept(path, collective, args) : NULL;
    if (op == NULL) {
        return false;
    }
    ctn_exchange_t *x = ctn_op_state(op);
    /* The caller's buffers. catena writes only to receive buffers. */
    x->inlined.send = (unsigned char *)(uintptr_t)args->send.buffer;
    x->inlined.recv = (unsigned char *)(uintptr_t)args->recv.buffer;
    x->inlined.zcopy = ctn_inline_may_zcopy(op->exec, path, &x->inlined);
    if ((x->inlined.bytes > path->most_bytes && !x->inlined.zcopy) ||
        !may_begin(x)) {
        return false;
    }
    if (!ctn_inline_run(op->exec, &neighborhood->sequence, true,
                        &ctn_exchange_inline, x, op, status)) {
        return false;
    }
    ctn_neighbor_record(neighborhood, collective, x->inlined.schedule, x->rule);
    return true;
}
