#ifndef CTN_COLL_ALLTOALL_PAIRWISE_STREAM_H
#define CTN_COLL_ALLTOALL_PAIRWISE_STREAM_H

#include "coll/alltoall/pairwise.h"
#include "exec/slot.h"

/* Members, rounds, fragments and words of an exchange, for both directions.
 * Included by pairwise.c, pairwise_send.c and pairwise_receive.c only;
 * pairwise.c calls the functions of the other two. The functions here are
 * inline, since every poll calls them. */

/* ---- members ---- */

/** Index of member i of the exchange in the member table. */
static inline uint32_t pairwise_index_of(const ctn_pairwise_t *x, uint32_t i)
{
    const ctn_member_table_t *member_table = &x->topo->member_table;
    return x->by_rank != NULL ? x->by_rank[i]
                              : member_table->first[x->topo->node_index] + i;
}

static inline const ctn_member_t *pairwise_member(const ctn_pairwise_t *x,
                                                  uint32_t i)
{
    return &x->topo->member_table.member[pairwise_index_of(x, i)];
}

/** Group rank of member i. Most polls need nothing else of a member, so the
 * member table is read only where i is not the rank. */
static inline uint32_t pairwise_rank_of(const ctn_pairwise_t *x, uint32_t i)
{
    return x->by_rank != NULL ? i : pairwise_member(x, i)->rank;
}

/** Whether member i is on another node. */
static inline bool pairwise_is_remote(const ctn_pairwise_t *x, uint32_t i)
{
    const ctn_member_table_t *member_table = &x->topo->member_table;
    uint32_t index = pairwise_index_of(x, i);
    return index < member_table->first[x->topo->node_index] ||
           index >= member_table->first[x->topo->node_index + 1];
}

/** The protocols of pairwise.h. */
typedef enum pairwise_protocol {
    PAIRWISE_INLINE,
    PAIRWISE_EAGER,
    PAIRWISE_RENDEZVOUS
} pairwise_protocol_t;

static inline pairwise_protocol_t
pairwise_protocol_of(const ctn_pairwise_t *x, size_t bytes, uint32_t peer)
{
    if (bytes <= CTN_LINE_BYTES) {
        return PAIRWISE_INLINE;
    }
    if (bytes <= CTN_SMALL_EAGER_BYTES) {
        return bytes <= CTN_INLINE_BYTES && pairwise_is_remote(x, peer)
                   ? PAIRWISE_INLINE
                   : PAIRWISE_EAGER;
    }
    return bytes <= CTN_LONG_EAGER_BYTES &&
                   bytes <= ctn_group_eager_bytes(x->topo->group) &&
                   (x->slots >= x->n || pairwise_is_remote(x, peer))
               ? PAIRWISE_EAGER
               : PAIRWISE_RENDEZVOUS;
}

/** In a group of two on a node the long eager blocks, all in one slot, rotate
 * through so many eager buffers. */
#define PAIRWISE_PAIR_BUFFERS 8u

static inline bool pairwise_is_pair(const ctn_pairwise_t *x)
{
    return x->n == 2 && x->by_rank != NULL && x->list == NULL &&
           !x->topo->oversubscribed && !pairwise_is_remote(x, 1 - x->me);
}

/** Where an eager block from or for a peer begins in the receiver's control
 * block. */
static inline uint64_t pairwise_eager_at(const ctn_pairwise_t *x, uint64_t seq,
                                         uint32_t slot, uint32_t peer,
                                         size_t bytes)
{
    const catena_group_t *group = x->topo->group;
    if (bytes <= CTN_ROTATE_ABOVE || x->topo->oversubscribed ||
        pairwise_is_remote(x, peer)) {
        return ctn_group_eager(group, seq, slot);
    }
    bool pair = pairwise_is_pair(x);
    size_t room = ctn_group_eager_bytes(group);
    return ctn_group_eager(group, seq, pair ? 0 : slot) +
           ctn_eager_rotate(seq, CTN_GENERATIONS,
                            pair ? PAIRWISE_PAIR_BUFFERS * room : room, bytes);
}

/* ---- rounds ---- */

/** The round of a turn of a slot; n or more: there is none. */
static inline uint32_t pairwise_round_of(const ctn_pairwise_t *x, uint32_t slot,
                                         uint32_t turn)
{
    return slot + turn * x->slots;
}

/** The member to which this one sends in a round. */
static inline uint32_t pairwise_send_peer(const ctn_pairwise_t *x,
                                          uint32_t round)
{
    switch (x->order) {
    case CTN_ORDER_SHIFT:
        return round < x->n - x->me ? x->me + round : x->me + round - x->n;
    case CTN_ORDER_LISTED:
        return x->list[round].to;
    case CTN_ORDER_PAIRED:
    default:
        return round >= x->me ? round - x->me : round + x->n - x->me;
    }
}

/** The member from which this one receives in a round. */
static inline uint32_t pairwise_receive_peer(const ctn_pairwise_t *x,
                                             uint32_t round)
{
    switch (x->order) {
    case CTN_ORDER_SHIFT:
        return round <= x->me ? x->me - round : x->me + x->n - round;
    case CTN_ORDER_LISTED:
        return x->list[round].from;
    case CTN_ORDER_PAIRED:
    default:
        return pairwise_send_peer(x, round);
    }
}

/** The round in which this member is its own partner; not for a list. */
static inline uint32_t pairwise_own_round(const ctn_pairwise_t *x)
{
    return x->order == CTN_ORDER_SHIFT ? 0
           : 2 * x->me < x->n          ? 2 * x->me
                                       : 2 * x->me - x->n;
}

/** The block of a round in one direction: for, or from, member `peer`. */
static inline ctn_span_t pairwise_block_of(const ctn_pairwise_t *x,
                                           const ctn_blocks_t *blocks,
                                           uint32_t round, uint32_t peer)
{
    return x->list != NULL ? x->list[round].block
                           : ctn_blocks_at(blocks, pairwise_rank_of(x, peer));
}

/** Whether the descriptor of a peer, which decides whether a block uses slots,
 * is not published yet.
 * @param staged the peers whose blocks use slots in any case */
static inline bool pairwise_is_undecided(const ctn_pairwise_t *x, uint32_t peer,
                                         uint64_t staged)
{
    return x->by_posted && ((x->posted.undecided & ~staged) >> peer & 1) != 0;
}

/** Bytes that a round moves in one direction; 0: the round is skipped. */
static inline size_t pairwise_bytes_of(const ctn_pairwise_t *x,
                                       const ctn_blocks_t *blocks,
                                       uint32_t round, uint32_t peer)
{
    if (x->list != NULL) {
        return x->list[round].block.bytes;
    }
    if (peer == x->me) {
        return 0;
    }
    size_t bytes = ctn_blocks_bytes(blocks, pairwise_rank_of(x, peer));
    return bytes <= x->remote_above && pairwise_is_remote(x, peer) ? 0 : bytes;
}

/* ---- words ---- */

/* The count in a slot's word: the turn from bit 20 on; below, the length of an
 * inline or eager block. Or that of a transfer, CTN_FRAGMENT_COUNT. */

/** In place of the length: the sender does not send the block, since its length
 * is not that in the CTS. The slot's data hold the length. */
#define PAIRWISE_REFUSED 0xfffffu
/** In place of the length: an RTS. The receiver, on this node, reads the block;
 * the slot's data, a pairwise_rts_t, say where. */
#define PAIRWISE_RTS 0xffffeu
/** The count in the word of the CTS when it has done so. */
#define PAIRWISE_READ (UINT32_C(1) << 29)
/** The length of the block, and where it is. */
typedef struct pairwise_rts {
    uint64_t bytes;  /* first, as in the slot of a refused block */
    uint64_t source; /* see exec/attach.h */
} pairwise_rts_t;
/** In the slot's data, in place of the length: the sender did not receive a
 * block that is a part of this one. */
#define PAIRWISE_NOTHING UINT64_MAX

/** The bits of a turn in a count. They repeat in groups with more than
 * CTN_PAIRWISE_TURNS times as many members as slots. A receiver clears its
 * words before it sends a CTS, and only turn 0 needs no CTS, so repeated turns
 * are safe. */
static inline uint32_t pairwise_turn(uint32_t turn)
{
    return turn % CTN_PAIRWISE_TURNS << 20;
}

static inline uint32_t pairwise_eager_count(uint32_t turn, size_t bytes)
{
    return pairwise_turn(turn) | (uint32_t)bytes;
}

_Static_assert(CTN_LONG_EAGER_BYTES < PAIRWISE_RTS &&
                   (uint64_t)CTN_PAIRWISE_TURNS << 20 <= CTN_FRAGMENT_COUNT,
               "eager blocks do not count fragments");

/** Cancel the receives posted for a slot, after some have been posted. */
static inline void pairwise_cancel(const ctn_op_t *op, uint32_t slot)
{
    for (uint32_t word = 0; word < CTN_EAGER_FRAGMENTS; word++) {
        ctn_cancel_receive(op->exec->network,
                           &ctn_op_slot(op, slot)->word[word]);
    }
}

/* ---- directions ---- */

/** Send what is possible in the slot's send_turn. MOVED: something was sent;
 * NEXT: the round is over. */
ctn_step_t ctn_pairwise_send(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot);

/** Send the CTS of the slot's receive_turn if it needs one and has none. WAIT:
 * nothing was sent. */
ctn_step_t ctn_pairwise_send_cts(ctn_op_t *op, ctn_pairwise_t *x,
                                 uint32_t slot);

/** Receive what has arrived in the slot's receive_turn, after its CTS if it
 * needs one.
 * MOVED: something was done; NEXT: the round is over. */
ctn_step_t ctn_pairwise_receive(ctn_op_t *op, ctn_pairwise_t *x, uint32_t slot);

#endif
