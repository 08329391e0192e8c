/* The inline path (call/inline.h): its creation, its credit, its messages, and
 * the calls and requests that run on it. */

#include "neighbor/call/inline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "exec/inline.h"
#include "neighbor/link/protocol.h"

/* ---- creation ---- */

/** Whether each peer has links in both directions. Else receivers would have to
 * send counts of complete operations. */
static bool leads_both_ways(const ctn_schedule_t *schedule)
{
    for (uint32_t i = 0; i < schedule->ins; i++) {
        if (schedule->in[i].reverse == NULL) {
            return false;
        }
    }
    for (uint32_t o = 0; o < schedule->outs; o++) {
        uint32_t i = 0;
        while (i < schedule->ins &&
               schedule->in[i].peer.rank != schedule->out[o].peer.rank) {
            i++;
        }
        if (i == schedule->ins) {
            return false;
        }
    }
    return true;
}

/** Whether all peers are on this node and connected. */
static bool all_local(const ctn_schedule_t *schedule)
{
    bool local = true;
    for (uint32_t i = 0; i < schedule->ins; i++) {
        local = local && schedule->in[i].peer.local &&
                schedule->in[i].peer.endpoint != NULL;
    }
    for (uint32_t o = 0; o < schedule->outs; o++) {
        local = local && schedule->out[o].peer.local &&
                schedule->out[o].peer.endpoint != NULL;
    }
    return local;
}

/** Whether a schedule may use the inline path. */
static bool suits(const catena_neighborhood_t *neighborhood,
                  const ctn_schedule_t *schedule)
{
    return schedule ==
               neighborhood->schedule[CTN_NEIGHBOR_DIRECT][schedule->pattern] &&
           schedule->outs > 0 &&
           schedule->outs <= CTN_NEIGHBOR_INLINE_MESSAGES &&
           schedule->ins <= CTN_NEIGHBOR_INLINE_MESSAGES &&
           neighborhood->targets <= CTN_INLINE_LIST &&
           neighborhood->sources <= CTN_INLINE_LIST && all_local(schedule) &&
           leads_both_ways(schedule);
}

/** The next edge of a list that has a link. */
static uint32_t next_linked(const ctn_edge_t *edge, uint32_t i)
{
    while (edge[i].link == CTN_NO_LINK) {
        i++;
    }
    return i;
}

_Static_assert(CTN_STAGING_BYTES / CTN_LINE <= UINT16_MAX,
               "eager_lines of an eager buffer has two bytes");

/** The end of a link with slots and eager buffers at these addresses. */
static ctn_inline_end_t end_of(void *slots, const void *eager,
                               uint32_t eager_bytes, uint32_t neighbor)
{
    size_t before = (size_t)((const char *)eager - (const char *)slots);
    assert(before % CTN_LINE == 0 && before / CTN_LINE <= UINT32_MAX &&
           eager_bytes % CTN_LINE == 0);
    return (ctn_inline_end_t){.slots = slots,
                              .eager = (uint32_t)(before / CTN_LINE),
                              .eager_lines = (uint16_t)(eager_bytes / CTN_LINE),
                              .neighbor = (uint16_t)neighbor};
}

/** Sets the link ends of a path. */
static void set_ends(const catena_neighborhood_t *neighborhood,
                     const ctn_schedule_t *schedule, ctn_inline_path_t *path)
{
    ctn_inline_end_t *end = path->end;
    ctn_inline_peer_t *peer = path->peer;
    uint32_t at = 0;
    for (uint32_t m = 0; m < schedule->sends; m++, at++) {
        const ctn_link_out_t *out = &schedule->out[schedule->send[m].link];
        ctn_endpoint_t *to = out->peer.endpoint;
        at = next_linked(neighborhood->target, at);
        *end++ = end_of(ctn_pointer(to, out->slots),
                        ctn_pointer(to, out->eager), out->eager_bytes, at);
        *peer++ = (ctn_inline_peer_t){.arena = ctn_pointer(to, 0),
                                      .control = out->control};
    }
    for (uint32_t m = 0; m < schedule->receives; m++) {
        const ctn_link_in_t *in = &schedule->in[schedule->receive[m].link];
        ctn_endpoint_t *from = in->peer.endpoint;
        *end++ = end_of(in->slots, in->eager, in->eager_bytes,
                        schedule->block[schedule->receive[m].first].index);
        *peer++ =
            (ctn_inline_peer_t){.arena = ctn_pointer(from, 0),
                                .control = ctn_pointer(from, in->control)};
    }
}

/** Creates the inline path of a schedule that suits it. NULL: no memory. */
static ctn_inline_path_t *make(const catena_neighborhood_t *neighborhood,
                               const ctn_schedule_t *schedule)
{
    size_t ends = (size_t)schedule->sends + schedule->receives;
    size_t first = sizeof(ctn_inline_path_t) + ends * sizeof(ctn_inline_end_t);
    ctn_inline_path_t *path = malloc(first + ends * sizeof(ctn_inline_peer_t));
    if (path == NULL) { /* the general path is used */
        return NULL;
    }
    *path = (ctn_inline_path_t){
        .sends = schedule->sends,
        .receives = schedule->receives,
        .most_bytes = UINT32_MAX,
        .uniform = {SIZE_MAX, SIZE_MAX},
        .out = schedule->out,
        .in = schedule->in,
        .peer = (ctn_inline_peer_t *)((char *)path + first),
    };
    set_ends(neighborhood, schedule, path);
    for (uint32_t i = 0; i < ends; i++) {
        uint32_t bytes = path->end[i].eager_lines * CTN_LINE;
        path->most_bytes = bytes < path->most_bytes ? bytes : path->most_bytes;
    }
    return path;
}

ctn_inline_path_t *ctn_inline_path_of(catena_neighborhood_t *neighborhood,
                                      const ctn_schedule_t *schedule)
{
    if (!suits(neighborhood, schedule)) {
        return NULL;
    }
    if (neighborhood->path == NULL) {
        neighborhood->path = make(neighborhood, schedule);
    }
    return neighborhood->path;
}

/** What an exchange of small blocks on the inline path needs, without the
 * buffers. */
static ctn_inline_small_t small_through(const ctn_inline_path_t *path,
                                        const ctn_schedule_t *schedule,
                                        size_t bytes)
{
    bool one = schedule->pattern == CTN_PATTERN_ALLGATHER;
    return (ctn_inline_small_t){
        .end = path->end,
        .local_copies = schedule->local_copies > 0 ? schedule : NULL,
        .sends = path->sends,
        .receives = path->receives,
        .send_step = one ? 0 : (uint32_t)bytes,
        .bytes = (uint32_t)bytes};
}

/** Enters a call with small blocks into the call cache. Not with derived types:
 * they may be freed, and others may take their address. */
static void fill_cache(const ctn_exchange_t *x, const ctn_schedule_t *schedule,
                       size_t bytes, ctn_inline_path_t *path)
{
    ctn_inline_call_cache_t *cache = &path->cache[schedule->pattern];
    *cache = (ctn_inline_call_cache_t){0};
    if (bytes > CTN_NEIGHBOR_INLINE_BYTES || x->in_place ||
        x->send.bytes != bytes || x->send.type->derived ||
        x->recv.type->derived) {
        return;
    }
    *cache = (ctn_inline_call_cache_t){
        .collective = x->collective,
        .send_type = x->send.type,
        .recv_type = x->recv.type,
        .send_count = bytes / x->send.type->bytes,
        .recv_count = bytes / x->recv.type->bytes,
        .schedule = schedule,
        .small = small_through(path, schedule, bytes),
    };
}

void ctn_inline_note(const ctn_exchange_t *x, const ctn_schedule_t *schedule,
                     size_t bytes)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_inline_path_t *path =
        bytes > 0 ? ctn_inline_path_of(neighborhood, schedule) : NULL;
    /* From CTN_LINK_POSTED on, counts of flags are no lengths. */
    if (path != NULL && bytes < CTN_LINK_POSTED) {
        path->uniform[schedule->pattern] = bytes;
        path->schedule[schedule->pattern] = schedule;
        /* The algorithm that the application has requested, if any. */
        path->requested = neighborhood->requested;
        fill_cache(x, schedule, bytes, path);
    }
}

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

/* ---- messages ---- */

CTN_HOT void ctn_inline_post(const ctn_exec_t *exec,
                             const ctn_inline_path_t *path, uint32_t m,
                             uint64_t seq, void *into, size_t bytes)
{
    const ctn_inline_end_t *end = &path->end[path->sends + m];
    uint64_t offset;
    if (ctn_link_may_post(exec, into, bytes, &offset)) {
        (void)ctn_link_post(ctn_inline_slot(end, seq), seq, offset, bytes);
    }
}

/** Copies a message to the posted buffer of its receiver. False: none is
 * posted. */
static bool put_posted(ctn_exec_t *exec, const ctn_inline_peer_t *peer,
                       ctn_slot_t *slot, uint64_t seq, const void *data,
                       size_t bytes)
{
    uint64_t to;
    if (!ctn_link_is_posted(exec, slot, seq, bytes, &to)) {
        return false;
    }
    ctn_exec_copy(exec, peer->arena + to, data, bytes);
    ctn_exec_post(exec, &slot->word[0], ctn_flag(seq, CTN_LINK_PUT));
    return true;
}

CTN_HOT void ctn_inline_send(ctn_exec_t *exec, const ctn_inline_path_t *path,
                             uint32_t m, uint64_t seq, const void *data,
                             size_t bytes)
{
    const ctn_inline_end_t *end = &path->end[m];
    ctn_slot_t *slot = ctn_inline_slot(end, seq);
    if (!put_posted(exec, &path->peer[m], slot, seq, data, bytes)) {
        ctn_exec_copy(exec, ctn_inline_payload(end, seq, bytes), data, bytes);
        ctn_exec_post(exec, &slot->word[0], ctn_flag(seq, bytes));
    }
}

/** The same for a message that may be a zero-copy send. @return whether it is
 * one */
static bool send_or_zcopy(ctn_exec_t *exec, const ctn_inline_path_t *path,
                          uint32_t m, uint64_t seq, const void *data,
                          uint64_t offset, size_t bytes)
{
    ctn_slot_t *slot = ctn_inline_slot(&path->end[m], seq);
    if (put_posted(exec, &path->peer[m], slot, seq, data, bytes)) {
        return false;
    }
    ctn_link_rts_t rts = {.bytes = bytes, .offset = offset};
    memcpy(slot->data, &rts, sizeof(rts));
    ctn_exec_post(exec, &slot->word[0], ctn_flag(seq, CTN_LINK_ZCOPY));
    return true;
}

/** Copies a zero-copy message if its length and layout are as expected. */
static bool read_zcopy(ctn_exec_t *exec, const ctn_inline_peer_t *peer,
                       const ctn_slot_t *slot, uint64_t seq, void *into,
                       size_t bytes)
{
    ctn_link_rts_t rts;
    memcpy(&rts, slot->data, sizeof(rts));
    if (rts.bytes != bytes || rts.layout.run != 0) {
        return false;
    }
    ctn_exec_copy(exec, into, peer->arena + rts.offset, bytes);
    ctn_exec_post(exec, &peer->control->zcopy_read[ctn_link_entry(seq)],
                  ctn_flag64(seq));
    return true;
}

CTN_HOT bool ctn_inline_receive(ctn_exec_t *exec, const ctn_inline_path_t *path,
                                uint32_t m, uint64_t seq, void *into,
                                size_t bytes, bool *fits)
{
    uint32_t at = path->sends + m;
    const ctn_inline_end_t *end = &path->end[at];
    ctn_slot_t *slot = ctn_inline_slot(end, seq);
    uint64_t word = ctn_word_load(&slot->word[0]);
    if (!ctn_flag_matches(word, seq) || ctn_link_word_is_posted(word)) {
        return false;
    }
    uint32_t count = ctn_flag_count(word);
    *fits = count == bytes || count == CTN_LINK_PUT;
    if (count == bytes) {
        ctn_exec_copy(exec, into, ctn_inline_payload(end, seq, bytes), bytes);
    } else if (count == CTN_LINK_ZCOPY) {
        *fits = read_zcopy(exec, &path->peer[at], slot, seq, into, bytes);
    }
    return true;
}

/* ---- calls of uniform, dense blocks ---- */

/** Distance from one sent block to the next. */
static ptrdiff_t step_of(const ctn_exchange_t *x)
{
    return ctn_neighbor_pattern(x->collective) == CTN_PATTERN_ALLGATHER
               ? 0
               : x->send.step;
}

/** Whether all blocks are uniform and dense. */
static bool is_uniform(const ctn_exchange_t *x)
{
    return !ctn_neighbor_varies(x->collective) &&
           !ctn_neighbor_reduces(x->collective) &&
           x->send.bytes == x->recv.bytes && x->send.type->dense &&
           x->recv.type->dense;
}

/** Where the block of message m goes in the receive buffer. */
static unsigned char *block_of(const ctn_exchange_t *x,
                               const ctn_inline_path_t *path, uint32_t m)
{
    const ctn_inline_end_t *end = &path->end[path->sends + m];
    return x->recv.base + (ptrdiff_t)end->neighbor * x->recv.step;
}

/** Posts the receive buffers of all messages if they are long enough, and the
 * call is not in place. */
static void post_all(const ctn_exchange_t *x, const ctn_inline_path_t *path,
                     uint64_t seq)
{
    for (uint32_t m = 0; m < path->receives && !x->in_place &&
                         x->recv.bytes >= CTN_LINK_POSTED_MIN;
         m++) {
        ctn_inline_post(x->neighborhood->exec, path, m, seq,
                        block_of(x, path, m), x->recv.bytes);
    }
}

bool ctn_inline_may_zcopy(const ctn_exchange_t *x,
                          const ctn_inline_path_t *path, uint64_t *offset)
{
    const ctn_exec_t *exec = x->neighborhood->exec;
    size_t bytes = x->send.bytes;
    if (!is_uniform(x) || x->in_place || step_of(x) < 0 ||
        (bytes <= path->most_bytes && !ctn_link_uses_posted(exec, bytes))) {
        return false;
    }
    size_t before = (size_t)step_of(x) * (x->neighborhood->targets - 1);
    return ctn_heap_contains(exec->heap, x->send.base, before + bytes, offset);
}

uint64_t ctn_inline_send_all(const ctn_exchange_t *x,
                             const ctn_inline_path_t *path,
                             const ctn_schedule_t *schedule, uint64_t seq,
                             bool zcopy, uint64_t offset)
{
    ctn_exec_t *exec = x->neighborhood->exec;
    size_t bytes = x->send.bytes;
    ptrdiff_t step = step_of(x);
    uint64_t zcopied = 0;
    for (uint32_t m = 0; m < path->sends; m++) {
        ptrdiff_t at = (ptrdiff_t)path->end[m].neighbor * step;
        if (!zcopy) {
            ctn_inline_send(exec, path, m, seq, x->send.base + at, bytes);
        } else if (send_or_zcopy(exec, path, m, seq, x->send.base + at,
                                 offset + (uint64_t)at, bytes)) {
            zcopied |= UINT64_C(1) << m;
        }
    }
    for (uint32_t t = 0; t < schedule->local_copies; t++) {
        const ctn_local_copy_t *self = &schedule->local_copy[t];
        ctn_exec_copy(exec,
                      x->recv.base + (ptrdiff_t)self->to.index * x->recv.step,
                      x->send.base + (ptrdiff_t)self->from.index * step, bytes);
    }
    return zcopied;
}

uint64_t ctn_inline_still_zcopied(const ctn_inline_path_t *path, uint64_t seq,
                                  uint64_t zcopied)
{
    for (uint64_t left = zcopied; left != 0; left &= left - 1) {
        const ctn_link_control_t *control =
            path->peer[__builtin_ctzll(left)].control;
        if (ctn_word_load(&control->zcopy_read[ctn_link_entry(seq)]) ==
            ctn_flag64(seq)) {
            zcopied &= ~(left & -left);
        }
    }
    return zcopied;
}

/** Receives the missing messages that have arrived. @return a mask of those
 * with a length mismatch */
static uint64_t receive_here(const ctn_exchange_t *x,
                             const ctn_inline_path_t *path, uint64_t seq,
                             uint64_t *missing)
{
    uint64_t mismatch = 0;
    size_t bytes = x->recv.bytes;
    for (uint64_t left = *missing; left != 0; left &= left - 1) {
        uint32_t m = (uint32_t)__builtin_ctzll(left);
        bool fits;
        if (ctn_inline_receive(x->neighborhood->exec, path, m, seq,
                               block_of(x, path, m), bytes, &fits)) {
            *missing &= ~(left & -left);
            mismatch |= fits ? 0 : left & -left;
        }
    }
    return mismatch;
}

/** Receives until all messages have arrived, or the operation was aborted.
 * @return a mask of those with a length mismatch */
static uint64_t receive_all(const ctn_exchange_t *x,
                            const ctn_inline_path_t *path, uint64_t seq,
                            uint64_t *missing, ctn_backoff_t *backoff)
{
    uint64_t mismatch = receive_here(x, path, seq, missing);
    while (*missing != 0 && ctn_inline_wait(x->neighborhood->exec, backoff)) {
        mismatch |= receive_here(x, path, seq, missing);
    }
    return mismatch;
}

/* ---- blocking calls ---- */

/** Whether a call is known to use the schedule of the path. */
static bool serves(const ctn_inline_path_t *path, const ctn_exchange_t *x)
{
    ctn_pattern_t pattern = ctn_neighbor_pattern(x->collective);
    return x->send.bytes == path->uniform[pattern] && is_uniform(x) &&
           x->neighborhood->requested == path->requested &&
           (!x->in_place || path->schedule[pattern]->local_copies == 0);
}

CTN_HOT bool ctn_inline_call(const ctn_exchange_t *x, catena_status_t *status)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_exec_t *exec = neighborhood->exec;
    ctn_inline_path_t *path = neighborhood->path;
    uint64_t seq;
    if (path == NULL || !serves(path, x)) {
        return false;
    }
    uint64_t offset = 0;
    bool zcopy = ctn_inline_may_zcopy(x, path, &offset);
    if ((x->send.bytes > path->most_bytes && !zcopy) ||
        !ctn_inline_take_number(neighborhood, path->in, &seq)) {
        return false;
    }
    const ctn_schedule_t *schedule =
        path->schedule[ctn_neighbor_pattern(x->collective)];
    post_all(x, path, seq);
    uint64_t zcopied =
        ctn_inline_send_all(x, path, schedule, seq, zcopy, offset);
    uint64_t missing = ctn_inline_mask(path->receives);
    ctn_backoff_t backoff = {0};
    uint64_t mismatch = receive_all(x, path, seq, &missing, &backoff);
    ctn_neighbor_record(neighborhood, x->collective, schedule); /* what ran */
    ctn_inline_all_received(neighborhood, seq);
    /* Releases messages with a mismatch before this rank waits for its own
     * zero-copy sends, since their senders may wait for the release. */
    *status = mismatch != 0 ? ctn_exchange_rest(x, seq, mismatch) : CATENA_OK;
    while ((zcopied = ctn_inline_still_zcopied(path, seq, zcopied)) != 0 &&
           ctn_inline_wait(exec, &backoff)) {
    }
    ctn_exec_wake(exec); /* the owners of zero-copy blocks */
    catena_status_t ended = ctn_inline_end_number(neighborhood);
    *status = ended != CATENA_OK ? ended : *status;
    return true;
}

/* ---- requests ---- */

/** op->start of a persistent request with blocks that are not small. False:
 * nothing was done; the phases have to run. */
CTN_HOT static bool start_long(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (!x->rests ||
        !ctn_inline_take_number(x->neighborhood, x->in, &op->seq)) {
        return false;
    }
    post_all(x, x->path, op->seq);
    x->zcopied = ctn_inline_send_all(x, x->path, x->schedule, op->seq, x->zcopy,
                                     x->zcopy_offset);
    ctn_inline_activate(op);
    return true;
}

/** Its op->wait. False: the phases have to end the operation. */
CTN_HOT static bool wait_long(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_backoff_t backoff = {0};
    if (!ctn_inline_is_sole(op)) {
        return false;
    }
    /* Messages with a mismatch are left to the phases. */
    uint64_t mismatch = receive_all(x, x->path, op->seq, &x->missing, &backoff);
    x->missing |= mismatch;
    if (x->missing != 0) {
        return false;
    }
    ctn_inline_all_received(x->neighborhood, op->seq);
    ctn_exec_wake(op->exec); /* the owners of zero-copy blocks */
    while ((x->zcopied =
                ctn_inline_still_zcopied(x->path, op->seq, x->zcopied)) != 0) {
        if (!ctn_inline_wait(op->exec, &backoff)) {
            return false;
        }
    }
    ctn_inline_complete(op);
    return true;
}

void ctn_inline_request(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (x->path == NULL || !is_uniform(x)) {
        return;
    }
    x->schedule = x->execution->schedule->copy_of;
    x->in = x->execution->schedule->in;
    x->small = small_through(x->path, x->schedule, x->send.bytes);
    if (x->send.bytes <= CTN_NEIGHBOR_INLINE_BYTES) {
        ctn_inline_small_request(op);
    } else {
        op->start = start_long;
        op->wait = wait_long;
    }
}
