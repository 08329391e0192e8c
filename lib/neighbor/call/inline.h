#ifndef CTN_NEIGHBOR_CALL_INLINE_H
#define CTN_NEIGHBOR_CALL_INLINE_H

#include "neighbor/call/executor.h"
#include "neighbor/link/protocol.h"

/* Short messages of direct plans whose links all stay on the node and lead both
 * ways; those of blocking calls also if they are long, but can be lent. With
 * more ranks than cores a rank finds an empty TLB whenever it runs, and what it
 * takes is decided by the pages that it touches: what these messages need lies
 * side by side here. They are messages of link.h, in the same rings; the other
 * end need not know how one was sent or received. */

/* Messages at most CTN_NEIGHBOR_INLINE_MESSAGES, each way: those that are
 * missing are a mask.
 */
/** Neighbors at most in a list: their numbers are of two bytes. */
#define CTN_INLINE_LIST 65536u

/** What long messages need besides. */
typedef struct ctn_inline_peer {
    unsigned char *arena; /* of the other end, where it is mapped here */
    ctn_link_control_t *control;
} ctn_inline_peer_t;

/** A call as it is given, of a kind whose blocks are all alike, that went by a
 * direct plan: another that is given so will go the same way. */
typedef struct ctn_inline_call_cache {
    const ctn_neighbor_collective_t *collective; /* NULL: there was none */
    catena_datatype_t send_type, recv_type;      /* constants */
    size_t send_count, recv_count;
    const ctn_schedule_t *ran;
    ctn_inline_small_t small; /* without the buffers */
} ctn_inline_call_cache_t;

struct ctn_inline_path {
    ctn_inline_call_cache_t cache[CTN_PATTERNS];
    int requested; /* the setting then */
    uint32_t sends, receives;
    const ctn_link_in_t *in;
    ctn_link_out_t *out;
    uint32_t most_bytes; /* of a message */
    /* Calls of so many bytes are known to go by a direct plan. */
    size_t uniform[CTN_PATTERNS];
    const ctn_schedule_t *schedule[CTN_PATTERNS];
    ctn_inline_peer_t *peer; /* [sends], then [receives] */
    ctn_inline_end_t end[];  /* likewise */
};

/** What messages of a plan may go through, in the order of its sends and
 * receives; NULL: they may not. Made when it is first asked for. */
ctn_inline_path_t *ctn_inline_path_of(catena_neighborhood_t *neighborhood,
                                      const ctn_schedule_t *schedule);
/** Calls of so many bytes along all edges go by this plan, as this one does. */
void ctn_inline_note(const ctn_exchange_t *x, const ctn_schedule_t *schedule,
                     size_t bytes);

/** Links are to be used without it: tell them what is known. */
void ctn_inline_sync(catena_neighborhood_t *neighborhood);

/** Whether the rings of an operation are free that is about to begin. */
bool ctn_inline_may_send(catena_neighborhood_t *neighborhood, uint64_t seq);

/** Say where message m may go at once, if its sender comes later. `exec` is the
 * rank's own, and nothing is read there any more. */
void ctn_inline_post(const ctn_exec_t *exec, const ctn_inline_path_t *path,
                     uint32_t m, uint64_t seq, void *into, size_t bytes);

/** Send message m of an operation: 1 to quick->most_bytes. `data` are free
 * afterwards. */
void ctn_inline_send(const ctn_exec_t *exec, const ctn_inline_path_t *path,
                     uint32_t m, uint64_t seq, const void *data, size_t bytes);

/** Whether message m is here; then it is in its buffer. The other calls of
 * link.h must do for one of another length: it does not fit. */
bool ctn_inline_receive(ctn_exec_t *exec, const ctn_inline_path_t *path,
                        uint32_t m, uint64_t seq, void *into, size_t bytes,
                        bool *fits);

/** Whether what a call of alike, dense blocks sends may be read by the others
 * where it is, and is so long that it is better read there.
 * @param[out] offset of the first block in the own arena */
bool ctn_inline_may_zcopy(const ctn_exchange_t *x,
                          const ctn_inline_path_t *path, uint64_t *offset);

/** Send all messages of such a call, or lend them.
 * @return those that are lent, as a mask */
uint64_t ctn_inline_send_all(const ctn_exchange_t *x,
                             const ctn_inline_path_t *path,
                             const ctn_schedule_t *schedule, uint64_t seq,
                             bool zcopy, uint64_t offset);

/** Of the blocks that are lent, those that still are. */
uint64_t ctn_inline_still_zcopied(const ctn_inline_path_t *path, uint64_t seq,
                                  uint64_t zcopied);

/** So many messages, as a mask. */
static inline uint64_t ctn_inline_mask(uint32_t receives)
{
    return UINT64_MAX >> (64 - receives);
}

/** All messages of an operation are here: their senders have begun it. */
static inline void ctn_inline_all_received(catena_neighborhood_t *neighborhood,
                                           uint64_t seq)
{
    uint64_t allowed = ctn_link_completed_before(seq) + CTN_LINK_GENERATIONS;
    if (allowed > neighborhood->allowed) {
        neighborhood->allowed = allowed;
    }
    neighborhood->ahead = true;
}

/* ---- calls without phases ---- */

/** Take a number, if nothing is under way that has one, or needs progress. As
 * ctn_inline_begin; the channel has no rings, and time is not virtual.
 * @param in the links of the plan */
static inline bool ctn_inline_take_number(catena_neighborhood_t *neighborhood,
                                          const ctn_link_in_t *in,
                                          uint64_t *seq)
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

/** One that has taken its number so is over. @return what became of it */
static inline catena_status_t
ctn_inline_end_number(catena_neighborhood_t *neighborhood)
{
    neighborhood->sequence.complete = neighborhood->sequence.started;
    return neighborhood->exec->status;
}

/** A request has taken its number, and has sent all of it: it is active. It is
 * in no list, which has left its pointers NULL. */
static inline void ctn_inline_activate(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_exec_t *exec = op->exec;
    ctn_exec_ring_doorbells(exec);
    x->neighborhood->begun = op->seq + 1;
    x->missing = ctn_inline_mask(x->small.receives);
    x->sole = true;
    op->phase = CTN_EXCHANGE_SHORT;
    op->state = CTN_OP_ACTIVE;
    exec->active = op;
}

/** All that is under way here is one operation that was started so: others
 * would be active before it, as the last ones started. Nothing waits behind it,
 * or has a number after it. */
static inline bool ctn_inline_is_sole(const ctn_op_t *op)
{
    const ctn_exchange_t *x = (const ctn_exchange_t *)(const void *)op->memory;
    return op->exec->active == op && op->phase == CTN_EXCHANGE_SHORT &&
           x->sole && x->rests && op->sequence->started == op->seq + 1;
}

/** It is alone, and over. */
static inline void ctn_inline_complete(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    x->of->last = x->schedule;
    op->exec->active = NULL;
    op->state = CTN_OP_DONE;
    op->status = ctn_inline_end_number(x->neighborhood);
}

#endif
