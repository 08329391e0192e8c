/* A2A-8: blocks in Morton order. Li, Zhang, Hoefler: Cache-oblivious MPI
 * all-to-all communications based on Morton order, IEEE TPDS 29 (3), 2018. The
 * blocks form a matrix [receiver][sender]. A Z curve passes through a rectangle
 * of it and is divided into shares. Each member of a node copies the blocks of
 * its share from send buffers to receive buffers, or to and from messages. So
 * it accesses few senders and few receivers at a time.
 *
 * The members of one NUMA domain divide a rectangle among them. Blocks that
 * stay on the node: the receivers of this domain, and the senders of one
 * domain, beginning with this one. Blocks for another node: the senders of this
 * domain. Blocks from another node: the receivers of this domain. So each block
 * is read from or written to a buffer in the domain of the member that copies
 * it. If some member is not bound to a domain, all members count as one domain.
 *
 * On one node: one copy per byte, two waits for all members, no memory. It
 * requires that all buffers are in the heap and contiguous; otherwise the
 * operation becomes the direct alltoall, which also runs in place.
 *
 * On several nodes: the messages are those of leaders/rounds.c, with one leader
 * on each node. If a buffer of the node is out of reach, its members copy their
 * own blocks instead of shares. Then, and in place, blocks that stay on the
 * node go through the leader's memory. Memory: two copies of the blocks of the
 * node's members. Differs from the paper: its program for several nodes
 * exchanges blocks of one rank on each node in two steps, among sqrt(M) nodes
 * each, with a transposition in Morton order between them. */

#include <string.h>

#include "coll/alltoall/leaders/rounds.h"
#include "core/tiny.h"
#include "exec/observe.h"

/** Domains are considered if a node has at most so many members. */
#define ORDERED CTN_PICK(512u, 4u)

/** State of the operation. */
typedef struct morton {
    ctn_leader_rounds_t
        rounds;    /* on one node the call, topology and `next` only */
    bool in_reach; /* of the members read, all buffers are in the heap and
                      contiguous */
    bool in_place; /* some member is in place */
    catena_status_t status;
    uint32_t mine; /* members of this member's domain */
    uint32_t me;   /* place of this member among them */
    /* local ranks by domain, beginning with this member's domain */
    uint16_t order[ORDERED];
} morton_t;

/* ---- domains ---- */

/** The member at a place of the order. */
static uint32_t member_at(const morton_t *m, uint32_t place)
{
    return ctn_topo_local_size(m->rounds.topo) > ORDERED ? place
                                                         : m->order[place];
}

/** Whether all members are bound to a domain. */
static bool has_domains(const ctn_topo_t *topo)
{
    bool bound = ctn_topo_local_size(topo) <= ORDERED;
    for (uint32_t i = 0; bound && i < ctn_topo_local_size(topo); i++) {
        bound = ctn_topo_local(topo, i)->numa >= 0;
    }
    return bound;
}

/** The first place after `place` that belongs to another domain. */
static uint32_t end_of_domain(const morton_t *m, uint32_t place)
{
    const ctn_topo_t *topo = m->rounds.topo;
    uint32_t n = ctn_topo_local_size(topo);
    uint32_t end = has_domains(topo) ? place + 1 : n;
    while (end < n && ctn_topo_local(topo, member_at(m, end))->numa ==
                          ctn_topo_local(topo, member_at(m, place))->numa) {
        end++;
    }
    return end;
}

/** Order the members: this member's domain, then the ones after it, in a ring.
 */
static void order_members(morton_t *m)
{
    const ctn_topo_t *topo = m->rounds.topo;
    uint32_t n = ctn_topo_local_size(topo);
    uint32_t me = ctn_topo_local_rank(topo);
    bool bound = has_domains(topo);
    uint32_t own = (uint32_t)ctn_topo_local(topo, me)->numa;
    uint32_t count = n <= ORDERED ? 0 : n;
    for (uint32_t domain = 0, next; count < n; domain = next) {
        next = UINT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t of =
                bound ? (uint32_t)ctn_topo_local(topo, i)->numa - own : 0;
            if (of == domain) {
                m->order[count++] = (uint16_t)i;
            } else if (of > domain && of < next) {
                next = of;
            }
        }
    }
    m->mine = end_of_domain(m, 0);
    m->me = 0;
    while (member_at(m, m->me) != me) {
        m->me++;
    }
}

/* ---- the curve ---- */

/** From where to where the blocks of a rectangle are copied. */
typedef enum morton_copies {
    LOCAL,  /* from send to receive buffers */
    GATHER, /* from send buffers to a message for another node */
    SCATTER /* from a message of another node to receive buffers */
} morton_copies_t;

/** A rectangle of the matrix of blocks, and a share of it. */
typedef struct rectangle {
    morton_copies_t copies;
    uint32_t rows, columns; /* receivers, senders */
    uint32_t senders; /* LOCAL: the place of the first sender in the order */
    const ctn_member_t *there; /* members of the other node */
    uint32_t width;            /* blocks in a row of the message */
    unsigned char *message;
    /* numbers of blocks on the curve: of this member's share, and of the
     * current block of the walk */
    uint64_t first, end, number;
} rectangle_t;

/** Copy the block in a row and column. */
static void copy_block(ctn_op_t *op, const morton_t *m, const rectangle_t *r,
                       uint32_t row, uint32_t column)
{
    const ctn_topo_t *topo = m->rounds.topo;
    size_t bytes = m->rounds.call.send->bytes;
    uint32_t receiver = r->copies == GATHER ? row : member_at(m, row);
    uint32_t sender =
        r->copies == SCATTER ? column : member_at(m, r->senders + column);
    unsigned char *message =
        r->message == NULL
            ? NULL
            : r->message + ((size_t)receiver * r->width + sender) * bytes;
    const unsigned char *from = message;
    unsigned char *to = message;
    if (r->copies != SCATTER) {
        uint32_t rank = r->copies == GATHER
                            ? r->there[receiver].rank
                            : ctn_topo_local(topo, receiver)->rank;
        from = (unsigned char *)ctn_pointer(
                   topo->peer[sender],
                   ctn_topo_descriptor(topo, op->seq, sender)->send) +
               rank * bytes;
    }
    if (r->copies != GATHER) {
        uint32_t rank = r->copies == SCATTER
                            ? r->there[sender].rank
                            : ctn_topo_local(topo, sender)->rank;
        to = (unsigned char *)ctn_pointer(
                 topo->peer[receiver],
                 ctn_topo_descriptor(topo, op->seq, receiver)->receive) +
             rank * bytes;
    }
    ctn_exec_copy(op->exec, to, from, bytes);
}

/** A square that the curve passes through in one piece: row and column of its
 * first block, and its side. */
typedef struct square {
    uint32_t row, column, side;
} square_t;

/** Blocks of a square that are in the rectangle. */
static uint64_t blocks_within(const square_t *s, const rectangle_t *r)
{
    uint64_t rows = s->row >= r->rows ? 0 : r->rows - s->row;
    uint64_t columns = s->column >= r->columns ? 0 : r->columns - s->column;
    return (rows < s->side ? rows : s->side) *
           (columns < s->side ? columns : s->side);
}

/** Copy the square's blocks that are in the share. r->number is the number of
 * the square's first block, then of the one after its last. */
static void walk(ctn_op_t *op, const morton_t *m, rectangle_t *r, square_t s)
{
    uint64_t within = blocks_within(&s, r);
    if (within == 0 || r->number + within <= r->first || r->number >= r->end) {
        r->number += within;
        return;
    }
    if (s.side == 1) {
        copy_block(op, m, r, s.row, s.column);
        r->number++;
        return;
    }
    uint32_t half = s.side / 2;
    for (uint32_t quarter = 0; quarter < 4; quarter++) {
        square_t quarter_square = {s.row + quarter / 2 * half,
                                   s.column + quarter % 2 * half, half};
        walk(op, m, r, quarter_square);
    }
}

/** Copy this member's share of a rectangle, which the members of its domain
 * divide. */
static void copy_share(ctn_op_t *op, const morton_t *m, rectangle_t r)
{
    uint64_t share = (uint64_t)r.rows * r.columns / m->mine;
    r.first = m->me * share;
    r.end = r.first + share;
    square_t all = {0, 0, 1};
    while (all.side < r.rows || all.side < r.columns) {
        all.side *= 2;
    }
    walk(op, m, &r, all);
}

/** Copy this member's share of the blocks that stay on the node, domain by
 * domain of their senders. */
static void copy_local(ctn_op_t *op, const morton_t *m)
{
    uint32_t n = ctn_topo_local_size(m->rounds.topo);
    for (uint32_t first = 0, end; first < n; first = end) {
        end = end_of_domain(m, first);
        copy_share(op, m,
                   (rectangle_t){.copies = LOCAL,
                                 .rows = m->mine,
                                 .columns = end - first,
                                 .senders = first});
    }
}

/** Store what a member has published of its buffers. */
static void read_descriptor(morton_t *m,
                            const ctn_buffer_descriptor_t *descriptor)
{
    m->in_reach &=
        descriptor->send != CTN_STAGED && descriptor->receive != CTN_STAGED;
    m->in_place |= descriptor->send == descriptor->receive;
}

/** Set the state, without that of the rounds. */
static void set_up(morton_t *m)
{
    m->in_reach = true;
    m->in_place = false;
    m->status = CATENA_OK;
    m->rounds.topo = m->rounds.call.topo;
    m->rounds.next = 0;
    order_members(m);
}

/* ---- one node ---- */

/** Publish this member's buffers. */
static ctn_step_t begin(ctn_op_t *op)
{
    morton_t *m = ctn_op_state(op);
    ctn_alltoall_t *call = &m->rounds.call;
    if (call->topo->nodes > 1) {
        return ctn_op_become(op, &ctn_alltoall_morton_nodes);
    }
    set_up(m);
    ctn_posted_publish(op, call->topo, call->send, call->receive, CTN_STAGED,
                       NULL);
    call->published = true;
    return CTN_STEP_NEXT;
}

/** Wait for the buffer descriptors of all members. All members read the same
 * descriptors, so all of them copy, or all of them become the direct alltoall.
 */
static ctn_step_t gather(ctn_op_t *op)
{
    morton_t *m = ctn_op_state(op);
    const ctn_topo_t *topo = m->rounds.topo;
    size_t bytes = m->rounds.call.send->bytes;
    for (; m->rounds.next < ctn_topo_local_size(topo); m->rounds.next++) {
        const ctn_buffer_descriptor_t *descriptor =
            ctn_posted_find(op, topo, m->rounds.next);
        if (descriptor == NULL) {
            return CTN_STEP_WAIT;
        }
        if (descriptor->bytes != bytes) {
            m->status = ctn_posted_report_length(
                topo, ctn_topo_local_to_group(topo, m->rounds.next),
                descriptor->bytes, bytes);
        }
        read_descriptor(m, descriptor);
    }
    if (m->status !=
        CATENA_OK) { /* so on all members, and none of them copies */
        return ctn_op_fail(op, m->status);
    }
    return m->in_reach ? CTN_STEP_NEXT
                       : ctn_op_become(op, &ctn_alltoall_direct);
}

/** Copy this member's shares, and notify the other members. */
static ctn_step_t copy(ctn_op_t *op)
{
    morton_t *m = ctn_op_state(op);
    const ctn_topo_t *topo = m->rounds.topo;
    copy_local(op, m);
    m->rounds.next = 0;
    ctn_node_set(
        op->exec,
        ctn_node_departed(&topo->node_area, op->seq, ctn_topo_local_rank(topo)),
        op->seq);
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {
    {"begin", begin},
    {"gather", gather},
    {"copy", copy},
    {"wait for all", ctn_leader_rounds_await_scattered},
    {NULL, NULL}};

const ctn_algorithm_t ctn_alltoall_morton = {
    .name = "alltoall/morton",
    .state_bytes = sizeof(morton_t),
    .phases = phases,
    .synchronizing = true,
    .finish = ctn_alltoall_finish,
    .release = ctn_alltoall_release,
};

/* ---- several nodes ---- */

static ctn_step_t begin_nodes(ctn_op_t *op)
{
    set_up(ctn_op_state(op));
    return ctn_leader_rounds_begin(op, false);
}

/** Copy this member's blocks to (`outgoing`) or from a message. */
static void copy_own(ctn_op_t *op, const morton_t *m, const rectangle_t *r,
                     bool outgoing)
{
    size_t bytes = m->rounds.bytes;
    size_t me = ctn_topo_local_rank(m->rounds.topo);
    uint32_t count = outgoing ? r->rows : r->columns;
    for (size_t k = 0; k < count; k++) {
        uint32_t rank = r->there[k].rank;
        if (outgoing) {
            ctn_span_t block = ctn_blocks_at(m->rounds.call.send, rank);
            ctn_span_read(op->exec, &block, 0, bytes,
                          r->message + (k * r->width + me) * bytes);
        } else {
            ctn_span_t block = ctn_blocks_at(m->rounds.call.receive, rank);
            ctn_span_write(op->exec, &block, 0, bytes,
                           r->message + (me * r->width + k) * bytes);
        }
    }
}

/** The blocks of a message between this member's domain and another node. */
static rectangle_t rectangle_of(const morton_t *m, const ctn_leader_round_t *r,
                                bool outgoing, unsigned char *message)
{
    const ctn_member_table_t *table = &m->rounds.topo->member_table;
    uint32_t node = outgoing ? r->to : r->from;
    uint32_t n = ctn_member_table_count(table, node);
    return (rectangle_t){.copies = outgoing ? GATHER : SCATTER,
                         .rows = outgoing ? n : m->mine,
                         .columns = outgoing ? m->mine : n,
                         .there = &table->member[table->first[node]],
                         .width = outgoing ? m->rounds.here : n,
                         .message = message};
}

/** Copy this member's shares, or its own blocks, to (`outgoing`) or from the
 * messages. Blocks of round 0 are copied to where they would be received. */
static void copy_messages(ctn_op_t *op, const morton_t *m, bool outgoing)
{
    const ctn_leader_rounds_t *a = &m->rounds;
    ctn_leader_round_places_t places = {0};
    uint64_t began = ctn_observe_begins(op->exec);
    size_t all = 0;
    for (uint32_t number = 0; number < a->topo->nodes; number++) {
        ctn_leader_round_t round = ctn_leader_round_at(a, number);
        unsigned char *message =
            ctn_leader_round_message(op, a, &round, outgoing, &places);
        if (number == 0 && m->in_reach && !m->in_place) {
            continue; /* see copy_local */
        }
        if (number == 0 && outgoing) {
            ctn_leader_round_places_t none = {0};
            message = ctn_leader_round_message(op, a, &round, false, &none);
        }
        rectangle_t blocks = rectangle_of(m, &round, outgoing, message);
        if (m->in_reach) {
            copy_share(op, m, blocks);
        } else {
            copy_own(op, m, &blocks, outgoing);
        }
        all += (outgoing ? round.out : round.in) / a->here;
    }
    ctn_observe_ends(op->exec, began, outgoing ? "gather" : "scatter", all);
}

/** All members of the node have started: fill the messages, and copy the blocks
 * that stay on the node. */
static ctn_step_t fill(ctn_op_t *op)
{
    morton_t *m = ctn_op_state(op);
    const ctn_topo_t *topo = m->rounds.topo;
    for (uint32_t i = 0; i < m->rounds.here; i++) {
        read_descriptor(m, ctn_topo_descriptor(topo, op->seq, i));
    }
    copy_messages(op, m, true);
    ctn_node_arrive(op->exec, &topo->node_area, op->seq);
    if (m->in_reach && !m->in_place) {
        copy_local(op, m);
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t scatter(ctn_op_t *op)
{
    const morton_t *m = ctn_op_state(op);
    const ctn_topo_t *topo = m->rounds.topo;
    copy_messages(op, m, false);
    ctn_node_set(
        op->exec,
        ctn_node_departed(&topo->node_area, op->seq, ctn_topo_local_rank(topo)),
        op->seq);
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases_nodes[] = {
    {"begin", begin_nodes},
    {"fence before gather", ctn_leader_rounds_await_started},
    {"gather", fill},
    {"fence after gather", ctn_leader_rounds_await_gathered},
    {"send", ctn_leader_rounds_send},
    {"receive", ctn_leader_rounds_exchange},
    {"fence before scatter", ctn_leader_rounds_await_received},
    {"scatter", scatter},
    {"fence after scatter", ctn_leader_rounds_await_scattered},
    {NULL, NULL}};

const ctn_algorithm_t ctn_alltoall_morton_nodes = {
    .name = "alltoall/morton",
    .state_bytes = sizeof(morton_t),
    .phases = phases_nodes,
    .synchronizing = true,
    .finish = ctn_leader_rounds_finish,
    .release = ctn_alltoall_release,
};

_Static_assert(sizeof(morton_t) <= CTN_OP_STATE_BYTES, "fits an operation");
