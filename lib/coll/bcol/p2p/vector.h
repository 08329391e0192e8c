#ifndef CTN_COLL_BCOL_P2P_VECTOR_H
#define CTN_COLL_BCOL_P2P_VECTOR_H

#include "exec/exec.h"

/* Vectors too long for a message, sent from one member to another in fragments
 * of up to CTN_FLOW_FRAGMENT_BYTES. Both know the number of fragments. The
 * receiver sends a CTS: for all fragments if its target is plain memory in its
 * heap, to which they are then put directly; else for as many as it has staging
 * buffers, and for one more each time it has emptied one. The source may be any
 * memory, and no more memory is used than the staging buffers.
 *
 * A transfer has two slots of an operation to itself: at the sender the slot
 * that receives CTS, at the receiver the slot that counts fragments. The sender
 * waits for all CTS and the receiver for all fragments, so nothing arrives
 * late. */

#define CTN_STAGING_FRAGMENTS 2u

/** Fragments of a block. */
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

/** The receiver of a transfer. */
typedef struct ctn_fragmented_recv {
    ctn_address_t from;
    unsigned char *staging; /* in the heap; NULL: fragments go to the target */
    size_t staging_bytes;   /* of each */
    bool spare;             /* it is spare eager buffers */
    uint32_t fragments;
    uint32_t taken;
    uint8_t slot;     /* at the receiver */
    uint8_t cts_slot; /* at the sender */
} ctn_fragmented_recv_t;

/** What is received, and where to. */
typedef struct ctn_fragmented_recv_params {
    ctn_address_t from;
    unsigned slot;
    unsigned cts_slot;
    uint32_t fragments;
    uint64_t digest; /* of the lengths: the same at the sender */
    size_t longest;  /* longest fragment */
    void *target; /* memory that all fragments lie in, if they may be put there
                     directly; or NULL */
    size_t target_bytes;
    /** Eager buffers that receive no message of the operation: staging buffers
     * if there is no other memory. */
    unsigned spare_slot;
    unsigned spare_slots;
} ctn_fragmented_recv_params_t;

/** Begin to receive: allocate staging if needed, and send the first CTS.
 * @return ERR_NO_MEMORY, or as sending */
catena_status_t
ctn_fragmented_recv_open(ctn_op_t *op, ctn_fragmented_recv_t *transfer,
                         const ctn_fragmented_recv_params_t *params);
/** NEXT: the next fragment has arrived, at *data, or in its place if *data is
 * NULL. Else WAIT. */
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
/** Release what a transfer holds; also for finish, and for a zeroed one. */
void ctn_fragmented_recv_close(const ctn_op_t *op,
                               ctn_fragmented_recv_t *transfer);

/** The sender of a transfer. */
typedef struct ctn_fragmented_send {
    ctn_address_t to;
    uint32_t sent;
    uint8_t cts_slot; /* at the sender */
    uint64_t digest;  /* 0: not checked */
} ctn_fragmented_send_t;

static inline void ctn_fragmented_send_open(ctn_fragmented_send_t *transfer,
                                            ctn_address_t to, unsigned cts_slot)
{
    *transfer = (ctn_fragmented_send_t){to, 0, (uint8_t)cts_slot, 0};
}

/** Clear the slot for CTS of a completed transfer, before another member is
 * told to use it. */
void ctn_fragmented_send_clear_cts(const ctn_op_t *op, unsigned cts_slot);

/** Whether the next fragment may be sent. False if the receiver expects other
 * lengths. */
bool ctn_fragmented_send_has_cts(const ctn_op_t *op,
                                 const ctn_fragmented_send_t *transfer);
/** Send the next fragment, for which there is a CTS, to offset `at` of the
 * receiver's target. *pending is raised, and lowered when the source may be
 * reused. */
catena_status_t ctn_fragmented_send_put(ctn_op_t *op,
                                        ctn_fragmented_send_t *transfer,
                                        const void *data, size_t bytes,
                                        uint64_t at, uint64_t *pending);

/* Rings, in which each member forwards what it receives. If the lengths of two
 * neighbors differ, or a member has no valid data, members stop sending
 * fragments. They send one word for each step instead, so that no member ends
 * the operation before all members have begun it. */

/** Progress of a member after a mismatch. */
typedef struct ctn_fragmented_mismatch {
    uint32_t steps_received; /* as fragments or words */
    uint32_t steps_sent;     /* as fragments or words */
} ctn_fragmented_mismatch_t;

/** Whether the sender sends counts of steps instead of fragments. */
bool ctn_fragmented_recv_mismatch(const ctn_op_t *op,
                                  const ctn_fragmented_recv_t *transfer);
/** Whether the receiver's CTS is for other lengths. */
bool ctn_fragmented_send_mismatch(const ctn_op_t *op,
                                  const ctn_fragmented_send_t *transfer);
/** Send the next member a count of steps: one more than this member has
 * received, at most `steps`.
 * @param slot  where the next member counts fragments
 * @param steps_received steps received as fragments
 * @return NEXT: all `steps` have been sent and received */
ctn_step_t ctn_fragmented_send_steps(ctn_op_t *op,
                                     ctn_fragmented_mismatch_t *mismatch,
                                     const ctn_fragmented_recv_t *in,
                                     const ctn_fragmented_send_t *out,
                                     unsigned slot, uint32_t steps_received,
                                     uint32_t steps);

/* A single block. */

typedef struct ctn_p2p_block_recv {
    ctn_fragmented_recv_t transfer;
    unsigned char *target;
    size_t bytes;
    size_t taken;
} ctn_p2p_block_recv_t;

/** Begin to receive; `bytes` is not 0. */
catena_status_t ctn_p2p_block_recv_post(ctn_op_t *op,
                                        ctn_p2p_block_recv_t *block,
                                        ctn_address_t from, unsigned slot,
                                        unsigned cts_slot, void *target,
                                        size_t bytes);
/** Let the sender end without sending the block. */
catena_status_t ctn_p2p_block_recv_refuse(ctn_op_t *op, ctn_address_t from,
                                          unsigned cts_slot);
/** NEXT: all of it has arrived; MOVED: more of it; else WAIT or FAIL. */
ctn_step_t ctn_p2p_block_recv_progress(ctn_op_t *op,
                                       ctn_p2p_block_recv_t *block);

typedef struct ctn_p2p_block_send {
    ctn_fragmented_send_t transfer;
    const unsigned char *data;
    size_t bytes;
    size_t sent;
} ctn_p2p_block_send_t;

/** NEXT: all of it is sent, or refused; MOVED: more of it; else WAIT or FAIL.
 * The source may be reused when op->pending is 0. */
ctn_step_t ctn_p2p_block_send_progress(ctn_op_t *op,
                                       ctn_p2p_block_send_t *block);

#endif
