/* The work of a virtual leader: gather fragments from the buffers of its node
 * and send them to the same virtual leader of other nodes; receive fragments
 * from these and scatter them to the buffers of its node. Parameter a is the
 * state of the operation, run that of its port. */

#include "coll/alltoall/leaders/leaders.h"

#include <string.h>

/* ---- a port: gather and send ---- */

/** Data of an outgoing fragment, by its number in the order. */
static unsigned char *send_staging(const ctn_leaders_t *a,
                                   const ctn_port_t *port, uint64_t fragment)
{
    return (unsigned char *)port->block +
           ctn_port_send_at(a->topo->member_table.nodes, a->set,
                            fragment % CTN_LEADER_STAGING_SLOTS);
}

/** The next fragment to be sent, which may not be gathered yet. */
static const ctn_cursor_t *next_out(const ctn_port_run_t *run)
{
    return run->sent < run->opened
               ? &run->out[run->sent % CTN_LEADER_STAGING_SLOTS]
               : &run->gather;
}

/** Gather the next fragment, if a send slot is free. True: it was gathered. */
static bool gather_fragment(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    if (ctn_cursor_ended(&run->gather) ||
        run->opened >= run->sent + CTN_LEADER_STAGING_SLOTS ||
        run->pending[run->opened % CTN_LEADER_STAGING_SLOTS] != 0) {
        return false;
    }
    ctn_leader_side_t side = {a->layout->source[a->set], &a->call.send};
    size_t copied =
        ctn_leader_fragment_copy(op->exec, &a->geometry, &run->gather.at, true,
                                 &side, send_staging(a, port, run->opened));
    ctn_exec_charge(op->exec, CTN_WORK_TRANSPOSE, copied);
    run->out[run->opened++ % CTN_LEADER_STAGING_SLOTS] = run->gather;
    if (a->any_staged_send) {
        ctn_exec_post(op->exec,
                      &ctn_leaders_counter(op, a, port->leader)->opened,
                      ctn_flag(op->seq, run->opened));
    }
    ctn_cursor_next(&a->geometry, port->leader, true, &run->gather);
    return true;
}

/** Whether the members with send buffers out of reach have filled their shares
 * of the next fragment to be sent. */
static bool filled_in(ctn_op_t *op, const ctn_leaders_t *a,
                      const ctn_port_t *port)
{
    if (!a->any_staged_send) {
        return true;
    }
    uint32_t n = ctn_topo_local_size(a->topo);
    uint32_t me = ctn_topo_local_rank(a->topo);
    for (uint32_t i = 0; i < n; i++) {
        if (i != me && a->layout->source[a->set][i] == NULL &&
            ctn_leaders_count(
                op, &ctn_leaders_answer(op, a, i, port->leader)->pushed) <=
                port->run[a->set].sent) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
    }
    return true;
}

/** The rank reported when the operation waits for a node. */
static uint32_t first_rank(const ctn_leaders_t *a, uint32_t node)
{
    return a->topo->member_table.member[a->topo->member_table.first[node]].rank;
}

/* A CTS holds the number of the last fragment that may be sent, and its slot;
 * this leader's fragments before it, except the opening, use the preceding
 * slots. */

/** The count of a CTS for fragment `number`, which gets `slot`. */
static uint64_t cts_for(uint32_t number, uint64_t slot)
{
    return ((uint64_t)number + 1) * CTN_LEADER_STAGING_SLOTS + slot;
}

/** Slot at the receiver of the next fragment to be sent; -1: no CTS yet. */
static int slot_there(const ctn_op_t *op, const ctn_leaders_t *a,
                      const ctn_port_t *port)
{
    const ctn_cursor_t *fragment = next_out(&port->run[a->set]);
    if (fragment->opening) {
        return (int)ctn_opening_slot(&a->geometry, port->leader, fragment);
    }
    const unsigned char *block = (const unsigned char *)port->block;
    const uint64_t *cts =
        (const void *)(block + ctn_port_cts_at(a->topo->member_table.nodes,
                                               ctn_leaders_generation(op),
                                               fragment->at.node));
    uint64_t value = ctn_leaders_count(op, cts);
    /* 1 + the number of the last fragment that may be sent; 0: no CTS */
    uint64_t named = value / CTN_LEADER_STAGING_SLOTS;
    if (named <= fragment->at.number) {
        return -1;
    }
    /* this leader's fragments from this one to the last one */
    uint64_t ahead = (named - 1 - fragment->at.number) / a->geometry.leaders;
    return (int)((value - ahead) % CTN_LEADER_STAGING_SLOTS);
}

/** Put the next fragment into a slot at the receiver. */
static catena_status_t put_fragment(ctn_op_t *op, ctn_leaders_t *a,
                                    ctn_port_t *port, uint64_t slot)
{
    ctn_port_run_t *run = &port->run[a->set];
    const ctn_leader_fragment_t *fragment = &next_out(run)->at;
    const ctn_address_t *to = ctn_leaders_port(a, fragment->node, port->leader);
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(op->exec, to->process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t generation = ctn_leaders_generation(op);
    ctn_fragment_header_t *header =
        (ctn_fragment_header_t *)(void *)send_staging(a, port, run->sent) - 1;
    if (!op->exec->drop_data) {
        *header = next_out(run)->of;
    }
    return ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, header),
        sizeof(*header) + fragment->bytes,
        to->offset +
            ctn_port_receive_at(a->topo->member_table.nodes, generation, slot) -
            sizeof(*header),
        to->offset + offsetof(ctn_port_block_t, arrived) +
            (generation * CTN_LEADER_STAGING_SLOTS + slot) * sizeof(uint64_t),
        ctn_leaders_arrival(op, a->geometry.node, fragment->number),
        &run->pending[run->sent % CTN_LEADER_STAGING_SLOTS]);
}

/** 1: a fragment was sent, 0: none could be, < 0: status. */
static int send_fragment(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    if (run->sent == run->opened || !filled_in(op, a, port)) {
        return 0;
    }
    int slot = slot_there(op, a, port);
    if (slot < 0) {
        op->waits_for = first_rank(a, next_out(run)->at.node);
        return 0;
    }
    catena_status_t status = put_fragment(op, a, port, (uint64_t)slot);
    if (status != CATENA_OK) {
        return status;
    }
    run->sent++;
    return 1;
}

/* ---- a port: receive and scatter ---- */

/** Data of the incoming fragment in a slot. */
static unsigned char *receive_staging(const ctn_op_t *op,
                                      const ctn_leaders_t *a,
                                      const ctn_port_t *port, uint64_t slot)
{
    return (unsigned char *)port->block +
           ctn_port_receive_at(a->topo->member_table.nodes,
                               ctn_leaders_generation(op), slot);
}

/** Number of fragments of a message. */
static uint64_t fragments_of(uint64_t bytes)
{
    return (bytes + CTN_LEADER_STAGING_BYTES - 1) / CTN_LEADER_STAGING_BYTES;
}

/** A message from another node has other lengths than this node's members
 * expect. The blocks concerned are not known, so all these members fail. If the
 * number of fragments differs as well, some rank would wait forever; then the
 * job is aborted. */
CTN_COLD static void report_mismatch(ctn_op_t *op, ctn_leaders_t *a,
                                     const ctn_port_t *port,
                                     const ctn_cursor_t *in,
                                     const ctn_fragment_header_t *found)
{
    uint64_t *mismatch = &ctn_leaders_counter(op, a, port->leader)->mismatch;
    if (ctn_word_load(mismatch) != ctn_flag64(op->seq)) {
        ctn_error(op->exec->log,
                  "alltoall: the blocks from the node of rank %u to that of "
                  "rank %u have %llu bytes; expected %llu, or single lengths "
                  "differ; the lengths of sender and receiver must match",
                  first_rank(a, in->at.node), first_rank(a, a->geometry.node),
                  (unsigned long long)found->bytes,
                  (unsigned long long)in->of.bytes);
    }
    ctn_exec_post(op->exec, mismatch, ctn_flag64(op->seq));
    a->mismatch = true;
    if (fragments_of(found->bytes) != fragments_of(in->of.bytes)) {
        (void)ctn_exec_abort(op->exec, CATENA_ERR_ARG);
    }
}

/** Scatter the fragment that has a slot; in staging, or in a buffer of the
 * network.
 * @param data after the header */
static void scatter_fragment(ctn_op_t *op, ctn_leaders_t *a,
                             const ctn_port_t *port, uint64_t slot,
                             const unsigned char *data)
{
    const ctn_cursor_t *in = &port->run[a->set].in[slot];
    ctn_fragment_header_t found;
    memcpy(&found, data - sizeof(found), sizeof(found));
    if (!op->exec->drop_data &&
        (found.bytes != in->of.bytes || found.digest != in->of.digest)) {
        report_mismatch(op, a, port, in, &found);
        return;
    }
    ctn_leader_side_t side = {a->layout->target[a->set], &a->call.receive};
    size_t copied = ctn_leader_fragment_copy(
        op->exec, &a->geometry, &port->run[a->set].in[slot].at, false, &side,
        (unsigned char *)(uintptr_t)data);
    ctn_exec_charge(op->exec, CTN_WORK_COPY, copied);
}

/** Handler of a posted receive. */
static void receive_posted(void *context, const void *data, size_t bytes)
{
    const ctn_leader_posted_t *posted = context;
    ctn_leaders_t *a = ctn_op_state(posted->op);
    (void)bytes; /* the length is that of the fragment */
    scatter_fragment(posted->op, a, posted->port, posted->slot,
                     (const unsigned char *)data +
                         sizeof(ctn_fragment_header_t));
    posted->port->run[a->set].received |= 1u << posted->slot;
}

/** The word that signals the fragment in a slot. */
static const uint64_t *arrival_word(const ctn_op_t *op, const ctn_port_t *port,
                                    uint64_t slot)
{
    return &port->block->arrived[ctn_leaders_generation(op)][slot];
}

/** Post a receive for the fragment that has been assigned a slot, so that it is
 * scattered on arrival. Only if all receive buffers are within reach and
 * fragments may be scattered in any order. */
static void post_receive(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                         uint64_t slot)
{
    ctn_port_run_t *run = &port->run[a->set];
    const ctn_leader_fragment_t *fragment = &run->in[slot].at;
    if (!a->params.overlap || a->call.in_place || a->any_staged_receive) {
        return;
    }
    run->posted[slot] = (ctn_leader_posted_t){op, port, slot};
    a->has_posted |= ctn_post_receive(
        op->exec->network, arrival_word(op, port, slot),
        ctn_leaders_arrival(op, fragment->node, fragment->number),
        sizeof(ctn_fragment_header_t) + fragment->bytes, receive_posted,
        &run->posted[slot]);
}

void ctn_ports_end(const ctn_op_t *op, const ctn_leaders_t *a)
{
    for (uint32_t i = 0; a->has_posted && i < a->layout->ports; i++) {
        for (unsigned slot = 0; slot < CTN_LEADER_STAGING_SLOTS; slot++) {
            ctn_cancel_receive(op->exec->network,
                               arrival_word(op, &a->layout->port[i], slot));
        }
    }
}

/** Notify the members with receive buffers out of reach of the fragment in a
 * slot.
 */
static void notify_members(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                           uint64_t slot)
{
    ctn_port_run_t *run = &port->run[a->set];
    ctn_counter_t *counter = ctn_leaders_counter(op, a, port->leader);
    const ctn_leader_fragment_t *fragment = &run->in[slot].at;
    counter->fragment[run->delivered % CTN_LEADER_STAGING_SLOTS] =
        (uint64_t)fragment->node << 32 |
        fragment->number * CTN_LEADER_STAGING_SLOTS | slot;
    run->entry[slot] = run->delivered++;
    run->notified |= 1u << slot;
    ctn_exec_post(op->exec, &counter->delivered,
                  ctn_flag(op->seq, run->delivered));
}

/** Whether these members have copied their shares of the fragment that was
 * delivered as number `entry`. */
static bool taken_by_all(ctn_op_t *op, const ctn_leaders_t *a,
                         const ctn_port_t *port, uint64_t entry)
{
    uint32_t n = ctn_topo_local_size(a->topo);
    uint32_t me = ctn_topo_local_rank(a->topo);
    for (uint32_t i = 0; i < n; i++) {
        if (i != me && a->layout->target[a->set][i] == NULL &&
            ctn_leaders_count(
                op, &ctn_leaders_answer(op, a, i, port->leader)->taken) <=
                entry) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
    }
    return true;
}

/** Whether the fragment of a slot has arrived and may be scattered. */
static bool has_arrived(ctn_op_t *op, const ctn_leaders_t *a,
                        const ctn_port_t *port, uint64_t slot)
{
    const ctn_port_run_t *run = &port->run[a->set];
    const ctn_cursor_t *in = &run->in[slot];
    if (ctn_word_load(arrival_word(op, port, slot)) ==
            ctn_leaders_arrival(op, in->at.node, in->at.number) &&
        /* In place, the outgoing data must have been sent. */
        (!a->call.in_place || ctn_cursor_passed(next_out(run), in))) {
        return true;
    }
    op->waits_for = first_rank(a, in->at.node);
    return false;
}

/** Whether the fragment of a place may be scattered already. Without overlap,
 * scattering starts when all fragments with a place have arrived, and all that
 * may be sent have been sent. Sending does not wait for scattering. */
static bool may_scatter(ctn_op_t *op, const ctn_leaders_t *a, ctn_port_t *port,
                        uint64_t place)
{
    ctn_port_run_t *run = &port->run[a->set];
    if (a->params.overlap || place < run->drain_end) {
        return true;
    }
    if (run->base < run->drain_end ||
        (!ctn_cursor_ended(next_out(run)) && slot_there(op, a, port) >= 0)) {
        return false;
    }
    for (uint64_t v = run->base; v < run->ahead; v++) {
        uint64_t slot = v % CTN_LEADER_STAGING_SLOTS;
        if ((run->scattered & 1u << slot) == 0 &&
            !has_arrived(op, a, port, slot)) {
            return false;
        }
    }
    run->drain_end = run->ahead;
    return true;
}

/** Advance the fragment of one place: scatter it, notify the members with
 * buffers out of reach, wait until they have taken their shares. True:
 * something was done. */
static bool scatter_place(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                          uint64_t place)
{
    ctn_port_run_t *run = &port->run[a->set];
    uint64_t slot = place % CTN_LEADER_STAGING_SLOTS;
    uint32_t bit = 1u << slot;
    if ((run->scattered & bit) != 0) {
        return false;
    }
    if ((run->notified & bit) == 0) {
        if (!has_arrived(op, a, port, slot) ||
            !may_scatter(op, a, port, place)) {
            return false;
        }
        if ((run->received & bit) == 0) {
            scatter_fragment(op, a, port, slot,
                             receive_staging(op, a, port, slot));
        }
        if (!a->any_staged_receive) {
            run->received &= ~bit;
            run->scattered |= bit;
            return true;
        }
        notify_members(op, a, port, slot);
        return true;
    }
    if (!taken_by_all(op, a, port, run->entry[slot])) {
        return false;
    }
    run->notified &= ~bit;
    run->scattered |= bit;
    return true;
}

/** Send a CTS for a fragment and those before it. */
static catena_status_t send_cts(ctn_op_t *op, ctn_leaders_t *a,
                                ctn_port_t *port,
                                const ctn_leader_fragment_t *fragment,
                                uint64_t slot)
{
    const ctn_address_t *to = ctn_leaders_port(a, fragment->node, port->leader);
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(op->exec, to->process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    return ctn_signal(endpoint,
                      to->offset + ctn_port_cts_at(a->topo->member_table.nodes,
                                                   ctn_leaders_generation(op),
                                                   a->geometry.node),
                      ctn_flag(op->seq, cts_for(fragment->number, slot)));
}

/** Assign the places that have become free to the next fragments, and send a
 * CTS for each. */
static catena_status_t assign_places(ctn_op_t *op, ctn_leaders_t *a,
                                     ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    while (run->base < run->ahead &&
           (run->scattered & 1u << run->base % CTN_LEADER_STAGING_SLOTS) != 0) {
        run->scattered &= ~(1u << run->base % CTN_LEADER_STAGING_SLOTS);
        run->base++;
    }
    while (!ctn_cursor_ended(&run->assign) &&
           run->ahead < run->base + CTN_LEADER_STAGING_SLOTS) {
        uint64_t slot = run->ahead++ % CTN_LEADER_STAGING_SLOTS;
        run->in[slot] = run->assign;
        /* Values repeat, see ctn_leaders_arrival: clear the word. */
        ctn_word_store(&port->block->arrived[ctn_leaders_generation(op)][slot],
                       0);
        post_receive(op, a, port, slot);
        catena_status_t status = send_cts(op, a, port, &run->in[slot].at, slot);
        if (status != CATENA_OK) {
            return status;
        }
        ctn_cursor_next(&a->geometry, port->leader, false, &run->assign);
    }
    return CATENA_OK;
}

/** Scatter what has arrived. Fragments are scattered in any order; slots are
 * freed in the order of places. 1: something was done, 0: nothing, < 0: status.
 */
static int scatter(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    int moved = 0;
    for (uint64_t place = run->base; place < run->ahead; place++) {
        moved |= scatter_place(op, a, port, place);
    }
    catena_status_t status = moved ? assign_places(op, a, port) : CATENA_OK;
    return status == CATENA_OK ? moved : status;
}

/* ---- progress ---- */

/** Initialize a port and assign the places of the opening. An own round without
 * fragments leaves its place free, so it counts as scattered. */
static catena_status_t begin_port(ctn_op_t *op, ctn_leaders_t *a,
                                  ctn_port_t *port)
{
    const ctn_geometry_t *g = &a->geometry;
    ctn_port_run_t *run = &port->run[a->set];
    memset(run, 0, sizeof(*run));
    run->gather = ctn_cursor_first(g, port->leader, true);
    run->assign = ctn_cursor_first(g, port->leader, false);
    uint32_t rounds = ctn_own_rounds(g, port->leader);
    run->ahead = rounds < CTN_LEADER_STAGING_SLOTS
                     ? rounds * ctn_opening(g, port->leader)
                     : CTN_LEADER_STAGING_SLOTS;
    run->scattered = (1u << run->ahead) - 1;
    while (!ctn_cursor_ended(&run->assign) && run->assign.opening) {
        uint32_t slot = ctn_opening_slot(g, port->leader, &run->assign);
        run->in[slot] = run->assign;
        run->scattered &= ~(1u << slot);
        post_receive(op, a, port, slot);
        ctn_cursor_next(g, port->leader, false, &run->assign);
    }
    return assign_places(op, a, port);
}

catena_status_t ctn_ports_begin(ctn_op_t *op, ctn_leaders_t *a)
{
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; i < a->layout->ports && status == CATENA_OK; i++) {
        status = begin_port(op, a, &a->layout->port[i]);
    }
    return status;
}

static bool port_finished(const ctn_leaders_t *a, const ctn_port_t *port)
{
    const ctn_port_run_t *run = &port->run[a->set];
    if (!ctn_cursor_ended(next_out(run)) || !ctn_cursor_ended(&run->assign) ||
        run->base < run->ahead) {
        return false;
    }
    for (unsigned v = 0; v < CTN_LEADER_STAGING_SLOTS; v++) {
        if (run->pending[v] != 0) {
            return false;
        }
    }
    return true;
}

int ctn_port_advance(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    int moved = 0;
    while (gather_fragment(op, a, port)) {
        moved = 1;
        if (a->params.overlap) {
            break; /* send it before the next is gathered */
        }
    }
    int sent;
    while ((sent = send_fragment(op, a, port)) > 0) {
        moved = 1;
    }
    int scattered = sent < 0 ? 0 : scatter(op, a, port);
    if (sent < 0 || scattered < 0) {
        return sent < 0 ? sent : scattered;
    }
    port->run[a->set].done = port_finished(a, port);
    return moved | scattered | port->run[a->set].done;
}
