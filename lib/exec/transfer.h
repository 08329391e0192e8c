#ifndef CTN_EXEC_TRANSFER_H
#define CTN_EXEC_TRANSFER_H

#include "core/tiny.h"
#include "exec/slot.h"
#include "exec/span.h"

/** A fragment of a transfer: long enough for few messages, short enough that
 * two stay in a cache. */
#define CTN_FRAGMENT_BYTES CTN_PICK(65536u, 4096u)
/** Staging buffers of a transfer, one fragment each. */
#define CTN_STAGING_FRAGMENTS CTN_EAGER_FRAGMENTS

/* Transfers: a rendezvous in which the sender puts the data, for blocks and
 * messages too long for a slot and its eager buffer. Both ends know that there
 * is a transfer. The receiver sends a CTS, which says where the data go:
 *   direct  to the receiver's buffer, if that is contiguous memory in its heap;
 *           contiguous data are one put. Also to memory outside the heap, if
 *           the sender can write there: on the node by its address, else where
 *           the network exposes it
 *   staged  in fragments, to two staging buffers in rotation. The receiver
 *           sends another CTS for one more fragment each time it has emptied a
 *           buffer. A posted receive saves the copy from the staging buffer.
 * The source may be any memory, and no more memory is used than the staging
 * buffers.
 *
 * A transfer has a slot of the receiver to itself: one of the operation's
 * sequence, which the CTS names, or one that the sender knows. Word f % 2 of
 * the slot counts the fragments put, up to fragment f; word 0 counts all if
 * they are one put. Words sent over one endpoint become visible in order, so
 * the larger count holds for all. The CTS has a place that no other CTS uses at
 * that time: in a slot of the sender, in a CTS table, or in the control of a
 * link. The sender waits for all CTS and the receiver for all fragments, so
 * nothing arrives after the operation has ended. Only a link may ignore a CTS:
 * its control stays. */

/** Clear to send: what a receiver allows a sender. It lies at the sender. */
typedef struct ctn_cts {
    uint64_t word;  /* sequence flag: how many fragments may be sent */
    uint64_t place; /* of the data in the receiver's arena, see transfer.c */
    uint64_t bytes; /* that the receiver expects, or a digest of lengths */
} ctn_cts_t;

/** The bits of a place that are the offset of the target, or of the first
 * staging buffer. */
#define CTN_CTS_OFFSET ((UINT64_C(1) << 48) - 1)

/** In place of the place: the receiver does not want the data, and the sender
 * does not send them. */
#define CTN_CTS_REFUSED UINT64_MAX

/** Mark of a count in a word: it is a number of fragments. */
#define CTN_FRAGMENT_COUNT (UINT32_C(1) << 30)

/** Put a CTS for a transfer to `slot` of this member. Offset `at` in the arena
 * of `to` is the ctn_cts_t. */
catena_status_t ctn_transfer_send_cts(ctn_op_t *op, ctn_address_t to,
                                      uint64_t at, uint32_t allowed,
                                      uint64_t place, uint64_t bytes);

/* ---- direct transfers without a state: of a rank that reads the words of its
 * slot itself, and of one that writes to the receiver's memory itself ---- */

/** The count in word 0 of the slot: all of so many bytes are put. */
static inline uint32_t ctn_transfer_whole(size_t bytes)
{
    return CTN_FRAGMENT_COUNT |
           (uint32_t)((bytes + CTN_FRAGMENT_BYTES - 1) / CTN_FRAGMENT_BYTES);
}
/** Put a CTS for a transfer to `offset` in this rank's arena.
 * @param cts    offset of the CTS in the arena of `from`
 * @param digest stored in the CTS as its length */
catena_status_t ctn_transfer_offer(ctn_exec_t *exec, ctn_endpoint_t *from,
                                   uint64_t cts, uint64_t seq, uint64_t offset,
                                   size_t bytes, uint64_t digest);
/** Whether a CTS is for this operation and has this digest as its length. */
static inline bool ctn_transfer_is_offered(const ctn_cts_t *cts, uint64_t seq,
                                           uint64_t digest)
{
    return ctn_flag_matches(ctn_word_load(&cts->word), seq) &&
           cts->bytes == digest;
}

/* ---- the receiver ---- */

/** Where a posted fragment of a derived type is unpacked. */
typedef struct ctn_posted_span {
    ctn_exec_t *exec;
    ctn_span_t span;
    size_t from; /* position of the fragment in the stream */
} ctn_posted_span_t;

/** The receiver's side of a transfer; zeroed before the first use. The memory
 * may be used for several transfers one after the other. */
typedef struct ctn_transfer_recv {
    ctn_endpoint_t *from;   /* the sender */
    uint64_t cts;           /* offset of the CTS in its arena */
    ctn_slot_t *slot;       /* its words count the fragments */
    unsigned char *staging; /* NULL: fragments go to the target directly */
    void *memory;           /* that `staging` may be, in the heap */
    size_t memory_bytes;
    uint32_t fragments; /* number of them in the transfer */
    uint32_t taken;     /* number of those consumed */
    uint8_t shift;      /* of staging buffers, which have 1 << shift bytes */
    uint8_t posted;     /* bit i: a receive was posted for word i */
    bool posts;         /* receives may be posted */
    bool exposed;       /* the target is exposed, at `offset` */
    uint64_t offset;
    ctn_posted_span_t *records; /* for posted receives, see params */
} ctn_transfer_recv_t;

/** What is received, and where to. */
typedef struct ctn_transfer_params {
    ctn_address_t from;
    uint64_t cts;      /* offset of the CTS in the sender's arena */
    ctn_slot_t *own;   /* this member's slot */
    unsigned slot;     /* its number in the sequence, for the CTS */
    uint64_t bytes;    /* for the CTS: length or digest */
    ctn_span_t target; /* of all data */
    bool indirect;     /* the sender must not put there */
    bool posts;        /* receives may be posted, if the sender uses the
                          network */
    ctn_posted_span_t *records; /* [CTN_STAGING_FRAGMENTS], for posted receives
                                   of derived types; or NULL */
    uint32_t fragments;   /* 0: `target` is one block, in fragments of equal
                             length; else their number */
    size_t longest;       /* bytes of the longest of these */
    unsigned char *spare; /* memory in the arena that no message uses, or NULL:
                             for blocks that fit, or if there is no other */
    size_t spare_bytes;
} ctn_transfer_params_t;

/** Begin to receive: find staging buffers if needed, and send the first CTS.
 * @return ERR_NO_MEMORY, or an error of the transport */
catena_status_t ctn_transfer_recv_open(ctn_op_t *op, ctn_transfer_recv_t *t,
                                       const ctn_transfer_params_t *params);
/** NEXT: the next fragment has arrived, in a staging buffer at *data, or in the
 * target if *data is NULL. Else WAIT. */
ctn_step_t ctn_transfer_recv_next(const ctn_op_t *op,
                                  const ctn_transfer_recv_t *t,
                                  const unsigned char **data);
/** The caller has consumed the fragment: its staging buffer is free. */
catena_status_t ctn_transfer_recv_consumed(ctn_op_t *op,
                                           ctn_transfer_recv_t *t);
/** Take the next fragment of a block, unless it is in place. NEXT: all of the
 * block is there; MOVED: more of it is; else WAIT or FAIL. */
ctn_step_t ctn_transfer_recv_block(ctn_op_t *op, ctn_transfer_recv_t *t,
                                   const ctn_span_t *block);
/** Release what a transfer holds. Also called by an algorithm's `finish`, and
 * for a zeroed transfer. */
void ctn_transfer_recv_close(const ctn_op_t *op, ctn_transfer_recv_t *t);

/** Post a receive at the network, so that data from position `from` of a span
 * on are written to their place on arrival: this saves the copy from staging,
 * which by then may have left the cache.
 * @param record kept until then if the span is of a derived type; NULL: then
 *               nothing is posted
 * @param word  which signals the data
 * @param count that of the word
 * @return whether it was posted */
bool ctn_transfer_post(const ctn_op_t *op, ctn_posted_span_t *record,
                       const uint64_t *word, uint32_t count,
                       const ctn_span_t *span, size_t from, size_t bytes);

/* ---- the sender ---- */

/** The sender's side of a transfer. */
typedef struct ctn_transfer_send {
    ctn_address_t to;         /* the receiver */
    uint64_t slot;            /* its slot: offset in its arena; 0: that of the
                                 sequence which the CTS names */
    const ctn_cts_t *cts;     /* in this rank's memory */
    ctn_endpoint_t *endpoint; /* of the receiver; NULL: not connected yet */
    uint32_t sent;            /* number of fragments sent */
    uint64_t digest; /* of the lengths, compared with that in the CTS; 0:
                        not compared */
} ctn_transfer_send_t;

/** Whether the next fragment may be sent. False if the receiver expects other
 * lengths. */
bool ctn_transfer_has_cts(const ctn_op_t *op, const ctn_transfer_send_t *t);
/** Send the next fragment, for which there is a CTS, to offset `at` of the
 * receiver's target. *pending is incremented, and decremented when the source
 * may be reused. */
catena_status_t ctn_transfer_put(ctn_op_t *op, ctn_transfer_send_t *t,
                                 const void *data, size_t bytes, uint64_t at,
                                 uint64_t *pending);
/** Send what the CTS allows of a block, the stream of consecutive spans. NEXT:
 * all of it is sent, or refused; MOVED: more of it; else WAIT or FAIL. The
 * source may be reused when op->pending is 0. */
ctn_step_t ctn_transfer_send_block(ctn_op_t *op, ctn_transfer_send_t *t,
                                   const ctn_span_t *spans, size_t bytes);
/** Binary logarithm of the bytes of a fragment of a block, which the CTS says.
 */
unsigned ctn_transfer_send_shift(const ctn_transfer_send_t *t);

#endif
