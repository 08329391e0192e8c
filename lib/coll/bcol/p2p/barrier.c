/* P2P-1: barrier, dissemination. Hensgen, Finkel, Manber: Two Algorithms for
 * Barrier Synchronization, International Journal of Parallel Programming 17,
 * 1988.
 * Rounds: ceil(log2 m). Messages: one per member and round, without data.
 * Memory: none. */

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
