/* P2P-8: allgather over messages, Bruck. Bruck, Ho, Kipnis, Upfal, Weathersby:
 * Efficient algorithms for all-to-all communications in multiport
 * message-passing systems, IEEE TPDS 8 (11), 1997. In round r a member has its
 * own block and those of the next 2^r - 1 members. It sends all of them to the
 * member 2^r before it, in the last round only those which that member does not
 * have yet. Rounds: ceil(log2 m). Messages: one per member and round. Memory:
 * none. Every block is copied to its place in the receive buffer, so no
 * rotation follows; a message may take blocks from both ends of it. */

#include "coll/bcol/p2p/ring.h"
#include "coll/bcol/p2p/rounds.h"

/** The blocks of one message: those of `count` members from `first` on, then
 * those of `again` members from 0 on. */
typedef struct p2p_stretch {
    uint32_t first;
    uint32_t count; /* up to the last member */
    uint32_t again; /* from member 0 on */
} p2p_stretch_t;

/** The blocks of `count` members from `first` on. */
static p2p_stretch_t stretch_from(uint32_t size, uint32_t first, uint32_t count)
{
    uint32_t rest = size - first;
    return count <= rest ? (p2p_stretch_t){first, count, 0}
                         : (p2p_stretch_t){first, rest, count - rest};
}

/** Bytes of a message that lie before the end of the receive buffer. */
static size_t bytes_before(const ctn_basic_coll_t *basic,
                           const p2p_stretch_t *s)
{
    return basic->at[s->first + s->count] - basic->at[s->first];
}

/** Bytes of a message that lie at the beginning of the receive buffer. */
static size_t bytes_again(const ctn_basic_coll_t *basic, const p2p_stretch_t *s)
{
    return basic->at[s->again] - basic->at[0];
}

/** Blocks in a message of a round. */
static uint32_t blocks_in(uint32_t size, unsigned round)
{
    uint32_t have = UINT32_C(1) << round;
    return have < size - have ? have : size - have;
}

/** The member `away` after this one. */
static uint32_t ahead(const ctn_p2p_t *p2p, uint32_t away)
{
    uint32_t rest = p2p->size - p2p->me;
    return away < rest ? p2p->me + away : away - rest;
}

/** The member `away` before this one. */
static uint32_t behind(const ctn_p2p_t *p2p, uint32_t away)
{
    return away <= p2p->me ? p2p->me - away : p2p->me + (p2p->size - away);
}

static void begin(ctn_op_t *op)
{
    const ctn_p2p_call_t *call = ctn_op_state(op);
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t me = call->p2p->me;
    ctn_p2p_begin_blocks(op, CTN_P2P_BRUCK, 1);
    ctn_p2p_rounds_begin(op);
    ctn_p2p_copy(op, ctn_p2p_block_at(basic, me), basic->in,
                 ctn_p2p_block_bytes(basic, me));
}

/** The blocks that this member receives in a round. */
static p2p_stretch_t received_in(const ctn_p2p_t *p2p, unsigned round)
{
    return stretch_from(p2p->size, ahead(p2p, UINT32_C(1) << round),
                        blocks_in(p2p->size, round));
}

static bool pass_on(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_p2p_t *p2p = rounds->call.p2p;
    const ctn_basic_coll_t *basic = rounds->call.basic;
    if (index == p2p->rounds) {
        return false;
    }
    p2p_stretch_t s =
        stretch_from(p2p->size, p2p->me, blocks_in(p2p->size, index));
    ctn_p2p_round_send(rounds, behind(p2p, UINT32_C(1) << index), index,
                       ctn_p2p_block_at(basic, s.first),
                       bytes_before(basic, &s));
    if (rounds->call.status == CATENA_OK) {
        rounds->rounds.send[0].tail = ctn_p2p_block_at(basic, 0);
        rounds->rounds.send[0].tail_bytes = bytes_again(basic, &s);
    }
    s = received_in(p2p, index);
    ctn_p2p_round_receive(rounds, s.first, index,
                          bytes_before(basic, &s) + bytes_again(basic, &s));
    return true;
}

/** Copy the blocks of a message to their places. */
static catena_status_t take(ctn_op_t *op, unsigned index, unsigned char *data)
{
    const ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_basic_coll_t *basic = rounds->call.basic;
    p2p_stretch_t s = received_in(rounds->call.p2p, index);
    size_t before = bytes_before(basic, &s);
    ctn_p2p_copy(op, ctn_p2p_block_at(basic, s.first), data, before);
    ctn_p2p_copy(op, ctn_p2p_block_at(basic, 0), data + before,
                 rounds->bytes - before);
    return CATENA_OK;
}

const ctn_p2p_schedule_t ctn_p2p_bruck = {
    CTN_P2P_ROUNDS("p2p/allgather/bruck", ctn_p2p_rounds_t, true),
    .begin = begin,
    .round = pass_on,
    .take = take,
};

/* ---- selection ---- */

/** Whether all messages of Bruck's algorithm fit their slots: each contains up
 * to `most` consecutive blocks. If they fit, fewer messages than the ring has
 * outweigh the copies: 4 ranks on 4 hosts and 2 cores, 16 KiB each: 33 us, ring
 * 66. */
static bool fits(const ctn_p2p_t *p2p, const ctn_basic_coll_t *basic)
{
    uint32_t most = 1;
    for (unsigned r = 0; r < p2p->rounds; r++) {
        uint32_t blocks = blocks_in(p2p->size, r);
        most = blocks > most ? blocks : most;
    }
    size_t capacity = ctn_slot_capacity(&p2p->sequence, 0);
    for (uint32_t first = 0; first < p2p->size; first++) {
        p2p_stretch_t s = stretch_from(p2p->size, first, most);
        if (bytes_before(basic, &s) + bytes_again(basic, &s) > capacity) {
            return false;
        }
    }
    return true;
}

const ctn_algorithm_t *ctn_p2p_allgather(ctn_p2p_t *p2p,
                                         const ctn_basic_coll_t *basic)
{
    ctn_algorithm_set_t possible = CTN_P2P_ALLGATHERS;
    if (!fits(p2p, basic)) {
        possible &= ~CTN_ALGORITHM_BIT(BRUCK);
    }
    return ctn_basic_choose(&p2p->module, CTN_ALLGATHER, possible, basic,
                            ctn_p2p_blocks_total(basic, p2p->size) /
                                p2p->size) == CTN_ALGORITHM_BRUCK
               ? &ctn_p2p_bruck.algorithm
               : &ctn_p2p_allgather_ring.algorithm;
}
