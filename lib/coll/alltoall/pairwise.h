#ifndef CTN_COLL_ALLTOALL_PAIRWISE_H
#define CTN_COLL_ALLTOALL_PAIRWISE_H

#include "coll/alltoall/eager_rows.h"
#include "coll/alltoall/posted.h"
#include "coll/blocks.h"
#include "core/tiny.h"
#include "topo/topo.h"

/** Concurrent rounds of a direct alltoall: for blocks that fit a slot, and for
 * larger ones. */
#define CTN_PAIRWISE_SLOTS CTN_PICK(64u, 8u)
#define CTN_PAIRWISE_EAGER_SLOTS CTN_PICK(32u, 4u)
/** The sequence flags of these rounds hold the turn modulo this. */
#define CTN_PAIRWISE_TURNS CTN_PICK(1024u, 2u)

/* Exchange of blocks between members in rounds: in each round a member sends to
 * one partner and receives from one. It implements the direct alltoalls, the
 * on-node part of the leader algorithms, and the messages of Bruck's rounds.
 *
 * The protocol depends on the length of the block and on whether sender and
 * receiver share a node. Both members know this, so they use the same one:
 *   inline      in the slot (<= CTN_LINE_BYTES on a node, CTN_INLINE_BYTES
 *               between nodes)
 *   eager       in the eager buffer of the slot, without a CTS
 *               (<= CTN_LONG_EAGER_BYTES, and the group's eager buffers; on a
 *               node <= CTN_SMALL_EAGER_BYTES if a slot has several rounds)
 *   rendezvous  a transfer (exec/transfer.h) after the receiver's CTS; staging
 *               buffers are the eager buffer or, for large blocks, memory that
 *               the receiver allocates
 *
 * On a node the sender of a contiguous block of more than CTN_SMALL_EAGER_BYTES
 * that the receiver can read, in the heap or, if it is too long to be eager, by
 * its address, sends an RTS instead, and the receiver copies the block: the
 * data are then in the cache of the rank that uses them (decision 0043).
 *
 * Words and CTS hold the length of the block. If sender and receiver have
 * different lengths, no data reach the receive buffer; the exchange goes on and
 * ends with an error on the receiver, and also on the sender if it gets a CTS:
 * it then refuses to send, unless it has sent an RTS. In
 * a long wait for an eager block the receiver sends a CTS: if its sender has a
 * longer block, it is waiting for one.
 *
 * Empty blocks are not sent. Blocks of one length among the members of a node
 * take shorter paths, in eager_rows.c and posted.c. posted.c leaves the blocks
 * of two members to this exchange if one cannot read from the other.
 *
 * W slots are in use, and round j uses slot j mod W: the rounds of one slot are
 * its turns 0, 1, 2 ... Inline and eager rounds after turn 0, and all
 * rendezvous rounds, except by RTS if each slot has one turn, wait for a CTS:
 * it says that the slot is free, where the receiver's buffer is and how many
 * fragments the receiver has taken.
 *
 * Parameters: x is the exchange. A member is given by its number in the
 * exchange: the group rank if all members of the group take part, else the
 * local rank. */

/* The longest eager block: what an eager buffer holds. An eager block is copied
 * twice, but needs no CTS, which takes a round trip and, between nodes, one
 * more message. */
#define CTN_LONG_EAGER_BYTES (CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES)

/* The longest inline block on a node: what fits the cache line of the slot's
 * word. If a block took both lines of the slot, the polling receiver would
 * fetch the second one while it is being written: two ranks, 64 B: 0.37 us in
 * the slot, 0.33 in the eager buffer. */
#define CTN_LINE_BYTES (64 - offsetof(ctn_slot_t, data))

/** The partners in each round. */
typedef enum ctn_round_order {
    /* In round j member i exchanges with member (j - i) mod n in both
     * directions, so blocks can be exchanged in place. */
    CTN_ORDER_PAIRED,
    /* In round j member i sends to i + j and receives from i - j. */
    CTN_ORDER_SHIFT,
    CTN_ORDER_LISTED /* the caller gives a list of rounds */
} ctn_round_order_t;

/** A round of a list. The received block replaces the sent one. */
typedef struct ctn_round {
    uint32_t to, from; /* members */
    ctn_span_t block;
} ctn_round_t;

/** Progress of one slot. The round of a turn is slot + turn * W; so polls, each
 * of which checks all slots, need no divisions. */
typedef struct ctn_pairwise_stream {
    uint32_t send_turn;      /* the turn to send in */
    uint32_t receive_turn;   /* the turn to receive in */
    uint32_t fragments_sent; /* of send_turn, if its block is a transfer */
    uint8_t send_shift;      /* binary logarithm of their bytes */
    bool rts_sent;           /* the receiver will read the block of send_turn */
    bool posted; /* a receive was posted for the eager block of receive_turn */
    bool prepared; /* the CTS of receive_turn, if it needs one, has been sent */
    bool late_cts; /* in turn 0 a CTS was sent in a long wait for an eager
                      block */
} ctn_pairwise_stream_t;

/** State of one exchange on this member. */
typedef struct ctn_pairwise {
    /* arguments */
    ctn_topo_t *topo;
    const uint32_t *by_rank;  /* that of the member table: all members of the
                                 group take part; NULL: those of the node */
    uint32_t n;               /* rounds; also the members, unless listed */
    uint32_t me;              /* this member */
    const ctn_blocks_t *send; /* by group rank; receive when in place */
    const ctn_blocks_t *receive;
    const ctn_round_t *list; /* [n] for CTN_ORDER_LISTED; else NULL */
    bool in_place;
    ctn_round_order_t order;
    uint32_t window;     /* concurrent rounds; 0: as many as there are slots */
    size_t remote_above; /* between nodes, blocks of up to so many bytes are
                            sent by leaders, not by this exchange */
    bool published;      /* the operation has published its buffer descriptor */
    /* working */
    uint32_t limit; /* rounds that may begin; n unless the caller sets less */
    uint32_t slots; /* W, at most n */
    bool by_eager_rows;     /* all on this node and small: see eager_rows.h */
    bool by_posted;         /* all on this node and larger: see posted.h */
    uint32_t peer_checks;   /* exec->peer_checks at the start or last check */
    catena_status_t status; /* final status: an error if some length differs */
    bool opened;     /* the first call has sent every CTS that turn 0 needs */
    bool has_posted; /* receives may be posted at the network */
    uint64_t open;   /* mask of the slots with unfinished rounds */
    ctn_transfer_recv_t *transfer; /* [slots]: what they receive; of the
                                      topology. NULL: no rendezvous so far */
    ctn_posted_span_t *records;    /* [slots][CTN_STAGING_FRAGMENTS]: for posted
                                      receives of derived types; allocated on first
                                      use */
    ctn_pairwise_stream_t stream[CTN_PAIRWISE_SLOTS];
    ctn_eager_rows_t rows; /* if by_eager_rows */
    ctn_posted_t posted;   /* if by_posted */
} ctn_pairwise_t;

/** Initialize what ctn_pairwise_finish releases: for algorithms that may end
 * before ctn_pairwise_begin. */
static inline void ctn_pairwise_clear(ctn_pairwise_t *exchange)
{
    exchange->transfer = NULL;
    exchange->records = NULL;
    exchange->has_posted = false;
    exchange->posted.copy = NULL;
}

/** Initialize the working part. */
void ctn_pairwise_begin(ctn_pairwise_t *exchange);

/** Begin an exchange by buffer descriptors (posted.c). */
void ctn_posted_begin(ctn_op_t *op, ctn_pairwise_t *exchange);
/** Copy what is possible. True: there was progress. */
bool ctn_posted_advance(ctn_op_t *op, ctn_pairwise_t *exchange);

/** Release the copy of the blocks. */
void ctn_posted_finish(const ctn_op_t *op, ctn_pairwise_t *exchange);

/** Record and report a block of another length than expected, between this
 * member and member `other`, which sends it if `sends`, else receives it. */
void ctn_pairwise_mismatch(ctn_pairwise_t *exchange, uint32_t other, bool sends,
                           uint64_t found, uint64_t expected);

/** Allow rounds below `limit` to begin. */
void ctn_pairwise_extend(ctn_pairwise_t *exchange, uint32_t limit);

/** Send and receive what is possible. NEXT: all is sent and received; the
 * network may still read sources that the operation's `pending` counts, and
 * staging buffers. */
ctn_step_t ctn_pairwise_advance(ctn_op_t *op, ctn_pairwise_t *exchange);

/** Whether a block from another node has not arrived yet. */
bool ctn_pairwise_awaits_remote(const ctn_pairwise_t *exchange);

/** Leaders did not deliver some blocks because of a mismatch: send a CTS to
 * each sender of such a block, in case it sends without leaders and waits for
 * one. */
ctn_step_t ctn_pairwise_notify(ctn_op_t *op, ctn_pairwise_t *exchange);

/** The last step of a last phase: the operation fails if a block had another
 * length than expected. By then the other ranks have got from this member all
 * that they wait for. */
ctn_step_t ctn_pairwise_end(ctn_op_t *op, const ctn_pairwise_t *exchange);

/** Release the memory of an exchange; for the finish function of an algorithm.
 */
void ctn_pairwise_finish(const ctn_op_t *op, ctn_pairwise_t *exchange);

#endif
