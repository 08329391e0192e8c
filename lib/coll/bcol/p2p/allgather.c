/* P2P-8: allgather over messages, Bruck. Bruck, Ho, Kipnis, Upfal, Weathersby:
 * Efficient algorithms for all-to-all communications in multiport
 * message-passing systems, IEEE TPDS 8 (11), 1997. In round r a member has its
 * own block and those of the next 2^r - 1 members. It sends all of them to the
 * member 2^r before it, in the last round only those which that member does not
 * have yet. Rounds: ceil(log2 m). Messages: one per member and round. Memory:
 * for messages that take blocks from both ends of the receive buffer. Every
 * block is copied to its place there, so no rotation follows. */

#include "coll/bcol/p2p/parts.h"
#include "coll/bcol/p2p/rounds.h"

#include "exec/slot.h"

/** State of the operation. */
typedef struct p2p_bruck {
    ctn_p2p_rounds_t rounds; /* first */
    unsigned char *packed;   /* messages that take blocks from both ends */
    size_t packed_bytes;     /* of all these messages */
    size_t packed_used;      /* bytes of those packed so far */
    bool spare; /* `packed` lies in eager buffers that receive no message */
} p2p_bruck_t;

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

/** Bytes of the messages that take blocks from both ends, each padded to 16. */
static size_t bytes_to_pack(const p2p_bruck_t *bruck)
{
    const ctn_p2p_t *p2p = bruck->rounds.call.p2p;
    const ctn_basic_coll_t *basic = bruck->rounds.call.basic;
    size_t bytes = 0;
    for (unsigned r = 0; r < p2p->rounds; r++) {
        p2p_stretch_t s =
            stretch_from(p2p->size, p2p->me, blocks_in(p2p->size, r));
        size_t again = bytes_again(basic, &s);
        bytes += again > 0
                     ? (bytes_before(basic, &s) + again + 15) & ~(size_t)15
                     : 0;
    }
    return bytes;
}

static ctn_step_t begin(ctn_op_t *op)
{
    p2p_bruck_t *bruck = ctn_op_state(op);
    const ctn_p2p_t *p2p = bruck->rounds.call.p2p;
    const ctn_basic_coll_t *basic = bruck->rounds.call.basic;
    ctn_p2p_begin_blocks(op, CTN_P2P_BRUCK, 1);
    ctn_p2p_rounds_begin(op);
    bruck->packed = NULL;
    bruck->spare = false;
    bruck->packed_used = 0;
    bruck->packed_bytes = bytes_to_pack(bruck);
    if (bruck->packed_bytes > 0) {
        bruck->packed = ctn_scratch_alloc(op->exec, bruck->packed_bytes);
        bruck->spare = bruck->packed == NULL;
        if (bruck->spare) { /* slots `rounds` to 2 * rounds - 1 are not used */
            bruck->packed =
                ctn_op_eager(op, p2p->rounds, p2p->rounds, bruck->packed_bytes);
        }
        if (bruck->packed == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
    }
    ctn_p2p_copy(op, ctn_p2p_block_at(basic, p2p->me), basic->in,
                 ctn_p2p_block_bytes(basic, p2p->me));
    return CTN_STEP_NEXT;
}

/** The data of one message: in the receive buffer, or packed if they lie at
 * both ends of it. */
static const unsigned char *gathered(ctn_op_t *op, p2p_bruck_t *bruck,
                                     const p2p_stretch_t *s, size_t *bytes)
{
    const ctn_basic_coll_t *basic = bruck->rounds.call.basic;
    size_t before = bytes_before(basic, s);
    size_t again = bytes_again(basic, s);
    *bytes = before + again;
    if (again == 0) {
        return ctn_p2p_block_at(basic, s->first);
    }
    unsigned char *packed = bruck->packed + bruck->packed_used;
    bruck->packed_used += (*bytes + 15) & ~(size_t)15;
    ctn_p2p_copy(op, packed, ctn_p2p_block_at(basic, s->first), before);
    ctn_p2p_copy(op, packed + before, ctn_p2p_block_at(basic, 0), again);
    return packed;
}

/** The blocks that this member receives in a round. */
static p2p_stretch_t received_in(const ctn_p2p_t *p2p, unsigned round)
{
    return stretch_from(p2p->size, ahead(p2p, UINT32_C(1) << round),
                        blocks_in(p2p->size, round));
}

static bool pass_on(ctn_op_t *op, unsigned index, ctn_p2p_round_t *round)
{
    p2p_bruck_t *bruck = ctn_op_state(op);
    const ctn_p2p_t *p2p = bruck->rounds.call.p2p;
    const ctn_basic_coll_t *basic = bruck->rounds.call.basic;
    if (index == p2p->rounds) {
        return false;
    }
    p2p_stretch_t s =
        stretch_from(p2p->size, p2p->me, blocks_in(p2p->size, index));
    size_t bytes;
    const unsigned char *data = gathered(op, bruck, &s, &bytes);
    ctn_p2p_round_send(round, behind(p2p, UINT32_C(1) << index), index, data,
                       bytes);
    s = received_in(p2p, index);
    ctn_p2p_round_receive(round, s.first, index,
                          bytes_before(basic, &s) + bytes_again(basic, &s));
    return true;
}

/** Copy the blocks of a message to their places. */
static catena_status_t take(ctn_op_t *op, unsigned index,
                            const ctn_p2p_round_t *round, unsigned char *data)
{
    const p2p_bruck_t *bruck = ctn_op_state(op);
    const ctn_basic_coll_t *basic = bruck->rounds.call.basic;
    p2p_stretch_t s = received_in(bruck->rounds.call.p2p, index);
    size_t before = bytes_before(basic, &s);
    ctn_p2p_copy(op, ctn_p2p_block_at(basic, s.first), data, before);
    ctn_p2p_copy(op, ctn_p2p_block_at(basic, 0), data + before,
                 round->from_bytes - before);
    return CATENA_OK;
}

static void finish(ctn_op_t *op)
{
    p2p_bruck_t *bruck = ctn_op_state(op);
    /* After a failure the network may still read the packed messages. */
    if (op->status == CATENA_OK && !bruck->spare) {
        ctn_scratch_free(op->exec, bruck->packed, bruck->packed_bytes);
    }
    bruck->packed = NULL;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"rounds", ctn_p2p_rounds_run},
                                     {"end", ctn_p2p_end_vector},
                                     {NULL, NULL}};

const ctn_p2p_schedule_t ctn_p2p_bruck = {
    .algorithm = {.name = "p2p/allgather/bruck",
                  .state_bytes = sizeof(p2p_bruck_t),
                  .phases = phases,
                  .synchronizing = true,
                  .finish = finish},
    .round = pass_on,
    .take = take,
};

/* ---- selection ---- */

const char *const ctn_p2p_allgathers[] = {"bruck", "ring", NULL};

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

const ctn_algorithm_t *ctn_p2p_allgather(const ctn_p2p_t *p2p,
                                         const ctn_basic_coll_t *basic)
{
    return fits(p2p, basic) && !ctn_p2p_requested(basic, "ring")
               ? &ctn_p2p_bruck.algorithm
               : &ctn_p2p_allgather_ring;
}
