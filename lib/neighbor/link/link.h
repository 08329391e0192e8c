#ifndef CTN_NEIGHBOR_LINK_LINK_H
#define CTN_NEIGHBOR_LINK_LINK_H

#include "coll/blocks.h"
#include "exec/exec.h"

/* NBR-6. Links: what an edge of a neighborhood sends its messages through, from
 * one rank to another. A link carries at most one message in each operation of
 * its neighborhood's channel; both ends know in which. It knows no group:
 * credits are between its two ends alone, so nobody waits for whom no link
 * leads to.
 *
 * At the receiver lie CTN_LINK_GENERATIONS slots and as many wide payloads; at
 * the sender a cell that the receiver writes. The sender chooses the way, by
 * length and place: inline  in the slot                      (<=
 * CTN_INLINE_BYTES) eager   in the slot's wide payload       (<= eager_bytes)
 *   lent    on a node: the slot says where the data lie in the sender's heap;
 *           the receiver reads them there, and says when it is done
 *   put     on a node with more ranks than cores: the receiver was there first
 *           and has said in the slot where it wants the message
 *   granted between nodes: into memory that the receiver took for the message,
 *           or into its buffer, and named in the cell; unasked when it knew the
 *           length, else after the slot has told it
 * Every message says its length, so the receiver need not know it.
 *
 * Operation `seq` uses ring seq % CTN_LINK_GENERATIONS. The sender may write it
 * when the receiver is done with operation seq - CTN_LINK_GENERATIONS on this
 * link. It knows from the receiver's count in the cell, or from the reverse
 * link: a peer that has sent in operation m has completed all below m -
 * CTN_LINK_FLIGHT + 1. A receiver tells its count only when the sender cannot
 * know enough. */

#define CTN_LINK_GENERATIONS 4u
#define CTN_LINK_FLIGHT 2u

/** What a link is between. */
typedef enum ctn_link_kind {
    CTN_LINK_REMOTE, /* ranks of different nodes */
    CTN_LINK_LOCAL,
    CTN_LINK_OVERSUBSCRIBED /* ranks of a node with more ranks than cores */
} ctn_link_kind_t;

/** The longest messages that a link takes in its wide payloads, at a receiver
 * with so many links of that kind. */
size_t ctn_link_eager_bytes(uint32_t links, ctn_link_kind_t kind);

/** Memory that a receiver has for the message of one operation. */
typedef struct ctn_link_cts {
    uint64_t word; /* ctn_flag64 of the operation; written last */
    uint64_t offset;
    uint64_t bytes;
    uint64_t unused;
} ctn_link_cts_t;

/** What a receiver tells the sender; in the sender's heap. An operation's
 * entries are free when it is complete at the sender. */
typedef struct ctn_link_control {
    uint64_t complete; /* operations the receiver is done with */
    /* ctn_flag64 of one whose lent data were read */
    uint64_t zcopy_read[CTN_LINK_FLIGHT];
    uint64_t unused[8 - 1 - CTN_LINK_FLIGHT];
    ctn_link_cts_t unsolicited[CTN_LINK_FLIGHT];
    ctn_link_cts_t solicited[CTN_LINK_FLIGHT];
} ctn_link_control_t;

_Static_assert(sizeof(ctn_link_control_t) == 192, "three cache lines");

/** What both kinds of ends know of the other. */
typedef struct ctn_link_peer {
    uint32_t rank; /* in the neighborhood's group, for messages to people */
    uint64_t process;
    ctn_endpoint_t *endpoint; /* NULL: not connected yet */
    bool local;               /* on this node */
} ctn_link_peer_t;

/** The sender's end. */
typedef struct ctn_link_out {
    ctn_link_peer_t peer;
    ctn_link_control_t *control; /* in the own heap */
    uint64_t slots;              /* offsets in the peer's arena: [ring] */
    uint64_t eager;              /* [ring][eager_bytes] */
    uint32_t eager_bytes;
    uint64_t complete; /* operations that the peer is known to be done with,
                          but for what the cell says */
    uint64_t sent;     /* 1 + the last operation it carried a message in */
    bool expects_cts;  /* the last long message was granted unasked */
} ctn_link_out_t;

/** The receiver's end. */
typedef struct ctn_link_in {
    ctn_link_peer_t peer;
    ctn_slot_t *slots;    /* [ring] in the own heap, zeroed before the first */
    unsigned char *eager; /* [ring][eager_bytes] */
    uint32_t eager_bytes;
    uint64_t control;  /* offset in the peer's arena */
    uint64_t reported; /* what the peer knows of the operations complete here */
    ctn_link_out_t *reverse; /* to the same peer, or NULL */
} ctn_link_in_t;

/** How much memory the ends of a rank's links take, page-aligned in the own
 * heap. Needs in[].eager_bytes and in[].peer.near.
 * @param[out] zero bytes from its start that are to be zero */
size_t ctn_link_memory(uint32_t outs, const ctn_link_in_t *in, uint32_t ins,
                       size_t *zero);
/** Deal it out: sets out[].cell, in[].slots and in[].wide. All slots and cells
 * lie side by side: with more ranks than cores each page costs.
 * @param begun the channel's operations before the links' first: both ends know
 *              that the other is done with them */
void ctn_link_place(void *memory, ctn_link_out_t *out, uint32_t outs,
                    ctn_link_in_t *in, uint32_t ins, uint64_t begun);

/** One message under way, at the sender; zeroed before the first call. */
typedef struct ctn_link_send_handle {
    /* link.c's */
    uint8_t state;
    uint8_t spins; /* for a grant, before asking */
    void *copy;    /* what was packed to be lent, in the own heap, or NULL */
    size_t copy_bytes;
    uint64_t target; /* of a granted message; how much of it has been sent: */
    size_t done;     /* bytes, */
    uint32_t span;   /* up to this part, */
    size_t within;   /* and this byte of it */
} ctn_link_send_handle_t;

/** Send `count` parts as one message of `bytes`. To be called until it says
 * NEXT: then the parts are free, but for op->pending. WAIT: no credit yet, or
 * the receiver still reads. A message of 0 bytes is sent, too: not to call this
 * saves it. */
ctn_step_t ctn_link_send(ctn_op_t *op, ctn_link_out_t *out,
                         const ctn_span_t *spans, uint32_t count, size_t bytes,
                         ctn_link_send_handle_t *sending);

/** How data lie that are lent: `count` runs, `stride` from one to the next. */
typedef struct ctn_link_layout {
    size_t run; /* bytes; 0: all lie together */
    size_t count;
    ptrdiff_t stride;
} ctn_link_layout_t;

/** One message, at the receiver; zeroed before the first call. */
typedef struct ctn_link_receive_handle {
    /* Once it is here; data is NULL where they have a size only: */
    const unsigned char *data;
    size_t bytes;
    ctn_link_layout_t layout; /* of data; see ctn_link_make_contiguous */
    /* link.c's */
    uint8_t state;
    unsigned char *buffer; /* memory that was granted, ... */
    size_t buffer_bytes;
    void *copy; /* ... which is this, in the own heap, or the caller's: NULL */
    size_t copy_bytes;
    const uint64_t *word; /* with which the network expects data for `room`, or
                             NULL */
} ctn_link_receive_handle_t;

/** May be called before the first ctn_link_receive by who knows the length:
 * saves the sender of a long message between nodes to ask, and a copy of one
 * that is not; and lets one on this node put it where it belongs.
 * @param into where it goes, contiguous and free from now on; NULL: memory is
 *             taken if need be */
catena_status_t ctn_link_post_receive(ctn_op_t *op, ctn_link_in_t *in,
                                      size_t bytes, void *into,
                                      ctn_link_receive_handle_t *receiving);

/** NEXT: the message is here, and stays until ctn_link_done. */
ctn_step_t ctn_link_receive(ctn_op_t *op, ctn_link_in_t *in,
                            ctn_link_receive_handle_t *receiving);

/** Make the data lie together, if they do not. */
catena_status_t ctn_link_make_contiguous(ctn_op_t *op,
                                         ctn_link_receive_handle_t *receiving);

/** Copy a message that is here into parts of as many bytes, one after the
 * other; what is where it belongs already stays. */
void ctn_link_copy(ctn_op_t *op, const ctn_link_receive_handle_t *receiving,
                   const ctn_span_t *spans, uint32_t count);

/** This end is done with the message: gives back what it holds, tells a sender
 * whose memory was read. */
catena_status_t ctn_link_done(ctn_op_t *op, ctn_link_in_t *in,
                              ctn_link_receive_handle_t *receiving);

/** An operation of the channel is complete here (all below `complete` are):
 * tell the sender if it must know. For every link, also those that carried
 * nothing, and before operations send that may begin because of it. */
catena_status_t ctn_link_complete(ctn_exec_t *exec, ctn_link_in_t *in,
                                  uint64_t complete);

/** Numbers come again, and nothing that all ranks of a neighborhood run could
 * say when: a receiver zeroes the words of each ring once in an epoch
 * (exec/control_block.h), as operation `seq` of it ends. What that operation
 * brought was taken, and the sender writes there again only when it knows that
 * it is complete here. */
static inline bool ctn_link_zeroes(uint64_t seq)
{
    return seq % CTN_EPOCH >= CTN_EPOCH - CTN_LINK_GENERATIONS;
}
/** For every link, also those that carry nothing. */
void ctn_link_zero(ctn_link_in_t *in, uint32_t ins, uint64_t seq);

/** Before the barrier after which memory of links is freed: counts and grants
 * for which nobody waits are where they belong. Blocks. */
catena_status_t ctn_link_finalize(ctn_exec_t *exec);

/** For finish: release what an operation that failed still holds. */
void ctn_link_send_handle_drop(ctn_op_t *op, ctn_link_send_handle_t *sending);
void ctn_link_receive_handle_drop(ctn_op_t *op,
                                  ctn_link_receive_handle_t *receiving);

#endif
