/* The work of a virtual leader: gather fragments from the buffers of its node
 * and send them to the same virtual leader of other nodes; receive fragments
 * from these and scatter them to the buffers of its node. Parameter a is the
 * state of the operation, run that of its port. */

#include "coll/alltoall/leaders/leaders.h"

#include <string.h>

#include "core/cache_line.h"
#include "exec/deaths.h"
#include "exec/observe.h"
#include "exec/slot.h"

/* ---- a port: gather and send ---- */

/** Data of the fragment in a staging slot. */
static unsigned char *staging_of(const ctn_op_t *op, const ctn_leaders_t *a,
                                 const ctn_port_t *port, bool outgoing,
                                 uint64_t slot)
{
    return (unsigned char *)port->block +
           ctn_port_staging_at(a->topo->member_table.nodes, op->seq, outgoing,
                               slot);
}

/** Let the members with buffers out of reach copy their shares of a fragment.
 * @param number of the fragments that were ready before it */
static void make_ready(ctn_op_t *op, const ctn_leaders_t *a,
                       const ctn_port_t *port, bool outgoing, uint64_t number,
                       const ctn_leader_fragment_t *fragment, uint64_t slot)
{
    ctn_counter_t *counter = ctn_leaders_counter(op, a, port->leader, outgoing);
    if (a->geometry.staged[outgoing]) {
        counter->fragment[number % CTN_LEADER_STAGING_SLOTS] =
            (uint64_t)fragment->node << 32 |
            fragment->number * CTN_LEADER_STAGING_SLOTS | slot;
        ctn_exec_post(op->exec, &counter->ready, ctn_flag(op->seq, number + 1));
    }
}

/** Whether these members have copied their shares of a fragment. */
static bool copied_by_all(ctn_op_t *op, const ctn_leaders_t *a,
                          const ctn_port_t *port, bool outgoing,
                          uint64_t number)
{
    uint32_t n = ctn_topo_local_size(a->topo);
    uint32_t me = ctn_topo_local_rank(a->topo);
    for (uint32_t i = 0; a->geometry.staged[outgoing] && i < n; i++) {
        if (i != me && a->geometry.member[i].base[outgoing] == NULL &&
            ctn_leaders_count(op, ctn_leaders_copied(op, a, i, port->leader,
                                                     outgoing)) <= number) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
    }
    return true;
}

/** The next fragment to be sent, which may not be gathered yet. */
static const ctn_cursor_t *next_out(const ctn_port_run_t *run)
{
    return run->sent < run->opened
               ? &run->out[run->sent % CTN_LEADER_STAGING_SLOTS]
               : &run->gather;
}

/** Gathering blocks of less than a cache line takes longer than copying. */
static ctn_work_t gather_work(const ctn_geometry_t *g)
{
    return !g->vector && g->bytes < CTN_LINE ? CTN_WORK_TRANSPOSE
                                             : CTN_WORK_COPY;
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
    uint64_t slot = run->opened % CTN_LEADER_STAGING_SLOTS;
    uint64_t began = ctn_observe_begins(op->exec);
    size_t copied =
        ctn_leader_fragment_copy(op->exec, &a->geometry, &run->gather.at, true,
                                 true, staging_of(op, a, port, true, slot));
    ctn_exec_charge(op->exec, gather_work(&a->geometry), copied);
    ctn_observe_ends(op->exec, began, "gather", copied);
    run->out[slot] = run->gather;
    make_ready(op, a, port, true, run->opened++, &run->gather.at, slot);
    ctn_cursor_next(&a->geometry, port->leader, true, &run->gather);
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
    uint64_t from = run->sent % CTN_LEADER_STAGING_SLOTS;
    ctn_fragment_header_t *header =
        (ctn_fragment_header_t *)(void *)staging_of(op, a, port, true, from) -
        1;
    if (!op->exec->drop_data) {
        *header = next_out(run)->of;
    }
    op->exec->tally.messages++;
    a->has_sent = true;
    return ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, header),
        sizeof(*header) + fragment->bytes,
        to->offset +
            ctn_port_staging_at(a->topo->member_table.nodes, op->seq, false,
                                slot) -
            sizeof(*header),
        to->offset + offsetof(ctn_port_block_t, arrived) +
            (generation * CTN_LEADER_STAGING_SLOTS + slot) * sizeof(uint64_t),
        ctn_leaders_arrival(op, a->geometry.node, fragment->number),
        &run->pending[from]);
}

/** Send the fragments that may be sent. 1: there were some, 0: none, < 0:
 * status. */
static int send_fragments(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    uint64_t before = run->sent;
    while (run->sent < run->opened &&
           copied_by_all(op, a, port, true, run->sent)) {
        int slot = slot_there(op, a, port);
        if (slot < 0) {
            op->waits_for = first_rank(a, next_out(run)->at.node);
            break;
        }
        catena_status_t status = put_fragment(op, a, port, (uint64_t)slot);
        if (status != CATENA_OK) {
            return status;
        }
        run->sent++;
    }
    return run->sent > before;
}

/* ---- a port: receive and scatter ---- */

/** Number of fragments of a message. */
static uint64_t fragments_of(uint64_t bytes)
{
    return (bytes + CTN_LEADER_STAGING_BYTES - 1) / CTN_LEADER_STAGING_BYTES;
}

/** A message from another node has other lengths than this node's members
 * expect. The blocks concerned are not known, so all these members fail. If the
 * number of fragments differs as well, some rank would wait forever; then the
 * job is aborted. */
CTN_COLD static void report_mismatch(ctn_op_t *op, const ctn_leaders_t *a,
                                     const ctn_port_t *port,
                                     const ctn_cursor_t *in,
                                     const ctn_fragment_header_t *found)
{
    if (!ctn_leaders_mismatch(op, a, port->leader)) {
        ctn_error(op->exec->log,
                  "alltoall: the blocks from the node of rank %u to that of "
                  "rank %u have %llu bytes; expected %llu, or single lengths "
                  "differ; the lengths of sender and receiver must match",
                  first_rank(a, in->at.node), first_rank(a, a->geometry.node),
                  (unsigned long long)found->bytes,
                  (unsigned long long)in->of.bytes);
    }
    ctn_exec_post(op->exec,
                  &ctn_leaders_counter(op, a, port->leader, false)->mismatch,
                  ctn_flag64(op->seq));
    if (fragments_of(found->bytes) != fragments_of(in->of.bytes)) {
        op->status = ctn_op_give_up(op, CATENA_ERR_ARG);
    }
}

/** Scatter the fragment that has a slot; in staging, or in a buffer of the
 * network.
 * @param data after the header */
static void scatter_fragment(ctn_op_t *op, const ctn_leaders_t *a,
                             const ctn_port_t *port, uint64_t slot,
                             const unsigned char *data)
{
    const ctn_cursor_t *in = &port->run[a->set].in[slot].at;
    ctn_fragment_header_t found;
    memcpy(&found, data - sizeof(found), sizeof(found));
    if (!op->exec->drop_data &&
        (found.bytes != in->of.bytes || found.digest != in->of.digest)) {
        report_mismatch(op, a, port, in, &found);
        return;
    }
    uint64_t began = ctn_observe_begins(op->exec);
    size_t copied =
        ctn_leader_fragment_copy(op->exec, &a->geometry, &in->at, false, true,
                                 (unsigned char *)(uintptr_t)data);
    ctn_exec_charge(op->exec, CTN_WORK_COPY, copied);
    ctn_observe_ends(op->exec, began, "scatter", copied);
}

/** Handler of a posted receive. */
static void receive_posted(void *context, const void *data, size_t bytes)
{
    ctn_leader_incoming_t *in = context;
    (void)bytes; /* the length is that of the fragment */
    if (ctn_op_must_stop(in->posted.op)) {
        return; /* the other ranks of the node may have left the call */
    }
    scatter_fragment(in->posted.op, ctn_op_state(in->posted.op),
                     in->posted.port, in->posted.slot,
                     (const unsigned char *)data +
                         sizeof(ctn_fragment_header_t));
    in->state = CTN_FRAGMENT_SCATTERED;
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
    ctn_leader_incoming_t *in = &port->run[a->set].in[slot];
    const ctn_leader_fragment_t *fragment = &in->at.at;
    if (!a->call.by_leaders.overlap || a->call.in_place ||
        a->geometry.staged[false]) {
        return;
    }
    in->posted.op = op;
    in->posted.port = port;
    in->posted.slot = slot;
    a->has_posted |= ctn_post_receive(
        op->exec->network, arrival_word(op, port, slot),
        ctn_leaders_arrival(op, fragment->node, fragment->number),
        sizeof(ctn_fragment_header_t) + fragment->bytes, receive_posted, in);
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

/** Whether the fragment of a slot has arrived and may be scattered. */
static bool has_arrived(ctn_op_t *op, const ctn_leaders_t *a,
                        const ctn_port_t *port, uint64_t slot)
{
    const ctn_port_run_t *run = &port->run[a->set];
    const ctn_cursor_t *in = &run->in[slot].at;
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
 * scattering starts when all fragments with a place have arrived, and as many
 * as have slots, or all that may be sent, have been sent since the last time.
 * With a message as long as all slots, a node that sent all it may would not
 * receive while other nodes wait for it. Sending does not wait for scattering.
 */
static bool may_scatter(ctn_op_t *op, const ctn_leaders_t *a, ctn_port_t *port,
                        uint64_t place)
{
    ctn_port_run_t *run = &port->run[a->set];
    if (a->call.by_leaders.overlap || place < run->drain_end) {
        return true;
    }
    if (run->base < run->drain_end ||
        (run->sent < run->drain_sent + CTN_LEADER_STAGING_SLOTS &&
         !ctn_cursor_ended(next_out(run)) && slot_there(op, a, port) >= 0)) {
        return false;
    }
    for (uint64_t v = run->base; v < run->ahead; v++) {
        uint64_t slot = v % CTN_LEADER_STAGING_SLOTS;
        if (run->in[slot].state != CTN_FRAGMENT_NONE &&
            !has_arrived(op, a, port, slot)) {
            return false;
        }
    }
    run->drain_end = run->ahead;
    run->drain_sent = run->sent;
    return true;
}

/** Advance the fragment of one place: scatter it, and wait until the members
 * with buffers out of reach have copied their shares. True: something was
 * done. */
static bool scatter_place(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                          uint64_t place)
{
    ctn_port_run_t *run = &port->run[a->set];
    uint64_t slot = place % CTN_LEADER_STAGING_SLOTS;
    ctn_leader_incoming_t *in = &run->in[slot];
    bool moved = false;
    if (in->state == CTN_FRAGMENT_NONE) {
        return false;
    }
    if (in->state != CTN_FRAGMENT_READY) {
        if (!has_arrived(op, a, port, slot) ||
            !may_scatter(op, a, port, place)) {
            return false;
        }
        if (in->state == CTN_FRAGMENT_AWAITED) {
            scatter_fragment(op, a, port, slot,
                             staging_of(op, a, port, false, slot));
        }
        in->state = CTN_FRAGMENT_READY;
        in->number = run->ready++;
        make_ready(op, a, port, false, in->number, &in->at.at, slot);
        moved = true;
    }
    if (copied_by_all(op, a, port, false, in->number)) {
        in->state = CTN_FRAGMENT_NONE;
        moved = true;
    }
    return moved;
}

/** Send a CTS for the fragment in a slot and those before it. */
static catena_status_t send_cts(ctn_op_t *op, const ctn_leaders_t *a,
                                const ctn_port_t *port, uint64_t slot)
{
    const ctn_leader_fragment_t *fragment = &port->run[a->set].in[slot].at.at;
    const ctn_address_t *to = ctn_leaders_port(a, fragment->node, port->leader);
    return ctn_op_put(op, to->process, NULL, 0, 0,
                      to->offset + ctn_port_cts_at(a->topo->member_table.nodes,
                                                   ctn_leaders_generation(op),
                                                   a->geometry.node),
                      ctn_flag(op->seq, cts_for(fragment->number, slot)));
}

/** Assign a slot to the next fragment, and send a CTS for it unless it belongs
 * to the opening. */
static catena_status_t assign_slot(ctn_op_t *op, ctn_leaders_t *a,
                                   ctn_port_t *port, uint64_t slot)
{
    ctn_port_run_t *run = &port->run[a->set];
    bool opening = run->assign.opening;
    run->in[slot].state = CTN_FRAGMENT_AWAITED;
    run->in[slot].at = run->assign;
    if (!opening) {
        /* Values repeat, see ctn_leaders_arrival: clear the word. */
        ctn_word_store(&port->block->arrived[ctn_leaders_generation(op)][slot],
                       0);
    }
    post_receive(op, a, port, slot);
    ctn_cursor_next(&a->geometry, port->leader, false, &run->assign);
    return opening ? CATENA_OK : send_cts(op, a, port, slot);
}

/** Assign the places that have become free to the next fragments. */
static catena_status_t assign_places(ctn_op_t *op, ctn_leaders_t *a,
                                     ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    catena_status_t status = CATENA_OK;
    while (run->base < run->ahead &&
           run->in[run->base % CTN_LEADER_STAGING_SLOTS].state ==
               CTN_FRAGMENT_NONE) {
        run->base++;
    }
    while (status == CATENA_OK && !ctn_cursor_ended(&run->assign) &&
           run->ahead < run->base + CTN_LEADER_STAGING_SLOTS) {
        status =
            assign_slot(op, a, port, run->ahead++ % CTN_LEADER_STAGING_SLOTS);
    }
    return status;
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
 * fragments leaves its place free. */
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
    while (!ctn_cursor_ended(&run->assign) && run->assign.opening) {
        (void)assign_slot(op, a, port,
                          ctn_opening_slot(g, port->leader, &run->assign));
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

/** Whether the network still reads send slots. */
static bool run_sends(const ctn_port_run_t *run)
{
    bool pending = false;
    for (unsigned v = 0; v < CTN_LEADER_STAGING_SLOTS; v++) {
        pending |= run->pending[v] != 0;
    }
    return pending;
}

bool ctn_ports_send(const ctn_leaders_t *a)
{
    bool sends = false;
    for (uint32_t i = 0; a->has_sent && i < a->layout->ports; i++) {
        sends |= run_sends(&a->layout->port[i].run[a->set]);
    }
    return sends;
}

static bool port_finished(const ctn_leaders_t *a, const ctn_port_t *port)
{
    const ctn_port_run_t *run = &port->run[a->set];
    return ctn_cursor_ended(next_out(run)) && ctn_cursor_ended(&run->assign) &&
           run->base == run->ahead && !run_sends(run);
}

/** Do what is possible at a port. 1: something was done, 0: nothing, < 0:
 * status. */
static int advance_port(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    int gathered = 0;
    while (gather_fragment(op, a, port)) {
        gathered = 1;
        if (a->call.by_leaders.overlap) {
            break; /* send it before the next is gathered */
        }
    }
    int sent = send_fragments(op, a, port);
    int scattered = sent < 0 ? 0 : scatter(op, a, port);
    if (sent < 0 || scattered < 0) {
        return sent < 0 ? sent : scattered;
    }
    port->run[a->set].done = port_finished(a, port);
    return gathered | sent | scattered;
}

ctn_step_t ctn_ports_advance(ctn_op_t *op, ctn_leaders_t *a)
{
    bool moved = false;
    bool done = true;
    for (uint32_t i = 0; i < a->layout->ports; i++) {
        ctn_port_t *port = &a->layout->port[i];
        if (!port->run[a->set].done) {
            int result = advance_port(op, a, port);
            if (result < 0) {
                return ctn_op_fail(op, (catena_status_t)result);
            }
            moved |= result > 0;
        }
        done &= port->run[a->set].done;
    }
    return done ? CTN_STEP_NEXT : moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}
