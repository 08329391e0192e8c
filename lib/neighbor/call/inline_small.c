/* The inline path (call/inline.h) for small blocks: blocking calls that are in
 * the call cache, and persistent requests. On oversubscribed cores such a call
 * lasts until each rank of the core has run. What delays a rank then is pages
 * of code and data that it touches and jumps between them, not instructions.
 * Therefore this file has code of its own for the messages of call/inline.c, in
 * one place and with few calls of other functions. */

#include <string.h>

#include "exec/inline.h"
#include "neighbor/call/call.h"
#include "neighbor/call/inline.h"
#include "neighbor/link/protocol.h"

_Static_assert(CTN_NEIGHBOR_INLINE_BYTES < CTN_LINK_POSTED_MIN,
               "messages here are never posted");

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

/** Copies a block that is not empty. One loop, unrolled only twice, so that its
 * code takes few cache lines. The last 16 bytes are copied apart and may
 * overlap those before. */
__attribute__((noinline)) CTN_HOT_POLL static void
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

/** The same for user data. */
static inline void copy_block(ctn_exec_t *exec, unsigned char *target,
                              const unsigned char *source, size_t bytes)
{
    if (!exec->drop_data) {
        copy(target, source, bytes);
    }
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
}

/** The cache entry of a call, of the two for both patterns, or NULL. */
static inline const ctn_inline_call_cache_t *
find_cached(const ctn_inline_path_t *path,
            const ctn_neighbor_collective_t *collective,
            const ctn_arguments_t *args)
{
    const ctn_inline_call_cache_t *cache = path->cache;
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

/** Copies the blocks from this rank to itself. */
CTN_COLD static void make_local_copies(ctn_exec_t *exec,
                                       const ctn_inline_small_t *small)
{
    const ctn_schedule_t *schedule = small->local_copies;
    size_t bytes = small->bytes;
    for (uint32_t t = 0; t < schedule->local_copies; t++) {
        const ctn_local_copy_t *self = &schedule->local_copy[t];
        copy_block(exec, small->recv + self->to.index * bytes,
                   small->send + self->from.index * (size_t)small->send_step,
                   bytes);
    }
}

/** Sends all messages and makes the local copies. */
static inline void send_all(ctn_exec_t *exec, const ctn_inline_small_t *small,
                            uint64_t seq)
{
    size_t bytes = small->bytes;
    for (uint32_t m = 0; m < small->sends; m++) {
        const ctn_inline_end_t *end = &small->end[m];
        copy_block(exec, ctn_inline_payload(end, seq, bytes),
                   small->send + end->neighbor * (size_t)small->send_step,
                   bytes);
        ctn_exec_post(exec, &ctn_inline_slot(end, seq)->word[0],
                      ctn_flag(seq, bytes));
    }
    if (small->local_copies != NULL) {
        make_local_copies(exec, small);
    }
}

/** Receives the missing messages that have arrived. @return a mask of those
 * with a length mismatch */
static inline uint64_t receive_here(ctn_exec_t *exec,
                                    const ctn_inline_small_t *small,
                                    uint64_t seq, uint64_t *missing)
{
    const ctn_inline_end_t *first = small->end + small->sends;
    size_t bytes = small->bytes;
    uint64_t mismatch = 0;
    for (uint64_t left = *missing; left != 0; left &= left - 1) {
        const ctn_inline_end_t *end = &first[__builtin_ctzll(left)];
        uint64_t word = ctn_word_load(&ctn_inline_slot(end, seq)->word[0]);
        if (!ctn_flag_matches(word, seq)) {
            continue;
        }
        *missing &= ~(left & -left);
        if (ctn_flag_count(word) == bytes) {
            copy_block(exec, small->recv + end->neighbor * bytes,
                       ctn_inline_payload(end, seq, bytes), bytes);
        } else {
            mismatch |= left & -left;
        }
    }
    return mismatch;
}

/** Receives until all messages have arrived, or the operation was aborted.
 * @return a mask of those with a length mismatch */
static inline uint64_t receive_all(const ctn_inline_small_t *small,
                                   uint64_t seq, ctn_exec_t *exec,
                                   uint64_t *missing)
{
    uint64_t mismatch = 0;
    ctn_backoff_t backoff = {0};
    do {
        mismatch |= receive_here(exec, small, seq, missing);
    } while (*missing != 0 && ctn_inline_yield(exec, &backoff));
    return mismatch;
}

/* ---- blocking calls ---- */

/** Messages with a mismatch take the general path, which reports it. */
CTN_COLD static catena_status_t
end_mismatch(const ctn_neighbor_collective_t *collective,
             const ctn_arguments_t *args, catena_neighborhood_t *neighborhood,
             uint64_t seq, uint64_t mismatch)
{
    ctn_exchange_t x = {.collective = collective};
    catena_status_t status =
        ctn_neighbor_validate(collective, args, neighborhood, &x);
    status =
        status == CATENA_OK ? ctn_exchange_rest(&x, seq, mismatch) : status;
    ctn_exec_wake(neighborhood->exec); /* the peers that were notified */
    return status;
}

/** Begins a call if it may run inline: takes its number. @return its cache
 * entry, or NULL: nothing was done */
static inline const ctn_inline_call_cache_t *
begin(const ctn_neighbor_collective_t *collective, const ctn_arguments_t *args,
      catena_neighborhood_t *neighborhood, ctn_inline_small_t *small,
      uint64_t *seq)
{
    const ctn_inline_path_t *path = neighborhood->path;
    if (path == NULL || neighborhood->requested != path->requested) {
        return NULL;
    }
    const ctn_inline_call_cache_t *cache = find_cached(path, collective, args);
    if (cache == NULL || !ctn_inline_take_number(neighborhood, path->in, seq)) {
        return NULL;
    }
    *small = cache->small;
    small->send = args->send.buffer;
    /* The caller's buffer. catena writes only to receive buffers. */
    small->recv = (unsigned char *)(uintptr_t)args->recv.buffer;
    return cache;
}

CTN_HOT_POLL_LAST bool ctn_inline_small_call(
    const ctn_neighbor_collective_t *collective, const ctn_arguments_t *args,
    catena_neighborhood_t *neighborhood, catena_status_t *status)
{
    ctn_exec_t *exec = neighborhood->exec;
    ctn_inline_small_t small;
    uint64_t seq;
    const ctn_inline_call_cache_t *cache =
        begin(collective, args, neighborhood, &small, &seq);
    if (cache == NULL) {
        return false;
    }
    send_all(exec, &small, seq);
    ctn_exec_wake(exec);
    uint64_t missing = ctn_inline_mask(small.receives);
    uint64_t mismatch = receive_all(&small, seq, exec, &missing);
    ctn_neighbor_record(neighborhood, collective, cache->schedule);
    ctn_inline_all_received(neighborhood, seq);
    *status = mismatch != 0
                  ? end_mismatch(collective, args, neighborhood, seq, mismatch)
                  : CATENA_OK;
    catena_status_t ended = ctn_inline_end_number(neighborhood);
    *status = ended != CATENA_OK ? ended : *status;
    return true;
}

/* ---- requests ---- */

/** op->start of a persistent request with small blocks. False: nothing was
 * done; the phases have to run. */
CTN_HOT_POLL static bool start_small(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (!x->rests ||
        !ctn_inline_take_number(x->neighborhood, x->in, &op->seq)) {
        return false;
    }
    send_all(op->exec, &x->small, op->seq);
    ctn_inline_activate(op);
    return true;
}

/** Its op->wait. False: the phases have to end the operation. */
CTN_HOT_POLL static bool wait_small(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    if (!ctn_inline_is_sole(op)) {
        return false;
    }
    /* Messages with a mismatch are left to the phases. */
    uint64_t mismatch = receive_all(&x->small, op->seq, op->exec, &x->missing);
    x->missing |= mismatch;
    if (x->missing != 0) {
        return false;
    }
    ctn_inline_all_received(x->neighborhood, op->seq);
    ctn_inline_complete(op);
    return true;
}

/** Copies the link ends behind the request's state if there is space, so that a
 * start touches few pages. */
static void keep_ends(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    size_t ends = (size_t)x->small.sends + x->small.receives;
    size_t bytes = ends * sizeof(ctn_inline_end_t);
    if (sizeof(*x) + bytes <= CTN_OP_STATE_BYTES) {
        memcpy(x + 1, x->small.end, bytes);
        x->small.end = (const ctn_inline_end_t *)(const void *)(x + 1);
    }
}

void ctn_inline_small_request(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    x->small.send = x->send.base;
    x->small.recv = x->recv.base;
    keep_ends(op);
    op->start = start_small;
    op->wait = wait_small;
}
