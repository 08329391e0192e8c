/* Blocking calls of small blocks, given as others were that went by a direct
 * plan with all links on the node. With more ranks than cores such a call takes
 * as long as all ranks of a core take turns; and in a turn it is not
 * instructions that count, but pages of code and of data, and jumps between
 * them. So what such a call does stands here once more, together, and without
 * calls of other functions. Its messages are those of quick.h. */

#include <string.h>

#include "neighbor/given.h"
#include "neighbor/link_way.h"
#include "neighbor/quick.h"

_Static_assert(CTN_SMALL_MOST < CTN_LINK_WANT_LEAST,
               "messages here have not been put where they are wanted");

/** Copy a block of a few bytes at least 1. */
static inline void copy_short(unsigned char *target,
                              const unsigned char *source, size_t bytes)
{
    if (bytes >= 8) { /* which may overlap */
        uint64_t first, last;
        memcpy(&first, source, 8);
        memcpy(&last, source + bytes - 8, 8);
        memcpy(target, &first, 8);
        memcpy(target + bytes - 8, &last, 8);
        return;
    }
    for (size_t i = 0; i < bytes; i++) {
        *(volatile unsigned char *)&target[i] = source[i];
    }
}

/** Copy a block, which is not empty. One loop, not unrolled: what is run comes
 * out of few cache lines. */
__attribute__((noinline)) CTN_TURN static void
copy(unsigned char *target, const unsigned char *source, size_t bytes)
{
    enum { VECTOR = 16 };
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

static inline unsigned char *payload(const ctn_quick_end_t *end,
                                     ctn_slot_t *slot, uint64_t seq,
                                     size_t bytes)
{
    return bytes <= CTN_INLINE_BYTES
               ? slot->data
               : end->wide + ctn_link_ring(seq) * (size_t)end->wide_bytes;
}

static inline ctn_slot_t *slot_of(const ctn_quick_end_t *end, uint64_t seq)
{
    return (ctn_slot_t *)(void *)end->slots + ctn_link_ring(seq);
}

/** What was seen of calls that are given so, or NULL. */
static inline const ctn_quick_seen_t *
find_seen(const ctn_quick_t *quick, const ctn_neighbor_given_t *given)
{
    const ctn_quick_seen_t *seen = quick->seen;
    seen += seen->kind != given->kind;
    return seen->kind == given->kind && seen->send_type == given->send.type &&
                   seen->recv_type == given->recv.type &&
                   seen->send_count == given->send.count &&
                   seen->recv_count == given->recv.count &&
                   given->send.buffer != NULL && given->recv.buffer != NULL &&
                   given->send.buffer != CATENA_IN_PLACE &&
                   given->recv.buffer != CATENA_IN_PLACE
               ? seen
               : NULL;
}

/** Buffers of a call, and how blocks lie in them. */
typedef struct small {
    const ctn_quick_t *quick;
    const unsigned char *send;
    unsigned char *recv;
    size_t send_step, bytes; /* also from one received block to the next */
    const ctn_plan_t *plan;  /* if it has transfers; else NULL */
    uint64_t seq;
} small_t;

static inline void send_all(const small_t *small)
{
    const ctn_quick_t *quick = small->quick;
    const ctn_plan_t *plan = small->plan;
    size_t bytes = small->bytes;
    for (uint32_t m = 0; m < quick->sends; m++) {
        const ctn_quick_end_t *end = &quick->send[m];
        ctn_slot_t *slot = slot_of(end, small->seq);
        copy(payload(end, slot, small->seq, bytes),
             small->send + end->neighbor * small->send_step, bytes);
        ctn_word_store(&slot->word[0], ctn_tag(small->seq, bytes));
    }
    for (uint32_t t = 0; plan != NULL && t < plan->transfers; t++) {
        const ctn_transfer_t *self = &plan->transfer[t];
        copy(small->recv + self->to.index * bytes,
             small->send + self->from.index * small->send_step, bytes);
    }
}

/** Take what is here of those that are missing. @return messages that are of
 * another length */
static inline uint64_t receive_here(const small_t *small, uint64_t *missing)
{
    size_t bytes = small->bytes;
    uint64_t unfit = 0;
    for (uint64_t left = *missing; left != 0; left &= left - 1) {
        const ctn_quick_end_t *end =
            &small->quick->receive[__builtin_ctzll(left)];
        ctn_slot_t *slot = slot_of(end, small->seq);
        uint64_t word = ctn_word_load(&slot->word[0]);
        if (!ctn_tag_matches(word, small->seq)) {
            continue;
        }
        *missing &= ~(left & -left);
        if (ctn_tag_count(word) == bytes) {
            copy(small->recv + end->neighbor * bytes,
                 payload(end, slot, small->seq, bytes), bytes);
        } else {
            unfit |= left & -left;
        }
    }
    return unfit;
}

/** What is here, until all is or nothing will come any more. @return messages
 * that are of another length */
static inline uint64_t receive_all(const small_t *small, ctn_exec_t *exec,
                                   uint64_t *missing)
{
    uint64_t unfit = receive_here(small, missing);
    ctn_patience_t patience = {0};
    while (*missing != 0 && ctn_alone_wait(exec, &patience)) {
        unfit |= receive_here(small, missing);
    }
    return unfit;
}

/* ---- blocking calls ---- */

/** Messages of another length go the usual way, on which that is found out. */
CTN_COLD static catena_status_t end_unfit(const ctn_neighbor_given_t *given,
                                          uint64_t seq, uint64_t unfit)
{
    ctn_exchange_t x = {.kind = given->kind};
    catena_status_t status = ctn_neighbor_understand(given, &x);
    return status == CATENA_OK ? ctn_exchange_rest(&x, seq, unfit) : status;
}

/** Whether a call may begin that is given so. */
static inline const ctn_quick_seen_t *begin(const ctn_neighbor_given_t *given,
                                            small_t *small)
{
    catena_neighborhood_t *neighborhood = given->neighborhood;
    ctn_quick_t *quick = neighborhood->quick;
    if (quick == NULL || neighborhood->wanted != quick->wanted) {
        return NULL;
    }
    const ctn_quick_seen_t *seen = find_seen(quick, given);
    if (seen == NULL || !ctn_quick_take_number(neighborhood, &small->seq)) {
        return NULL;
    }
    small->quick = quick;
    small->send = given->send.buffer;
    /* Our own buffer: catena writes to what it receives only. */
    small->recv = (unsigned char *)(uintptr_t)given->recv.buffer;
    small->send_step = seen->send_step;
    small->bytes = seen->bytes;
    small->plan = seen->plan;
    return seen;
}

CTN_TURN bool ctn_small_call(const ctn_neighbor_given_t *given,
                             catena_status_t *status)
{
    catena_neighborhood_t *neighborhood = given->neighborhood;
    ctn_exec_t *exec = neighborhood->exec;
    small_t small;
    const ctn_quick_seen_t *seen = begin(given, &small);
    if (seen == NULL) {
        return false;
    }
    send_all(&small);
    exec->local->told = true;
    uint64_t missing = ctn_quick_all(small.quick);
    uint64_t unfit = receive_all(&small, exec, &missing);
    neighborhood->last = seen->ran;
    ctn_quick_end(neighborhood->quick, small.seq);
    *status = unfit != 0 ? end_unfit(given, small.seq, unfit) : CATENA_OK;
    catena_status_t ended = ctn_alone_end(exec, &neighborhood->channel);
    *status = ended != CATENA_OK ? ended : *status;
    return true;
}

/* ---- requests ---- */

static inline small_t small_of(const ctn_exchange_t *x, uint64_t seq)
{
    return (small_t){.quick = x->quick,
                     .send = x->send.base,
                     .recv = x->recv.base,
                     .send_step = x->small_step,
                     .bytes = x->small_bytes,
                     .plan = x->small_transfers,
                     .seq = seq};
}

CTN_TURN static bool start_small(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (!x->rests || !ctn_quick_take_number(x->neighborhood, &op->seq)) {
        return false;
    }
    small_t small = small_of(x, op->seq);
    send_all(&small);
    ctn_quick_activate(op);
    return true;
}

CTN_TURN static bool wait_small(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (!ctn_quick_is_alone(op)) {
        return false;
    }
    small_t small = small_of(x, op->seq);
    /* Those that do not fit are still missing for the phases. */
    uint64_t unfit = receive_all(&small, op->exec, &x->missing);
    x->missing |= unfit;
    if (x->missing != 0) {
        return false;
    }
    ctn_quick_end(x->quick, op->seq);
    ctn_quick_complete(op);
    return true;
}

void ctn_small_request(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    const ctn_plan_t *plan = x->run->plan;
    if (x->quick == NULL || ctn_kind_varies(x->kind) ||
        x->send.bytes != x->recv.bytes || x->send.bytes > CTN_SMALL_MOST ||
        !x->send.type->dense || !x->recv.type->dense) {
        return;
    }
    x->small_bytes = x->send.bytes;
    x->small_step = plan->pattern == CTN_PATTERN_GATHER ? 0 : x->small_bytes;
    x->small_transfers = plan->transfers > 0 ? plan : NULL;
    x->small_ran = plan;
    op->start = start_small;
    op->wait = wait_small;
}
