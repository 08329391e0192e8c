#ifndef CTN_COLL_ALLTOALL_PAIRWISE_H
#define CTN_COLL_ALLTOALL_PAIRWISE_H

#include "coll/alltoall/eager_rows.h"
#include "coll/alltoall/posted.h"
#include "coll/blocks.h"
#include "topo/topo.h"

/* Exchange of blocks between members in rounds: in each round a member sends to
 * one partner and receives from one. It implements the direct alltoalls, the
 * on-node part of the leader algorithms, and the messages of Bruck's rounds.
 *
 * The protocol depends on the size of the block and on whether sender and
 * receiver share a node; both know these:
 *   inline      in the slot (<= CTN_LINE_BYTES on a node, CTN_INLINE_BYTES
 *               between nodes)
 *   eager       in the eager buffer of the slot, without a CTS
 *               (<= CTN_LOCAL_EAGER_BYTES or
 *               CTN_OVERSUBSCRIBED_EAGER_BYTES on a node,
 *               CTN_REMOTE_EAGER_BYTES between nodes)
 *   rendezvous  after the receiver's CTS: directly into its buffer if that is
 *               contiguous memory in its heap, else staged in fragments, in
 *               the eager buffer or, for large blocks, in memory that the
 *               receiver allocates
 * Words and CTS hold the length of the block. If sender and receiver have
 * different lengths, nothing is written; the exchange goes on and ends with an
 * error on the receiver, and on a sender that receives the CTS and refuses. In
 * a long wait for an eager block the receiver sends a CTS, since its sender may
 * be waiting for one.
 *
 * Empty blocks are not sent. Blocks of one length among the members of a node
 * take shorter paths, in eager_rows.c and posted.c; of those, only the blocks
 * for members with buffers out of reach are sent here.
 *
 * Round j uses slot j mod W. Inline and eager rounds beyond the first W, and
 * all rendezvous rounds, wait for a CTS: it says that the slot is free, where
 * the receiver's buffer is and how many fragments the receiver has taken. */

/* A second copy costs less than a CTS, which takes a round trip and, between
 * nodes, one more message. Two ranks on two cores, 1 KiB: 0.47 us with a CTS,
 * 0.55 eager; eight ranks there: 8.9 eager, 14.8 with a CTS; 2 KiB 10.2 and
 * 15.2. */
#define CTN_REMOTE_EAGER_BYTES (CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES)

/* What shares the cache line of a slot's word. From a slot of two lines the
 * polling receiver would also fetch the second while it is being written: two
 * ranks, 64 B: 0.37 us in the slot, 0.33 in the eager buffer. */
#define CTN_LINE_BYTES (64 - offsetof(ctn_slot_t, data))

_Static_assert(CTN_LOCAL_EAGER_BYTES <= CTN_SMALL_EAGER_BYTES &&
                   CTN_OVERSUBSCRIBED_EAGER_BYTES <= CTN_SMALL_EAGER_BYTES,
               "a block that is eager on a node fits every eager buffer");

/* Fragments of large staged blocks: few messages, and two fragments stay in a
 * cache. */
_Static_assert(CTN_LARGE_FRAGMENT_BYTES <= CTN_STAGING_BYTES, "are packed");

/** The partners in each round. */
typedef enum ctn_round_order {
    /* In round j member i exchanges with member (j - i) mod n in both
     * directions, so blocks can be exchanged in place. */
    CTN_ORDER_PAIRED,
    /* In round j member i sends to i + j and receives from i - j. */
    CTN_ORDER_SHIFT,
    CTN_ORDER_LISTED /* from a list */
} ctn_round_order_t;

/** A round of a list. The received block replaces the sent one. */
typedef struct ctn_round {
    uint32_t to, from; /* members */
    ctn_span_t block;
} ctn_round_t;

/** Where a rendezvous writes the block. */
typedef enum ctn_pairwise_target {
    CTN_TARGET_BUFFER, /* directly into the receiver's buffer */
    CTN_TARGET_EAGER,  /* in fragments into the eager buffer of the slot */
    CTN_TARGET_STAGING /* in larger fragments into memory allocated for it */
} ctn_pairwise_target_t;

/** Rounds of one slot: round slot + turn * W, as long as it exists. Each poll
 * checks all slots, so this takes no divisions. */
typedef struct ctn_pairwise_stream {
    uint32_t send_turn; /* next to send */
    uint32_t receive_turn;
    uint32_t fragments_sent; /* of the current round, if it has fragments */
    uint32_t fragments_received;
    uint8_t send_target;      /* ctn_pairwise_target_t of send_turn */
    uint8_t target;           /* and of receive_turn */
    uint8_t posted_fragments; /* by word: its fragment has a posted receive */
    bool prepared; /* receive_turn: its CTS, if needed, has been sent */
    bool late_cts; /* turn 0, eager: a CTS was sent in a long wait */
} ctn_pairwise_stream_t;

/** Destination of a posted fragment of a derived type. */
typedef struct ctn_pairwise_posted {
    ctn_exec_t *exec;
    ctn_span_t block;
    size_t from; /* of the block's stream */
} ctn_pairwise_posted_t;

typedef struct ctn_pairwise {
    /* arguments */
    ctn_topo_t *topo;
    const uint32_t *by_rank; /* the member table's: all members of the group
                                take part; NULL: the node's members */
    uint32_t n;              /* rounds; members, unless listed */
    uint32_t me;
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    const ctn_round_t *list; /* of CTN_ORDER_LISTED */
    bool in_place;
    ctn_round_order_t order;
    uint32_t window; /* concurrent rounds; 0: as many as there are slots */
    /* Blocks up to this size between nodes are sent by leaders. */
    size_t remote_above;
    bool published; /* the buffers have been, to the node */
    /* working */
    uint32_t limit; /* rounds that may begin; n unless the caller sets less */
    uint32_t slots; /* W, at most n */
    bool by_eager_rows;     /* all on this node and small: see eager_rows.h */
    bool by_posted;         /* all on this node and larger: see posted.h */
    uint32_t local_eager;   /* larger blocks need a rendezvous, on a node */
    uint32_t peer_checks;   /* exec's, at the start or the last check */
    catena_status_t status; /* final status: an error if some length differs */
    bool opened;     /* the first CTS are sent, the own block is copied */
    bool packed;     /* some blocks were packed for the network */
    bool has_posted; /* some fragments may be posted */
    uint64_t open;   /* slots with unfinished rounds */
    unsigned char **staging; /* [slots] in the heap: incoming large fragments,
                                or NULL; allocated on first use */
    ctn_pairwise_posted_t
        *expected; /* [slots][CTN_EAGER_FRAGMENTS], likewise */
    ctn_pairwise_stream_t stream[CTN_PAIRWISE_SLOTS];
    ctn_eager_rows_t rows;
    ctn_posted_t posted;
} ctn_pairwise_t;

/** Initialize what finish releases: for algorithms that may finish before they
 * begin. */
static inline void ctn_pairwise_clear(ctn_pairwise_t *exchange)
{
    exchange->staging = NULL;
    exchange->expected = NULL;
    exchange->packed = false;
    exchange->has_posted = false;
}

/** Initialize the working part. */
void ctn_pairwise_begin(ctn_pairwise_t *exchange);

/** Record and report a block of another length than expected. The member
 * `other` sends it, or receives it. */
void ctn_pairwise_mismatch(ctn_pairwise_t *exchange, uint32_t other, bool sends,
                           uint64_t found, uint64_t expected);

/** Allow rounds below `limit` to begin. */
void ctn_pairwise_extend(ctn_pairwise_t *exchange, uint32_t limit);

/** Send and receive what is possible. NEXT: all is sent and received (sources
 * may still be counted in the operation's `pending`). */
ctn_step_t ctn_pairwise_advance(ctn_op_t *op, ctn_pairwise_t *exchange);

/** Leaders did not deliver some blocks because of a mismatch: send each of
 * their senders a CTS, in case it waits for one. */
ctn_step_t ctn_pairwise_notify(ctn_op_t *op, ctn_pairwise_t *exchange);

/** A last phase: the operation fails if a block had another length than
 * expected; only data that this member sent may still be in transit. */
ctn_step_t ctn_pairwise_end(ctn_op_t *op, const ctn_pairwise_t *exchange);

/** Release its memory; for the finish function of an algorithm. */
void ctn_pairwise_finish(const ctn_op_t *op, ctn_pairwise_t *exchange);

#endif
