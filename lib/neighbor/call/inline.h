#ifndef CTN_NEIGHBOR_CALL_INLINE_H
#define CTN_NEIGHBOR_CALL_INLINE_H

#include "neighbor/call/executor.h"
#include "neighbor/link/protocol.h"

/* The inline path: short messages of direct schedules whose links all stay on
 * the node and exist in both directions; in blocking calls also long messages
 * that can be zero-copy sends. On oversubscribed cores a rank finds an empty
 * TLB whenever it runs, and its time is decided by the pages that it touches:
 * so all that these messages need is contiguous. The messages are those of
 * link.h, in the same generations; the other end does not know which path sent
 * or received a message. */

/* At most CTN_NEIGHBOR_INLINE_MESSAGES messages each way: the missing ones are
 * a mask. */
/** Most neighbors in a list: indices have two bytes. */
#define CTN_INLINE_LIST 65536u

/** What long messages need in addition. */
typedef struct ctn_inline_peer {
    unsigned char *arena; /* of the other end, mapped here */
    ctn_link_control_t *control;
} ctn_inline_peer_t;

/** The call cache: the arguments of a call with uniform blocks that used a
 * direct schedule. A call with equal arguments uses the same schedule. */
typedef struct ctn_inline_call_cache {
    const ctn_neighbor_collective_t *collective; /* NULL: empty */
    const ctn_type_t *send_type, *recv_type;     /* predefined types */
    size_t send_count, recv_count;
    const ctn_schedule_t *ran;
    ctn_inline_small_t small; /* without the buffers */
} ctn_inline_call_cache_t;

struct ctn_inline_path {
    ctn_inline_call_cache_t cache[CTN_PATTERNS];
    int requested; /* the setting when it was cached */
    uint32_t sends, receives;
    const ctn_link_in_t *in;
    ctn_link_out_t *out;
    uint32_t most_bytes; /* of a message */
    /* Calls with this many bytes are known to use a direct schedule. */
    size_t uniform[CTN_PATTERNS];
    const ctn_schedule_t *schedule[CTN_PATTERNS];
    ctn_inline_peer_t *peer; /* [sends], then [receives] */
    ctn_inline_end_t end[];  /* likewise */
};

/** The inline path of a schedule, in the order of its sends and receives. NULL:
 * there is none. Created on first use. */
ctn_inline_path_t *ctn_inline_path_of(catena_neighborhood_t *neighborhood,
                                      const ctn_schedule_t *schedule);
/** Calls with this many bytes along all edges use this schedule, as `x` does.
 */
void ctn_inline_note(const ctn_exchange_t *x, const ctn_schedule_t *schedule,
                     size_t bytes);

/** The links are about to be used by the general path: updates their credits.
 */
void ctn_inline_sync(catena_neighborhood_t *neighborhood);

/** Whether the generation of an operation that is about to begin is free. */
bool ctn_inline_may_send(catena_neighborhood_t *neighborhood, uint64_t seq);

/** Posts the receive buffer of message m for a sender that comes later. `exec`
 * is the rank's own. Nothing reads the buffer any more. */
void ctn_inline_post(const ctn_exec_t *exec, const ctn_inline_path_t *path,
                     uint32_t m, uint64_t seq, void *into, size_t bytes);

/** Sends message m of an operation: 1 to path->most_bytes bytes. `data` may be
 * overwritten on return. */
void ctn_inline_send(const ctn_exec_t *exec, const ctn_inline_path_t *path,
                     uint32_t m, uint64_t seq, const void *data, size_t bytes);

/** Whether message m has arrived; then it is in its buffer. If it does not fit,
 * the functions of link.h must receive it. */
bool ctn_inline_receive(ctn_exec_t *exec, const ctn_inline_path_t *path,
                        uint32_t m, uint64_t seq, void *into, size_t bytes,
                        bool *fits);

/** Whether the send blocks of a call with uniform, dense blocks can be
 * zero-copy sends, and are long enough for that.
 * @param[out] offset of the first block in the own arena */
bool ctn_inline_may_zcopy(const ctn_exchange_t *x,
                          const ctn_inline_path_t *path, uint64_t *offset);

/** Sends all messages of such a call.
 * @return a mask of the zero-copy sends */
uint64_t ctn_inline_send_all(const ctn_exchange_t *x,
                             const ctn_inline_path_t *path,
                             const ctn_schedule_t *schedule, uint64_t seq,
                             bool zcopy, uint64_t offset);

/** The zero-copy sends that have not been read yet. */
uint64_t ctn_inline_still_zcopied(const ctn_inline_path_t *path, uint64_t seq,
                                  uint64_t zcopied);

/** A mask of this many messages. */
static inline uint64_t ctn_inline_mask(uint32_t receives)
{
    return UINT64_MAX >> (64 - receives);
}

/** All messages of an operation have arrived, so their senders have begun it.
 */
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

/** Takes a number if no operation is under way and none needs progress, like
 * ctn_inline_begin. The sequence has no generations, and time is not virtual.
 * @param in the links of the schedule */
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

/** Ends an operation that took its number this way. @return its status */
static inline catena_status_t
ctn_inline_end_number(catena_neighborhood_t *neighborhood)
{
    neighborhood->sequence.complete = neighborhood->sequence.started;
    return neighborhood->exec->status;
}

/** A request has taken its number and sent everything: it becomes active. It is
 * in no list, so its list pointers stay NULL. */
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

/** The only operation under way was started inline: later ones would be active
 * before it. No operation waits for it or has a higher number. */
static inline bool ctn_inline_is_sole(const ctn_op_t *op)
{
    const ctn_exchange_t *x = (const ctn_exchange_t *)(const void *)op->memory;
    return op->exec->active == op && op->phase == CTN_EXCHANGE_SHORT &&
           x->sole && x->rests && op->sequence->started == op->seq + 1;
}

/** Completes the only operation under way. */
static inline void ctn_inline_complete(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_neighbor_record(x->of, x->collective, x->schedule);
    op->exec->active = NULL;
    op->state = CTN_OP_DONE;
    op->status = ctn_inline_end_number(x->neighborhood);
}

#endif
