#ifndef CTN_COLL_BCOL_P2P_VECTOR_H
#define CTN_COLL_BCOL_P2P_VECTOR_H

#include "exec/exec.h"

/* What is too long for a message: bytes from one member to another, in pieces
 * of up to CTN_FLOW_FRAGMENT_BYTES. Both know how many there will be. The
 * receiver grants them: at once, when its target is plain memory in its heap,
 * where they then go straight; else as many as it has stages, and one more for
 * each that it has taken out of these. The source may be anywhere, and no more
 * memory is held than the stages.
 *
 * An operation has a flow's two slots for itself: at the sender the one where
 * grants come in, at the receiver the one that counts pieces. Who sends waits
 * for all grants, who receives for all pieces, so nothing comes late. */

#define CTN_STAGING_FRAGMENTS 2u

/** Pieces of a part. */
static inline uint32_t ctn_fragment_count(size_t bytes)
{
    return (uint32_t)(bytes / CTN_FLOW_FRAGMENT_BYTES +
                      (bytes % CTN_FLOW_FRAGMENT_BYTES > 0));
}

/** Bytes of the piece that begins at `from`. */
static inline size_t ctn_fragment_bytes(size_t bytes, size_t from)
{
    return bytes - from < CTN_FLOW_FRAGMENT_BYTES ? bytes - from
                                                  : CTN_FLOW_FRAGMENT_BYTES;
}

/** The receiver's end. */
typedef struct ctn_fragmented_recv {
    ctn_address_t from;
    unsigned char *staging; /* in the own heap; NULL: pieces go straight */
    size_t staging_bytes;   /* of each */
    bool spare;             /* they are spare payloads */
    uint32_t fragments;
    uint32_t taken;
    uint8_t slot;     /* here */
    uint8_t cts_slot; /* at the sender */
} ctn_fragmented_recv_t;

/** What is to come, and where to. */
typedef struct ctn_fragmented_recv_params {
    ctn_address_t from;
    unsigned slot;
    unsigned cts_slot;
    uint32_t fragments;
    uint64_t digest; /* of the lengths: the same at the sender */
    size_t longest;  /* of the pieces */
    void *target;    /* they may go straight to anywhere in there; NULL: no */
    size_t target_bytes;
    /** Wide payloads in which no messages of the operation lie: these are the
     * stages when there is no other memory. */
    unsigned spare_slot;
    unsigned spare_slots;
} ctn_fragmented_recv_params_t;

/** Let it begin. @return ERR_NO_MEMORY, or as sending */
catena_status_t
ctn_fragmented_recv_open(ctn_op_t *op, ctn_fragmented_recv_t *transfer,
                         const ctn_fragmented_recv_params_t *params);
/** NEXT: the next piece is here, at *data; *data NULL: in its place. Else
 * WAIT. */
ctn_step_t ctn_fragmented_recv_next(const ctn_op_t *op,
                                    const ctn_fragmented_recv_t *transfer,
                                    const unsigned char **data);
/** It has been taken: its stage is free. */
catena_status_t ctn_fragmented_recv_consumed(ctn_op_t *op,
                                             ctn_fragmented_recv_t *transfer);
/** Take the next piece to its place at `target`. NEXT: done. */
ctn_step_t ctn_fragmented_recv_take(ctn_op_t *op,
                                    ctn_fragmented_recv_t *transfer,
                                    unsigned char *target, size_t bytes);
static inline bool
ctn_fragmented_recv_ended(const ctn_fragmented_recv_t *transfer)
{
    return transfer->taken == transfer->fragments;
}
/** Give back what it holds; also for finish, and of one that is zero. */
void ctn_fragmented_recv_close(const ctn_op_t *op,
                               ctn_fragmented_recv_t *transfer);

/** The sender's end. */
typedef struct ctn_fragmented_send {
    ctn_address_t to;
    uint32_t sent;
    uint8_t cts_slot; /* here */
    uint64_t digest;  /* 0: not looked at */
} ctn_fragmented_send_t;

static inline void ctn_fragmented_send_open(ctn_fragmented_send_t *transfer,
                                            ctn_address_t to, unsigned cts_slot)
{
    *transfer = (ctn_fragmented_send_t){to, 0, (uint8_t)cts_slot, 0};
}

/** Before another member is told to send its grants to the slot of one that got
 * all: forget what came. */
void ctn_fragmented_send_clear_cts(const ctn_op_t *op, unsigned cts_slot);

/** Whether the next piece may be sent. It may not if the receiver expects other
 * lengths. */
bool ctn_fragmented_send_has_cts(const ctn_op_t *op,
                                 const ctn_fragmented_send_t *transfer);
/** Send the next piece, which is granted: to `at` in the receiver's target. It
 * is free when *pending, which is raised, has fallen again. */
catena_status_t ctn_fragmented_send_put(ctn_op_t *op,
                                        ctn_fragmented_send_t *transfer,
                                        const void *data, size_t bytes,
                                        uint64_t at, uint64_t *pending);

/* Rings, in which each member forwards what it receives. If the lengths of two
 * neighbors differ, or a member has no valid data, members stop sending pieces.
 * They send one word for each step instead, so that no member ends the
 * operation before all members have begun it. */

/** The progress of such a member. */
typedef struct ctn_fragmented_mismatch {
    uint32_t steps_received; /* steps received, as pieces or words */
    uint32_t steps_sent;     /* steps sent */
} ctn_fragmented_mismatch_t;

/** Whether the sender sends counts of steps instead of pieces. */
bool ctn_fragmented_recv_mismatch(const ctn_op_t *op,
                                  const ctn_fragmented_recv_t *transfer);
/** Whether the receiver's grant is for other lengths. */
bool ctn_fragmented_send_mismatch(const ctn_op_t *op,
                                  const ctn_fragmented_send_t *transfer);
/** Send the next member a count of steps: one more than this member has
 * received, at most `steps`.
 * @param slot  where the next member counts pieces
 * @param heard steps received as pieces
 * @return NEXT: all `steps` have been sent and received */
ctn_step_t ctn_fragmented_send_steps(ctn_op_t *op,
                                     ctn_fragmented_mismatch_t *mismatch,
                                     const ctn_fragmented_recv_t *in,
                                     const ctn_fragmented_send_t *out,
                                     unsigned slot, uint32_t steps_received,
                                     uint32_t steps);

/* One part by itself. */

typedef struct ctn_p2p_block_recv {
    ctn_fragmented_recv_t transfer;
    unsigned char *target;
    size_t bytes;
    size_t taken;
} ctn_p2p_block_recv_t;

/** Let it begin; `bytes` are not 0. */
catena_status_t ctn_p2p_block_recv_post(ctn_op_t *op,
                                        ctn_p2p_block_recv_t *block,
                                        ctn_address_t from, unsigned slot,
                                        unsigned cts_slot, void *target,
                                        size_t bytes);
/** Let its sender end without sending it. */
catena_status_t ctn_p2p_block_recv_refuse(ctn_op_t *op, ctn_address_t from,
                                          unsigned cts_slot);
/** NEXT: all of it is here; MOVED: some more; else WAIT or FAIL. */
ctn_step_t ctn_p2p_block_recv_progress(ctn_op_t *op,
                                       ctn_p2p_block_recv_t *block);

typedef struct ctn_p2p_block_send {
    ctn_fragmented_send_t transfer;
    const unsigned char *data;
    size_t bytes;
    size_t sent;
} ctn_p2p_block_send_t;

/** NEXT: all of it is sent, or refused; MOVED: some more; else WAIT or FAIL. It
 * is free when op->pending is 0. */
ctn_step_t ctn_p2p_block_send_progress(ctn_op_t *op,
                                       ctn_p2p_block_send_t *block);

#endif
