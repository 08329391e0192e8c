#ifndef CTN_COLL_ALLTOALL_PAIRWISE_H
#define CTN_COLL_ALLTOALL_PAIRWISE_H

#include "coll/alltoall/eager_rows.h"
#include "coll/alltoall/posted.h"
#include "coll/blocks.h"
#include "topo/topo.h"

/* An exchange of blocks between members, in rounds of one partner to send to
 * and one to receive from. It is the whole of the direct alltoalls, the on-node
 * part of the leaders', and what carries Bruck's rounds.
 *
 * How a block travels depends on its size and on whether its ends share a node,
 * which both know:
 *   inline   in the slot itself        (<= CTN_LINE_BYTES on a node,
 *            CTN_INLINE_BYTES between nodes)
 *   eager    in the slot's wide payload, unasked
 *            (<= CTN_LOCAL_EAGER_BYTES or so on a node, CTN_REMOTE_EAGER_BYTES
 * between nodes) granted  when the receiver's grant is there: straight into its
 * buffer when that is plain memory in its heap, else staged, part by part,
 *            through the wide payload or, for large ones, memory it took for
 *            that
 * Words and grants tell how long a block is. Where its two ends do not agree
 * nothing of it is written, and the exchange goes on and ends with an error: at
 * the receiver, and at a sender that knows of the grant, which refuses it. A
 * receiver that has waited long for an unasked block asks for it, since its
 * sender may be waiting for a grant.
 *
 * An empty block does not travel. Blocks of one size among the members of a
 * node take shorter ways, which eager_rows.c and posted.c describe; what comes
 * here of them is for members whose buffers are out of reach.
 *
 * Round j uses slot j mod W. Rounds beyond the first W of the small ones, and
 * all large ones, wait for a grant: the receiver's word that the slot is free,
 * which also carries where its buffer is and how many parts it has taken. */

/* A second copy costs less than asking, which takes a round trip and between
 * nodes a message more. Two ranks on two cores, 1 KiB: 0.47 us granted, 0.55
 * eager; eight ranks there: 8.9 eager, 14.8 granted, 2 KiB 10.2 and 15.2. */
#define CTN_REMOTE_EAGER_BYTES (CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES)

/* What shares the cache line of a slot's word. Of a slot of two lines the
 * polling receiver would fetch the second, too, while it is being written: two
 * ranks, 64 B: 0.37 us in the slot, 0.33 in the wide payload. */
#define CTN_LINE_BYTES (64 - offsetof(ctn_slot_t, data))

_Static_assert(CTN_LOCAL_EAGER_BYTES <= CTN_SMALL_EAGER_BYTES &&
                   CTN_OVERSUBSCRIBED_EAGER_BYTES <= CTN_SMALL_EAGER_BYTES,
               "a block that is eager on a node fits any wide payload");

/* Parts of large staged blocks: few messages, and two of them stay in a
 * cache. */
_Static_assert(CTN_LARGE_FRAGMENT_BYTES <= CTN_STAGING_BYTES, "are packed");

/** Who meets whom. */
typedef enum ctn_order {
    /* In round j member i meets member (j - i) mod n, both ways: blocks can
     * be exchanged in place. */
    CTN_ORDER_PAIRED,
    /* In round j member i sends to i + j and receives from i - j. */
    CTN_ORDER_SHIFT,
    CTN_ORDER_LISTED /* as in a list */
} ctn_order_t;

/** A round of a list. The block that is received takes the place of the one
 * that is sent. */
typedef struct ctn_round {
    uint32_t to, from; /* members */
    ctn_span_t block;
} ctn_round_t;

/** Where a block that was asked for goes. */
typedef enum ctn_pairwise_target {
    CTN_TARGET_BUFFER, /* straight into the receiver's buffer */
    CTN_TARGET_EAGER,  /* in parts through the slot's wide payload */
    CTN_TARGET_STAGING /* in larger parts through memory taken for that */
} ctn_pairwise_target_t;

/** Rounds in flight at one slot: round slot + turn * W, as long as there is
 * such a round. All slots are looked at whenever anything may have come, so
 * nothing here is divided. */
typedef struct ctn_pairwise_stream {
    uint32_t send_turn; /* next to send */
    uint32_t receive_turn;
    uint32_t fragments_sent; /* of the round under way, when in parts */
    uint32_t fragments_received;
    uint8_t send_target; /* a place: where the block of send_turn goes */
    uint8_t target;      /* and that of receive_turn */
    uint8_t
        posted_fragments; /* by word: the part it tells of comes as expected */
    bool prepared;        /* receive_turn: its grant, if any, has been sent */
    bool late_cts;        /* turn 0, unasked: it was granted for a doubt */
} ctn_pairwise_stream_t;

/** Where a part of a derived type goes that is expected. */
typedef struct ctn_pairwise_posted {
    ctn_exec_t *exec;
    ctn_span_t block;
    size_t from; /* of the block's stream */
} ctn_pairwise_posted_t;

typedef struct ctn_pairwise {
    /* arguments */
    ctn_topo_t *topo;
    const uint32_t *by_rank; /* the roster's: all members of the group take
                                part; NULL: the node's members */
    uint32_t n;              /* rounds; members, unless listed */
    uint32_t me;
    const ctn_blocks_t *send; /* by group rank; recv when in place */
    const ctn_blocks_t *receive;
    const ctn_round_t *list; /* of CTN_ORDER_LISTED */
    bool in_place;
    ctn_order_t order;
    uint32_t window; /* rounds at once; 0: as many as there are slots */
    /* Blocks up to this size between nodes go another way. */
    size_t remote_above;
    bool published; /* the buffers, to the node */
    /* working */
    uint32_t limit; /* rounds that may begin; n unless the caller says less */
    uint32_t slots; /* W, at most n */
    bool by_eager_rows;     /* all on this node and small: see eager_rows.h */
    bool by_posted;         /* all on this node and larger: see posted.h */
    uint32_t local_eager;   /* larger blocks are granted, on a node */
    uint32_t peer_checks;   /* exec's, when it began */
    catena_status_t status; /* it ends with: some block has another length */
    bool opened;     /* first grants are out, this member's own block moved */
    bool packed;     /* some blocks were packed for the network */
    bool has_posted; /* some parts, maybe */
    uint64_t open;   /* slots whose rounds are not over */
    unsigned char **staging; /* [slots] in the heap: large parts that come in,
                              or NULL; made when first needed */
    ctn_pairwise_posted_t *expected; /* [slots][CTN_EAGER_FRAGMENTS] likewise */
    ctn_pairwise_stream_t stream[CTN_PAIRWISE_SLOTS];
    ctn_eager_rows_t rows;
    ctn_posted_t posted;
} ctn_pairwise_t;

/** It holds nothing yet: for algorithms that may finish before they begin. */
static inline void ctn_pairwise_clear(ctn_pairwise_t *exchange)
{
    exchange->staging = NULL;
    exchange->expected = NULL;
    exchange->packed = false;
    exchange->has_posted = false;
}

/** Set up the working part. */
void ctn_pairwise_begin(ctn_pairwise_t *exchange);

/** A block has another length than expected: say so, and take note. The member
 * `other` sends it, or expects it. */
void ctn_pairwise_mismatch(ctn_pairwise_t *exchange, uint32_t other, bool sends,
                           uint64_t found, uint64_t expected);

/** Let rounds below `limit` begin. */
void ctn_pairwise_extend(ctn_pairwise_t *exchange, uint32_t limit);

/** Do what can be done. NEXT: all sent and received (sources may still be
 * pending with the operation). */
ctn_step_t ctn_pairwise_advance(ctn_op_t *op, ctn_pairwise_t *exchange);

/** Blocks that should have come another way have not: should their senders wait
 * for a grant, since they have other lengths, they learn of it. */
ctn_step_t ctn_pairwise_notify(ctn_op_t *op, ctn_pairwise_t *exchange);

/** A phase that is the last: the operation fails if a block had another length
 * than expected; nothing is on its way any more but what it has sent. */
ctn_step_t ctn_pairwise_end(ctn_op_t *op, const ctn_pairwise_t *exchange);

/** Give back what it holds; for an algorithm's finish. */
void ctn_pairwise_finish(const ctn_op_t *op, ctn_pairwise_t *exchange);

#endif
