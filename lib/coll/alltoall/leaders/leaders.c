/* A2A-2 l-a2a, A2A-3 mpml, A2A-4 nmpml, A2A-5 onmpml: alltoall through leaders.
 * Peng, Liu, Xie: GLEX-Alltoall, Algorithms 1 to 5; one implementation with the
 * number of leaders, their placement and the overlap as parameters. Messages
 * between nodes: one for each pair of nodes and CTN_LEADER_STAGING_BYTES.
 * Memory, whatever the length of the messages: for each virtual leader
 * CTN_LEADER_STAGING_SLOTS fragments in each generation to receive, and as many
 * for each operation at once to send. alltoallv: also p entries of 32 bytes in
 * each of 4 generations, at each member.
 * Differs from the paper: virtual leaders, so nodes of any size work; nodes are
 * paired, so that CATENA_IN_PLACE needs no second buffer; blocks are transposed
 * in the gather, so that received data are copied once; blocks within a node do
 * not go through a leader; flags replace the paper's two barriers, and only the
 * members that need them wait for them. Without overlap the steps (gather,
 * send, receive, scatter) run one after the other for as many fragments as
 * there are staging slots, then again.
 *
 * The leaders read and write buffers in the heap. A member with a buffer
 * elsewhere copies its share into each opened fragment and out of each
 * delivered fragment itself: the leader's staging bounds the memory, and each
 * byte is still copied once. */

#include "coll/alltoall/leaders/leaders.h"

#include <string.h>

#include "coll/alltoall/aggregated.h"
#include "exec/transfer.h"
#include "model/machine.h"

/* ---- start ---- */

static ctn_step_t need_layout(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    a->topo = a->call.topo;
    a->has_posted = a->has_sent = false;
    ctn_pairwise_clear(&a->local);
    return ctn_leader_layout_need(op, a->topo, a->call.by_leaders.leaders,
                                  a->call.by_leaders.placement, &a->layout);
}

/** Whether leaders send a block: it goes between this node and another one, and
 * is not too long.
 * @param index of the other member in the member table */
static bool goes_by_leaders(const ctn_leaders_t *a, uint32_t index,
                            size_t bytes)
{
    const uint32_t *first = a->topo->member_table.first;
    uint32_t node = a->topo->node_index;
    return bytes > 0 && bytes <= a->call.by_leaders.direct_above &&
           (index < first[node] || index >= first[node + 1]);
}

/** Fill in this member's row, for the leaders. */
static void fill_blocks(ctn_op_t *op, ctn_leaders_t *a,
                        ctn_leader_block_t *rows)
{
    const ctn_alltoall_t *call = &a->call;
    for (uint32_t rank = 0; rank < a->topo->member_table.size; rank++) {
        uint32_t index = a->topo->member_table.by_rank[rank];
        ctn_span_t out = ctn_blocks_at(call->send, rank);
        ctn_span_t in = ctn_blocks_at(call->receive, rank);
        ctn_leader_block_t *row = &rows[rank];
        *row = (ctn_leader_block_t){0};
        if (goes_by_leaders(a, index, out.bytes)) {
            row->send_bytes = out.bytes;
            row->send_at = ctn_span_offset(op->exec, &out);
        }
        if (goes_by_leaders(a, index, in.bytes)) {
            row->receive_bytes = in.bytes;
            row->receive_at = ctn_span_offset(op->exec, &in);
        }
    }
}

/** Write this member's row for this operation; *offset is its place in the
 * arena. It stays valid until the generation is reused, for members that read
 * late: besides leaders, a member that copies its share itself reads the rows
 * of all members of its node. */
static catena_status_t write_blocks(ctn_op_t *op, ctn_leaders_t *a,
                                    uint64_t *offset)
{
    ctn_leader_layout_t *layout = a->layout;
    size_t count = a->topo->member_table.size;
    if (layout->own_blocks == NULL) {
        layout->own_blocks = ctn_heap_alloc(op->exec->heap, 64,
                                            CTN_GENERATIONS * count *
                                                sizeof(ctn_leader_block_t));
    }
    if (layout->own_blocks == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_leader_block_t *rows =
        layout->own_blocks + ctn_leaders_generation(op) * count;
    fill_blocks(op, a, rows);
    (void)ctn_heap_contains(op->exec->heap, rows, 1, offset);
    return CATENA_OK;
}

/** Publish this member's buffers to the node. */
static catena_status_t publish(ctn_op_t *op, ctn_leaders_t *a)
{
    ctn_alltoall_t *call = &a->call;
    uint64_t rows = CTN_STAGED;
    catena_status_t status =
        call->vector ? write_blocks(op, a, &rows) : CATENA_OK;
    ctn_posted_publish(op, a->topo, call->send, call->receive, rows, NULL);
    call->published = true;
    const ctn_buffer_descriptor_t *descriptor =
        ctn_topo_descriptor(a->topo, op->seq, ctn_topo_local_rank(a->topo));
    a->serves[true] = descriptor->send == CTN_STAGED;
    a->serves[false] = descriptor->receive == CTN_STAGED;
    return status;
}

/** Exchange the blocks that leaders do not send: those of the node, and large
 * ones for other nodes. */
static void begin_local(ctn_leaders_t *a)
{
    ctn_alltoall_exchange(&a->call, a->call.vector, &a->local);
    if (a->call.vector) {
        a->local.remote_above = a->call.by_leaders.direct_above;
    }
    ctn_pairwise_begin(&a->local);
}

static ctn_step_t begin(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    a->geometry = (ctn_geometry_t){
        .member_table = &a->topo->member_table,
        .node = a->topo->node_index,
        .me = ctn_topo_local_rank(a->topo),
        .leaders = a->layout->leaders,
        .bytes = a->call.send->bytes,
        .vector = a->call.vector,
        .in_place = a->call.in_place,
        .own = {a->call.receive, a->call.send},
    };
    a->set = op->seq % CTN_FLIGHT;
    a->geometry.member =
        &a->layout->member[a->set * ctn_topo_local_size(a->topo)];
    a->served = &a->layout->served[a->set * a->layout->leaders * 2];
    memset(a->served, 0, a->layout->leaders * 2 * sizeof(*a->served));
    a->descriptors_read = 0;
    a->departed = 0;
    a->peer_checks = op->exec->peer_checks;
    a->local_done = a->ports_done = a->known = false;
    if (publish(op, a) != CATENA_OK) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    begin_local(a);
    ctn_op_set_network(op, a->layout->ports > 0 || a->call.vector);
    return CTN_STEP_NEXT;
}

/** Store the addresses of a member's buffers, from its descriptor. */
static void read_descriptor(ctn_leaders_t *a, uint32_t i,
                            const ctn_buffer_descriptor_t *descriptor)
{
    ctn_endpoint_t *peer = a->topo->peer[i];
    const uint64_t place[] = {descriptor->receive, descriptor->send};
    ctn_leader_member_t *member =
        &a->layout->member[a->set * ctn_topo_local_size(a->topo) + i];
    for (int outgoing = 0; outgoing < 2; outgoing++) {
        bool staged = place[outgoing] == CTN_STAGED;
        member->base[outgoing] =
            staged ? NULL : ctn_pointer(peer, place[outgoing]);
        /* This member's own buffers are always within its reach. */
        a->geometry.staged[outgoing] |=
            staged && i != ctn_topo_local_rank(a->topo);
    }
    member->row = descriptor->rows != CTN_STAGED
                      ? ctn_pointer(peer, descriptor->rows)
                      : NULL;
}

/** Read the buffer descriptors of the node's members, and the lengths of their
 * blocks. Leaders need both, and so do members that copy their share themselves
 * in an alltoallv. Then begin the work of the ports. NEXT: done. */
static ctn_step_t learn_buffers(ctn_op_t *op, ctn_leaders_t *a)
{
    bool serves = a->serves[false] || a->serves[true];
    if (a->layout->ports == 0 && !(serves && a->call.vector)) {
        return CTN_STEP_NEXT;
    }
    for (; a->descriptors_read < ctn_topo_local_size(a->topo);
         a->descriptors_read++) {
        const ctn_buffer_descriptor_t *descriptor =
            ctn_posted_find(op, a->topo, a->descriptors_read);
        if (descriptor == NULL) {
            return CTN_STEP_WAIT;
        }
        if (a->call.vector && descriptor->rows == CTN_STAGED) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY); /* as that member */
        }
        if (descriptor->bytes !=
            (a->call.vector ? 0 : a->call.receive->bytes)) {
            return ctn_op_fail(
                op, ctn_op_give_up(
                        op, ctn_posted_report_length(
                                a->topo,
                                ctn_topo_local_to_group(a->topo,
                                                        a->descriptors_read),
                                descriptor->bytes, a->call.receive->bytes)));
        }
        read_descriptor(a, a->descriptors_read, descriptor);
    }
    catena_status_t status = ctn_ports_begin(op, a);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- progress ---- */

/** The work of this member's ports is over. If it has any, announce that it no
 * longer needs the buffers of its node. */
static void depart(ctn_op_t *op, ctn_leaders_t *a)
{
    uint32_t me = ctn_topo_local_rank(a->topo);
    a->ports_done = true;
    if (a->layout->ports > 0) {
        ctn_op_set_network(op, a->call.vector);
        ctn_exec_post(op->exec,
                      ctn_node_departed(&a->topo->node_area, op->seq, me),
                      ctn_flag64(op->seq));
    }
}

/** Whether all leaders of the node are done. */
static bool leaders_departed(ctn_op_t *op, ctn_leaders_t *a)
{
    for (; a->departed < a->layout->leaders; a->departed++) {
        uint32_t leader_member = a->layout->leader_member[a->departed];
        if (ctn_word_load(ctn_node_departed(&a->topo->node_area, op->seq,
                                            leader_member)) !=
            ctn_flag64(op->seq)) {
            op->waits_for = ctn_topo_local(a->topo, leader_member)->rank;
            return false;
        }
    }
    return true;
}

/** Advance the blocks that leaders send: this member's ports, and its own
 * copies. NEXT: all leaders of the node are done, so the caller may reuse its
 * buffers. */
static ctn_step_t exchange_led(ctn_op_t *op, ctn_leaders_t *a)
{
    if (!a->known) {
        ctn_step_t step = learn_buffers(op, a);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        a->known = true;
    }
    bool moved = false;
    if (!a->ports_done) {
        ctn_step_t step = ctn_ports_advance(op, a);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step == CTN_STEP_NEXT) {
            depart(op, a);
        }
        moved = step != CTN_STEP_WAIT;
    }
    moved |= ctn_service_advance(op, a);
    if (a->ports_done && leaders_departed(op, a)) {
        return CTN_STEP_NEXT;
    }
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/** Whether some message to this node had other lengths. */
static bool has_mismatch(const ctn_op_t *op, const ctn_leaders_t *a)
{
    bool mismatch = false;
    for (uint32_t l = 0; l < a->layout->leaders; l++) {
        mismatch |= ctn_leaders_mismatch(op, a, l);
    }
    return mismatch;
}

/** For long waits: this member may wait for a block whose sender has given it
 * to a leader, which has found the mismatch; or for a block whose sender does
 * not use leaders. What leaders or members of the node send arrives in any
 * case, maybe late. */
CTN_COLD static void check_mismatch(ctn_op_t *op, ctn_leaders_t *a)
{
    a->peer_checks = op->exec->peer_checks;
    if (!a->local_done && has_mismatch(op, a) &&
        ctn_pairwise_awaits_remote(&a->local)) {
        op->status = ctn_op_give_up(op, CATENA_ERR_ARG);
    }
    ctn_aggregated_check_mismatch(op, a->topo, 0);
}

static ctn_step_t exchange(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    ctn_step_t local =
        a->local_done ? CTN_STEP_NEXT : ctn_pairwise_advance(op, &a->local);
    if (local == CTN_STEP_FAIL) {
        return local;
    }
    bool moved = local == CTN_STEP_MOVED;
    if (local == CTN_STEP_NEXT && !a->local_done) {
        a->local_done = moved = true;
    }
    ctn_step_t led = exchange_led(op, a);
    if (led == CTN_STEP_FAIL || (led == CTN_STEP_NEXT && a->local_done)) {
        return led;
    }
    if (!moved && led == CTN_STEP_WAIT &&
        op->exec->peer_checks != a->peer_checks) {
        check_mismatch(op, a);
    }
    return moved || led == CTN_STEP_MOVED ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

static ctn_step_t end(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    if (has_mismatch(op, a)) {
        bool notify = a->call.vector && a->local.status == CATENA_OK;
        a->local.status = CATENA_ERR_ARG;
        if (notify) {
            return ctn_pairwise_notify(op, &a->local);
        }
    }
    return ctn_pairwise_end(op, &a->local);
}

static const ctn_phase_t phases[] = {{"layout", need_layout},
                                     {"begin", begin},
                                     {"exchange", exchange},
                                     {"end", end},
                                     {NULL, NULL}};

static void finish(ctn_op_t *op)
{
    ctn_leaders_t *a = ctn_op_state(op);
    ctn_alltoall_finish(op);
    ctn_pairwise_finish(op, &a->local);
    if (op->status != CATENA_OK) {
        ctn_ports_end(op, a);
    }
}

static bool is_sending(const ctn_op_t *op)
{
    return ctn_ports_send(ctn_op_state((ctn_op_t *)(uintptr_t)op));
}

const ctn_algorithm_t ctn_alltoall_leaders = {
    .name = "alltoall/leaders",
    .state_bytes = sizeof(ctn_leaders_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
    .is_sending = is_sending,
    .release = ctn_alltoall_release,
};

const ctn_algorithm_t ctn_alltoallv_leaders = {
    .name = "alltoallv/leaders",
    .state_bytes = sizeof(ctn_leaders_t),
    .phases = phases,
    .finish = finish,
    .is_sending = is_sending,
    .release = ctn_alltoall_release,
};

_Static_assert(CTN_TINY ||
                   (CTN_LEADER_STAGING_BYTES == CTN_MODEL_FRAGMENT_BYTES &&
                    CTN_FRAGMENT_BYTES == CTN_MODEL_FRAGMENT_BYTES),
               "the formulas assume these fragments");
_Static_assert(sizeof(ctn_leaders_t) <= CTN_OP_STATE_BYTES,
               "fits an operation");
