#ifndef CTN_NEIGHBOR_CALL_INLINE_H
#define CTN_NEIGHBOR_CALL_INLINE_H

#include "exec/inline.h"
#include "neighbor/call/executor.h"
#include "neighbor/link/protocol.h"

/* The inline path: messages that need no rounds, of direct schedules whose
 * links all stay on the node and exist in both directions. The messages fit
 * slots or eager buffers, or are zero-copy sends of uniform blocks. On
 * oversubscribed cores a rank finds an empty TLB whenever it runs, so the pages
 * that it touches decide its time: all that these messages need is contiguous.
 * The messages are those of link/link.h, in the same generations; the other end
 * does not know whether this path or the general one (the executor over
 * link/link.h) sent or received a message. A schedule on this path has at most
 * CTN_NEIGHBOR_INLINE_MESSAGES messages each way, so that 64-bit masks can name
 * them: bit m is message m. */

/** Longest list of sources or targets: ctn_inline_end_t has 16-bit indices. */
#define CTN_INLINE_LIST 65536u

/** One end of a link: what long messages need beside ctn_inline_end_t. */
typedef struct ctn_inline_peer {
    unsigned char *arena;        /* of the other end, mapped here */
    ctn_link_control_t *control; /* at the sender, mapped here */
} ctn_inline_peer_t;

/** An entry of the call cache: the arguments of the last call of a pattern that
 * had small uniform blocks and a direct schedule. A call with equal arguments
 * uses the same schedule. */
typedef struct ctn_inline_call_cache {
    const ctn_neighbor_collective_t *collective; /* NULL: empty */
    const ctn_type_t *send_type, *recv_type;     /* predefined types */
    size_t send_count, recv_count;
    const ctn_schedule_t *schedule;
    ctn_inline_small_t small; /* without the buffers */
} ctn_inline_call_cache_t;

/** The inline path of a neighborhood. Both patterns have the same links. */
struct ctn_inline_path {
    ctn_inline_call_cache_t cache[CTN_PATTERNS];
    int requested; /* neighborhood->requested when `cache` and `uniform` were
                      set */
    uint32_t sends, receives;
    const ctn_link_in_t *in; /* schedule->in */
    ctn_link_out_t *out;     /* schedule->out */
    uint32_t most_bytes;     /* length of the smallest eager buffer */
    /* The last call of a pattern with uniform blocks of this length used this
     * direct schedule, so others with this length do. SIZE_MAX: none. */
    size_t uniform[CTN_PATTERNS];
    const ctn_schedule_t *schedule[CTN_PATTERNS];
    ctn_inline_peer_t *peer; /* [sends], then [receives] */
    ctn_inline_end_t end[];  /* [sends], then [receives] */
};

/** The inline path that a schedule may take: message m of the path is its send
 * or receive m. Created on first use. NULL: the schedule is not suited, or no
 * memory. */
ctn_inline_path_t *ctn_inline_path_of(catena_neighborhood_t *neighborhood,
                                      const ctn_schedule_t *schedule);
/** Notes in the path that calls like `x`, with uniform blocks of this length,
 * use this schedule. */
void ctn_inline_note(const ctn_exchange_t *x, const ctn_schedule_t *schedule,
                     size_t bytes);

/** To be called before the general path uses the links: tells them the credit
 * that the inline path has gained. */
void ctn_inline_sync(catena_neighborhood_t *neighborhood);

/** Whether the generation of operation `seq` is free in all links. */
bool ctn_inline_may_send(catena_neighborhood_t *neighborhood, uint64_t seq);

/** Posts the receive buffer of message m for a sender that comes later, if
 * posting is useful (ctn_link_may_post). Nothing reads the buffer any more. */
void ctn_inline_post(const ctn_exec_t *exec, const ctn_inline_path_t *path,
                     uint32_t m, uint64_t seq, void *into, size_t bytes);

/** Sends message m of an operation: 1 to path->most_bytes bytes. `data` may be
 * overwritten on return. */
void ctn_inline_send(ctn_exec_t *exec, const ctn_inline_path_t *path,
                     uint32_t m, uint64_t seq, const void *data, size_t bytes);

/** Whether message m has arrived. If it fits, it has been copied to `into`.
 * @param[out] fits false: it has another length or layout than expected, and
 *                  the functions of link/link.h must receive it */
bool ctn_inline_receive(ctn_exec_t *exec, const ctn_inline_path_t *path,
                        uint32_t m, uint64_t seq, void *into, size_t bytes,
                        bool *fits);

/** Whether the send blocks of a call with uniform, dense blocks can be
 * zero-copy sends, and are long enough for that.
 * @param[out] offset of the first block in the own arena */
bool ctn_inline_may_zcopy(const ctn_exchange_t *x,
                          const ctn_inline_path_t *path, uint64_t *offset);

/** Sends all messages of a call with uniform, dense blocks, and makes its local
 * copies.
 * @param zcopy  messages may be zero-copy sends
 * @param offset as from ctn_inline_may_zcopy
 * @return a mask of the zero-copy sends */
uint64_t ctn_inline_send_all(const ctn_exchange_t *x,
                             const ctn_inline_path_t *path,
                             const ctn_schedule_t *schedule, uint64_t seq,
                             bool zcopy, uint64_t offset);

/** The zero-copy sends of the mask `zcopied` that have not been read yet. */
uint64_t ctn_inline_still_zcopied(const ctn_inline_path_t *path, uint64_t seq,
                                  uint64_t zcopied);

/** A mask of this many messages, 1 to 64. */
static inline uint64_t ctn_inline_mask(uint32_t receives)
{
    return UINT64_MAX >> (64 - receives);
}

/** All messages of operation `seq` have arrived, so their senders have begun
 * it: updates the credit. */
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

/** Takes a number for an operation that runs without phases, like
 * ctn_inline_begin (exec/exec.h). False: another operation is under way, other
 * links were used last, words are to be zeroed, or a generation is not free.
 * @param in schedule->in */
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

/** Ends an operation that took its number with ctn_inline_take_number.
 * @return its status */
static inline catena_status_t
ctn_inline_end_number(catena_neighborhood_t *neighborhood)
{
    neighborhood->sequence.complete = neighborhood->sequence.started;
    return neighborhood->exec->status;
}

/** Makes a request active that has taken its number and sent all its messages.
 * It is the only operation in exec->active, so its list pointers stay NULL. */
static inline void ctn_inline_activate(ctn_op_t *op)
{
    ctn_exchange_t *x = ctn_op_state(op);
    ctn_exec_t *exec = op->exec;
    ctn_exec_wake(exec);
    x->neighborhood->begun = op->seq + 1;
    x->missing = ctn_inline_mask(x->small.receives);
    x->sole = true;
    op->phase = CTN_EXCHANGE_SHORT;
    op->state = CTN_OP_ACTIVE;
    op->linked = true;
    exec->active = op;
}

/** Whether this operation was started inline and is the only one under way: one
 * that started later would stand before it in exec->active, or have a higher
 * number. */
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
    op->linked = false;
    op->exec->active = NULL;
    op->state = CTN_OP_DONE;
    op->status = ctn_inline_end_number(x->neighborhood);
}

#endif
