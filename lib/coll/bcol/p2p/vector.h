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

#define CTN_FLOW_STAGES 2u

/** Pieces of a part. */
static inline uint32_t ctn_flow_pieces(size_t bytes)
{
    return (uint32_t)(bytes / CTN_FLOW_FRAGMENT_BYTES +
                      (bytes % CTN_FLOW_FRAGMENT_BYTES > 0));
}

/** Bytes of the piece that begins at `from`. */
static inline size_t ctn_flow_piece(size_t bytes, size_t from)
{
    return bytes - from < CTN_FLOW_FRAGMENT_BYTES ? bytes - from
                                                  : CTN_FLOW_FRAGMENT_BYTES;
}

/** The receiver's end. */
typedef struct ctn_inflow {
    ctn_address_t from;
    unsigned char *stage; /* in the own heap; NULL: pieces go straight */
    size_t stage_bytes;   /* of each */
    bool spare;           /* they are spare payloads */
    uint32_t pieces;
    uint32_t taken;
    uint8_t slot;       /* here */
    uint8_t grant_slot; /* at the sender */
} ctn_inflow_t;

/** What is to come, and where to. */
typedef struct ctn_inflow_plan {
    ctn_address_t from;
    unsigned slot;
    unsigned grant_slot;
    uint32_t pieces;
    uint64_t digest; /* of the lengths: the same at the sender */
    size_t longest;  /* of the pieces */
    void *target;    /* they may go straight to anywhere in there; NULL: no */
    size_t target_bytes;
    /** Wide payloads in which no messages of the operation lie: these are the
     * stages when there is no other memory. */
    unsigned spare_slot;
    unsigned spare_slots;
} ctn_inflow_plan_t;

/** Let it begin. @return ERR_NO_MEMORY, or as sending */
catena_status_t ctn_inflow_open(ctn_op_t *op, ctn_inflow_t *flow,
                                const ctn_inflow_plan_t *plan);
/** NEXT: the next piece is here, at *data; *data NULL: in its place. Else
 * WAIT. */
ctn_step_t ctn_inflow_next(const ctn_op_t *op, const ctn_inflow_t *flow,
                           const unsigned char **data);
/** It has been taken: its stage is free. */
catena_status_t ctn_inflow_took(ctn_op_t *op, ctn_inflow_t *flow);
/** Take the next piece to its place at `target`. NEXT: done. */
ctn_step_t ctn_inflow_take(ctn_op_t *op, ctn_inflow_t *flow,
                           unsigned char *target, size_t bytes);
static inline bool ctn_inflow_ended(const ctn_inflow_t *flow)
{
    return flow->taken == flow->pieces;
}
/** Give back what it holds; also for finish, and of one that is zero. */
void ctn_inflow_close(const ctn_op_t *op, ctn_inflow_t *flow);

/** The sender's end. */
typedef struct ctn_outflow {
    ctn_address_t to;
    uint32_t sent;
    uint8_t grant_slot; /* here */
    uint64_t digest;    /* 0: not looked at */
} ctn_outflow_t;

static inline void ctn_outflow_open(ctn_outflow_t *flow, ctn_address_t to,
                                    unsigned grant_slot)
{
    *flow = (ctn_outflow_t){to, 0, (uint8_t)grant_slot, 0};
}

/** Before another member is told to send its grants to the slot of one that got
 * all: forget what came. */
void ctn_outflow_clear(const ctn_op_t *op, unsigned grant_slot);

/** Whether the next piece may be sent. It may not if the receiver expects other
 * lengths. */
bool ctn_outflow_granted(const ctn_op_t *op, const ctn_outflow_t *flow);
/** Send the next piece, which is granted: to `at` in the receiver's target. It
 * is free when *pending, which is raised, has fallen again. */
catena_status_t ctn_outflow_put(ctn_op_t *op, ctn_outflow_t *flow,
                                const void *data, size_t bytes, uint64_t at,
                                uint64_t *pending);

/* Rings, in which each member forwards what it receives. If the lengths of two
 * neighbors differ, or a member has no valid data, members stop sending pieces.
 * They send one word for each step instead, so that no member ends the
 * operation before all members have begun it. */

/** The progress of such a member. */
typedef struct ctn_flow_unfit {
    uint32_t heard; /* steps received, as pieces or words */
    uint32_t told;  /* steps sent */
} ctn_flow_unfit_t;

/** Whether the sender sends counts of steps instead of pieces. */
bool ctn_inflow_is_unfit(const ctn_op_t *op, const ctn_inflow_t *flow);
/** Whether the receiver's grant is for other lengths. */
bool ctn_outflow_differs(const ctn_op_t *op, const ctn_outflow_t *flow);
/** Send the next member a count of steps: one more than this member has
 * received, at most `steps`.
 * @param slot  where the next member counts pieces
 * @param heard steps received as pieces
 * @return NEXT: all `steps` have been sent and received */
ctn_step_t ctn_flow_tell(ctn_op_t *op, ctn_flow_unfit_t *mismatch,
                         const ctn_inflow_t *in, const ctn_outflow_t *out,
                         unsigned slot, uint32_t heard, uint32_t steps);

/* One part by itself. */

typedef struct ctn_part_in {
    ctn_inflow_t flow;
    unsigned char *target;
    size_t bytes;
    size_t taken;
} ctn_part_in_t;

/** Let it begin; `bytes` are not 0. */
catena_status_t ctn_part_expect(ctn_op_t *op, ctn_part_in_t *part,
                                ctn_address_t from, unsigned slot,
                                unsigned grant_slot, void *target,
                                size_t bytes);
/** Let its sender end without sending it. */
catena_status_t ctn_part_refuse(ctn_op_t *op, ctn_address_t from,
                                unsigned grant_slot);
/** NEXT: all of it is here; MOVED: some more; else WAIT or FAIL. */
ctn_step_t ctn_part_receive(ctn_op_t *op, ctn_part_in_t *part);

typedef struct ctn_part_out {
    ctn_outflow_t flow;
    const unsigned char *data;
    size_t bytes;
    size_t sent;
} ctn_part_out_t;

/** NEXT: all of it is sent, or refused; MOVED: some more; else WAIT or FAIL. It
 * is free when op->pending is 0. */
ctn_step_t ctn_part_send(ctn_op_t *op, ctn_part_out_t *part);

#endif
