/* P2P-1: barriers. Messages: one per member and round, without data. Memory:
 * none.
 *
 * Dissemination: Hensgen, Finkel, Manber: Two Algorithms for Barrier
 * Synchronization, International Journal of Parallel Programming 17, 1988.
 * Rounds: ceil(log2 m).
 *
 * Recursive doubling: Graham, Ladd, Gorentla Venkata: Hierarchy Aware Blocking
 * and Nonblocking Collective Communications, CUG 2011, figure 1. In round r
 * units (rounds.h) exchange messages whose numbers differ in bit r. Rounds:
 * log2 m; if m is no power of two, floor(log2 m) and two more, in which the
 * passive members of pairs arrive and are released. */

#include "coll/bcol/p2p/rounds.h"

static bool disseminate(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_p2p_t *p2p = rounds->call.p2p;
    uint64_t away = UINT64_C(1) << index;
    if (index == p2p->rounds) {
        return false;
    }
    ctn_p2p_round_send(rounds, (uint32_t)((p2p->me + away) % p2p->size), index,
                       NULL, 0);
    ctn_p2p_round_receive(
        rounds, (uint32_t)((p2p->me + p2p->size - away) % p2p->size), index, 0);
    return true;
}

const ctn_p2p_schedule_t ctn_p2p_dissemination = {
    CTN_P2P_ROUNDS("p2p/barrier, dissemination", ctn_p2p_rounds_t, true),
    .signature = CTN_P2P_NOTHING,
    .round = disseminate,
};

/** The first round and the last one: the passive member of a pair arrives at
 * the other one, or is released by it. */
static void fold(ctn_p2p_rounds_t *rounds, const ctn_p2p_units_t *units,
                 bool arrive)
{
    const ctn_p2p_t *p2p = rounds->call.p2p;
    unsigned slot = p2p->rounds + !arrive;
    uint32_t other = units->passive ? p2p->me - 1 : p2p->me + 1;
    if (units->in_pair && units->passive == arrive) {
        ctn_p2p_round_send(rounds, other, slot, NULL, 0);
    } else if (units->in_pair) {
        ctn_p2p_round_receive(rounds, other, slot, 0);
    }
}

static bool exchange(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    ctn_p2p_units_t units = ctn_p2p_units_of(rounds->call.p2p);
    if (index == 0 || index > units.rounds) {
        fold(rounds, &units, index == 0);
    } else if (!units.passive) {
        unsigned r = index - 1;
        uint32_t partner =
            ctn_p2p_unit_member(&units, units.unit ^ UINT32_C(1) << r);
        ctn_p2p_round_send(rounds, partner, r, NULL, 0);
        ctn_p2p_round_receive(rounds, partner, r, 0);
    }
    return index <= units.rounds + 1;
}

const ctn_p2p_schedule_t ctn_p2p_pairwise_barrier = {
    CTN_P2P_ROUNDS("p2p/barrier, recursive-doubling", ctn_p2p_rounds_t, true),
    .signature = CTN_P2P_NOTHING_PAIRWISE,
    .round = exchange,
};
