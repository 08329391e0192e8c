/* Which schedules have an inline path (call/inline.h), and which calls may take
 * it. */

#include <stdlib.h>

#include "neighbor/call/executor.h"

/* ---- creation ---- */

/** Whether the links lead both ways: each has a reverse one. Else receivers
 * would have to send counts of complete operations. */
static bool leads_both_ways(const ctn_schedule_t *schedule)
{
    bool both = schedule->ins == schedule->outs;
    for (uint32_t i = 0; i < schedule->ins; i++) {
        both = both && schedule->in[i].reverse != NULL;
    }
    return both;
}

/** Whether a peer is on this node and connected. */
static bool is_mapped(const ctn_link_peer_t *peer)
{
    return peer->local && peer->endpoint != NULL;
}

/** Whether a schedule may use the inline path. */
static bool suits(const catena_neighborhood_t *neighborhood,
                  const ctn_schedule_t *schedule)
{
    bool local = true;
    for (uint32_t i = 0; i < schedule->ins; i++) {
        local = local && is_mapped(&schedule->in[i].peer);
    }
    for (uint32_t o = 0; o < schedule->outs; o++) {
        local = local && is_mapped(&schedule->out[o].peer);
    }
    return local &&
           schedule ==
               neighborhood->schedule[CTN_NEIGHBOR_DIRECT][schedule->pattern] &&
           schedule->outs > 0 &&
           schedule->outs <= CTN_NEIGHBOR_INLINE_MESSAGES &&
           schedule->ins <= CTN_NEIGHBOR_INLINE_MESSAGES &&
           leads_both_ways(schedule);
}

/** The index of a link's edge in the list of targets. The blocks of a schedule
 * do not tell: with allgather all targets get the same one. */
static uint32_t target_of(const catena_neighborhood_t *neighborhood,
                          uint32_t link)
{
    uint32_t i = 0;
    while (neighborhood->target[i].link != link) {
        i++;
    }
    return i;
}

/** Sets the link ends of a path. */
static void set_ends(const catena_neighborhood_t *neighborhood,
                     const ctn_schedule_t *schedule, ctn_inline_end_t *end)
{
    for (uint32_t m = 0; m < schedule->sends; m++) {
        uint32_t link = schedule->send[m].link;
        const ctn_link_out_t *out = &schedule->out[link];
        ctn_endpoint_t *to = out->peer.endpoint;
        *end++ = (ctn_inline_end_t){.slots = ctn_pointer(to, out->slots),
                                    .eager = ctn_pointer(to, out->eager),
                                    .arena = ctn_pointer(to, 0),
                                    .peer = to,
                                    .control = out->control,
                                    .eager_bytes = out->eager_bytes,
                                    .neighbor = target_of(neighborhood, link)};
    }
    for (uint32_t m = 0; m < schedule->receives; m++) {
        const ctn_schedule_message_t *message = &schedule->receive[m];
        const ctn_link_in_t *in = &schedule->in[message->link];
        ctn_endpoint_t *from = in->peer.endpoint;
        *end++ = (ctn_inline_end_t){.slots = in->slots,
                                    .eager = in->eager,
                                    .arena = ctn_pointer(from, 0),
                                    .peer = from,
                                    .control = ctn_pointer(from, in->control),
                                    .eager_bytes = in->eager_bytes,
                                    .neighbor =
                                        schedule->block[message->first].index};
    }
}

/** Creates the inline path of a schedule that suits it. NULL: no memory. */
static ctn_inline_path_t *make(const catena_neighborhood_t *neighborhood,
                               const ctn_schedule_t *schedule)
{
    size_t ends = (size_t)schedule->sends + schedule->receives;
    ctn_inline_path_t *path =
        malloc(sizeof(*path) + ends * sizeof(ctn_inline_end_t));
    if (path == NULL) { /* the general path is used */
        return NULL;
    }
    *path = (ctn_inline_path_t){
        .sends = schedule->sends,
        .receives = schedule->receives,
        .most_bytes = UINT32_MAX,
        .out = schedule->out,
        .in = schedule->in,
    };
    set_ends(neighborhood, schedule, path->end);
    for (uint32_t i = 0; i < ends; i++) {
        uint32_t bytes = ctn_link_most_bytes(true, path->end[i].eager_bytes);
        path->most_bytes = bytes < path->most_bytes ? bytes : path->most_bytes;
    }
    return path;
}

/** The inline path that a schedule may take: message m of the path is its send
 * or receive m. Created on first use. NULL: the schedule is not suited, or no
 * memory. */
static ctn_inline_path_t *path_of(catena_neighborhood_t *neighborhood,
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

/* ---- calls ---- */

/** Empties an entry of the call cache. */
static void drop(ctn_inline_call_cache_t *cache)
{
    if (cache->op != NULL) {
        ctn_op_release(cache->op);
    }
    *cache = (ctn_inline_call_cache_t){.op = NULL};
}

/** Whether all blocks are uniform and dense. */
static bool is_uniform(const ctn_exchange_t *x)
{
    return !ctn_neighbor_varies(x->collective) &&
           x->send.bytes == x->recv.bytes && x->send.type->dense &&
           x->recv.type->dense;
}

/** The length of the longest block of all messages. 0: one is empty, or not
 * contiguous. */
static size_t longest(const ctn_execution_t *execution)
{
    const ctn_schedule_t *schedule = execution->schedule;
    size_t most = 0;
    for (uint32_t m = 0; m < schedule->sends + schedule->receives; m++) {
        const ctn_span_t *block =
            m < schedule->sends ? execution->send[m].block
                                : execution->receive[m - schedule->sends].block;
        if (block->bytes == 0 || block->type != NULL) {
            return 0;
        }
        most = block->bytes > most ? block->bytes : most;
    }
    return most;
}

void ctn_inline_set(ctn_exchange_t *x)
{
    const ctn_schedule_t *schedule = x->execution->schedule;
    ctn_inline_path_t *path =
        x->execution->remote || schedule->is_hello ||
                (x->in_place && schedule->local_copies > 0) ||
                ctn_neighbor_reduces(x->collective)
            ? NULL
            : path_of(x->neighborhood, schedule);
    /* From CTN_FRAGMENT_COUNT on, counts of flags are no lengths. */
    size_t most = path != NULL ? longest(x->execution) : 0;
    x->path = NULL;
    if (most == 0 || most >= CTN_FRAGMENT_COUNT) {
        return;
    }
    bool uniform = is_uniform(x);
    bool one = schedule->pattern == CTN_PATTERN_ALLGATHER;
    x->inlined = (ctn_inline_exchange_t){
        .end = path->end,
        .schedule = schedule->copy_of != NULL ? schedule->copy_of : schedule,
        .send = x->send.base,
        .recv = x->recv.base,
        .send_step = one ? 0 : x->send.step,
        .recv_step = x->recv.step,
        .bytes = most,
        .blocks = uniform ? NULL : x->execution,
        .local_copies = uniform && schedule->local_copies > 0 ? schedule : NULL,
        .sends = path->sends,
        .receives = path->receives,
        .in_place = x->in_place};
    x->inlined.zcopy =
        ctn_inline_may_zcopy(x->neighborhood->exec, path, &x->inlined);
    x->path = most <= path->most_bytes || x->inlined.zcopy ? path : NULL;
}

bool ctn_inline_keep(ctn_op_t *op, const ctn_arguments_t *args)
{
    ctn_exchange_t *x = ctn_op_state(op);
    /* Not with derived types: they may be freed, and others may take their
     * address. */
    if (x->path == NULL || x->inlined.blocks != NULL || x->in_place ||
        x->send.type->derived || x->recv.type->derived) {
        return false;
    }
    ctn_inline_call_cache_t *cache =
        &x->path->cache[x->execution->schedule->pattern];
    drop(cache);
    *cache = (ctn_inline_call_cache_t){.collective = x->collective,
                                       .send_type = args->send.type,
                                       .recv_type = args->recv.type,
                                       .send_count = args->send.count,
                                       .recv_count = args->recv.count,
                                       .op = op};
    op->persistent = true;
    x->of = x->neighborhood;
    return true;
}

void ctn_inline_forget(catena_neighborhood_t *neighborhood)
{
    for (int pattern = 0; neighborhood->path != NULL && pattern < CTN_PATTERNS;
         pattern++) {
        drop(&neighborhood->path->cache[pattern]);
    }
}
