#ifndef CTN_NEIGHBOR_LINK_LINK_H
#define CTN_NEIGHBOR_LINK_LINK_H

#include "coll/blocks.h"
#include "exec/exec.h"

/* NBR-6. Links: an edge of a neighborhood sends its messages through a link,
 * from one rank to another. A link carries at most one message in each
 * operation of its neighborhood's sequence; both ends know in which. It needs
 * no group: the credits are between its two ends alone, so no rank waits for a
 * rank that it has no link to.
 *
 * The receiver holds CTN_LINK_GENERATIONS slots and as many eager buffers, the
 * sender a link control that the receiver writes. The sender selects the
 * protocol, by length and locality:
 *   inline      in the slot                      (<= CTN_INLINE_BYTES)
 *   eager       in the slot's eager buffer       (<= eager_bytes)
 *   zero-copy   on a node: the slot tells where the data lie in the sender's
 *               heap; the receiver reads them there and acknowledges it
 *   posted      on an oversubscribed node: the receiver came first and has
 *               posted a buffer in the slot; the sender writes there
 *   rendezvous  between nodes: into memory of the receiver, or its buffer, that
 *               a CTS in the link control names. The CTS is unsolicited if the
 *               receiver knew the length, else it answers an RTS in the slot
 *
 * Every message carries its length, so the receiver need not know it.
 *
 * Operation `seq` uses generation seq % CTN_LINK_GENERATIONS. The sender may
 * write it when the receiver has completed operation seq - CTN_LINK_GENERATIONS
 * on this link. The sender knows this from the receiver's count in the link
 * control, or from the reverse link: a peer that has sent in operation m has
 * completed all operations below m - CTN_LINK_FLIGHT + 1. A receiver reports
 * its count only if the sender may not know enough. */

#define CTN_LINK_GENERATIONS 4u
#define CTN_LINK_FLIGHT 2u

/** The locality of a link. */
typedef enum ctn_link_kind {
    CTN_LINK_REMOTE, /* ranks on different nodes */
    CTN_LINK_LOCAL,
    CTN_LINK_OVERSUBSCRIBED /* ranks on a node with more ranks than cores */
} ctn_link_kind_t;

/** Size of the eager buffers of a link, at a receiver with this many links of
 * that kind. */
size_t ctn_link_eager_bytes(uint32_t links, ctn_link_kind_t kind);

/** A CTS: memory that a receiver offers for the message of one operation. */
typedef struct ctn_link_cts {
    uint64_t word; /* ctn_flag64 of the operation; written last */
    uint64_t offset;
    uint64_t bytes;
    uint64_t unused;
} ctn_link_cts_t;

/** What a receiver tells the sender; in the sender's heap. The entries of an
 * operation are free when it is complete at the sender. */
typedef struct ctn_link_control {
    uint64_t complete; /* operations that are complete at the receiver */
    /* ctn_flag64 of an operation whose zero-copy data have been read */
    uint64_t zcopy_read[CTN_LINK_FLIGHT];
    uint64_t unused[8 - 1 - CTN_LINK_FLIGHT];
    ctn_link_cts_t unsolicited[CTN_LINK_FLIGHT];
    ctn_link_cts_t solicited[CTN_LINK_FLIGHT];
} ctn_link_control_t;

_Static_assert(sizeof(ctn_link_control_t) == 192, "three cache lines");

/** What either end of a link knows of the other end. */
typedef struct ctn_link_peer {
    uint32_t rank; /* in the neighborhood's group, for messages to the user */
    uint64_t process;
    ctn_endpoint_t *endpoint; /* NULL: not connected yet */
    bool local;               /* on this node */
} ctn_link_peer_t;

/** The sender's end. */
typedef struct ctn_link_out {
    ctn_link_peer_t peer;
    ctn_link_control_t *control; /* in the own heap */
    uint64_t slots;              /* offsets in the peer's arena: [generation] */
    uint64_t eager;              /* [generation][eager_bytes] */
    uint32_t eager_bytes;
    uint64_t complete; /* operations known to be complete at the peer,
                          besides the count in the link control */
    uint64_t sent;     /* 1 + the last operation in which it carried a
                          message */
    bool expects_cts;  /* the last long message got an unsolicited CTS */
} ctn_link_out_t;

/** The receiver's end. */
typedef struct ctn_link_in {
    ctn_link_peer_t peer;
    ctn_slot_t *slots;    /* [generation] in the own heap, zeroed before the
                             first use */
    unsigned char *eager; /* [generation][eager_bytes] */
    uint32_t eager_bytes;
    uint64_t control;        /* offset in the peer's arena */
    uint64_t reported;       /* complete operations that the peer knows of */
    ctn_link_out_t *reverse; /* to the same peer, or NULL */
} ctn_link_in_t;

/** Size of the memory for the link ends of a rank, page-aligned in the own
 * heap. Needs in[].eager_bytes and in[].peer.local.
 * @param[out] zero bytes at its start that must be zero */
size_t ctn_link_memory(uint32_t outs, const ctn_link_in_t *in, uint32_t ins,
                       size_t *zero);
/** Assigns the memory: sets out[].control, in[].slots and in[].eager. All slots
 * and link controls are contiguous: on oversubscribed cores each page costs.
 * @param begun number of the first operation of these links; both ends know
 *              that the operations before it are complete */
void ctn_link_place(void *memory, ctn_link_out_t *out, uint32_t outs,
                    ctn_link_in_t *in, uint32_t ins, uint64_t begun);

/** Send handle: one message under way. Zeroed before the first call. */
typedef struct ctn_link_send_handle {
    /* link.c's */
    uint8_t state;
    uint8_t spins; /* for a CTS, before sending an RTS */
    void *copy;    /* packed data of a zero-copy send, in the own heap, or
                      NULL */
    size_t copy_bytes;
    uint64_t target; /* of a rendezvous: offset in the peer's arena, and the
                        progress: */
    size_t done;     /* bytes, */
    uint32_t span;   /* current span, */
    size_t within;   /* and byte of it */
} ctn_link_send_handle_t;

/** Sends `count` spans as one message of `bytes`. To be called until it returns
 * NEXT: then the spans may be reused, once op->pending is 0. WAIT: no credit
 * yet, or the receiver still reads. A message of 0 bytes is sent, too; the
 * caller may skip it if the receiver does. */
ctn_step_t ctn_link_send(ctn_op_t *op, ctn_link_out_t *out,
                         const ctn_span_t *spans, uint32_t count, size_t bytes,
                         ctn_link_send_handle_t *sending);

/** Layout of zero-copy data: `count` runs, `stride` from one to the next. */
typedef struct ctn_link_layout {
    size_t run; /* bytes; 0: contiguous */
    size_t count;
    ptrdiff_t stride;
} ctn_link_layout_t;

/** Receive handle: one message. Zeroed before the first call. */
typedef struct ctn_link_receive_handle {
    /* Once it has arrived. data is NULL if only sizes are simulated. */
    const unsigned char *data;
    size_t bytes;
    ctn_link_layout_t layout; /* of data; see ctn_link_make_contiguous */
    /* link.c's */
    uint8_t state;
    unsigned char *buffer; /* memory that a CTS or a posted receive names, */
    size_t buffer_bytes;
    void *copy; /* that memory, in the own heap; NULL: it is the caller's */
    size_t copy_bytes;
    const uint64_t *word; /* with which the network expects data for
                             `buffer`, or NULL */
} ctn_link_receive_handle_t;

/** Posts a receive of known length. May be called before the first
 * ctn_link_receive. Saves the RTS of a long message between nodes, and a copy
 * of a shorter one; on a node the sender may write directly to the buffer.
 * @param into contiguous target, unused from now on; NULL: memory is taken if
 *             needed */
catena_status_t ctn_link_post_receive(ctn_op_t *op, ctn_link_in_t *in,
                                      size_t bytes, void *into,
                                      ctn_link_receive_handle_t *receiving);

/** NEXT: the message has arrived. It stays until ctn_link_done. */
ctn_step_t ctn_link_receive(ctn_op_t *op, ctn_link_in_t *in,
                            ctn_link_receive_handle_t *receiving);

/** Makes the data of a received message contiguous. */
catena_status_t ctn_link_make_contiguous(ctn_op_t *op,
                                         ctn_link_receive_handle_t *receiving);

/** Copies a received message into spans with as many bytes in all. Data that
 * arrived in their target are not copied. */
void ctn_link_copy(ctn_op_t *op, const ctn_link_receive_handle_t *receiving,
                   const ctn_span_t *spans, uint32_t count);

/** Releases a message: frees what the handle holds, and acknowledges zero-copy
 * data. */
catena_status_t ctn_link_done(ctn_op_t *op, ctn_link_in_t *in,
                              ctn_link_receive_handle_t *receiving);

/** All operations of the sequence below `complete` are complete here: reports
 * it to the sender if necessary. To be called for every link, also those that
 * carried nothing, before any later operation sends that may begin because of
 * it. */
catena_status_t ctn_link_complete(ctn_exec_t *exec, ctn_link_in_t *in,
                                  uint64_t complete);

/** Numbers repeat, and no operation that all ranks of a neighborhood run could
 * say when. Therefore a receiver zeroes the words of each generation once in an
 * epoch (exec/generations.h), at the end of operation `seq` with that
 * generation. The message of that operation has been received, and the sender
 * writes there again only when it knows that the operation is complete here. */
static inline bool ctn_link_zeroes(uint64_t seq)
{
    return seq % CTN_EPOCH >= CTN_EPOCH - CTN_LINK_GENERATIONS;
}
/** For every link, also those that carry nothing. */
void ctn_link_zero(ctn_link_in_t *in, uint32_t ins, uint64_t seq);

/** Flushes counts and CTS messages that no operation waits for, before the
 * barrier after which the memory of links is freed. Blocks. */
catena_status_t ctn_link_finalize(ctn_exec_t *exec);

/** For finish: releases what a failed operation still holds. */
void ctn_link_send_handle_drop(ctn_op_t *op, ctn_link_send_handle_t *sending);
void ctn_link_receive_handle_drop(ctn_op_t *op,
                                  ctn_link_receive_handle_t *receiving);

#endif
