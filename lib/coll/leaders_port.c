/* The work of a virtual leader: gather pieces from its node and send them to
 * its peers, receive theirs and scatter them. */

#include "coll/leaders.h"

#include <string.h>

void ctn_ports_begin(ctn_leaders_t *a)
{
    ctn_plan_t *plan = a->plan;
    for (uint32_t i = 0; i < plan->ports; i++) {
        ctn_port_t *port = &plan->port[i];
        ctn_port_run_t *run = &port->run[a->set];
        memset(run, 0, sizeof(*run));
        run->gather = ctn_cursor_at(&a->geometry, port->leader, 0);
        run->send = run->gather;
        run->batch_end = a->leading.overlap ? UINT64_MAX : CTN_STAGE_SLOTS;
    }
}

/* ---- a port: gather and send ---- */

static unsigned char *send_stage(const ctn_leaders_t *a, const ctn_port_t *port,
                                 uint64_t cell)
{
    return (unsigned char *)port->block +
           ctn_port_send_at(a->topo->roster.nodes, a->set,
                            cell % CTN_STAGE_SLOTS);
}

static bool gather_piece(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    ctn_cursor_t *piece = &run->gather;
    if (ctn_cursor_ended(piece) || piece->cell >= run->batch_end ||
        piece->cell >= run->send.cell + CTN_STAGE_SLOTS ||
        run->pending[piece->cell % CTN_STAGE_SLOTS] != 0) {
        return false;
    }
    size_t copied =
        ctn_piece_gather(&a->geometry, piece, a->plan->source[a->set],
                         send_stage(a, port, piece->cell));
    ctn_exec_charge(op->exec, CTN_WORK_TRANSPOSE, copied);
    run->opened++;
    if (a->any_staged_send) {
        ctn_exec_post(op->exec,
                      &ctn_leaders_counter(op, a, port->leader)->opened,
                      ctn_tag(op->seq, run->opened));
    }
    *piece = ctn_cursor_at(&a->geometry, port->leader, piece->cell + 1);
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
    for (uint32_t i = 0; i < n; i++) {
        if (a->plan->source[a->set][i] == NULL &&
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
    return a->topo->roster.member[a->topo->roster.first[node]].rank;
}

/** Whether the slot at the other side is free: the first ones are, the
 * others when that side says so. */
static bool may_send(ctn_op_t *op, const ctn_leaders_t *a,
                     const ctn_port_t *port, const ctn_cursor_t *piece)
{
    if (piece->cell < CTN_STAGE_SLOTS) {
        return true;
    }
    const unsigned char *block = (const unsigned char *)port->block;
    const uint64_t *granted =
        (const void *)(block + ctn_port_granted_at(a->topo->roster.nodes,
                                                   ctn_leaders_ring(op),
                                                   piece->node));
    if (ctn_leaders_count(op, granted) > piece->piece) {
        return true;
    }
    op->waits_for = first_rank(a, piece->node);
    return false;
}

/** 1: a piece was sent, 0: none could be, < 0: status. */
static int send_piece(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    ctn_cursor_t *piece = &run->send;
    bool gathered = run->gather.cell > piece->cell;
    bool batched = run->gather.cell >= run->batch_end ||
                   ctn_cursor_ended(&run->gather) || a->leading.overlap;
    if (ctn_cursor_ended(piece) || !gathered || !batched ||
        !filled_in(op, a, port) || !may_send(op, a, port, piece)) {
        return 0;
    }
    const ctn_address_t *to = ctn_leaders_port(a, piece->node, port->leader);
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(op->exec, to->process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t slot = piece->cell % CTN_STAGE_SLOTS;
    status = ctn_put_signal(
        endpoint, ctn_exec_data(op->exec, send_stage(a, port, piece->cell)),
        ctn_piece_bytes(&a->geometry, piece->node, piece->piece),
        to->offset + ctn_port_receive_at(a->topo->roster.nodes,
                                         ctn_leaders_ring(op), slot),
        to->offset + offsetof(ctn_port_block_t, arrived) +
            (ctn_leaders_ring(op) * CTN_STAGE_SLOTS + slot) * sizeof(uint64_t),
        ctn_tag(op->seq, piece->cell + 1), &run->pending[slot]);
    if (status != CATENA_OK) {
        return status;
    }
    run->sent++;
    *piece = ctn_cursor_at(&a->geometry, port->leader, piece->cell + 1);
    return 1;
}

/* ---- a port: receive and scatter ---- */

static const unsigned char *receive_stage(const ctn_op_t *op,
                                          const ctn_leaders_t *a,
                                          const ctn_port_t *port, uint64_t cell)
{
    return (const unsigned char *)port->block +
           ctn_port_receive_at(a->topo->roster.nodes, ctn_leaders_ring(op),
                               cell % CTN_STAGE_SLOTS);
}

/** Tell the members outside the heap of a piece that is in staging. */
static void give_out(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                     uint64_t cell)
{
    ctn_port_run_t *run = &port->run[a->set];
    ctn_counter_t *counter = ctn_leaders_counter(op, a, port->leader);
    uint64_t slot = cell % CTN_STAGE_SLOTS;
    counter->cell[run->delivered % CTN_STAGE_SLOTS] = cell;
    run->entry[slot] = run->delivered++;
    run->given_out |= 1u << slot;
    ctn_exec_post(op->exec, &counter->delivered,
                  ctn_tag(op->seq, run->delivered));
}

static bool taken_by_all(ctn_op_t *op, const ctn_leaders_t *a,
                         const ctn_port_t *port, uint64_t entry)
{
    uint32_t n = ctn_topo_local_size(a->topo);
    for (uint32_t i = 0; i < n; i++) {
        if (a->plan->target[a->set][i] == NULL &&
            ctn_leaders_count(
                op, &ctn_leaders_answer(op, a, i, port->leader)->taken) <=
                entry) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
    }
    return true;
}

static bool has_arrived(const ctn_op_t *op, const ctn_leaders_t *a,
                        const ctn_port_t *port, const ctn_cursor_t *piece)
{
    uint64_t slot = piece->cell % CTN_STAGE_SLOTS;
    return ctn_word_load(&port->block->arrived[ctn_leaders_ring(op)][slot]) ==
               ctn_tag(op->seq, piece->cell + 1) &&
           /* In place, what left with the piece must have left. */
           (!a->call.in_place || port->run[a->set].send.cell > piece->cell);
}

/** Without overlap nothing is scattered before the batch has arrived. */
static bool batch_has_arrived(const ctn_op_t *op, const ctn_leaders_t *a,
                              const ctn_port_t *port)
{
    const ctn_port_run_t *run = &port->run[a->set];
    if (a->leading.overlap) {
        return true;
    }
    uint64_t end = ctn_cell_count(&a->geometry, port->leader);
    end = run->batch_end < end ? run->batch_end : end;
    for (uint64_t cell = run->base; cell < end; cell++) {
        ctn_cursor_t piece = ctn_cell_piece(&a->geometry, port->leader, cell);
        if (!ctn_cursor_ended(&piece) &&
            (run->scattered & 1u << cell % CTN_STAGE_SLOTS) == 0 &&
            !has_arrived(op, a, port, &piece)) {
            return false;
        }
    }
    return run->send.cell >= end;
}

/** One cell of the window: true when something was done. */
static bool scatter_cell(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port,
                         uint64_t cell)
{
    ctn_port_run_t *run = &port->run[a->set];
    uint32_t bit = 1u << cell % CTN_STAGE_SLOTS;
    if ((run->scattered & bit) != 0) {
        return false;
    }
    if ((run->given_out & bit) == 0) {
        ctn_cursor_t piece = ctn_cell_piece(&a->geometry, port->leader, cell);
        if (ctn_cursor_ended(&piece)) {
            run->scattered |= bit;
            return true;
        }
        if (!has_arrived(op, a, port, &piece)) {
            op->waits_for = first_rank(a, piece.node);
            return false;
        }
        size_t copied =
            ctn_piece_scatter(&a->geometry, &piece, a->plan->target[a->set],
                              receive_stage(op, a, port, cell));
        ctn_exec_charge(op->exec, CTN_WORK_COPY, copied);
        if (!a->any_staged_receive) {
            run->scattered |= bit;
            return true;
        }
        give_out(op, a, port, cell);
        return true;
    }
    if (!taken_by_all(op, a, port, run->entry[cell % CTN_STAGE_SLOTS])) {
        return false;
    }
    run->given_out &= ~bit;
    run->scattered |= bit;
    return true;
}

/** The slot of `cell` is free: tell the sender of its next piece. */
static catena_status_t grant_next(ctn_op_t *op, ctn_leaders_t *a,
                                  ctn_port_t *port, uint64_t cell)
{
    ctn_cursor_t piece =
        ctn_cell_piece(&a->geometry, port->leader, cell + CTN_STAGE_SLOTS);
    if (ctn_cursor_ended(&piece)) {
        return CATENA_OK;
    }
    const ctn_address_t *to = ctn_leaders_port(a, piece.node, port->leader);
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(op->exec, to->process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    return ctn_signal(endpoint,
                      to->offset + ctn_port_granted_at(a->topo->roster.nodes,
                                                       ctn_leaders_ring(op),
                                                       a->geometry.node),
                      ctn_tag(op->seq, piece.piece + 1));
}

/** 1: moved, 0: not, < 0: status. Cells are scattered in any order, slots
 * given back in the order of cells, so that grants to a node only grow. */
static int scatter(ctn_op_t *op, ctn_leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    uint64_t end = ctn_cell_count(&a->geometry, port->leader);
    int moved = 0;
    if (!batch_has_arrived(op, a, port)) {
        return 0;
    }
    for (uint64_t cell = run->base;
         cell < end && cell < run->base + CTN_STAGE_SLOTS; cell++) {
        moved |= scatter_cell(op, a, port, cell);
    }
    while (run->base < end &&
           (run->scattered & 1u << run->base % CTN_STAGE_SLOTS) != 0) {
        catena_status_t status = grant_next(op, a, port, run->base);
        if (status != CATENA_OK) {
            return status;
        }
        run->scattered &= ~(1u << run->base % CTN_STAGE_SLOTS);
        run->base++;
    }
    if (run->base >= run->batch_end) {
        run->batch_end += CTN_STAGE_SLOTS;
    }
    return moved;
}

static bool port_finished(const ctn_leaders_t *a, const ctn_port_t *port)
{
    const ctn_port_run_t *run = &port->run[a->set];
    if (!ctn_cursor_ended(&run->send) ||
        run->base < ctn_cell_count(&a->geometry, port->leader)) {
        return false;
    }
    for (unsigned v = 0; v < CTN_STAGE_SLOTS; v++) {
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
