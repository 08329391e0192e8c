/* Allreduce over messages: P2P-3, recursive doubling, for short vectors, and
 * P2P-4, Rabenseifner's, for long ones. Thakur, Rabenseifner, Gropp:
 * Optimization of Collective Communication Operations in MPICH, IJHPCA 19,
 * 2005, section 4.5. Both run among 2^k units (rounds.h).
 *
 * Recursive doubling: k rounds; in each one all units exchange their partial
 * results. Messages: one per member and round. Memory: none; the result of a
 * round overwrites the message received in it, the last one goes to the receive
 * buffer. Both partners of a round reduce the same two vectors, that of the
 * lower members on the left, so all members get the same bits.
 *
 * Rabenseifner: a reduce-scatter by recursive halving, then an allgather by
 * recursive doubling: 2k rounds. A member sends 2n bytes of a vector of n bytes
 * in all; in recursive doubling it sends n log2 m. Memory: none; partial
 * results lie in the receive buffer. Differs from the paper: the nearest
 * partners exchange first, so a partial result is always that of consecutive
 * members, and operations need not commute. */

#include "coll/bcol/p2p/rounds.h"

/** The member with which this one exchanges messages in a round. */
static uint32_t partner_in(const ctn_p2p_units_t *units, unsigned round)
{
    return ctn_p2p_unit_member(units, units->unit ^ UINT32_C(1) << round);
}

/** The first round: passive members send their vectors. This and the last round
 * use the slots after those of the others; algorithms use at most two slots for
 * each of these. */
static void fold_in(ctn_p2p_rounds_t *rounds, const ctn_p2p_units_t *units)
{
    const ctn_p2p_t *p2p = rounds->call.p2p;
    size_t bytes = rounds->call.basic->bytes;
    unsigned slot = 2 * p2p->rounds;
    if (units->passive) {
        ctn_p2p_round_send(rounds, p2p->me - 1, slot, rounds->value, bytes);
    } else if (units->in_pair) {
        ctn_p2p_round_receive(rounds, p2p->me + 1, slot, bytes);
        ctn_p2p_round_reduce(rounds, rounds->value, NULL);
    }
}

/** The last round: passive members receive the result. */
static void fold_out(ctn_p2p_rounds_t *rounds, const ctn_p2p_units_t *units)
{
    const ctn_p2p_t *p2p = rounds->call.p2p;
    const ctn_basic_coll_t *basic = rounds->call.basic;
    unsigned slot = 2 * p2p->rounds + 1;
    if (units->passive) {
        ctn_p2p_round_receive(rounds, p2p->me - 1, slot, basic->bytes);
        ctn_p2p_round_copy(rounds, basic->out, basic->bytes);
        rounds->rounds.overwrites = basic->in == basic->out;
    } else if (units->in_pair) {
        ctn_p2p_round_send(rounds, p2p->me + 1, slot, basic->out, basic->bytes);
    } else if (p2p->size == 1) {
        ctn_p2p_round_copy(rounds, basic->out, basic->bytes);
    }
}

/* ---- recursive doubling ---- */

/** Exchange partial results with the partner, and reduce them. */
static bool double_up(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_basic_coll_t *basic = rounds->call.basic;
    ctn_p2p_units_t units = ctn_p2p_units_of(rounds->call.p2p);
    if (index == 0) {
        fold_in(rounds, &units);
    } else if (index > units.rounds) {
        fold_out(rounds, &units);
    } else if (!units.passive) {
        bool is_last = index == units.rounds;
        uint32_t partner = partner_in(&units, index - 1);
        ctn_p2p_round_send(rounds, partner, index - 1, rounds->value,
                           basic->bytes);
        ctn_p2p_round_receive(rounds, partner, index - 1, basic->bytes);
        ctn_p2p_round_reduce(rounds, rounds->value,
                             is_last ? basic->out : NULL);
        rounds->rounds.overwrites = is_last && basic->in == basic->out;
    }
    return index <= units.rounds + 1;
}

const ctn_p2p_schedule_t ctn_p2p_doubling = {
    CTN_P2P_ROUNDS("p2p/allreduce, recursive-doubling", ctn_p2p_rounds_t, true),
    .signature = CTN_P2P_DOUBLING,
    .round = double_up,
};

/* ---- Rabenseifner ---- */

/** A range of the vector, in bytes. */
typedef struct range {
    size_t begin;
    size_t end;
} range_t;

/** Split the range that this member reduces before a round into the halves that
 * it and its partner of the round keep. */
static void split(const ctn_basic_coll_t *basic, const ctn_p2p_units_t *units,
                  unsigned round, range_t *mine, range_t *theirs)
{
    size_t element = basic->by.type->bytes;
    *mine = (range_t){0, basic->bytes};
    for (unsigned r = 0; r <= round; r++) {
        size_t middle =
            mine->begin + (mine->end - mine->begin) / element / 2 * element;
        range_t half[2] = {{mine->begin, middle}, {middle, mine->end}};
        unsigned upper = units->unit >> r & 1;
        *mine = half[upper];
        *theirs = half[!upper];
    }
}

/** A round of the reduce-scatter. It writes only the half that this member
 * keeps, so it need not wait until the other half has been sent. */
static void halve(ctn_p2p_rounds_t *rounds, const ctn_p2p_units_t *units,
                  unsigned r)
{
    const ctn_basic_coll_t *basic = rounds->call.basic;
    const unsigned char *value = r == 0 ? rounds->value : basic->out;
    uint32_t partner = partner_in(units, r);
    range_t mine, give;
    split(basic, units, r, &mine, &give);
    ctn_p2p_round_send(rounds, partner, r, value + give.begin,
                       give.end - give.begin);
    ctn_p2p_round_receive(rounds, partner, r, mine.end - mine.begin);
    ctn_p2p_round_reduce(rounds, value + mine.begin,
                         (unsigned char *)basic->out + mine.begin);
}

/** A round of the allgather: those of the reduce-scatter in reverse order. It
 * overwrites the half that was sent in the round of the reduce-scatter, and
 * need not wait for that: the partner has received that half before it sends
 * the message with which it is overwritten. */
static void gather(ctn_p2p_rounds_t *rounds, const ctn_p2p_units_t *units,
                   unsigned r)
{
    const ctn_basic_coll_t *basic = rounds->call.basic;
    unsigned char *out = basic->out;
    uint32_t partner = partner_in(units, r);
    unsigned slot = rounds->call.p2p->rounds + r;
    range_t mine, get;
    split(basic, units, r, &mine, &get);
    ctn_p2p_round_send(rounds, partner, slot, out + mine.begin,
                       mine.end - mine.begin);
    ctn_p2p_round_receive(rounds, partner, slot, get.end - get.begin);
    ctn_p2p_round_copy(rounds, out + get.begin, get.end - get.begin);
}

static bool halve_and_gather(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    ctn_p2p_units_t units = ctn_p2p_units_of(rounds->call.p2p);
    unsigned k = units.rounds;
    if (index == 0) {
        fold_in(rounds, &units);
    } else if (index > 2 * k) {
        fold_out(rounds, &units);
    } else if (!units.passive && index <= k) {
        halve(rounds, &units, index - 1);
    } else if (!units.passive) {
        gather(rounds, &units, 2 * k - index);
    }
    return index <= 2 * k + 1;
}

const ctn_p2p_schedule_t ctn_p2p_halving = {
    CTN_P2P_ROUNDS("p2p/allreduce, rabenseifner", ctn_p2p_rounds_t, true),
    .signature = CTN_P2P_HALVING,
    .round = halve_and_gather,
};
