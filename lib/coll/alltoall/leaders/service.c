/* Leaders cannot use buffers outside the heap, or of types with gaps. A member
 * with such a buffer copies its share of each fragment itself: into the staging
 * slots that a leader has opened, and out of those that it has delivered. */

#include "coll/alltoall/leaders/leaders.h"

/* Virtual leaders that this member hosts are left out: they can use its
 * buffers.
 */
void ctn_service_begin(ctn_leaders_t *a)
{
    uint32_t me = ctn_topo_local_rank(a->topo);
    for (uint32_t l = 0; (a->push || a->take) && l < a->layout->leaders; l++) {
        bool own = a->layout->leader_member[l] == me;
        ctn_service_t *service = &a->layout->service[a->set][l];
        *service = (ctn_service_t){0};
        if (a->push && !own) {
            service->push = ctn_cursor_first(&a->geometry, l, true);
            service->to_push = ctn_leader_fragment_count(&a->geometry, l, true);
        }
        if (a->take && !own) {
            service->to_take =
                ctn_leader_fragment_count(&a->geometry, l, false);
        }
    }
}

/** Address of offset `at` in the port of a leader of this node. */
static unsigned char *leader_memory(const ctn_leaders_t *a, uint32_t leader,
                                    size_t at)
{
    const ctn_address_t *port =
        ctn_leaders_port(a, a->topo->node_index, leader);
    return ctn_pointer(a->layout->leader_endpoint[leader], port->offset + at);
}

/** Fill this member's share of the fragments that the leader has opened. */
static bool push_share(ctn_op_t *op, ctn_leaders_t *a, uint32_t leader)
{
    ctn_service_t *service = &a->layout->service[a->set][leader];
    uint32_t me = ctn_topo_local_rank(a->topo);
    uint64_t opened =
        ctn_leaders_count(op, &ctn_leaders_counter(op, a, leader)->opened);
    ctn_leader_side_t side = {a->layout->unreachable, &a->call.send};
    bool moved = false;
    while (service->pushed < opened) {
        unsigned char *staging = leader_memory(
            a, leader,
            ctn_port_send_at(a->topo->member_table.nodes, a->set,
                             service->pushed % CTN_LEADER_STAGING_SLOTS));
        (void)ctn_leader_fragment_copy(op->exec, &a->geometry,
                                       &service->push.at, true, &side, staging);
        service->pushed++;
        ctn_exec_post(op->exec, &ctn_leaders_answer(op, a, me, leader)->pushed,
                      ctn_flag(op->seq, service->pushed));
        ctn_cursor_next(&a->geometry, leader, true, &service->push);
        moved = true;
    }
    return moved;
}

/** Copy this member's share of the fragments that the leader has delivered. */
static bool take_share(ctn_op_t *op, ctn_leaders_t *a, uint32_t leader)
{
    ctn_service_t *service = &a->layout->service[a->set][leader];
    const ctn_counter_t *counter = ctn_leaders_counter(op, a, leader);
    uint32_t me = ctn_topo_local_rank(a->topo);
    uint64_t delivered = ctn_leaders_count(op, &counter->delivered);
    ctn_leader_side_t side = {a->layout->unreachable, &a->call.receive};
    bool moved = false;
    while (service->taken < delivered) {
        uint64_t entry =
            counter->fragment[service->taken % CTN_LEADER_STAGING_SLOTS];
        uint32_t number = (uint32_t)entry / CTN_LEADER_STAGING_SLOTS;
        ctn_leader_fragment_t fragment = ctn_leader_fragment_at(
            &a->geometry, (uint32_t)(entry >> 32), number, false);
        unsigned char *staging = leader_memory(
            a, leader,
            ctn_port_receive_at(a->topo->member_table.nodes,
                                ctn_leaders_generation(op),
                                entry % CTN_LEADER_STAGING_SLOTS));
        if (ctn_word_load(&counter->mismatch) != ctn_flag64(op->seq)) {
            (void)ctn_leader_fragment_copy(op->exec, &a->geometry, &fragment,
                                           false, &side, staging);
        }
        service->taken++;
        ctn_exec_post(op->exec, &ctn_leaders_answer(op, a, me, leader)->taken,
                      ctn_flag(op->seq, service->taken));
        moved = true;
    }
    return moved;
}

ctn_step_t ctn_service_advance(ctn_op_t *op, ctn_leaders_t *a)
{
    bool moved = false;
    bool done = true;
    for (uint32_t l = 0; (a->push || a->take) && l < a->layout->leaders; l++) {
        ctn_service_t *service = &a->layout->service[a->set][l];
        if (service->pushed < service->to_push) {
            moved |= push_share(op, a, l);
        }
        if (service->taken < service->to_take) {
            moved |= take_share(op, a, l);
        }
        if (service->pushed < service->to_push ||
            service->taken < service->to_take) {
            done = false;
            op->waits_for =
                ctn_topo_local(a->topo, a->layout->leader_member[l])->rank;
        }
    }
    return done ? CTN_STEP_NEXT : moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}
