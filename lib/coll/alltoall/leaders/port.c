/* The work of a virtual leader: gather pieces from its node and send them to
 * its peers, receive theirs and scatter them. */

#include "coll/alltoall/leaders/leaders.h"

#include <string.h>

/* ---- a port: gather and send ---- */

static unsigned char *send_stage(const ctn_leaders_t *a, const ctn_port_t *port,
                                 uint64_t piece)
{
    return (unsigned char *)port->block +
           ctn_port_send_at(a->topo->member_table.nodes, a->set,
                            piece % CTN_LEADER_STAGING_SLOTS);
}

/** The next piece to be sent. */
static const ctn_cursor_t *next_out(const ctn_port_run_t *run)
{
    return run->sent < run->opened
               ? &run->out[run->sent % CTN_LEADER_STAGING_SLOTS]
               : &run->gather;
}

static bool gather_piece(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    if (ctn_cursor_ended(&run->gather) ||
        run->opened >= run->sent + CTN_LEADER_STAGING_SLOTS ||
        run->pending[run->opened % CTN_LEADER_STAGING_SLOTS] != 0) {
        return false;
    }
    ctn_side_t side = {a->plan->source[a->set], &a->call.send};
    size_t copied =
        ctn_leader_piece_copy(op->exec, &a->geometry, &run->gather.at, true,
                              &side, send_stage(a, port, run->opened));
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

/** Whether the members outside the heap have filled in the next piece. */
static bool filled_in(ctn_op_t *op, const ctn_leaders_t *a,
                      const ctn_port_t *port)
{
    if (!a->any_staged_send) {
        return true;
    }
    uint32_t n = ctn_topo_local_size(a->topo);
    uint32_t me = ctn_topo_local_rank(a->topo);
    for (uint32_t i = 0; i < n; i++) {
        if (i != me && a->plan->source[a->set][i] == NULL &&
            ctn_leaders_count(
                op, &ctn_leaders_answer(op, a, i, port->leader)->pushed) <=
                port->run[a->set].sent) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
    }
    return true;
}

/** Whom to name when a node is waited for. */
static uint32_t first_rank(const ctn_leaders_t *a, uint32_t node)
{
    return a->topo->member_table.member[a->topo->member_table.first[node]].rank;
}

/* A grant names the last piece that may be sent, and its slot; this leader's
 * pieces before it, save the opening, are in the slots before. */

static uint64_t grant_for(uint32_t number, uint64_t slot)
{
    return ((uint64_t)number + 1) * CTN_LEADER_STAGING_SLOTS + slot;
}

/** Slot at the other side of the next piece to be sent; -1: none yet. */
static int slot_there(const ctn_op_t *op, const ctn_leaders_t *a,
                      const ctn_port_t *port)
{
    const ctn_cursor_t *piece = next_out(&port->run[a->set]);
    if (piece->opening) {
        return (int)ctn_opening_slot(&a->geometry, port->leader, piece);
    }
    const unsigned char *block = (const unsigned char *)port->block;
    const uint64_t *granted =
        (const void *)(block + ctn_port_granted_at(a->topo->member_table.nodes,
                                                   ctn_leaders_ring(op),
                                                   piece->at.node));
    uint64_t grant = ctn_leaders_count(op, granted);
    uint64_t named = grant / CTN_LEADER_STAGING_SLOTS; /* number + 1; 0: none */
    if (named <= piece->at.number) {
        return -1;
    }
    uint64_t ahead = (named - 1 - piece->at.number) / a->geometry.leaders;
    return (int)((grant - ahead) % CTN_LEADER_STAGING_SLOTS);
}

static catena_status_t put_piece(ctn_op_t *op, ctn_leaders_t *a,
                                 ctn_port_t *port, uint64_t slot)
{
    ctn_port_run_t *run = &port->run[a->set];
    const ctn_leader_piece_t *piece = &next_out(run)->at;
    const ctn_address_t *to = ctn_leaders_port(a, piece->node, port->leader);
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(op->exec, to->process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t ring = ctn_leaders_ring(op);
    ctn_stage_header_t *header =
        (ctn_stage_header_t *)(void *)send_stage(a, port, run->sent) - 1;
    if (!op->exec->drop_data) {
        *header = next_out(run)->of;
    }
    return ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, header),
        sizeof(*header) + piece->bytes,
        to->offset +
            ctn_port_receive_at(a->topo->member_table.nodes, ring, slot) -
            sizeof(*header),
        to->offset + offsetof(ctn_port_block_t, arrived) +
            (ring * CTN_LEADER_STAGING_SLOTS + slot) * sizeof(uint64_t),
        ctn_leaders_arrival(op, a->geometry.node, piece->number),
        &run->pending[run->sent % CTN_LEADER_STAGING_SLOTS]);
}

/** 1: a piece was sent, 0: none could be, < 0: status. */
static int send_piece(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
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
    catena_status_t status = put_piece(op, a, port, (uint64_t)slot);
    if (status != CATENA_OK) {
        return status;
    }
    run->sent++;
    return 1;
}

/* ---- a port: receive and scatter ---- */

static unsigned char *receive_stage(const ctn_op_t *op, const ctn_leaders_t *a,
                                    const ctn_port_t *port, uint64_t slot)
{
    return (unsigned char *)port->block +
           ctn_port_receive_at(a->topo->member_table.nodes,
                               ctn_leaders_ring(op), slot);
}

static uint64_t pieces_of(uint64_t bytes)
{
    return (bytes + CTN_LEADER_STAGING_BYTES - 1) / CTN_LEADER_STAGING_BYTES;
}

/** A message of another node has other lengths than this node's members expect.
 * They do not know whose; all of them fail. With more or fewer pieces than
 * expected some rank would wait for ever: then all ends. */
CTN_COLD static void refuse_message(ctn_op_t *op, ctn_leaders_t *a,
                                    const ctn_port_t *port,
                                    const ctn_cursor_t *in,
                                    const ctn_stage_header_t *found)
{
    uint64_t *unfit = &ctn_leaders_counter(op, a, port->leader)->unfit;
    if (ctn_word_load(unfit) != ctn_flag64(op->seq)) {
        ctn_error(op->exec->log,
                  "alltoall: the blocks from the node of rank %u to that of "
                  "rank %u have %llu bytes; expected %llu, or they are others; "
                  "give the same length where a block is sent and where it is "
                  "received",
                  first_rank(a, in->at.node), first_rank(a, a->geometry.node),
                  (unsigned long long)found->bytes,
                  (unsigned long long)in->of.bytes);
    }
    ctn_exec_post(op->exec, unfit, ctn_flag64(op->seq));
    a->unfit = true;
    if (pieces_of(found->bytes) != pieces_of(in->of.bytes)) {
        ctn_exec_abort(op->exec, CATENA_ERR_ARG);
    }
}

/** @param data behind its header */
static void scatter_piece(ctn_op_t *op, ctn_leaders_t *a,
                          const ctn_port_t *port, uint64_t slot,
                          const unsigned char *data)
{
    const ctn_cursor_t *in = &port->run[a->set].in[slot];
    ctn_stage_header_t found;
    memcpy(&found, data - sizeof(found), sizeof(found));
    if (!op->exec->drop_data &&
        (found.bytes != in->of.bytes || found.digest != in->of.digest)) {
        refuse_message(op, a, port, in, &found);
        return;
    }
    ctn_side_t side = {a->plan->target[a->set], &a->call.receive};
    size_t copied = ctn_leader_piece_copy(
        op->exec, &a->geometry, &port->run[a->set].in[slot].at, false, &side,
        (unsigned char *)(uintptr_t)data);
    ctn_exec_charge(op->exec, CTN_WORK_COPY, copied);
}

static void land(void *context, const void *data, size_t bytes)
{
    const ctn_landing_t *landing = context;
    ctn_leaders_t *a = ctn_op_state(landing->op);
    (void)bytes; /* the piece's */
    scatter_piece(landing->op, a, landing->port, landing->slot,
                  (const unsigned char *)data + sizeof(ctn_stage_header_t));
    landing->port->run[a->set].landed |= 1u << landing->slot;
}

static const uint64_t *arrival_word(const ctn_op_t *op, const ctn_port_t *port,
                                    uint64_t slot)
{
    return &port->block->arrived[ctn_leaders_ring(op)][slot];
}

/** Have the piece that has its place in a slot scattered as it comes, if all
 * are within reach whom it is for and nothing need leave or come before. */
static void expect_piece(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                         uint64_t slot)
{
    ctn_port_run_t *run = &port->run[a->set];
    const ctn_leader_piece_t *piece = &run->in[slot].at;
    if (!a->leading.overlap || a->call.in_place || a->any_staged_receive) {
        return;
    }
    run->landing[slot] = (ctn_landing_t){op, port, slot};
    a->expects |= ctn_expect(
        op->exec->network, arrival_word(op, port, slot),
        ctn_leaders_arrival(op, piece->node, piece->number),
        sizeof(ctn_stage_header_t) + piece->bytes, land, &run->landing[slot]);
}

void ctn_ports_end(const ctn_op_t *op, const ctn_leaders_t *a)
{
    for (uint32_t i = 0; a->expects && i < a->plan->ports; i++) {
        for (unsigned slot = 0; slot < CTN_LEADER_STAGING_SLOTS; slot++) {
            ctn_unexpect(op->exec->network,
                         arrival_word(op, &a->plan->port[i], slot));
        }
    }
}

/** Tell the members outside the heap of a piece that is in staging. */
static void give_out(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                     uint64_t slot)
{
    ctn_port_run_t *run = &port->run[a->set];
    ctn_counter_t *counter = ctn_leaders_counter(op, a, port->leader);
    const ctn_leader_piece_t *piece = &run->in[slot].at;
    counter->piece[run->delivered % CTN_LEADER_STAGING_SLOTS] =
        (uint64_t)piece->node << 32 | piece->number * CTN_LEADER_STAGING_SLOTS |
        slot;
    run->entry[slot] = run->delivered++;
    run->given_out |= 1u << slot;
    ctn_exec_post(op->exec, &counter->delivered,
                  ctn_flag(op->seq, run->delivered));
}

static bool taken_by_all(ctn_op_t *op, const ctn_leaders_t *a,
                         const ctn_port_t *port, uint64_t entry)
{
    uint32_t n = ctn_topo_local_size(a->topo);
    uint32_t me = ctn_topo_local_rank(a->topo);
    for (uint32_t i = 0; i < n; i++) {
        if (i != me && a->plan->target[a->set][i] == NULL &&
            ctn_leaders_count(
                op, &ctn_leaders_answer(op, a, i, port->leader)->taken) <=
                entry) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
    }
    return true;
}

static bool has_arrived(ctn_op_t *op, const ctn_leaders_t *a,
                        const ctn_port_t *port, uint64_t slot)
{
    const ctn_port_run_t *run = &port->run[a->set];
    const ctn_cursor_t *in = &run->in[slot];
    if (ctn_word_load(arrival_word(op, port, slot)) ==
            ctn_leaders_arrival(op, in->at.node, in->at.number) &&
        /* In place, what left with the piece must have left. */
        (!a->call.in_place || ctn_cursor_passed(next_out(run), in))) {
        return true;
    }
    op->waits_for = first_rank(a, in->at.node);
    return false;
}

/** Without overlap nothing is scattered before all that has a place is there
 * and all that may be sent has been. Sending waits for no scattering. */
static bool may_scatter(ctn_op_t *op, const ctn_leaders_t *a, ctn_port_t *port,
                        uint64_t place)
{
    ctn_port_run_t *run = &port->run[a->set];
    if (a->leading.overlap || place < run->drain_end) {
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

/** One place of the window: true when something was done. */
static bool scatter_place(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                          uint64_t place)
{
    ctn_port_run_t *run = &port->run[a->set];
    uint64_t slot = place % CTN_LEADER_STAGING_SLOTS;
    uint32_t bit = 1u << slot;
    if ((run->scattered & bit) != 0) {
        return false;
    }
    if ((run->given_out & bit) == 0) {
        if (!has_arrived(op, a, port, slot) ||
            !may_scatter(op, a, port, place)) {
            return false;
        }
        if ((run->landed & bit) == 0) {
            scatter_piece(op, a, port, slot, receive_stage(op, a, port, slot));
        }
        if (!a->any_staged_receive) {
            run->landed &= ~bit;
            run->scattered |= bit;
            return true;
        }
        give_out(op, a, port, slot);
        return true;
    }
    if (!taken_by_all(op, a, port, run->entry[slot])) {
        return false;
    }
    run->given_out &= ~bit;
    run->scattered |= bit;
    return true;
}

static catena_status_t send_grant(ctn_op_t *op, ctn_leaders_t *a,
                                  ctn_port_t *port,
                                  const ctn_leader_piece_t *piece,
                                  uint64_t slot)
{
    const ctn_address_t *to = ctn_leaders_port(a, piece->node, port->leader);
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(op->exec, to->process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    return ctn_signal(endpoint,
                      to->offset + ctn_port_granted_at(
                                       a->topo->member_table.nodes,
                                       ctn_leaders_ring(op), a->geometry.node),
                      ctn_flag(op->seq, grant_for(piece->number, slot)));
}

/** Give the places that have become free to the pieces that come next. */
static catena_status_t give_places(ctn_op_t *op, ctn_leaders_t *a,
                                   ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    while (run->base < run->ahead &&
           (run->scattered & 1u << run->base % CTN_LEADER_STAGING_SLOTS) != 0) {
        run->scattered &= ~(1u << run->base % CTN_LEADER_STAGING_SLOTS);
        run->base++;
    }
    while (!ctn_cursor_ended(&run->expect) &&
           run->ahead < run->base + CTN_LEADER_STAGING_SLOTS) {
        uint64_t slot = run->ahead++ % CTN_LEADER_STAGING_SLOTS;
        run->in[slot] = run->expect;
        /* Arrivals are told apart by few bits: begin anew. */
        ctn_word_store(&port->block->arrived[ctn_leaders_ring(op)][slot], 0);
        expect_piece(op, a, port, slot);
        catena_status_t status =
            send_grant(op, a, port, &run->in[slot].at, slot);
        if (status != CATENA_OK) {
            return status;
        }
        ctn_cursor_next(&a->geometry, port->leader, false, &run->expect);
    }
    return CATENA_OK;
}

/** 1: moved, 0: not, < 0: status. Pieces are scattered in any order, slots
 * given back in the order of places. */
static int scatter(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    int moved = 0;
    for (uint64_t place = run->base; place < run->ahead; place++) {
        moved |= scatter_place(op, a, port, place);
    }
    catena_status_t status = moved ? give_places(op, a, port) : CATENA_OK;
    return status == CATENA_OK ? moved : status;
}

/* ---- together ---- */

/** The opening takes its places; a turn without any leaves its place free. */
static catena_status_t begin_port(ctn_op_t *op, ctn_leaders_t *a,
                                  ctn_port_t *port)
{
    const ctn_geometry_t *g = &a->geometry;
    ctn_port_run_t *run = &port->run[a->set];
    memset(run, 0, sizeof(*run));
    run->gather = ctn_cursor_first(g, port->leader, true);
    run->expect = ctn_cursor_first(g, port->leader, false);
    uint32_t turns = ctn_turns(g, port->leader);
    run->ahead = turns < CTN_LEADER_STAGING_SLOTS
                     ? turns * ctn_opening(g, port->leader)
                     : CTN_LEADER_STAGING_SLOTS;
    run->scattered = (1u << run->ahead) - 1;
    while (!ctn_cursor_ended(&run->expect) && run->expect.opening) {
        uint32_t slot = ctn_opening_slot(g, port->leader, &run->expect);
        run->in[slot] = run->expect;
        run->scattered &= ~(1u << slot);
        expect_piece(op, a, port, slot);
        ctn_cursor_next(g, port->leader, false, &run->expect);
    }
    return give_places(op, a, port);
}

catena_status_t ctn_ports_begin(ctn_op_t *op, ctn_leaders_t *a)
{
    catena_status_t status = CATENA_OK;
    for (uint32_t i = 0; i < a->plan->ports && status == CATENA_OK; i++) {
        status = begin_port(op, a, &a->plan->port[i]);
    }
    return status;
}

static bool port_finished(const ctn_leaders_t *a, const ctn_port_t *port)
{
    const ctn_port_run_t *run = &port->run[a->set];
    if (!ctn_cursor_ended(next_out(run)) || !ctn_cursor_ended(&run->expect) ||
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
    while (gather_piece(op, a, port)) {
        moved = 1;
        if (a->leading.overlap) {
            break; /* on its way before the next is gathered */
        }
    }
    int sent;
    while ((sent = send_piece(op, a, port)) > 0) {
        moved = 1;
    }
    int scattered = sent < 0 ? 0 : scatter(op, a, port);
    if (sent < 0 || scattered < 0) {
        return sent < 0 ? sent : scattered;
    }
    port->run[a->set].done = port_finished(a, port);
    return moved | scattered | port->run[a->set].done;
}
