/* Short messages on the node; see quick.h. */

#include "neighbor/quick.h"

#include <stdlib.h>
#include <string.h>

#include "neighbor/link_way.h"

/* ---- making it ---- */

/** Whether all links lead both ways. Links that do not would need counts. */
static bool leads_both_ways(const ctn_plan_t *plan)
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

static bool all_near(const ctn_plan_t *plan)
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
                  const ctn_plan_t *plan)
{
    return !neighborhood->exec->virtual_time &&
           plan == neighborhood->plan[CTN_SCHEME_DIRECT][plan->pattern] &&
           plan->outs > 0 && plan->outs <= CTN_QUICK_MOST &&
           plan->ins <= CTN_QUICK_MOST && all_near(plan) &&
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

static void set_ends(const catena_neighborhood_t *neighborhood,
                     const ctn_plan_t *plan, ctn_quick_t *quick)
{
    ctn_quick_end_t *end = quick->send;
    uint32_t at = 0;
    for (uint32_t m = 0; m < plan->sends; m++, at++, end++) {
        const ctn_link_out_t *out = &plan->out[plan->send[m].link];
        at = next_linked(neighborhood->target, at);
        *end = (ctn_quick_end_t){
            .slots = ctn_pointer(out->peer.endpoint, out->slots),
            .wide = ctn_pointer(out->peer.endpoint, out->wide),
            .wide_bytes = out->wide_bytes,
            .neighbor = at,
        };
    }
    quick->receive = end;
    for (uint32_t m = 0; m < plan->receives; m++, end++) {
        const ctn_link_in_t *in = &plan->in[plan->receive[m].link];
        *end = (ctn_quick_end_t){
            .slots = (unsigned char *)in->slots,
            .wide = in->wide,
            .wide_bytes = in->wide_bytes,
            .neighbor = plan->part[plan->receive[m].first].index,
        };
    }
}

static ctn_quick_t *make(const catena_neighborhood_t *neighborhood,
                         const ctn_plan_t *plan)
{
    size_t ends = (size_t)plan->sends + plan->receives;
    ctn_quick_t *quick = malloc(sizeof(*quick) + ends * sizeof(*quick->send));
    if (quick == NULL) { /* it goes without */
        return NULL;
    }
    *quick = (ctn_quick_t){
        .sends = plan->sends,
        .receives = plan->receives,
        .most_bytes = UINT32_MAX,
        .alike = {SIZE_MAX, SIZE_MAX},
        .out = plan->out,
        .in = plan->in,
    };
    set_ends(neighborhood, plan, quick);
    for (uint32_t i = 0; i < ends; i++) {
        uint32_t bytes = quick->send[i].wide_bytes;
        quick->most_bytes =
            bytes < quick->most_bytes ? bytes : quick->most_bytes;
    }
    return quick;
}

ctn_quick_t *ctn_quick_of(catena_neighborhood_t *neighborhood,
                          const ctn_plan_t *plan)
{
    if (!suits(neighborhood, plan)) {
        return NULL;
    }
    if (neighborhood->quick == NULL) {
        neighborhood->quick = make(neighborhood, plan);
    }
    return neighborhood->quick;
}

void ctn_quick_note(catena_neighborhood_t *neighborhood, const ctn_plan_t *plan,
                    size_t bytes)
{
    ctn_quick_t *quick = bytes > 0 ? ctn_quick_of(neighborhood, plan) : NULL;
    if (quick != NULL && bytes <= quick->most_bytes) {
        quick->alike[plan->pattern] = bytes;
        quick->plan[plan->pattern] = plan;
        quick->wanted = neighborhood->wanted;
    }
}

/* ---- credits ---- */

static uint64_t allowed_by(const ctn_link_out_t *out)
{
    uint64_t told = ctn_word_load(&out->cell->complete);
    return (told > out->complete ? told : out->complete) + CTN_LINK_RINGS;
}

/** Links may know more, when others have used them. */
static void ask_links(ctn_quick_t *quick)
{
    uint64_t allowed = UINT64_MAX;
    for (uint32_t o = 0; o < quick->sends; o++) {
        uint64_t by = allowed_by(&quick->out[o]);
        allowed = by < allowed ? by : allowed;
    }
    quick->allowed = allowed > quick->allowed ? allowed : quick->allowed;
}

void ctn_quick_sync(ctn_quick_t *quick)
{
    for (uint32_t o = 0; o < quick->sends && quick->ahead; o++) {
        uint64_t complete = quick->allowed - CTN_LINK_RINGS;
        if (quick->out[o].complete < complete) {
            quick->out[o].complete = complete;
        }
    }
    quick->ahead = false;
}

CTN_HOT bool ctn_quick_may_send(ctn_quick_t *quick, uint64_t seq)
{
    if (seq >= quick->allowed) {
        ask_links(quick);
    }
    return seq < quick->allowed;
}

CTN_HOT void ctn_quick_end(ctn_quick_t *quick, uint64_t seq)
{
    uint64_t allowed = ctn_link_completed_before(seq) + CTN_LINK_RINGS;
    quick->allowed = allowed > quick->allowed ? allowed : quick->allowed;
    quick->ahead = true;
}

/* ---- messages ---- */

static unsigned char *payload(const ctn_quick_end_t *end, ctn_slot_t *slot,
                              uint64_t seq, size_t bytes)
{
    return bytes <= CTN_INLINE_BYTES
               ? slot->data
               : end->wide + ctn_link_ring(seq) * (size_t)end->wide_bytes;
}

CTN_HOT void ctn_quick_send(const ctn_quick_end_t *end, uint64_t seq,
                            const void *data, size_t bytes)
{
    ctn_slot_t *slot = (ctn_slot_t *)(void *)end->slots + ctn_link_ring(seq);
    memcpy(payload(end, slot, seq, bytes), data, bytes);
    ctn_word_store(&slot->word[0], ctn_tag(seq, bytes));
}

CTN_HOT bool ctn_quick_receive(const ctn_quick_end_t *end, uint64_t seq,
                               size_t bytes, const void **data)
{
    ctn_slot_t *slot = (ctn_slot_t *)(void *)end->slots + ctn_link_ring(seq);
    uint64_t word = ctn_word_load(&slot->word[0]);
    if (!ctn_tag_matches(word, seq)) {
        return false;
    }
    *data =
        ctn_tag_count(word) == bytes ? payload(end, slot, seq, bytes) : NULL;
    return true;
}

/* ---- blocking calls ---- */

/** Whether a call is what this was found to serve. */
static bool serves(const ctn_quick_t *quick, const ctn_exchange_t *x)
{
    ctn_pattern_t pattern = ctn_kind_pattern(x->kind);
    return x->send.bytes == quick->alike[pattern] &&
           x->recv.bytes == x->send.bytes && !ctn_kind_varies(x->kind) &&
           !ctn_kind_reduces(x->kind) &&
           x->neighborhood->wanted == quick->wanted &&
           x->neighborhood->ran == quick->in && x->send.type->dense &&
           x->recv.type->dense &&
           (!x->in_place || quick->plan[pattern]->transfers == 0);
}

static void send_all(const ctn_exchange_t *x, const ctn_quick_t *quick,
                     uint64_t seq)
{
    ctn_pattern_t pattern = ctn_kind_pattern(x->kind);
    const ctn_plan_t *plan = quick->plan[pattern];
    size_t bytes = x->send.bytes;
    ptrdiff_t step = pattern == CTN_PATTERN_GATHER ? 0 : x->send.step;
    for (uint32_t m = 0; m < quick->sends; m++) {
        const ctn_quick_end_t *end = &quick->send[m];
        ctn_quick_send(end, seq, x->send.base + (ptrdiff_t)end->neighbor * step,
                       bytes);
    }
    x->neighborhood->exec->local->told = true;
    for (uint32_t t = 0; t < plan->transfers; t++) {
        const ctn_transfer_t *self = &plan->transfer[t];
        memcpy(x->recv.base + (ptrdiff_t)self->to.index * x->recv.step,
               x->send.base + (ptrdiff_t)self->from.index * step, bytes);
    }
}

/** Take what is here of those that are missing. @return messages that are of
 * another length */
static uint64_t receive_here(const ctn_exchange_t *x, const ctn_quick_t *quick,
                             uint64_t seq, uint64_t *missing)
{
    uint64_t unfit = 0;
    size_t bytes = x->recv.bytes;
    for (uint64_t left = *missing; left != 0; left &= left - 1) {
        const ctn_quick_end_t *end = &quick->receive[__builtin_ctzll(left)];
        const void *data;
        if (!ctn_quick_receive(end, seq, bytes, &data)) {
            continue;
        }
        *missing &= ~(left & -left);
        if (data == NULL) {
            unfit |= left & -left;
        } else {
            memcpy(x->recv.base + (ptrdiff_t)end->neighbor * x->recv.step, data,
                   bytes);
        }
    }
    return unfit;
}

CTN_HOT bool ctn_quick_call(const ctn_exchange_t *x, catena_status_t *status)
{
    catena_neighborhood_t *neighborhood = x->neighborhood;
    ctn_exec_t *exec = neighborhood->exec;
    ctn_quick_t *quick = neighborhood->quick;
    uint64_t seq;
    if (quick == NULL || !serves(quick, x) ||
        !ctn_quick_may_send(quick, neighborhood->channel.started) ||
        !ctn_alone_begin(exec, &neighborhood->channel, &seq)) {
        return false;
    }
    send_all(x, quick, seq);
    uint64_t missing = ctn_quick_all(quick);
    uint64_t unfit = receive_here(x, quick, seq, &missing);
    ctn_patience_t patience = {0};
    while (missing != 0 && ctn_alone_wait(exec, &patience)) {
        unfit |= receive_here(x, quick, seq, &missing);
    }
    neighborhood->last = quick->plan[ctn_kind_pattern(x->kind)]->algorithm;
    ctn_quick_end(quick, seq);
    *status = unfit != 0 ? ctn_exchange_rest(x, seq, unfit) : CATENA_OK;
    catena_status_t ended = ctn_alone_end(exec, &neighborhood->channel);
    *status = ended != CATENA_OK ? ended : *status;
    return true;
}
