#ifndef CTN_NEIGHBOR_CALL_INLINE_H
#define CTN_NEIGHBOR_CALL_INLINE_H

#include "coll/call/arguments.h"
#include "neighbor/link/protocol.h"
#include "neighbor/neighborhood.h"

/* The inline path: messages that need no rounds, of direct schedules whose
 * links all stay on the node and exist in both directions. The messages fit
 * slots or eager buffers, or are zero-copy sends of uniform blocks. They are
 * those of link/link.h, in the same generations; the other end does not know
 * whether this path or the general one (the executor over link/link.h) sent or
 * received a message. A schedule on this path has at most
 * CTN_NEIGHBOR_INLINE_MESSAGES messages each way, so that 64-bit masks can name
 * them: bit m is message m.
 *
 * An operation takes the path in its phases. A persistent operation also runs
 * without phases while no other operation is under way. A blocking call of
 * uniform blocks is one that its neighborhood keeps: the next call with equal
 * arguments sends and receives as it does, with other buffers, and makes it
 * active only if the phases have to end it. */

/** Most messages of an inline call in each direction. */
#define CTN_NEIGHBOR_INLINE_MESSAGES CTN_PICK(64u, 4u)

/** One end of a link, mapped here. */
typedef struct ctn_inline_end {
    ctn_slot_t *slots;           /* [generation] at the receiver */
    unsigned char *eager;        /* [generation][eager_bytes], likewise */
    unsigned char *arena;        /* of the other end */
    ctn_endpoint_t *peer;        /* the other end */
    ctn_link_control_t *control; /* at the sender */
    uint32_t eager_bytes;
    uint32_t neighbor; /* index in the list of targets or of sources */
} ctn_inline_end_t;

/** An exchange on the inline path: where its blocks lie, the ends of its links,
 * and its messages under way. */
typedef struct ctn_inline_exchange {
    const ctn_inline_end_t *end;    /* [sends], then [receives] */
    const ctn_schedule_t *schedule; /* of the neighborhood, to be recorded */
    /* Uniform, dense blocks. */
    unsigned char *send, *recv;
    ptrdiff_t send_step, recv_step; /* from one block to the next */
    size_t bytes;                   /* of a block */
    /* Other blocks: NULL if they are uniform and dense. */
    const struct ctn_execution *blocks;
    const ctn_schedule_t *local_copies; /* a schedule with local copies of
                                           uniform, dense blocks; else NULL */
    uint32_t sends, receives;
    bool in_place;
    bool zcopy;            /* messages are zero-copy sends */
    uint64_t zcopy_offset; /* of the first block in the own arena */
    uint64_t missing;      /* mask of the messages that have not arrived */
    uint64_t zcopied;      /* mask of the messages still to be read */
} ctn_inline_exchange_t;

/** An entry of the call cache: the last blocking call of a pattern that had
 * uniform blocks and took the inline path. */
typedef struct ctn_inline_call_cache {
    const struct ctn_neighbor_collective *collective; /* NULL: empty */
    const ctn_type_t *send_type, *recv_type;          /* predefined types */
    size_t send_count, recv_count;
    ctn_op_t *op; /* persistent; its buffers are those of the last call */
} ctn_inline_call_cache_t;

/** The inline path of a neighborhood. Both patterns have the same links. */
typedef struct ctn_inline_path {
    ctn_inline_call_cache_t cache[CTN_PATTERNS];
    uint32_t sends, receives;
    const ctn_link_in_t *in; /* schedule->in */
    ctn_link_out_t *out;     /* schedule->out */
    uint32_t most_bytes;     /* longest message that all links send eager */
    uint64_t allowed; /* operations below this number have a free generation in
                         all links; ahead of out[].complete, so that a call
                         touches only this */
    ctn_inline_end_t end[]; /* [sends], then [receives] */
} ctn_inline_path_t;

struct ctn_exchange;

/* ---- call/inline_path.c ---- */

/** Describes a call whose messages are set on the inline path, if it can take
 * that: sets x->path and x->inlined. */
void ctn_inline_set(struct ctn_exchange *x);

/** Enters the operation of a blocking call that has not started into the call
 * cache, if its blocks are uniform and it may take the inline path. It is
 * persistent then. @return whether it was entered */
bool ctn_inline_keep(ctn_op_t *op, const ctn_arguments_t *args);

/** Forgets all calls: others may use other schedules now. */
void ctn_inline_forget(catena_neighborhood_t *neighborhood);

/* ---- call/inline.c ---- */

/** Whether uniform, dense blocks can be zero-copy sends, and shall be by their
 * length. Sets the offset of the first one. */
bool ctn_inline_may_zcopy(const ctn_exec_t *exec, const ctn_inline_path_t *path,
                          ctn_inline_exchange_t *x);

/** Whether the generation of operation `seq` is free in all links. */
bool ctn_inline_may_send(ctn_inline_path_t *path, uint64_t seq);

/** To be called before the general path uses the links: tells them the credit
 * that the inline path has gained. */
void ctn_inline_sync(const ctn_inline_path_t *path);

/** Posts the receive buffers of long blocks, sends all messages, and makes the
 * local copies of uniform blocks. */
void ctn_inline_send(ctn_exec_t *exec, ctn_inline_exchange_t *x, uint64_t seq);

/** Receives the missing messages that have arrived. @return a mask of those
 * with another length or layout than expected: the functions of link/link.h
 * must receive them */
uint64_t ctn_inline_receive(ctn_exec_t *exec, ctn_inline_exchange_t *x,
                            uint64_t seq);

/** All messages of operation `seq` have arrived, so all peers have begun it:
 * updates the credit. */
void ctn_inline_all_received(ctn_inline_path_t *path, uint64_t seq);

/** Whether all zero-copy sends have been read. */
bool ctn_inline_is_read(ctn_inline_exchange_t *x, uint64_t seq);

/** Runs a blocking call inline if it is in the call cache. False: nothing has
 * been done. */
bool ctn_inline_call(const struct ctn_neighbor_collective *collective,
                     const ctn_arguments_t *args,
                     catena_neighborhood_t *neighborhood,
                     ctn_recorded_call_t *record, catena_status_t *status);

/** Sets op->start and op->wait of a persistent operation that may run inline.
 */
void ctn_inline_request(ctn_op_t *op);

#endif
