/* Short messages on the node; see call/inline.h. */

#include "neighbor/call/inline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "neighbor/link/protocol.h"

/* ---- making it ---- */

/** Whether all links lead both ways. Links that do not would need counts. */
static bool leads_both_ways(const ctn_schedule_t *plan)
{
    for (uint32_t i = 0; i < plan->ins; i++) {
        if (plan->in[i].reverse == NULL) {
            return false;
        }
    }
    for (uint32_t o = 0; o < plan->outs; o++) {
        uint32_t i = 0;
        while (i < plan->ins &&
               plan->in[i].peer.rank != plan->out[o].peer.rank) {
            i++;
        }
        if (i == plan->ins) {
            return false;
        }
    }
    return true;
}

static bool all_near(const ctn_schedule_t *plan)
{
    bool near = true;
    for (uint32_t i = 0; i < plan->ins; i++) {
        near =
            near && plan->in[i].peer.near && plan->in[i].peer.endpoint != NULL;
    }
    for (uint32_t o = 0; o < plan->outs; o++) {
        near = near && plan->out[o].peer.near &&
               plan->out[o].peer.endpoint != NULL;
    }
    return near;
}

static bool suits(const catena_neighborhood_t *neighborhood,
                  const ctn_schedule_t *plan)
{
    return !neighborhood->exec->virtual_time &&
           plan == neighborhood->plan[CTN_NEIGHBOR_DIRECT][plan->pattern] &&
           plan->outs > 0 && plan->outs <= CTN_NEIGHBOR_INLINE_MESSAGES &&
           plan->ins <= CTN_NEIGHBOR_INLINE_MESSAGES &&
           neighborhood->targets <= CTN_INLINE_LIST &&
           neighborhood->sources <= CTN_INLINE_LIST && all_near(plan) &&
           leads_both_ways(plan);
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
               "no payload has more lines");

static ctn_inline_end_t end_of(void *slots, const void *wide,
                               uint32_t wide_bytes, uint32_t neighbor)
{
    size_t before = (size_t)((const char *)wide - (const char *)slots);
    assert(before % CTN_LINE == 0 && before / CTN_LINE <= UINT32_MAX &&
           wide_bytes % CTN_LINE == 0);
    return (ctn_inline_end_t){.slots = slots,
                              .wide = (uint32_t)(before / CTN_LINE),
                              .wide_lines = (uint16_t)(wide_bytes / CTN_LINE),
                              .neighbor = (uint16_t)neighbor};
}

static void set_ends(const catena_neighborhood_t *neighborhood,
                     const ctn_schedule_t *plan, ctn_inline_path_t *quick)
{
    ctn_inline_end_t *end = quick->end;
    ctn_inline_peer_t *peer = quick->peer;
    uint32_t at = 0;
    for (uint32_t m = 0; m < plan->sends; m++, at++) {
        const ctn_link_out_t *out = &plan->out[plan->send[m].link];
        ctn_endpoint_t *to = out->peer.endpoint;
        at = next_linked(neighborhood->target, at);
        *end++ = end_of(ctn_pointer(to, out->slots), ctn_pointer(to, out->wide),
                        out->wide_bytes, at);
        *peer++ =
            (ctn_inline_peer_t){.arena = ctn_pointer(to, 0), .cell = out->cell};
    }
    for (uint32_t m = 0; m < plan->receives; m++) {
        const ctn_link_in_t *in = &plan->in[plan->receive[m].link];
        ctn_endpoint_t *from = in->peer.endpoint;
        *end++ = end_of(in->slots, in->wide, in->wide_bytes,
                        plan->part[plan->receive[m].first].index);
        *peer++ = (ctn_inline_peer_t){.arena = ctn_pointer(from, 0),
                                      .cell = ctn_pointer(from, in->cell)};
    }
}

static ctn_inline_path_t *make(const catena_neighborhood_t *neighborhood,
                               const ctn_schedule_t *plan)
{
    size_t ends = (size_t)plan->sends + plan->receives;
    size_t first = sizeof(ctn_inline_path_t) + ends * sizeof(ctn_inline_end_t);
    ctn_inline_path_t *quick = malloc(first + ends * sizeof(ctn_inline_peer_t));
    if (quick == NULL) { /* it goes without */
        return NULL;
    }
    *quick = (ctn_inline_path_t){
        .sends = plan->sends,
        .receives = plan->receives,
        .most_bytes = UINT32_MAX,
        .alike = {SIZE_MAX, SIZE_MAX},
        .out = plan->out,
        .in = plan->in,
        .peer = (ctn_inline_peer_t *)((char *)quick + first),
    };
    set_ends(neighborhood, plan, quick);
    for (uint32_t i = 0; i < ends; i++) {
        uint32_t bytes = quick->end[i].wide_lines * CTN_LINE;
        quick->most_bytes =
            bytes < quick->most_bytes ? bytes : quick->most_bytes;
    }
    return quick;
}

ctn_inline_path_t *ctn_inline_path_of(catena_neighborhood_t *neighborhood,
                                      const ctn_schedule_t *plan)
{
    if (!suits(neighborhood, plan)) {
        return NULL;
    }
    if (neighborhood->quick == NULL) {
        neighborhood->quick = make(neighborhood, plan);
    }
    return neighborhood->quick;
}

/** An exchange of small blocks through these ends, without its buffers. */
static ctn_inline_small_t small_through(const ctn_inline_path_t *quick,
                                        const ctn_schedule_t *plan,
                                        size_t bytes)
{
    bool one = plan->pattern == CTN_PATTERN_GATHER;
    return (ctn_inline_small_t){.end = quick->end,
                                .transfers = plan->transfers > 0 ? plan : NULL,
                                .sends = quick->sends,
                                .receives = quick->receives,
                                .send_step = one ? 0 : (uint32_t)bytes,
                                .bytes = (uint32_t)bytes};
}

/** Not with types that may be freed, and others made in their place. */
static void note_seen(const ctn_exchange_t *x, const ctn_schedule_t *plan,
                      size_t bytes, ctn_inline_path_t *quick)
{
    ctn_inline_call_cache_t *seen = &quick->seen[plan->pattern];
    *seen = (ctn_inline_call_cache_t){0};
    if (bytes > CTN_NEIGHBOR_INLINE_BYTES || x->in_place ||
        x->send.bytes != bytes || x->send.type->derived ||
        x->recv.type->derived) {
        return;
    }
    *seen = (ctn_inline_call_cache_t){
        .kind = x->kind,
        .send_type = x->send.type,
        .recv_type = x->recv.type,
        .send_count = bytes / x->send.type->bytes,
        .recv_count = bytes / x->recv.type->bytes,
        .ran = plan,
        .small = small_through(quick, plan, bytes),
    };
}

void ctn_inline_note(const ctn_exchange_t *x, const ctn_schedule_t *plan,
                     size_t bytes)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_inline_path_t *quick =
        bytes > 0 ? ctn_inline_path_of(neighborhood, plan) : NULL;
    if (quick != NULL && bytes < CTN_LINK_POSTED) {
        quick->alike[plan->pattern] = bytes;
        quick->plan[plan->pattern] = plan;
        quick->wanted = neighborhood->wanted;
        note_seen(x, plan, bytes, quick);
    }
}

/* ---- credits ---- */

static uint64_t allowed_by(const ctn_link_out_t *out)
{
    uint64_t stored = ctn_word_load(&out->cell->complete);
    return (stored > out->complete ? stored : out->complete) +
           CTN_LINK_GENERATIONS;
}

/** Links may know more, when others have used them. */
static void ask_links(catena_neighborhood_t *neighborhood)
{
    const ctn_inline_path_t *quick = neighborhood->quick;
    uint64_t allowed = UINT64_MAX;
    for (uint32_t o = 0; o < quick->sends; o++) {
        uint64_t by = allowed_by(&quick->out[o]);
        allowed = by < allowed ? by : allowed;
    }
    if (allowed > neighborhood->allowed) {
        neighborhood->allowed = allowed;
    }
}

void ctn_inline_sync(catena_neighborhood_t *neighborhood)
{
    const ctn_inline_path_t *quick = neighborhood->quick;
    for (uint32_t o = 0; neighborhood->ahead && o < quick->sends; o++) {
        uint64_t complete = neighborhood->allowed - CTN_LINK_GENERATIONS;
        if (quick->out[o].complete < complete) {
            quick->out[o].complete = complete;
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
                             const ctn_inline_path_t *quick, uint32_t m,
                             uint64_t seq, void *into, size_t bytes)
{
    const ctn_inline_end_t *end = &quick->end[quick->sends + m];
    uint64_t offset;
    if (ctn_link_may_post(exec, into, bytes, &offset)) {
        (void)ctn_link_post(ctn_inline_slot(end, seq), seq, offset, bytes);
    }
}

/** Put a message where the receiver waits for it already. False: it does not.
 */
static bool put_wanted(const ctn_exec_t *exec, const ctn_inline_peer_t *peer,
                       ctn_slot_t *slot, uint64_t seq, const void *data,
                       size_t bytes)
{
    uint64_t to;
    if (!ctn_link_is_posted(exec, slot, seq, bytes, &to)) {
        return false;
    }
    memcpy(peer->arena + to, data, bytes);
    ctn_word_store(&slot->word[0], ctn_flag(seq, CTN_LINK_PUT));
    return true;
}

CTN_HOT void ctn_inline_send(const ctn_exec_t *exec,
                             const ctn_inline_path_t *quick, uint32_t m,
                             uint64_t seq, const void *data, size_t bytes)
{
    const ctn_inline_end_t *end = &quick->end[m];
    ctn_slot_t *slot = ctn_inline_slot(end, seq);
    if (!put_wanted(exec, &quick->peer[m], slot, seq, data, bytes)) {
        memcpy(ctn_inline_payload(end, seq, bytes), data, bytes);
        ctn_word_store(&slot->word[0], ctn_flag(seq, bytes));
    }
}

/** The same of one that may be lent. @return whether it is */
static bool send_or_lend(const ctn_exec_t *exec, const ctn_inline_path_t *quick,
                         uint32_t m, uint64_t seq, const void *data,
                         uint64_t offset, size_t bytes)
{
    ctn_slot_t *slot = ctn_inline_slot(&quick->end[m], seq);
    if (put_wanted(exec, &quick->peer[m], slot, seq, data, bytes)) {
        return false;
    }
    ctn_link_rts_t notice = {.bytes = bytes, .offset = offset};
    memcpy(slot->data, &notice, sizeof(notice));
    ctn_word_store(&slot->word[0], ctn_flag(seq, CTN_LINK_ZCOPY));
    return true;
}

/** Copy a message that is lent, if it is as it should be. */
static bool take_lent(ctn_exec_t *exec, const ctn_inline_peer_t *peer,
                      const ctn_slot_t *slot, uint64_t seq, void *into,
                      size_t bytes)
{
    ctn_link_rts_t notice;
    memcpy(&notice, slot->data, sizeof(notice));
    if (notice.bytes != bytes || notice.layout.run != 0) {
        return false;
    }
    memcpy(into, peer->arena + notice.offset, bytes);
    ctn_exec_post(exec, &peer->cell->taken[ctn_link_entry(seq)],
                  ctn_flag64(seq));
    return true;
}

CTN_HOT bool ctn_inline_receive(ctn_exec_t *exec,
                                const ctn_inline_path_t *quick, uint32_t m,
                                uint64_t seq, void *into, size_t bytes,
                                bool *fits)
{
    uint32_t at = quick->sends + m;
    const ctn_inline_end_t *end = &quick->end[at];
    ctn_slot_t *slot = ctn_inline_slot(end, seq);
    uint64_t word = ctn_word_load(&slot->word[0]);
    if (!ctn_flag_matches(word, seq) || ctn_link_word_is_posted(word)) {
        return false;
    }
    uint32_t count = ctn_flag_count(word);
    *fits = count == bytes || count == CTN_LINK_PUT;
    if (count == bytes) {
        memcpy(into, ctn_inline_payload(end, seq, bytes), bytes);
    } else if (count == CTN_LINK_ZCOPY) {
        *fits = take_lent(exec, &quick->peer[at], slot, seq, into, bytes);
    }
    return true;
}

/* ---- calls of alike, dense blocks ---- */

/** From one block that is sent to the next. */
static ptrdiff_t step_of(const ctn_exchange_t *x)
{
    return ctn_neighbor_pattern(x->kind) == CTN_PATTERN_GATHER ? 0
                                                               : x->send.step;
}

/** Whether all its blocks are alike, and lie together. */
static bool is_alike(const ctn_exchange_t *x)
{
    return !ctn_neighbor_varies(x->kind) && !ctn_neighbor_reduces(x->kind) &&
           x->send.bytes == x->recv.bytes && x->send.type->dense &&
           x->recv.type->dense;
}

/** Where message m goes. */
static unsigned char *block_of(const ctn_exchange_t *x,
                               const ctn_inline_path_t *quick, uint32_t m)
{
    const ctn_inline_end_t *end = &quick->end[quick->sends + m];
    return x->recv.base + (ptrdiff_t)end->neighbor * x->recv.step;
}

static void want_all(const ctn_exchange_t *x, const ctn_inline_path_t *quick,
                     uint64_t seq)
{
    for (uint32_t m = 0; m < quick->receives && !x->in_place &&
                         x->recv.bytes >= CTN_LINK_POSTED_MIN;
         m++) {
        ctn_inline_post(x->neighborhood->exec, quick, m, seq,
                        block_of(x, quick, m), x->recv.bytes);
    }
}

bool ctn_inline_may_zcopy(const ctn_exchange_t *x,
                          const ctn_inline_path_t *quick, uint64_t *offset)
{
    const ctn_exec_t *exec = x->neighborhood->exec;
    size_t bytes = x->send.bytes;
    if (!is_alike(x) || x->in_place || step_of(x) < 0 ||
        (bytes <= quick->most_bytes && !ctn_link_uses_posted(exec, bytes))) {
        return false;
    }
    size_t before = (size_t)step_of(x) * (x->neighborhood->targets - 1);
    return ctn_heap_contains(exec->heap, x->send.base, before + bytes, offset);
}

uint64_t ctn_inline_send_all(const ctn_exchange_t *x,
                             const ctn_inline_path_t *quick,
                             const ctn_schedule_t *plan, uint64_t seq,
                             bool lend, uint64_t offset)
{
    ctn_exec_t *exec = x->neighborhood->exec;
    size_t bytes = x->send.bytes;
    ptrdiff_t step = step_of(x);
    uint64_t lent = 0;
    for (uint32_t m = 0; m < quick->sends; m++) {
        ptrdiff_t at = (ptrdiff_t)quick->end[m].neighbor * step;
        if (!lend) {
            ctn_inline_send(exec, quick, m, seq, x->send.base + at, bytes);
        } else if (send_or_lend(exec, quick, m, seq, x->send.base + at,
                                offset + (uint64_t)at, bytes)) {
            lent |= UINT64_C(1) << m;
        }
    }
    exec->local->stored = true;
    for (uint32_t t = 0; t < plan->transfers; t++) {
        const ctn_local_copy_t *self = &plan->transfer[t];
        memcpy(x->recv.base + (ptrdiff_t)self->to.index * x->recv.step,
               x->send.base + (ptrdiff_t)self->from.index * step, bytes);
    }
    return lent;
}

uint64_t ctn_inline_still_zcopied(const ctn_inline_path_t *quick, uint64_t seq,
                                  uint64_t lent)
{
    for (uint64_t left = lent; left != 0; left &= left - 1) {
        const ctn_link_control_t *cell =
            quick->peer[__builtin_ctzll(left)].cell;
        if (ctn_word_load(&cell->taken[ctn_link_entry(seq)]) ==
            ctn_flag64(seq)) {
            lent &= ~(left & -left);
        }
    }
    return lent;
}

/** Take what is here of those that are missing. @return messages that are of
 * another length */
static uint64_t receive_here(const ctn_exchange_t *x,
                             const ctn_inline_path_t *quick, uint64_t seq,
                             uint64_t *missing)
{
    uint64_t unfit = 0;
    size_t bytes = x->recv.bytes;
    for (uint64_t left = *missing; left != 0; left &= left - 1) {
        uint32_t m = (uint32_t)__builtin_ctzll(left);
        bool fits;
        if (ctn_inline_receive(x->neighborhood->exec, quick, m, seq,
                               block_of(x, quick, m), bytes, &fits)) {
            *missing &= ~(left & -left);
            unfit |= fits ? 0 : left & -left;
        }
    }
    return unfit;
}

/** What is here, until all is or nothing will come any more. @return messages
 * that are of another length */
static uint64_t receive_all(const ctn_exchange_t *x,
                            const ctn_inline_path_t *quick, uint64_t seq,
                            uint64_t *missing, ctn_backoff_t *backoff)
{
    uint64_t unfit = receive_here(x, quick, seq, missing);
    while (*missing != 0 && ctn_inline_wait(x->neighborhood->exec, backoff)) {
        unfit |= receive_here(x, quick, seq, missing);
    }
    return unfit;
}

/* ---- blocking calls ---- */

/** Whether a call is what this was found to serve. */
static bool serves(const ctn_inline_path_t *quick, const ctn_exchange_t *x)
{
    ctn_pattern_t pattern = ctn_neighbor_pattern(x->kind);
    return x->send.bytes == quick->alike[pattern] && is_alike(x) &&
           x->neighborhood->wanted == quick->wanted &&
           (!x->in_place || quick->plan[pattern]->transfers == 0);
}

CTN_HOT bool ctn_inline_call(const ctn_exchange_t *x, catena_status_t *status)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_exec_t *exec = neighborhood->exec;
    ctn_inline_path_t *quick = neighborhood->quick;
    uint64_t seq;
    if (quick == NULL || !serves(quick, x)) {
        return false;
    }
    uint64_t offset = 0;
    bool lend = ctn_inline_may_zcopy(x, quick, &offset);
    if ((x->send.bytes > quick->most_bytes && !lend) ||
        !ctn_inline_take_number(neighborhood, quick->in, &seq)) {
        return false;
    }
    const ctn_schedule_t *plan = quick->plan[ctn_neighbor_pattern(x->kind)];
    want_all(x, quick, seq);
    uint64_t lent = ctn_inline_send_all(x, quick, plan, seq, lend, offset);
    uint64_t missing = ctn_inline_mask(quick->receives);
    ctn_backoff_t backoff = {0};
    uint64_t unfit = receive_all(x, quick, seq, &missing, &backoff);
    neighborhood->last = plan;
    ctn_inline_all_received(neighborhood, seq);
    /* Those who wait for what is unfit to be taken wait no longer than that. */
    *status = unfit != 0 ? ctn_exchange_rest(x, seq, unfit) : CATENA_OK;
    while ((lent = ctn_inline_still_zcopied(quick, seq, lent)) != 0 &&
           ctn_inline_wait(exec, &backoff)) {
    }
    ctn_exec_wake(exec); /* the owners of lent blocks */
    catena_status_t ended = ctn_inline_end_number(neighborhood);
    *status = ended != CATENA_OK ? ended : *status;
    return true;
}

/* ---- requests ---- */

CTN_HOT static bool start_long(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (!x->rests ||
        !ctn_inline_take_number(x->neighborhood, x->in, &op->seq)) {
        return false;
    }
    want_all(x, x->quick, op->seq);
    x->lent = ctn_inline_send_all(x, x->quick, x->plan, op->seq, x->lends,
                                  x->lend_offset);
    ctn_inline_activate(op);
    return true;
}

CTN_HOT static bool wait_long(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_backoff_t backoff = {0};
    if (!ctn_inline_is_sole(op)) {
        return false;
    }
    /* Those that do not fit are still missing for the phases. */
    uint64_t unfit = receive_all(x, x->quick, op->seq, &x->missing, &backoff);
    x->missing |= unfit;
    if (x->missing != 0) {
        return false;
    }
    ctn_inline_all_received(x->neighborhood, op->seq);
    ctn_exec_wake(op->exec); /* the owners of lent blocks */
    while ((x->lent = ctn_inline_still_zcopied(x->quick, op->seq, x->lent)) !=
           0) {
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
    if (x->quick == NULL || !is_alike(x)) {
        return;
    }
    x->plan = x->run->plan->copy_of;
    x->in = x->run->plan->in;
    x->small = small_through(x->quick, x->plan, x->send.bytes);
    if (x->send.bytes <= CTN_NEIGHBOR_INLINE_BYTES) {
        ctn_inline_small_request(op);
    } else {
        op->start = start_long;
        op->wait = wait_long;
    }
}
