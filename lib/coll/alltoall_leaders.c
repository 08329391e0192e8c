/* A2A-2 l-a2a, A2A-3 mpml, A2A-4 nmpml, A2A-5 onmpml: alltoall through
 * leaders. Peng, Liu, Xie: GLEX-Alltoall, Algorithms 1 to 5; one
 * implementation with the number of leaders, their placement and the overlap
 * as parameters. Messages between nodes: one per pair of nodes and
 * CTN_STAGE_BYTES. Memory: CTN_STAGE_SLOTS pieces per virtual leader and
 * direction, whatever the size of the message.
 * Differs from the paper: virtual leaders, so nodes of any size work; nodes
 * are paired, so that in place needs no second buffer; blocks are transposed
 * in the gather, so that what arrives is copied once; blocks that stay on the
 * node go from member to member without a leader; the two barriers are words
 * that only those wait for who need them. Without overlap the steps (gather,
 * send, receive, scatter) follow each other for as many pieces as there are
 * staging slots, then again.
 *
 * Buffers in the heap are read and written by the leaders. A member whose
 * buffer is elsewhere fills its part into the opened piece itself, and takes
 * its part from the delivered piece: the leader's staging bounds the memory,
 * and each byte is still copied once. */

#include "coll/alltoall.h"

#include <string.h>

#include "coll/piece.h"

typedef struct leaders {
    ctn_alltoall_t call;
    ctn_leading_t leading;
    ctn_topo_t *topo;
    ctn_plan_t *plan;
    ctn_geometry_t geometry;
    unsigned set;         /* working memory: operation modulo CTN_FLIGHT */
    uint32_t here;        /* members whose post has been seen */
    bool local_done;
    bool led; /* the hosted ports are through */
    bool any_staged_send; /* some member of the node, not this one, ... */
    bool any_staged_receive;
    bool push;            /* our send buffer is outside the heap */
    bool take;            /* our receive buffer is */
    uint32_t departed;    /* virtual leaders known to be through */
    ctn_pairwise_t local;
} leaders_t;

/* ---- this node's words ---- */

static uint64_t ring_of(const ctn_op_t *op)
{
    return op->seq % CTN_RINGS;
}

static ctn_post_t *post_of(const ctn_op_t *op, const leaders_t *a, uint32_t i)
{
    return &a->topo->board.post[ring_of(op) * ctn_topo_local_size(a->topo) + i];
}

static uint64_t *departed_of(const ctn_op_t *op, const leaders_t *a,
                             uint32_t i)
{
    size_t n = ctn_topo_local_size(a->topo);
    return &a->topo->board
                .departed[(ring_of(op) * n + i) * a->topo->board.stride];
}

static ctn_counter_t *counter_of(const ctn_op_t *op, const leaders_t *a,
                                 uint32_t leader)
{
    return &a->plan->counter[ring_of(op) * a->plan->leaders + leader];
}

static ctn_answer_t *answer_of(const ctn_op_t *op, const leaders_t *a,
                               uint32_t member, uint32_t leader)
{
    size_t n = ctn_topo_local_size(a->topo);
    return &a->plan->answer[(ring_of(op) * n + member) * a->plan->leaders +
                            leader];
}

/** A count of this operation in a word, 0 when the word is of another. */
static uint64_t count_in(const ctn_op_t *op, const uint64_t *word)
{
    uint64_t value = ctn_word_load(word);
    return ctn_tag_matches(value, op->seq) ? ctn_tag_count(value) : 0;
}

/* ---- beginning ---- */

static void begin_ports(leaders_t *a)
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

/** What leaders do with our buffers when these are outside the heap, we do
 * ourselves: for the virtual leaders that live elsewhere. */
static void begin_service(leaders_t *a)
{
    uint32_t me = ctn_topo_local_rank(a->topo);
    a->plan->own_source[a->set][me] = a->call.send;
    a->plan->own_target[a->set][me] = a->call.receive;
    for (uint32_t l = 0; l < a->plan->leaders; l++) {
        ctn_service_t *service = &a->plan->service[a->set][l];
        uint64_t pieces = a->plan->host[l] == me
                              ? 0
                              : ctn_piece_count(&a->geometry, l);
        *service = (ctn_service_t){
            .push = ctn_cursor_at(&a->geometry, l, 0),
            .to_push = a->push ? pieces : 0,
            .to_take = a->take ? pieces : 0,
        };
    }
}

static ctn_step_t need_topology(ctn_op_t *op)
{
    leaders_t *a = ctn_op_state(op);
    return ctn_topo_need(op, a->call.group, &a->topo);
}

static ctn_step_t need_plan(ctn_op_t *op)
{
    leaders_t *a = ctn_op_state(op);
    return ctn_plan_need(op, a->topo, a->leading.leaders,
                         a->leading.placement, &a->plan);
}

/** Say to the node where this member's buffers are. */
static void announce(ctn_op_t *op, leaders_t *a)
{
    const ctn_alltoall_t *call = &a->call;
    size_t all = call->bytes * a->topo->roster.size;
    ctn_post_t *post = post_of(op, a, ctn_topo_local_rank(a->topo));
    post->send = ctn_heap_place(op->exec, call->send, all);
    post->receive = ctn_heap_place(op->exec, call->receive, all);
    a->push = post->send == CTN_STAGED;
    a->take = post->receive == CTN_STAGED;
    ctn_exec_post(op->exec, &post->word, ctn_tag(op->seq, 0));
}

static void begin_local(ctn_op_t *op, leaders_t *a)
{
    a->local = (ctn_pairwise_t){
        .topo = a->topo,
        .n = ctn_topo_local_size(a->topo),
        .me = ctn_topo_local_rank(a->topo),
        .send = a->call.send,
        .receive = a->call.receive,
        .bytes = a->call.bytes,
        .in_place = a->call.in_place,
    };
    ctn_pairwise_begin(op, &a->local);
}

static ctn_step_t begin(ctn_op_t *op)
{
    leaders_t *a = ctn_op_state(op);
    a->geometry = ctn_geometry(a->plan, a->call.bytes, a->call.in_place);
    a->set = op->seq % CTN_FLIGHT;
    a->here = 0;
    a->departed = 0;
    a->local_done = a->led = false;
    a->any_staged_send = a->any_staged_receive = false;
    announce(op, a);
    if (a->push || a->take) {
        begin_service(a);
    }
    begin_ports(a);
    begin_local(op, a);
    ctn_op_set_network(op, a->plan->ports > 0);
    return CTN_STEP_NEXT;
}

/** Learn where the buffers of the node's members are; leaders only. */
static bool all_here(ctn_op_t *op, leaders_t *a)
{
    uint32_t n = ctn_topo_local_size(a->topo);
    const unsigned char **source = a->plan->source[a->set];
    unsigned char **target = a->plan->target[a->set];
    for (; a->here < n; a->here++) {
        uint32_t i = a->here;
        const ctn_post_t *post = post_of(op, a, i);
        if (ctn_word_load(&post->word) != ctn_tag(op->seq, 0)) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
        if (i == ctn_topo_local_rank(a->topo)) {
            source[i] = a->call.send; /* within reach wherever they are */
            target[i] = a->call.receive;
            continue;
        }
        ctn_endpoint_t *peer = a->topo->peer[i];
        source[i] = post->send != CTN_STAGED ? ctn_pointer(peer, post->send)
                                             : NULL;
        target[i] = post->receive != CTN_STAGED
                        ? ctn_pointer(peer, post->receive)
                        : NULL;
        a->any_staged_send |= source[i] == NULL;
        a->any_staged_receive |= target[i] == NULL;
    }
    return true;
}

/* ---- a port: gather and send ---- */

static unsigned char *send_stage(const leaders_t *a, const ctn_port_t *port,
                                 uint64_t cell)
{
    return (unsigned char *)port->block +
           ctn_port_send_at(a->topo->roster.nodes, a->set,
                            cell % CTN_STAGE_SLOTS);
}

static bool gather_piece(ctn_op_t *op, leaders_t *a, ctn_port_t *port)
{
    ctn_port_run_t *run = &port->run[a->set];
    ctn_cursor_t *piece = &run->gather;
    if (ctn_cursor_ended(piece) || piece->cell >= run->batch_end ||
        piece->cell >= run->send.cell + CTN_STAGE_SLOTS ||
        run->pending[piece->cell % CTN_STAGE_SLOTS] != 0) {
        return false;
    }
    size_t copied = ctn_piece_gather(&a->geometry, piece,
                                     a->plan->source[a->set],
                                     send_stage(a, port, piece->cell));
    ctn_exec_charge(op->exec, CTN_WORK_TRANSPOSE, copied);
    run->opened++;
    if (a->any_staged_send) {
        ctn_exec_post(op->exec, &counter_of(op, a, port->leader)->opened,
                      ctn_tag(op->seq, run->opened));
    }
    *piece = ctn_cursor_at(&a->geometry, port->leader, piece->cell + 1);
    return true;
}

/** Whether the members outside the heap have filled in the next piece. */
static bool filled_in(ctn_op_t *op, const leaders_t *a, const ctn_port_t *port)
{
    if (!a->any_staged_send) {
        return true;
    }
    uint32_t n = ctn_topo_local_size(a->topo);
    for (uint32_t i = 0; i < n; i++) {
        if (a->plan->source[a->set][i] == NULL &&
            count_in(op, &answer_of(op, a, i, port->leader)->pushed) <=
                port->run[a->set].sent) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
    }
    return true;
}

/** Whether the slot at the other side is free: the first ones are, the
 * others when that side says so. */
static bool may_send(ctn_op_t *op, const leaders_t *a, const ctn_port_t *port,
                     const ctn_cursor_t *piece)
{
    if (piece->cell < CTN_STAGE_SLOTS) {
        return true;
    }
    const unsigned char *block = (const unsigned char *)port->block;
    const uint64_t *granted =
        (const void *)(block + ctn_port_granted_at(a->topo->roster.nodes,
                                                   ring_of(op), piece->node));
    if (count_in(op, granted) > piece->piece) {
        return true;
    }
    op->waits_for =
        a->topo->roster.member[a->topo->roster.first[piece->node]].rank;
    return false;
}

static const ctn_address_t *far_port(const leaders_t *a, uint32_t node,
                                     uint32_t leader)
{
    return &a->plan->address[node * a->plan->leaders + leader];
}

/** 1: a piece was sent, 0: none could be, < 0: status. */
static int send_piece(ctn_op_t *op, leaders_t *a, ctn_port_t *port)
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
    const ctn_address_t *to = far_port(a, piece->node, port->leader);
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, to->process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t slot = piece->cell % CTN_STAGE_SLOTS;
    status = ctn_put_signal(
        endpoint, send_stage(a, port, piece->cell),
        ctn_piece_bytes(&a->geometry, piece->node, piece->piece),
        to->offset + ctn_port_receive_at(a->topo->roster.nodes, ring_of(op),
                                         slot),
        to->offset + offsetof(ctn_port_block_t, arrived) +
            (ring_of(op) * CTN_STAGE_SLOTS + slot) * sizeof(uint64_t),
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
                                          const leaders_t *a,
                                          const ctn_port_t *port,
                                          uint64_t cell)
{
    return (const unsigned char *)port->block +
           ctn_port_receive_at(a->topo->roster.nodes, ring_of(op),
                               cell % CTN_STAGE_SLOTS);
}

/** Tell the members outside the heap of a piece that is in staging. */
static void give_out(ctn_op_t *op, leaders_t *a, ctn_port_t *port,
                     uint64_t cell)
{
    ctn_port_run_t *run = &port->run[a->set];
    ctn_counter_t *counter = counter_of(op, a, port->leader);
    uint64_t slot = cell % CTN_STAGE_SLOTS;
    counter->cell[run->delivered % CTN_STAGE_SLOTS] = cell;
    run->entry[slot] = run->delivered++;
    run->given_out |= 1u << slot;
    ctn_exec_post(op->exec, &counter->delivered,
                  ctn_tag(op->seq, run->delivered));
}

static bool taken_by_all(ctn_op_t *op, const leaders_t *a,
                         const ctn_port_t *port, uint64_t entry)
{
    uint32_t n = ctn_topo_local_size(a->topo);
    for (uint32_t i = 0; i < n; i++) {
        if (a->plan->target[a->set][i] == NULL &&
            count_in(op, &answer_of(op, a, i, port->leader)->taken) <= entry) {
            op->waits_for = ctn_topo_local(a->topo, i)->rank;
            return false;
        }
    }
    return true;
}

static bool has_arrived(const ctn_op_t *op, const leaders_t *a,
                        const ctn_port_t *port, const ctn_cursor_t *piece)
{
    uint64_t slot = piece->cell % CTN_STAGE_SLOTS;
    return ctn_word_load(&port->block->arrived[ring_of(op)][slot]) ==
               ctn_tag(op->seq, piece->cell + 1) &&
           /* In place, what left with the piece must have left. */
           (!a->call.in_place ||
            port->run[a->set].send.cell > piece->cell);
}

/** Without overlap nothing is scattered before the batch has arrived. */
static bool batch_has_arrived(const ctn_op_t *op, const leaders_t *a,
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
static bool scatter_cell(ctn_op_t *op, leaders_t *a, ctn_port_t *port,
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
            return false;
        }
        size_t copied = ctn_piece_scatter(&a->geometry, &piece,
                                          a->plan->target[a->set],
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
static catena_status_t grant_next(ctn_op_t *op, leaders_t *a, ctn_port_t *port,
                                  uint64_t cell)
{
    ctn_cursor_t piece = ctn_cell_piece(&a->geometry, port->leader,
                                        cell + CTN_STAGE_SLOTS);
    if (ctn_cursor_ended(&piece)) {
        return CATENA_OK;
    }
    const ctn_address_t *to = far_port(a, piece.node, port->leader);
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, to->process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    return ctn_signal(endpoint,
                      to->offset + ctn_port_granted_at(a->topo->roster.nodes,
                                                       ring_of(op),
                                                       a->geometry.node),
                      ctn_tag(op->seq, piece.piece + 1));
}

/** 1: moved, 0: not, < 0: status. Cells are scattered in any order, slots
 * given back in the order of cells, so that grants to a node only grow. */
static int scatter(ctn_op_t *op, leaders_t *a, ctn_port_t *port)
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

static bool port_finished(const leaders_t *a, const ctn_port_t *port)
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

static int advance_port(ctn_op_t *op, leaders_t *a, ctn_port_t *port)
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

/* ---- a member whose buffers are outside the heap ---- */

static unsigned char *leader_memory(const leaders_t *a, uint32_t leader,
                                    size_t at)
{
    const ctn_address_t *port = far_port(a, a->topo->node_index, leader);
    return ctn_pointer(a->plan->host_endpoint[leader], port->offset + at);
}

/** Fill our part into the pieces that the leader has opened. */
static bool push_parts(ctn_op_t *op, leaders_t *a, uint32_t leader)
{
    ctn_service_t *service = &a->plan->service[a->set][leader];
    uint32_t me = ctn_topo_local_rank(a->topo);
    uint64_t opened = count_in(op, &counter_of(op, a, leader)->opened);
    bool moved = false;
    while (service->pushed < opened) {
        unsigned char *stage = leader_memory(
            a, leader,
            ctn_port_send_at(a->topo->roster.nodes, a->set,
                             service->push.cell % CTN_STAGE_SLOTS));
        size_t copied = ctn_piece_gather(&a->geometry, &service->push,
                                         a->plan->own_source[a->set], stage);
        ctn_exec_charge(op->exec, CTN_WORK_TRANSPOSE, copied);
        service->pushed++;
        ctn_exec_post(op->exec, &answer_of(op, a, me, leader)->pushed,
                      ctn_tag(op->seq, service->pushed));
        service->push =
            ctn_cursor_at(&a->geometry, leader, service->push.cell + 1);
        moved = true;
    }
    return moved;
}

/** Take our part of the pieces that the leader has delivered. */
static bool take_parts(ctn_op_t *op, leaders_t *a, uint32_t leader)
{
    ctn_service_t *service = &a->plan->service[a->set][leader];
    const ctn_counter_t *counter = counter_of(op, a, leader);
    uint32_t me = ctn_topo_local_rank(a->topo);
    uint64_t delivered = count_in(op, &counter->delivered);
    bool moved = false;
    while (service->taken < delivered) {
        uint64_t cell = counter->cell[service->taken % CTN_STAGE_SLOTS];
        ctn_cursor_t piece = ctn_cell_piece(&a->geometry, leader, cell);
        const unsigned char *stage = leader_memory(
            a, leader,
            ctn_port_receive_at(a->topo->roster.nodes, ring_of(op),
                                cell % CTN_STAGE_SLOTS));
        size_t copied = ctn_piece_scatter(&a->geometry, &piece,
                                          a->plan->own_target[a->set], stage);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, copied);
        service->taken++;
        ctn_exec_post(op->exec, &answer_of(op, a, me, leader)->taken,
                      ctn_tag(op->seq, service->taken));
        moved = true;
    }
    return moved;
}

/** MOVED, WAIT, or NEXT when nothing is left to push or take. */
static ctn_step_t serve(ctn_op_t *op, leaders_t *a)
{
    bool moved = false;
    bool done = true;
    for (uint32_t l = 0; (a->push || a->take) && l < a->plan->leaders; l++) {
        ctn_service_t *service = &a->plan->service[a->set][l];
        if (service->pushed < service->to_push) {
            moved |= push_parts(op, a, l);
        }
        if (service->taken < service->to_take) {
            moved |= take_parts(op, a, l);
        }
        if (service->pushed < service->to_push ||
            service->taken < service->to_take) {
            done = false;
            op->waits_for = ctn_topo_local(a->topo, a->plan->host[l])->rank;
        }
    }
    return done ? CTN_STEP_NEXT : moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/* ---- everything together ---- */

/** The hosted ports: NEXT when all are through. */
static ctn_step_t lead(ctn_op_t *op, leaders_t *a)
{
    ctn_plan_t *plan = a->plan;
    bool moved = false;
    bool done = true;
    if (plan->ports == 0) {
        return CTN_STEP_NEXT;
    }
    if (!all_here(op, a)) {
        return CTN_STEP_WAIT;
    }
    for (uint32_t i = 0; i < plan->ports; i++) {
        ctn_port_t *port = &plan->port[i];
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

/** A host says that it is through with the buffers of its node. */
static void depart(ctn_op_t *op, leaders_t *a)
{
    uint32_t me = ctn_topo_local_rank(a->topo);
    a->led = true;
    if (a->plan->ports > 0) {
        ctn_op_set_network(op, false);
        ctn_exec_post(op->exec, departed_of(op, a, me), ctn_tag(op->seq, 0));
    }
}

static ctn_step_t exchange(ctn_op_t *op)
{
    leaders_t *a = ctn_op_state(op);
    ctn_step_t local = a->local_done ? CTN_STEP_NEXT
                                     : ctn_pairwise_advance(op, &a->local);
    ctn_step_t led = a->led ? CTN_STEP_NEXT : lead(op, a);
    if (local == CTN_STEP_FAIL || led == CTN_STEP_FAIL) {
        return CTN_STEP_FAIL;
    }
    bool moved = local == CTN_STEP_MOVED || led == CTN_STEP_MOVED;
    if (local == CTN_STEP_NEXT && !a->local_done) {
        a->local_done = moved = true;
    }
    if (led == CTN_STEP_NEXT && !a->led) {
        depart(op, a);
        moved = true;
    }
    ctn_step_t served = serve(op, a);
    if (a->local_done && a->led && served == CTN_STEP_NEXT) {
        return CTN_STEP_NEXT;
    }
    return moved || served == CTN_STEP_MOVED ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}

/** Our buffers are our own again when all hosts on the node are through. */
static ctn_step_t wait_for_leaders(ctn_op_t *op)
{
    leaders_t *a = ctn_op_state(op);
    for (; a->departed < a->plan->leaders; a->departed++) {
        uint32_t host = a->plan->host[a->departed];
        if (ctn_word_load(departed_of(op, a, host)) != ctn_tag(op->seq, 0)) {
            op->waits_for = ctn_topo_local(a->topo, host)->rank;
            return CTN_STEP_WAIT;
        }
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"topology", need_topology},
                                     {"plan", need_plan},
                                     {"begin", begin},
                                     {"exchange", exchange},
                                     {"wait for leaders", wait_for_leaders},
                                     {NULL, NULL}};

const ctn_algorithm_t ctn_alltoall_leaders = {
    .name = "alltoall/leaders",
    .state_bytes = sizeof(leaders_t),
    .phases = phases,
    .synchronizing = true,
};

_Static_assert(sizeof(leaders_t) <= CTN_OP_STATE_BYTES, "fits an operation");

ctn_leading_t *ctn_alltoall_leading(ctn_op_t *op)
{
    return &((leaders_t *)ctn_op_state(op))->leading;
}
