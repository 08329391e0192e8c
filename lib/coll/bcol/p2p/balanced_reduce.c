/* P2P-13: reduce over messages by the balanced tree (type/balanced.h), to any
 * root. It runs among 2^k units (rounds.h). A pair's second member first sends
 * its vector to the first one, but in the root's pair the other member to the
 * root. Then the units send along a binomial tree: in round r those whose
 * number differs from that of the root's unit in bit r, and in no lower one, to
 * the unit that differs from theirs in this bit. So whatever the root, the
 * units of each partial result are a subtree of the balanced tree. Rounds: k,
 * and one more if there are pairs. Messages: m - 1. Memory: none; members
 * reduce into their eager buffers, the root into its receive buffer.
 *
 * Linear: all send to the root, which reduces when it has received all vectors:
 * one round. */

#include "coll/bcol/p2p/rounds.h"

/** The member of a unit that has the unit's partial result. */
static uint32_t active_of(const ctn_p2p_units_t *units, uint32_t unit,
                          uint32_t root)
{
    uint32_t first = ctn_p2p_unit_member(units, unit);
    return root == first + 1 && unit < units->paired ? root : first;
}

/** The root's unit. */
static uint32_t unit_of(const ctn_p2p_units_t *units, uint32_t root)
{
    return root < 2 * units->paired ? root / 2 : root - units->paired;
}

/** The first round: one member of each pair sends to the other. */
static void pair_up(ctn_p2p_rounds_t *rounds, const ctn_p2p_units_t *units,
                    uint32_t active)
{
    const ctn_p2p_t *p2p = rounds->call.p2p;
    size_t bytes = rounds->call.basic->bytes;
    unsigned slot = 2 * p2p->rounds + 1; /* rooted.c uses the one before */
    if (units->in_pair && p2p->me != active) {
        ctn_p2p_round_send(rounds, active, slot, rounds->value, bytes);
    } else if (units->in_pair) {
        ctn_p2p_round_receive(rounds, p2p->me ^ 1, slot, bytes);
        ctn_p2p_round_reduce(rounds, rounds->value, NULL);
    }
}

/** Round r among the units. In the last one the root receives, and writes its
 * result. */
static void combine(ctn_p2p_rounds_t *rounds, const ctn_p2p_units_t *units,
                    uint32_t root, unsigned r)
{
    const ctn_basic_coll_t *basic = rounds->call.basic;
    uint32_t differs = units->unit ^ unit_of(units, root);
    uint32_t bit = UINT32_C(1) << r;
    uint32_t partner = active_of(units, units->unit ^ bit, root);
    bool writes = r + 1 == units->rounds && rounds->call.p2p->me == root;
    if ((differs & (bit - 1)) != 0) {
        return; /* it has sent */
    }
    if ((differs & bit) != 0) {
        ctn_p2p_round_send(rounds, partner, r, rounds->value, basic->bytes);
    } else {
        ctn_p2p_round_receive(rounds, partner, r, basic->bytes);
        ctn_p2p_round_reduce(rounds, rounds->value, writes ? basic->out : NULL);
    }
}

unsigned ctn_p2p_balanced_rounds(const ctn_p2p_rounds_t *rounds)
{
    return ctn_p2p_units_of(rounds->call.p2p).rounds + 2;
}

void ctn_p2p_balanced_up(ctn_p2p_rounds_t *rounds, uint32_t root,
                         unsigned index)
{
    const ctn_p2p_t *p2p = rounds->call.p2p;
    const ctn_basic_coll_t *basic = rounds->call.basic;
    ctn_p2p_units_t units = ctn_p2p_units_of(p2p);
    uint32_t active = active_of(&units, units.unit, root);
    if (index == 0) {
        pair_up(rounds, &units, active);
    } else if (index <= units.rounds && p2p->me == active) {
        combine(rounds, &units, root, index - 1);
    } else if (index == units.rounds + 1 && p2p->size == 1) {
        ctn_p2p_round_copy(rounds, basic->out, basic->bytes);
    }
}

static bool go_up(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    ctn_p2p_balanced_up(rounds, rounds->call.basic->root, index);
    return index < ctn_p2p_balanced_rounds(rounds);
}

/* Members that only send do not wait for any other. */
const ctn_p2p_schedule_t ctn_p2p_balanced_reduce = {
    CTN_P2P_ROUNDS("p2p/reduce, balanced", ctn_p2p_rounds_t, false),
    .signature = CTN_P2P_BALANCED,
    .round = go_up,
};

/* ---- linear ---- */

/** State of the operation. */
typedef struct linear {
    ctn_p2p_rounds_t rounds;                             /* first */
    const unsigned char *vector[CTN_P2P_LINEAR_MEMBERS]; /* of each member */
} linear_t;

/** The slot of a member at the root. */
static unsigned slot_of(uint32_t member, uint32_t root)
{
    return member < root ? member : member - 1;
}

/** The root receives one vector in each of its rounds, and reduces in the last
 * one. */
static bool send_to_root(ctn_op_t *op, unsigned index)
{
    linear_t *linear = ctn_op_state(op);
    ctn_p2p_rounds_t *rounds = &linear->rounds;
    const ctn_basic_coll_t *basic = rounds->call.basic;
    uint32_t me = rounds->call.p2p->me;
    uint32_t size = rounds->call.p2p->size;
    if (me != basic->root && index == 0) {
        ctn_p2p_round_send(rounds, basic->root, slot_of(me, basic->root),
                           rounds->value, basic->bytes);
    } else if (me == basic->root && index < size && index != me) {
        ctn_p2p_round_receive(rounds, index, slot_of(index, me), basic->bytes);
    }
    return index <= (me == basic->root ? size : 0);
}

static const unsigned char *vector_of(void *from, uint32_t i)
{
    const linear_t *linear = from;
    return linear->vector[i];
}

/** Reduce all vectors. In place, the root's own must stay until it is read, so
 * the result first takes the place of the vector received from member 0. */
static void reduce_all(ctn_op_t *op, linear_t *linear)
{
    const ctn_p2p_call_t *call = &linear->rounds.call;
    const ctn_basic_coll_t *basic = call->basic;
    bool replaces = basic->in == basic->out && basic->root > 1;
    void *out = replaces ? (void *)(uintptr_t)linear->vector[0] : basic->out;
    ctn_basic_reduce(&call->p2p->module, basic, vector_of, linear, basic->bytes,
                     out);
    if (replaces) {
        ctn_p2p_copy(op, basic->out, out, basic->bytes);
    }
}

/** On the root: keep the vector of a round. What it has received stays in the
 * slots and eager buffers until the operation ends. */
static catena_status_t take(ctn_op_t *op, unsigned index,
                            unsigned char *message)
{
    linear_t *linear = ctn_op_state(op);
    const ctn_p2p_call_t *call = &linear->rounds.call;
    const ctn_basic_coll_t *basic = call->basic;
    uint32_t size = call->p2p->size;
    if (call->p2p->me != basic->root) {
        return CATENA_OK;
    }
    if (index < size) {
        linear->vector[index] = index == basic->root ? basic->in : message;
    } else if (call->status == CATENA_OK) {
        reduce_all(op, linear);
    }
    return CATENA_OK;
}

const ctn_p2p_schedule_t ctn_p2p_balanced_linear = {
    CTN_P2P_ROUNDS("p2p/reduce, balanced, linear", linear_t, false),
    .signature = CTN_P2P_BALANCED_LINEAR,
    .round = send_to_root,
    .take = take,
};
