#ifndef CTN_COLL_BCOL_P2P_VECTOR_H
#define CTN_COLL_BCOL_P2P_VECTOR_H

#include "core/tiny.h"
#include "exec/exec.h"

/** A fragment of a vector that p2p sends in fragments, with flow control. */
#define CTN_FLOW_FRAGMENT_BYTES CTN_PICK(65536u, 4096u)

/* Fragmented transfers: blocks too long for a message, sent from one member to
 * another in fragments. Both know the number of fragments. The receiver sends a
 * CTS. If its target is plain memory in its heap, the CTS is for all fragments,
 * and they are put to the target directly. Else the CTS is for as many
 * fragments as it has staging buffers, and it sends another CTS for one more
 * fragment each time it has emptied a buffer. The source may be any memory, and
 * no more memory is used than the staging buffers.
 *
 * A transfer has two slots of an operation to itself: at the sender the slot
 * that receives CTS, at the receiver the slot that counts fragments. The sender
 * waits for all CTS and the receiver for all fragments, so nothing arrives
 * after the operation has ended. */

/* Staging buffers of a transfer, one fragment each. */
#define CTN_STAGING_FRAGMENTS 2u

/** Number of fragments of a block of CTN_FLOW_FRAGMENT_BYTES each. */
static inline uint32_t ctn_fragment_count(size_t bytes)
{
    return (uint32_t)(bytes / CTN_FLOW_FRAGMENT_BYTES +
                      (bytes % CTN_FLOW_FRAGMENT_BYTES > 0));
}

/** Bytes of the fragment that begins at `from`. */
static inline size_t ctn_fragment_bytes(size_t bytes, size_t from)
{
    return bytes - from < CTN_FLOW_FRAGMENT_BYTES ? bytes - from
                                                  : CTN_FLOW_FRAGMENT_BYTES;
}

/** The receiver's side of a transfer. */
typedef struct ctn_fragmented_recv {
    ctn_address_t from;     /* the sender */
    unsigned char *staging; /* in the heap; NULL: fragments go to the target */
    size_t staging_bytes;   /* of each staging buffer */
    bool spare; /* `staging` lies in eager buffers that receive no message */
    uint32_t fragments; /* number of them in the transfer */
    uint32_t taken;     /* number of those consumed */
    uint8_t slot;       /* at the receiver: counts fragments */
    uint8_t cts_slot;   /* at the sender: receives CTS */
} ctn_fragmented_recv_t;

/** What is received, and where to. */
typedef struct ctn_fragmented_recv_params {
    ctn_address_t from; /* the sender */
    unsigned slot;      /* at the receiver: counts fragments */
    unsigned cts_slot;  /* at the sender: receives CTS */
    uint32_t fragments; /* number of them */
    uint64_t digest;    /* of the lengths: the same at the sender */
    size_t longest;     /* bytes of the longest fragment */
    void *target; /* memory that all fragments lie in, if they may be put there
                     directly; or NULL */
    size_t target_bytes;
    /** The eager buffers of `spare_slots` slots from `spare_slot` on receive no
     * message of the operation. They become staging buffers if there is no
     * other memory. */
    unsigned spare_slot;
    unsigned spare_slots;
} ctn_fragmented_recv_params_t;

/** Begin to receive: allocate staging buffers if needed, and send the first
 * CTS.
 * @return ERR_NO_MEMORY, or an error of ctn_op_send_count */
catena_status_t
ctn_fragmented_recv_open(ctn_op_t *op, ctn_fragmented_recv_t *transfer,
                         const ctn_fragmented_recv_params_t *params);
/** NEXT: the next fragment has arrived, in a staging buffer at *data, or in the
 * target if *data is NULL. Else WAIT. */
ctn_step_t ctn_fragmented_recv_next(const ctn_op_t *op,
                                    const ctn_fragmented_recv_t *transfer,
                                    const unsigned char **data);
/** The caller has consumed the fragment: its staging buffer is free. */
catena_status_t ctn_fragmented_recv_consumed(ctn_op_t *op,
                                             ctn_fragmented_recv_t *transfer);
/** Copy the next fragment to `target`, if it is not there. NEXT: done. */
ctn_step_t ctn_fragmented_recv_take(ctn_op_t *op,
                                    ctn_fragmented_recv_t *transfer,
                                    unsigned char *target, size_t bytes);
/** Release what a transfer holds. Also called by an algorithm's `finish`, and
 * for a zeroed transfer. */
void ctn_fragmented_recv_close(const ctn_op_t *op,
                               ctn_fragmented_recv_t *transfer);

/** The sender's side of a transfer. */
typedef struct ctn_fragmented_send {
    ctn_address_t to; /* the receiver */
    uint32_t sent;    /* number of fragments sent */
    uint8_t cts_slot; /* at the sender: receives CTS */
    uint64_t digest;  /* of the lengths, compared with that in the CTS; 0: not
                         compared */
} ctn_fragmented_send_t;

static inline void ctn_fragmented_send_open(ctn_fragmented_send_t *transfer,
                                            ctn_address_t to, unsigned cts_slot)
{
    *transfer = (ctn_fragmented_send_t){to, 0, (uint8_t)cts_slot, 0};
}

/** Clear the slot for CTS after a completed transfer, so that another receiver
 * may use it. */
void ctn_fragmented_send_clear_cts(const ctn_op_t *op, unsigned cts_slot);

/** Whether the next fragment may be sent. False if the receiver expects other
 * lengths. */
bool ctn_fragmented_send_has_cts(const ctn_op_t *op,
                                 const ctn_fragmented_send_t *transfer);
/** Send the next fragment, for which there is a CTS, to offset `at` of the
 * receiver's target. *pending is incremented, and decremented when the source
 * may be reused. */
catena_status_t ctn_fragmented_send_put(ctn_op_t *op,
                                        ctn_fragmented_send_t *transfer,
                                        const void *data, size_t bytes,
                                        uint64_t at, uint64_t *pending);

/* Ring algorithms. In each step a member forwards to the next member what it
 * received from the previous one. If the lengths of two neighbors in the ring
 * differ, or a member has no valid data, members stop sending fragments. They
 * send one word for each step instead, a count of steps, so that no member ends
 * the operation before all members have begun it. */

/** Progress of a member after a mismatch. */
typedef struct ctn_fragmented_mismatch {
    uint32_t steps_received; /* as fragments or as a count of steps */
    uint32_t steps_sent;     /* as fragments or as a count of steps */
} ctn_fragmented_mismatch_t;

/** Whether the sender sends counts of steps instead of fragments. */
bool ctn_fragmented_recv_mismatch(const ctn_op_t *op,
                                  const ctn_fragmented_recv_t *transfer);
/** Whether the receiver's CTS is for other lengths. */
bool ctn_fragmented_send_mismatch(const ctn_op_t *op,
                                  const ctn_fragmented_send_t *transfer);
/** Send the next member a count of steps: one more than the steps that this
 * member has received, at most `steps`.
 * @param slot  where the next member counts fragments
 * @param steps_received steps received as fragments
 * @return NEXT: all `steps` have been sent and received */
ctn_step_t ctn_fragmented_send_steps(ctn_op_t *op,
                                     ctn_fragmented_mismatch_t *mismatch,
                                     const ctn_fragmented_recv_t *in,
                                     const ctn_fragmented_send_t *out,
                                     unsigned slot, uint32_t steps_received,
                                     uint32_t steps);

/* Transfer of a single block. */

/** At the receiver. */
typedef struct ctn_p2p_block_recv {
    ctn_fragmented_recv_t transfer;
    unsigned char *target; /* where the block goes */
    size_t bytes;          /* of the block */
    size_t taken;          /* bytes of it that have arrived */
} ctn_p2p_block_recv_t;

/** Begin to receive a block: send a CTS. `bytes` is not 0. */
catena_status_t ctn_p2p_block_recv_post(ctn_op_t *op,
                                        ctn_p2p_block_recv_t *block,
                                        ctn_address_t from, unsigned slot,
                                        unsigned cts_slot, void *target,
                                        size_t bytes);
/** Send a CTS that refuses the block: its sender does not send it. */
catena_status_t ctn_p2p_block_recv_refuse(ctn_op_t *op, ctn_address_t from,
                                          unsigned cts_slot);
/** NEXT: all of it has arrived; MOVED: more of it; else WAIT or FAIL. */
ctn_step_t ctn_p2p_block_recv_progress(ctn_op_t *op,
                                       ctn_p2p_block_recv_t *block);

/** At the sender. */
typedef struct ctn_p2p_block_send {
    ctn_fragmented_send_t transfer;
    const unsigned char *data; /* the block */
    size_t bytes;              /* of the block */
    size_t sent;               /* bytes of it that are sent */
} ctn_p2p_block_send_t;

/** NEXT: all of it is sent, or refused; MOVED: more of it; else WAIT or FAIL.
 * The source may be reused when op->pending is 0. */
ctn_step_t ctn_p2p_block_send_progress(ctn_op_t *op,
                                       ctn_p2p_block_send_t *block);

#endif
