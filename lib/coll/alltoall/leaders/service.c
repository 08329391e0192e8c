/* Leaders cannot use buffers outside the heap, or of types with gaps. A member
 * with such a buffer copies its share of each fragment itself: into the staging
 * slots that a leader has opened, and out of those that it has delivered. A
 * leader is done only when all members have, so this member waits for that. */

#include "coll/alltoall/leaders/leaders.h"

#include "exec/observe.h"

/** Copy this member's share of the fragments of a leader, in one direction. */
static bool copy_shares(ctn_op_t *op, const ctn_leaders_t *a, uint32_t leader,
                        bool outgoing)
{
    const ctn_topo_t *topo = a->topo;
    const ctn_counter_t *counter = ctn_leaders_counter(op, a, leader, outgoing);
    uint64_t *served = &a->served[leader * 2 + outgoing];
    uint64_t ready = ctn_leaders_count(op, &counter->ready);
    bool moved = *served < ready;
    while (*served < ready) {
        uint64_t entry = counter->fragment[*served % CTN_LEADER_STAGING_SLOTS];
        ctn_leader_fragment_t fragment = ctn_leader_fragment_at(
            &a->geometry, (uint32_t)(entry >> 32),
            (uint32_t)entry / CTN_LEADER_STAGING_SLOTS, outgoing);
        unsigned char *staging = ctn_pointer(
            topo->peer[a->layout->leader_member[leader]],
            ctn_leaders_port(a, topo->node_index, leader)->offset +
                ctn_port_staging_at(topo->member_table.nodes, op->seq, outgoing,
                                    entry % CTN_LEADER_STAGING_SLOTS));
        if (outgoing || !ctn_leaders_mismatch(op, a, leader)) {
            uint64_t began = ctn_observe_begins(op->exec);
            size_t copied = ctn_leader_fragment_copy(
                op->exec, &a->geometry, &fragment, outgoing, false, staging);
            ctn_observe_ends(op->exec, began, outgoing ? "gather" : "scatter",
                             copied);
        }
        ctn_exec_post(op->exec,
                      ctn_leaders_copied(op, a, ctn_topo_local_rank(topo),
                                         leader, outgoing),
                      ctn_flag(op->seq, ++*served));
    }
    return moved;
}

/* Virtual leaders that this member hosts are left out: they can use its
 * buffers.
 */
bool ctn_service_advance(ctn_op_t *op, const ctn_leaders_t *a)
{
    bool moved = false;
    for (uint32_t l = 0;
         (a->serves[false] || a->serves[true]) && l < a->layout->leaders; l++) {
        if (a->layout->leader_member[l] != ctn_topo_local_rank(a->topo)) {
            moved |= a->serves[true] && copy_shares(op, a, l, true);
            moved |= a->serves[false] && copy_shares(op, a, l, false);
        }
    }
    return moved;
}
