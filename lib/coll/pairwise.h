#ifndef CTN_COLL_PAIRWISE_H
#define CTN_COLL_PAIRWISE_H

#include "topo/topo.h"

/* An exchange of one block with each of n members, in rounds that pair them:
 * in round j member i meets member (j - i) mod n. Both send to and receive
 * from the same partner, so that blocks can be exchanged in place. It is the
 * whole of the direct alltoall, and the on-node part of the leaders'.
 *
 * How a block travels depends on its size alone, which all members know:
 *   inline   in the slot itself                  (<= CTN_INLINE_BYTES)
 *   wide     in the slot's wide payload          (<= CTN_PART_BYTES)
 *   granted  when the receiver's grant is there: straight into its buffer
 *            when that lies in its heap, else staged, part by part, through
 *            the wide payload
 *
 * Round j uses slot j mod W. Rounds beyond the first W of the small ones, and
 * all large ones, wait for a grant: the receiver's word that the slot is free,
 * which also carries where its buffer is and how many parts it has taken. */

typedef enum ctn_passage {
    CTN_PASSAGE_INLINE,
    CTN_PASSAGE_WIDE,
    CTN_PASSAGE_GRANTED
} ctn_passage_t;

/** Rounds in flight at one slot: round slot + turn * W, as long as there is
 * such a round. All slots are looked at whenever anything may have come, so
 * nothing here is divided. */
typedef struct ctn_stream {
    uint32_t send_turn; /* next to send */
    uint32_t receive_turn;
    uint32_t parts_sent; /* of the round under way, when staged */
    uint32_t parts_received;
    bool granted; /* the grant of receive_turn has been sent */
} ctn_stream_t;

typedef struct ctn_pairwise {
    /* arguments */
    ctn_topo_t *topo;
    const uint32_t *order; /* the roster's by_rank: all members of the group,
                              by rank; NULL: the node's members */
    uint32_t n;
    uint32_t me;
    const unsigned char *send; /* by group rank; recv when in place */
    unsigned char *receive;
    size_t bytes; /* of a block */
    bool in_place;
    /* working */
    ctn_passage_t passage;
    uint64_t receive_offset; /* of the buffer in this arena, or CTN_STAGED */
    uint32_t slots;          /* W, at most n */
    uint32_t parts;          /* of a staged block */
    uint64_t open;           /* slots whose rounds are not over */
    ctn_stream_t stream[CTN_SLOTS];
} ctn_pairwise_t;

/** Set up the working part and move this member's own block. */
void ctn_pairwise_begin(ctn_op_t *op, ctn_pairwise_t *exchange);

/** Do what can be done. NEXT: all sent and received (sources may still be
 * pending with the operation). */
ctn_step_t ctn_pairwise_advance(ctn_op_t *op, ctn_pairwise_t *exchange);

/** Offset of a block of this process's heap, or CTN_STAGED when any of it
 * lies elsewhere. */
uint64_t ctn_heap_place(ctn_exec_t *exec, const void *block, size_t bytes);

#endif
