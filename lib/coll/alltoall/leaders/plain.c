/* A2A-9 l-a2a-plain, A2A-10 mpml-plain, A2A-11 nmpml-plain: alltoall through
 * leaders, one step after the other. Peng, Liu, Xie: GLEX-Alltoall, Algorithms
 * 1 to 4, as printed; baselines for A2A-2 to A2A-5.
 *
 * Gather: every member copies its blocks for each node to the leader of that
 * round, [round][member][member of the other node]. Fence of the node. The
 * leaders transpose all blocks. Exchange: in round i a leader sends to node
 * A + i and waits for the message of node A - i. Fence. Scatter: every member
 * copies its blocks from the leaders. Fence. A member's buffers may be any
 * memory, and in place needs nothing else, since all blocks are gathered before
 * any is scattered.
 *
 * Rounds: M, dealt to the leaders; round 0 is the node itself and has no
 * message. Messages: one for each pair of nodes, and a CTS for each. Memory: on
 * each node all blocks of its members three times, in the heaps of the leaders.
 * Differs from the paper: Algorithm 3 lets the leaders get and put the blocks;
 * its text and its model (equations 7 to 9) have one copy by each member at a
 * time. Leaders put into memory of the call, which a CTS announces, where the
 * paper has buffers that are registered beforehand. The blocks are transposed
 * once; Algorithm 3 does that before and after the exchange. */

#include "coll/alltoall/alltoall.h"

#include <string.h>

#include "core/cache_line.h"
#include "exec/message.h"
#include "exec/observe.h"
#include "exec/transfer.h"

/** A line with a word, before the data of each message and of each leader. */
enum { LINE = CTN_LINE };

/** A round, in which the leader of one number sends a message to the leader of
 * another node and receives one. */
typedef struct plain_round {
    uint32_t number;      /* 0: the node itself */
    uint32_t to, from;    /* nodes */
    size_t out, in;       /* bytes of the messages */
    size_t out_at, in_at; /* their places among those of this node's leader */
} plain_round_t;

/** State of the operation. */
typedef struct plain {
    ctn_alltoall_t call;
    ctn_topo_t *topo;
    size_t bytes;  /* of a block */
    uint32_t here; /* members of this node */
    uint32_t next; /* the member or leader that a fence waits for */
    /* of a leader */
    unsigned char *area; /* its memory, NULL at others: a word, then what is
                            gathered, transposed and received */
    size_t area_bytes;
    unsigned char *transposed, *received; /* in it */
    plain_round_t round;                  /* of the exchange */
    bool sent;                            /* the message of this round */
} plain_t;

/* ---- rounds ---- */

/** Leaders of a node with n members. */
static uint32_t leaders_of(const plain_t *a, uint32_t n)
{
    uint32_t leaders = a->call.by_leaders.leaders;
    return leaders < n ? leaders : n;
}

/** Local rank of leader i of a node with n members; without domains "spread" is
 * Algorithm 4. */
static uint32_t leader_at(const plain_t *a, uint32_t n, uint32_t i)
{
    return ctn_leader_layout_member(NULL, n, leaders_of(a, n),
                                    a->call.by_leaders.placement, i);
}

/** The leader of a round on a node with n members. */
static uint32_t leader_of_round(const plain_t *a, uint32_t n, uint32_t number)
{
    return number % a->call.by_leaders.leaders % leaders_of(a, n);
}

/** The member of another node that leads in a round. */
static const ctn_member_t *peer_of(const plain_t *a, uint32_t number,
                                   uint32_t node)
{
    const ctn_member_table_t *table = &a->topo->member_table;
    uint32_t n = ctn_member_table_count(table, node);
    return &table->member[table->first[node] +
                          leader_at(a, n, leader_of_round(a, n, number))];
}

/** Whether this member leads in a round. */
static bool leads(const plain_t *a, uint32_t number)
{
    return leader_at(a, a->here, leader_of_round(a, a->here, number)) ==
           ctn_topo_local_rank(a->topo);
}

/** The memory of a message: a word, and whole cache lines. */
static size_t room_for(size_t bytes)
{
    return LINE + ((bytes + LINE - 1) & ~(size_t)(LINE - 1));
}

/** Return round `number`, with the first places. */
static plain_round_t round_at(const plain_t *a, uint32_t number)
{
    const ctn_member_table_t *table = &a->topo->member_table;
    uint64_t node = a->topo->node_index;
    plain_round_t r = {.number = number};
    r.to = (uint32_t)((node + number) % table->nodes);
    r.from = (uint32_t)((node + table->nodes - number) % table->nodes);
    r.out = (size_t)a->here * ctn_member_table_count(table, r.to) * a->bytes;
    r.in = (size_t)a->here * ctn_member_table_count(table, r.from) * a->bytes;
    return r;
}

/** Set the first round in which this member leads, from r->number on, with the
 * places that r has. False: there is none. */
static bool find_round(const plain_t *a, plain_round_t *r)
{
    uint32_t number = r->number;
    while (number < a->topo->nodes && !leads(a, number)) {
        number++;
    }
    if (number >= a->topo->nodes) {
        return false;
    }
    plain_round_t found = round_at(a, number);
    found.out_at = r->out_at;
    found.in_at = r->in_at;
    *r = found;
    return true;
}

/** Set the next round of this leader. */
static bool next_round(const plain_t *a, plain_round_t *r)
{
    r->out_at += room_for(r->out);
    r->in_at += room_for(r->in);
    r->number++;
    return find_round(a, r);
}

/* ---- start ---- */

/** Where the CTS of this member lies in the arena of `to`. */
static uint64_t cts_at(const ctn_op_t *op, const plain_t *a,
                       const ctn_member_t *to)
{
    uint64_t generation = op->seq % CTN_GENERATIONS;
    return to->cts_table + (generation * a->topo->member_table.size +
                            a->call.group->chain.place.rank) *
                               sizeof(ctn_cts_t);
}

/** A leader: announce to the leaders of the other nodes where their messages
 * go. */
static catena_status_t send_all_cts(ctn_op_t *op, const plain_t *a)
{
    plain_round_t r = {0};
    catena_status_t status = CATENA_OK;
    for (bool more = find_round(a, &r); more && status == CATENA_OK;
         more = next_round(a, &r)) {
        unsigned char *message = a->received + r.in_at;
        if (r.number > 0) {
            const ctn_member_t *from = peer_of(a, r.number, r.from);
            ctn_word_store((uint64_t *)(void *)message, 0);
            status = ctn_transfer_send_cts(
                op, from->address, cts_at(op, a, from), 1,
                ctn_heap_offset(op->exec->heap, message), a->bytes);
        }
    }
    return status;
}

/** If this member leads, allocate its memory. */
static catena_status_t open_area(ctn_op_t *op, plain_t *a)
{
    plain_round_t r = {0};
    bool more = find_round(a, &r);
    size_t rows = a->topo->member_table.size + (size_t)a->topo->nodes * LINE;
    if (!more) {
        return CATENA_OK;
    }
    if (a->bytes > SIZE_MAX / 4 / a->here / rows) {
        return CATENA_ERR_NO_MEMORY;
    }
    while (more) {
        more = next_round(a, &r);
    }
    a->area_bytes = LINE + 2 * r.out_at + r.in_at;
    a->area = ctn_scratch_alloc(op->exec, a->area_bytes);
    if (a->area == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_word_store((uint64_t *)(void *)a->area, 0);
    a->transposed = a->area + LINE + r.out_at;
    a->received = a->transposed + r.out_at;
    return send_all_cts(op, a);
}

/** Publish that this member has started and, if it leads, its memory. */
static void publish(const ctn_op_t *op, const plain_t *a)
{
    const ctn_heap_t *heap = op->exec->heap;
    bool is_leader = a->area != NULL;
    ctn_buffer_descriptor_t *own =
        ctn_topo_descriptor(a->topo, op->seq, ctn_topo_local_rank(a->topo));
    own->send = is_leader ? ctn_heap_offset(heap, a->area) : CTN_STAGED;
    own->receive = is_leader ? ctn_heap_offset(heap, a->received) : CTN_STAGED;
    own->rows = own->direct_receive = CTN_STAGED;
    own->bytes = a->bytes;
    ctn_exec_post(op->exec, &own->word, ctn_flag64(op->seq));
}

static ctn_step_t begin(ctn_op_t *op)
{
    plain_t *a = ctn_op_state(op);
    a->topo = a->call.topo;
    a->bytes = a->call.receive->bytes;
    a->here = ctn_topo_local_size(a->topo);
    a->next = 0;
    a->area = NULL;
    catena_status_t status = open_area(op, a);
    if (status != CATENA_OK) { /* the other members wait for this one */
        return ctn_op_fail(op, ctn_exec_abort(op->exec, status));
    }
    publish(op, a);
    ctn_op_set_network(op, a->area != NULL);
    return CTN_STEP_NEXT;
}

/** Fence: all members of the node have started, with blocks of one length. */
static ctn_step_t await_started(ctn_op_t *op)
{
    plain_t *a = ctn_op_state(op);
    for (; a->next < a->here; a->next++) {
        const ctn_buffer_descriptor_t *descriptor =
            ctn_posted_find(op, a->topo, a->next);
        if (descriptor == NULL) {
            return CTN_STEP_WAIT;
        }
        if (descriptor->bytes != a->bytes) {
            (void)ctn_exec_abort(op->exec,
                                 ctn_posted_report_length(
                                     a->topo,
                                     ctn_topo_local_to_group(a->topo, a->next),
                                     descriptor->bytes, a->bytes));
            return CTN_STEP_WAIT;
        }
    }
    return CTN_STEP_NEXT;
}

/* ---- gather and scatter ---- */

/** Copy this member's blocks for (`outgoing`), or from, the members of a node
 * to or from contiguous memory. Blocks of consecutive ranks are one copy. */
static void copy_blocks(ctn_op_t *op, const plain_t *a, uint32_t node,
                        bool outgoing, unsigned char *memory)
{
    const ctn_member_table_t *table = &a->topo->member_table;
    const ctn_member_t *member = &table->member[table->first[node]];
    uint32_t n = ctn_member_table_count(table, node);
    const ctn_blocks_t *blocks = outgoing ? a->call.send : a->call.receive;
    for (uint32_t i = 0, run; i < n; i += run) {
        ctn_span_t block = ctn_blocks_at(blocks, member[i].rank);
        bool dense =
            block.type == NULL && blocks->step == (ptrdiff_t)blocks->bytes;
        for (run = 1; dense && i + run < n &&
                      member[i + run].rank == member[i].rank + run;
             run++) {
            block.bytes += blocks->bytes;
        }
        if (outgoing) {
            ctn_span_read(op->exec, &block, 0, block.bytes, memory);
        } else {
            ctn_span_write(op->exec, &block, 0, block.bytes, memory);
        }
        memory += block.bytes;
    }
}

/** Copy this member's blocks to (`outgoing`) or from the leaders. */
static void copy_all(ctn_op_t *op, const plain_t *a, bool outgoing)
{
    size_t at[CTN_MAX_LEADERS] = {0}; /* the places of the next messages */
    size_t me = ctn_topo_local_rank(a->topo);
    uint64_t began = ctn_observe_begins(op->exec);
    size_t all = 0;
    for (uint32_t number = 0; number < a->topo->nodes; number++) {
        uint32_t leader = leader_of_round(a, a->here, number);
        uint32_t host = leader_at(a, a->here, leader);
        const ctn_buffer_descriptor_t *found =
            ctn_topo_descriptor(a->topo, op->seq, host);
        unsigned char *messages =
            ctn_pointer(a->topo->peer[host],
                        outgoing ? found->send + LINE : found->receive);
        plain_round_t r = round_at(a, number);
        size_t bytes = outgoing ? r.out : r.in;
        copy_blocks(op, a, outgoing ? r.to : r.from, outgoing,
                    messages + at[leader] + LINE + me * (bytes / a->here));
        at[leader] += room_for(bytes);
        all += bytes / a->here;
    }
    ctn_observe_ends(op->exec, began, outgoing ? "gather" : "scatter", all);
}

static ctn_step_t gather(ctn_op_t *op)
{
    plain_t *a = ctn_op_state(op);
    copy_all(op, a, true);
    a->next = 0;
    ctn_node_arrive(op->exec, &a->topo->node_area, op->seq);
    return CTN_STEP_NEXT;
}

/** Fence: all members of the node have set a flag. */
static ctn_step_t await_flags(ctn_op_t *op, const ctn_node_entries_t *flags)
{
    plain_t *a = ctn_op_state(op);
    if (!ctn_node_all_set(&a->topo->node_area, flags, op->seq, &a->next, 1)) {
        op->waits_for = ctn_topo_local_to_group(a->topo, a->next);
        return CTN_STEP_WAIT;
    }
    a->next = 0;
    return CTN_STEP_NEXT;
}

static ctn_step_t await_gathered(ctn_op_t *op)
{
    const plain_t *a = ctn_op_state(op);
    return await_flags(op, &a->topo->node_area.arrived);
}

static ctn_step_t scatter(ctn_op_t *op)
{
    const plain_t *a = ctn_op_state(op);
    copy_all(op, a, false);
    ctn_node_set(op->exec,
                 ctn_node_departed(&a->topo->node_area, op->seq,
                                   ctn_topo_local_rank(a->topo)),
                 op->seq);
    return CTN_STEP_NEXT;
}

static ctn_step_t await_scattered(ctn_op_t *op)
{
    const plain_t *a = ctn_op_state(op);
    return await_flags(op, &a->topo->node_area.departed);
}

/* ---- the leaders ---- */

/** Transpose a message from [member here][member there] to [member there]
 * [member here]. */
static void transpose_message(ctn_op_t *op, const plain_t *a,
                              const plain_round_t *r, const unsigned char *from,
                              unsigned char *to)
{
    size_t bytes = a->bytes;
    size_t here = a->here;
    size_t there = r->out / bytes / here;
    for (size_t j = 0; j < there && !op->exec->drop_data; j++) {
        for (size_t i = 0; i < here; i++) {
            memcpy(to + (j * here + i) * bytes, from + (i * there + j) * bytes,
                   bytes);
        }
    }
    ctn_exec_charge(op->exec,
                    bytes < CTN_LINE ? CTN_WORK_TRANSPOSE : CTN_WORK_COPY,
                    r->out);
}

/** A leader transposes all that was gathered; the blocks that stay on the node
 * are then received. */
static ctn_step_t transpose(ctn_op_t *op)
{
    plain_t *a = ctn_op_state(op);
    plain_round_t r = {0};
    uint64_t began = ctn_observe_begins(op->exec);
    for (bool more = a->area != NULL && find_round(a, &r); more;
         more = next_round(a, &r)) {
        unsigned char *to =
            r.number > 0 ? a->transposed + r.out_at : a->received + r.in_at;
        transpose_message(op, a, &r, a->area + LINE + r.out_at + LINE,
                          to + LINE);
    }
    if (a->area != NULL) {
        ctn_observe_ends(op->exec, began, "transpose", r.out_at);
    }
    a->round = (plain_round_t){0};
    a->sent = false;
    return CTN_STEP_NEXT;
}

/** Send the message of the round, once there is a CTS. */
static ctn_step_t send_message(ctn_op_t *op, plain_t *a, const plain_round_t *r)
{
    const ctn_member_t *to = peer_of(a, r->number, r->to);
    uint32_t size = a->topo->member_table.size;
    const ctn_cts_t *cts =
        &a->topo->cts_table[(op->seq % CTN_GENERATIONS) * size + to->rank];
    if (!ctn_flag_matches(ctn_word_load(&cts->word), op->seq)) {
        op->waits_for = to->rank;
        return CTN_STEP_WAIT;
    }
    if (cts->bytes != a->bytes) {
        (void)ctn_exec_abort(op->exec, ctn_message_report_length(
                                           op->exec, "alltoall",
                                           a->call.group->chain.place.rank,
                                           to->rank, a->bytes, cts->bytes));
        return CTN_STEP_WAIT;
    }
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, to->address.process, &endpoint);
    if (status == CATENA_OK) {
        op->exec->tally.messages++;
        status = ctn_put_signal(
            endpoint, ctn_exec_data(op->exec, a->transposed + r->out_at + LINE),
            r->out, cts->place + LINE, cts->place, ctn_flag64(op->seq),
            &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Send and receive in a round. NEXT: the message has arrived. */
static ctn_step_t exchange_round(ctn_op_t *op, plain_t *a)
{
    const plain_round_t *r = &a->round;
    if (!a->sent) {
        ctn_step_t step = send_message(op, a, r);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        a->sent = true;
    }
    const void *message = a->received + r->in_at;
    if (ctn_word_load(message) != ctn_flag64(op->seq)) {
        op->waits_for = peer_of(a, r->number, r->from)->rank;
        return CTN_STEP_WAIT;
    }
    a->sent = false;
    return CTN_STEP_NEXT;
}

/** A leader exchanges its messages, in round after round; then all members of
 * its node may read them. */
static ctn_step_t exchange(ctn_op_t *op)
{
    plain_t *a = ctn_op_state(op);
    if (a->area == NULL) {
        return CTN_STEP_NEXT;
    }
    bool more = find_round(a, &a->round);
    while (more) {
        ctn_step_t step =
            a->round.number > 0 ? exchange_round(op, a) : CTN_STEP_NEXT;
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        more = next_round(a, &a->round);
    }
    ctn_exec_post(op->exec, (uint64_t *)(void *)a->area, ctn_flag64(op->seq));
    return CTN_STEP_NEXT;
}

/** Fence: all leaders of the node have received all messages. */
static ctn_step_t await_received(ctn_op_t *op)
{
    plain_t *a = ctn_op_state(op);
    for (; a->next < leaders_of(a, a->here); a->next++) {
        uint32_t host = leader_at(a, a->here, a->next);
        uint64_t at = ctn_topo_descriptor(a->topo, op->seq, host)->send;
        if (at != CTN_STAGED && /* else there are fewer rounds than leaders */
            ctn_word_load(ctn_pointer(a->topo->peer[host], at)) !=
                ctn_flag64(op->seq)) {
            op->waits_for = ctn_topo_local_to_group(a->topo, host);
            return CTN_STEP_WAIT;
        }
    }
    a->next = 0;
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"fence before gather", await_started},
                                     {"gather", gather},
                                     {"fence after gather", await_gathered},
                                     {"transpose", transpose},
                                     {"exchange", exchange},
                                     {"fence before scatter", await_received},
                                     {"scatter", scatter},
                                     {"fence after scatter", await_scattered},
                                     {NULL, NULL}};

static void finish(ctn_op_t *op)
{
    plain_t *a = ctn_op_state(op);
    ctn_alltoall_finish(op);
    if (op->status == CATENA_OK) { /* else other ranks may still access it */
        ctn_scratch_free(op->exec, a->area, a->area_bytes);
    }
    a->area = NULL;
}

const ctn_algorithm_t ctn_alltoall_leaders_plain = {
    .name = "alltoall/leaders-plain",
    .state_bytes = sizeof(plain_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
    .release = ctn_alltoall_release,
};

_Static_assert(sizeof(plain_t) <= CTN_OP_STATE_BYTES, "fits an operation");
