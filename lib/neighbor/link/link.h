#ifndef CTN_NEIGHBOR_LINK_LINK_H
#define CTN_NEIGHBOR_LINK_LINK_H

#include "coll/blocks.h"
#include "exec/exec.h"
#include "exec/transfer.h"

/* NBR-6. Links: the messages of an edge go through a link from one rank to
 * another. A link carries at most one message in each operation of its
 * neighborhood's sequence; both ends know in which operations it carries one.
 * Credits are between the two ends alone, so a rank waits only for ranks that
 * it has a link to or from.
 *
 * The receiver holds CTN_LINK_GENERATIONS slots and as many eager buffers, the
 * sender a link control that the receiver writes. The sender selects the
 * protocol by the length, by whether the receiver is on its node, and there by
 * where the data lie:
 *   inline      in the slot                      (<= CTN_INLINE_BYTES)
 *   eager       in the slot's eager buffer       (<= ctn_link_most_bytes)
 *   zero-copy   on a node: the slot tells where the data lie in the sender's
 *               arena; the receiver reads them there and acknowledges it
 *   rendezvous  a transfer (exec/transfer.h) to the receive buffer, or to
 *               memory taken for the message. Its CTS lies in the link control.
 *               It is unsolicited if the receiver knew the length, else it
 *               answers an RTS in the slot. On a node only if cores are
 *               oversubscribed and the receiver came first
 *
 * Every message carries its length, so the receiver need not know it.
 *
 * Operation `seq` uses generation seq % CTN_LINK_GENERATIONS. The sender may
 * write to that generation when the receiver has completed operation seq -
 * CTN_LINK_GENERATIONS on this link. The sender learns this from the receiver's
 * count in the link control, or from the link in the other direction: a peer
 * that has sent in operation m has completed all operations below m -
 * CTN_LINK_FLIGHT + 1. A receiver writes its count only if its own messages do
 * not tell the sender enough. */

#define CTN_LINK_GENERATIONS 4u
/* Operations of a neighborhood that a rank runs at once. */
#define CTN_LINK_FLIGHT 2u

/** Largest eager buffers of a link, and of all links between nodes, or on a
 * node, at a receiver. */
size_t ctn_link_most_eager(bool local, bool oversubscribed);
#define CTN_LINK_EAGER_ALL ((size_t)4 << 20)
#define CTN_LINK_EAGER_NODE ((size_t)512 << 10)

/** The longest message that an eager buffer takes. On a node messages rotate
 * through it. */
static inline uint32_t ctn_link_most_bytes(bool local, uint32_t eager_bytes)
{
    const uint32_t most = CTN_PICK(16384, 512);
    return local && eager_bytes > most ? most : eager_bytes;
}

/** Whether a message on the node that lies in the heap is a zero-copy send
 * though it fits an eager buffer: if ranks have a core each. With more ranks
 * than cores its sender would have to wait until the receiver has run. */
static inline bool ctn_link_prefers_zcopy(const ctn_exec_t *exec, size_t bytes)
{
    return !exec->oversubscribed && bytes > CTN_PICK(1024u, 256u);
}

/** Size of the eager buffers of a link, at a receiver with this many links:
 * `most`, halved until those of all links fit `all`, but not below a least
 * size. */
uint32_t ctn_link_eager_bytes(uint32_t links, size_t most, size_t all);

/** Link control: the words of a link that the receiver writes at the sender; in
 * the sender's arena. An operation uses entry ctn_link_entry(seq) of each
 * array; the entry is free when the operation is complete at the sender. */
typedef struct ctn_link_control {
    uint64_t complete; /* number of operations complete at the receiver */
    /* ctn_flag64 of an operation whose zero-copy data have been read */
    uint64_t zcopy_read[CTN_LINK_FLIGHT];
    /* Only of a persistent request (call/persistent.c): 0, CTN_LINK_CONNECTED
     * or CTN_LINK_CLOSED, and the members of ctn_link_out_t. */
    uint64_t state;
    uint64_t slots, eager, eager_bytes;
    uint64_t unused[5];
    ctn_cts_t unsolicited[CTN_LINK_FLIGHT]; /* sent without an RTS */
    ctn_cts_t solicited[CTN_LINK_FLIGHT];   /* answers an RTS */
} ctn_link_control_t;

_Static_assert(sizeof(ctn_link_control_t) == 192, "three cache lines");

#define CTN_LINK_CONNECTED UINT64_C(1)
#define CTN_LINK_CLOSED UINT64_C(2) /* the receiver writes nothing more */

/** What either end of a link knows of the other end. */
typedef struct ctn_link_peer {
    uint32_t rank;            /* in the neighborhood's group */
    uint64_t process;         /* for ctn_exec_connect */
    ctn_endpoint_t *endpoint; /* NULL: not connected yet */
    bool local;               /* on this node */
} ctn_link_peer_t;

/** The sender's end. */
typedef struct ctn_link_out {
    ctn_link_peer_t peer;
    ctn_link_control_t *control; /* in the own arena */
    uint64_t slots;              /* [generation]: offset in the peer's arena */
    uint64_t eager;              /* [generation][eager_bytes]: likewise */
    uint32_t eager_bytes;
    uint64_t complete; /* number of operations known to be complete at the peer;
                          control->complete may be greater */
    uint64_t sent;     /* 1 + the last operation in which the link carried a
                          message */
    bool expects_cts;  /* the last long message got an unsolicited CTS */
} ctn_link_out_t;

/** The receiver's end. */
typedef struct ctn_link_in {
    ctn_link_peer_t peer;
    ctn_slot_t *slots;    /* [generation] in the own arena, zeroed before the
                             first use */
    unsigned char *eager; /* [generation][eager_bytes] */
    uint32_t eager_bytes;
    uint64_t control;        /* the link control: offset in the peer's arena */
    uint64_t reported;       /* the peer knows that this many operations are
                                complete here */
    ctn_link_out_t *reverse; /* a link to the same peer, or NULL */
} ctn_link_in_t;

/** Takes memory for the slots, link controls and eager buffers of the link ends
 * of a rank from the heap: sets out[].control, in[].slots and in[].eager.
 * in[].eager_bytes and in[].peer.local are set. All slots and link controls are
 * contiguous, since on oversubscribed cores a rank misses the TLB for each page
 * that it touches.
 * @param begun number of the first operation of these links; both ends know
 *              that the operations before it are complete
 * @return all of the memory; NULL: there is none */
void *ctn_link_take(ctn_exec_t *exec, ctn_link_out_t *out, uint32_t outs,
                    ctn_link_in_t *in, uint32_t ins, uint64_t begun);

/** The offset of such memory in the own arena. */
static inline uint64_t ctn_link_offset(const ctn_exec_t *exec,
                                       const void *memory)
{
    uint64_t offset = 0;
    (void)ctn_heap_contains(exec->heap, memory, 1, &offset);
    return offset;
}

/** Send handle: one message under way. Zeroed before the first call. */
typedef struct ctn_link_send_handle {
    /* All members are private to link/send.c. */
    uint8_t state;
    uint8_t spins; /* polls for a CTS before an RTS is sent */
    void *copy;    /* packed data of a zero-copy send, in the own arena, or
                      NULL */
    size_t copy_bytes;
    ctn_transfer_send_t transfer;
} ctn_link_send_handle_t;

/** Sends `count` spans as one message of `bytes`. To be called until it returns
 * NEXT; then the spans may be reused as soon as op->pending is 0. WAIT: no
 * credit yet, or the receiver still reads. A message of 0 bytes is sent like
 * any other. The caller may skip the call if the receiver does not wait for the
 * empty message. */
ctn_step_t ctn_link_send(ctn_op_t *op, ctn_link_out_t *out,
                         const ctn_span_t *spans, uint32_t count, size_t bytes,
                         ctn_link_send_handle_t *sending);

/** Layout of zero-copy data: contiguous, or runs of equal length at an even
 * stride. */
typedef struct ctn_link_layout {
    size_t run;       /* bytes of a run; 0: contiguous */
    size_t count;     /* number of runs */
    ptrdiff_t stride; /* bytes from one run to the next */
} ctn_link_layout_t;

/** Receive handle: one message. Zeroed before the first call. */
typedef struct ctn_link_receive_handle {
    /* Set when the message has arrived. data is NULL if only sizes are
     * simulated, or if they are at an address of the sender; see
     * ctn_link_make_contiguous. */
    const unsigned char *data;
    size_t bytes;
    ctn_link_layout_t layout; /* of data */
    uint64_t place;         /* an address at the sender (exec/attach.h); 0: they
                               are at `data` */
    ctn_endpoint_t *sender; /* if `place` is not 0 */
    /* The following members are private to link/receive.c. */
    uint8_t state;
    unsigned char *buffer; /* memory that a CTS or a posted receive names */
    size_t buffer_bytes;
    void *copy; /* memory in the own arena that the handle frees, or NULL */
    size_t copy_bytes;
    const uint64_t *word; /* word of the slot for which `buffer` is posted at
                             the network transport, or NULL */
    ctn_transfer_recv_t transfer;
} ctn_link_receive_handle_t;

/** Posts a receive of known length. May be called before the first
 * ctn_link_receive. Saves the RTS of a long message between nodes, and a copy
 * of a shorter one; on a node the sender may write directly to the buffer.
 * @param into contiguous target, which nothing else uses until the message has
 *             arrived; NULL: memory is taken if needed */
catena_status_t ctn_link_post_receive(ctn_op_t *op, ctn_link_in_t *in,
                                      size_t bytes, void *into,
                                      ctn_link_receive_handle_t *receiving);

/** Receives a message. NEXT: it has arrived, and stays until ctn_link_done. */
ctn_step_t ctn_link_receive(ctn_op_t *op, ctn_link_in_t *in,
                            ctn_link_receive_handle_t *receiving);

/** Makes the data of a received message contiguous. */
catena_status_t ctn_link_make_contiguous(ctn_op_t *op,
                                         ctn_link_receive_handle_t *receiving);

/** Copies a received message into a span with as many bytes. Data that already
 * lie there are not copied. */
void ctn_link_copy(ctn_op_t *op, const ctn_link_receive_handle_t *receiving,
                   const ctn_span_t *span);

/** Releases a message: frees what the handle holds, and acknowledges zero-copy
 * data. */
catena_status_t ctn_link_done(ctn_op_t *op, ctn_link_in_t *in,
                              ctn_link_receive_handle_t *receiving);

/** All operations of the sequence below `complete` are complete here: reports
 * `complete` to the sender if necessary. To be called for every link, also for
 * those that carried nothing, before an operation sends that could not begin
 * while fewer operations were complete. */
catena_status_t ctn_link_complete(ctn_exec_t *exec, ctn_link_in_t *in,
                                  uint64_t complete);

/** Whether the words of a generation are zeroed at the end of operation `seq`.
 * Numbers in sequence flags repeat, and links have no epoch barriers
 * (exec/generations.h). Instead each receiver zeroes the words of each of its
 * generations once in an epoch, at the end of the last operation of the epoch
 * that uses the generation. The message of that operation has been received,
 * and the sender writes there again only when it knows that the operation is
 * complete here. A CTS stays at the sender, which may begin any number of
 * operations without data before it receives anything from the receiver again.
 * So a CTS identifies one of the operations that have its number
 * (ctn_link_cts_bytes). */
static inline bool ctn_link_zeroes(uint64_t seq)
{
    return seq % CTN_EPOCH >= CTN_EPOCH - CTN_LINK_GENERATIONS;
}
/** Zeroes the words of the generation of operation `seq` in all these links,
 * also in those that carried nothing. */
void ctn_link_zero(ctn_link_in_t *in, uint32_t ins, uint64_t seq);

/** Flushes all puts of this rank, also those that no operation waits for.
 * Blocks. */
catena_status_t ctn_link_finalize(ctn_exec_t *exec);

/** When an operation ends: releases what a handle still holds if the operation
 * has failed. */
void ctn_link_send_handle_drop(ctn_link_send_handle_t *sending);
void ctn_link_receive_handle_drop(ctn_op_t *op,
                                  ctn_link_receive_handle_t *receiving);

#endif
