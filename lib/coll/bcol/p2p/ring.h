#ifndef CTN_COLL_BCOL_P2P_RING_H
#define CTN_COLL_BCOL_P2P_RING_H

#include "coll/bcol/p2p/parts.h"
#include "exec/transfer.h"

/* Ring algorithms: blocks go round the ring of members, from each member to the
 * next one, one step at a time, in one transfer for all steps. Some
 * fragments of each block travel round the ring together, step by step, before
 * the next ones begin.
 * Rounds: m - 1. Messages: one per member and fragment of each other block (an
 * empty block counts as one fragment, so that a member ends only when all have
 * begun), and a CTS; with staging buffers one for each further fragment.
 *
 * If the lengths of two neighbors in the ring differ, or a member has no valid
 * data, members stop sending fragments. They send one word for each step
 * instead, a count of steps, so that no member ends the operation before all
 * members have begun it. */

/** A fragment under way, at one member. */
typedef struct ctn_p2p_cursor {
    uint32_t group; /* number of its group of `together` fragments of a block */
    uint32_t step;  /* steps along the ring that it has made */
    uint32_t index; /* in the group */
} ctn_p2p_cursor_t;

/** First member of the state of a ring algorithm. */
typedef struct ctn_p2p_ring {
    ctn_p2p_call_t call; /* first */
    /* Set by the algorithm: */
    size_t fragment;   /* bytes of a fragment, at most */
    uint32_t together; /* fragments of a block that travel together */
    uint32_t first;    /* the block that starts at this member is that of the
                          member    `first` before it */
    /* Of the ring: */
    uint32_t fragments;        /* number of fragments of the longest block */
    ctn_transfer_recv_t in;    /* from the previous member */
    ctn_transfer_send_t out;   /* to the next member */
    ctn_p2p_cursor_t received; /* the next fragment to receive */
    ctn_p2p_cursor_t sent;     /* the next fragment to send */
    ctn_staging_t *ready; /* the fragment to send, if the algorithm needs memory
                             for it; counted in its `pending` until then */
    /* After a mismatch: steps as fragments or as a count of steps. */
    uint32_t steps_received;
    uint32_t steps_sent;
} ctn_p2p_ring_t;

/** A ring algorithm. */
typedef struct ctn_p2p_ring_algorithm {
    ctn_algorithm_t algorithm; /* first */
    /** Set the members of the state above, and the target in *params. */
    void (*begin)(ctn_op_t *op, ctn_transfer_params_t *params);
    /** Find the next fragment to send. @return false: it is not there yet
     * @param[in,out] at its offset in the receiver's target, at first 0 */
    bool (*next)(const ctn_p2p_ring_t *ring, const unsigned char **data,
                 uint64_t *at);
    /** Take the next fragment, which has arrived at `data`, or in the target if
     * that is NULL. WAIT: there is no memory for it; else NEXT or FAIL. */
    ctn_step_t (*take)(ctn_op_t *op, const unsigned char *data);
} ctn_p2p_ring_algorithm_t;

/** The owner of a fragment's block.
 * @param incoming the fragment is to be received here, not to be sent: at equal
 * steps its owner is one member further back */
uint32_t ctn_p2p_ring_owner(const ctn_p2p_ring_t *ring, bool incoming);
/** Offset of the next fragment to receive or to send in its block. */
size_t ctn_p2p_ring_offset(const ctn_p2p_ring_t *ring, bool incoming);
/** Bytes of that fragment. */
size_t ctn_p2p_ring_bytes(const ctn_p2p_ring_t *ring, bool incoming);

extern const ctn_phase_t ctn_p2p_ring_phases[];
void ctn_p2p_ring_finish(ctn_op_t *op);

#define CTN_P2P_RING_ALGORITHM(its_name)                                       \
    .algorithm = {.name = (its_name),                                          \
                  .state_bytes = sizeof(ctn_p2p_ring_t),                       \
                  .phases = ctn_p2p_ring_phases,                               \
                  .synchronizing = true,                                       \
                  .finish = ctn_p2p_ring_finish}

/* For long blocks. */
extern const ctn_p2p_ring_algorithm_t ctn_p2p_allgather_ring;
extern const ctn_p2p_ring_algorithm_t ctn_p2p_reduce_scatter_ring;

#endif
