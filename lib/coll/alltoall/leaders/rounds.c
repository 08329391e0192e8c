#include "coll/alltoall/leaders/rounds.h"

#include "exec/message.h"
#include "exec/transfer.h"

/** A line with a word precedes the data of each message and of each leader. */
enum { LINE = CTN_LINE };

/* ---- rounds ---- */

/** Leaders of a node with n members. */
static uint32_t leaders_of(const ctn_leader_rounds_t *a, uint32_t n)
{
    uint32_t leaders = a->call.by_leaders.leaders;
    return leaders < n ? leaders : n;
}

/** Local rank of leader i of a node with n members; without domains "spread" is
 * Algorithm 4. */
static uint32_t leader_at(const ctn_leader_rounds_t *a, uint32_t n, uint32_t i)
{
    return ctn_leader_layout_member(NULL, n, leaders_of(a, n),
                                    a->call.by_leaders.placement, i);
}

/** The leader of a round on a node with n members. */
static uint32_t leader_of_round(const ctn_leader_rounds_t *a, uint32_t n,
                                uint32_t number)
{
    return number % a->call.by_leaders.leaders % leaders_of(a, n);
}

/** The member of another node that leads in a round. */
static const ctn_member_t *peer_of(const ctn_leader_rounds_t *a,
                                   uint32_t number, uint32_t node)
{
    const ctn_member_table_t *table = &a->topo->member_table;
    uint32_t n = ctn_member_table_count(table, node);
    return &table->member[table->first[node] +
                          leader_at(a, n, leader_of_round(a, n, number))];
}

/** Whether this member leads in a round. */
static bool leads(const ctn_leader_rounds_t *a, uint32_t number)
{
    return leader_at(a, a->here, leader_of_round(a, a->here, number)) ==
           ctn_topo_local_rank(a->topo);
}

/** The memory of a message: a word, and whole cache lines. */
static size_t room_for(size_t bytes)
{
    return LINE + ((bytes + LINE - 1) & ~(size_t)(LINE - 1));
}

ctn_leader_round_t ctn_leader_round_at(const ctn_leader_rounds_t *a,
                                       uint32_t number)
{
    const ctn_member_table_t *table = &a->topo->member_table;
    uint64_t node = a->topo->node_index;
    ctn_leader_round_t r = {.number = number};
    r.to = (uint32_t)((node + number) % table->nodes);
    r.from = (uint32_t)((node + table->nodes - number) % table->nodes);
    r.out = (size_t)a->here * ctn_member_table_count(table, r.to) * a->bytes;
    r.in = (size_t)a->here * ctn_member_table_count(table, r.from) * a->bytes;
    return r;
}

bool ctn_leader_round_find(const ctn_leader_rounds_t *a, ctn_leader_round_t *r)
{
    uint32_t number = r->number;
    while (number < a->topo->nodes && !leads(a, number)) {
        number++;
    }
    if (number >= a->topo->nodes) {
        return false;
    }
    ctn_leader_round_t found = ctn_leader_round_at(a, number);
    found.out_at = r->out_at;
    found.in_at = r->in_at;
    *r = found;
    return true;
}

bool ctn_leader_round_next(const ctn_leader_rounds_t *a, ctn_leader_round_t *r)
{
    r->out_at += room_for(r->out);
    r->in_at += room_for(r->in);
    r->number++;
    return ctn_leader_round_find(a, r);
}

/* ---- start ---- */

/** Where the CTS of this member lies in the arena of `to`. */
static uint64_t cts_at(const ctn_op_t *op, const ctn_leader_rounds_t *a,
                       const ctn_member_t *to)
{
    uint64_t generation = op->seq % CTN_GENERATIONS;
    return to->cts_table + (generation * a->topo->member_table.size +
                            a->call.group->chain.place.rank) *
                               sizeof(ctn_cts_t);
}

/** A leader: announce to the leaders of the other nodes where their messages
 * go. */
static catena_status_t send_all_cts(ctn_op_t *op, const ctn_leader_rounds_t *a)
{
    ctn_leader_round_t r = {0};
    catena_status_t status = CATENA_OK;
    for (bool more = ctn_leader_round_find(a, &r); more && status == CATENA_OK;
         more = ctn_leader_round_next(a, &r)) {
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
static catena_status_t open_area(ctn_op_t *op, ctn_leader_rounds_t *a,
                                 bool transposes)
{
    ctn_leader_round_t r = {0};
    bool more = ctn_leader_round_find(a, &r);
    size_t rows = a->topo->member_table.size + (size_t)a->topo->nodes * LINE;
    if (!more) {
        return CATENA_OK;
    }
    if (a->bytes > SIZE_MAX / 4 / a->here / rows) {
        return CATENA_ERR_NO_MEMORY;
    }
    while (more) {
        more = ctn_leader_round_next(a, &r);
    }
    size_t before = LINE + (transposes ? r.out_at : 0);
    a->area_bytes = before + r.out_at + r.in_at;
    a->area = ctn_scratch_alloc(op->exec, a->area_bytes);
    if (a->area == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    a->sent_from = a->area + before;
    a->received = a->sent_from + r.out_at;
    *(ctn_leader_rounds_area_t *)(void *)a->area =
        (ctn_leader_rounds_area_t){.received = before + r.out_at};
    return send_all_cts(op, a);
}

ctn_step_t ctn_leader_rounds_begin(ctn_op_t *op, bool transposes)
{
    ctn_leader_rounds_t *a = ctn_op_state(op);
    a->topo = a->call.topo;
    a->bytes = a->call.receive->bytes;
    a->here = ctn_topo_local_size(a->topo);
    a->next = 0;
    a->area = NULL;
    a->round = (ctn_leader_round_t){0};
    a->sent = a->all_sent = false;
    catena_status_t status = open_area(op, a, transposes);
    if (status != CATENA_OK) { /* the other members wait for this one */
        return ctn_op_fail(op, ctn_op_give_up(op, status));
    }
    ctn_posted_publish(
        op, a->topo, a->call.send, a->call.receive,
        a->area != NULL ? ctn_heap_offset(op->exec->heap, a->area) : CTN_STAGED,
        NULL);
    ctn_op_set_network(op, a->area != NULL);
    return CTN_STEP_NEXT;
}

/** The memory of a leader, which is a member of this node; NULL: it has none,
 * since there are fewer rounds than leaders. */
static ctn_leader_rounds_area_t *
area_of(const ctn_op_t *op, const ctn_leader_rounds_t *a, uint32_t member)
{
    uint64_t at = ctn_topo_descriptor(a->topo, op->seq, member)->rows;
    return at != CTN_STAGED ? ctn_pointer(a->topo->peer[member], at) : NULL;
}

unsigned char *ctn_leader_round_message(const ctn_op_t *op,
                                        const ctn_leader_rounds_t *a,
                                        const ctn_leader_round_t *r,
                                        bool outgoing,
                                        ctn_leader_round_places_t *places)
{
    uint32_t leader = leader_of_round(a, a->here, r->number);
    ctn_leader_rounds_area_t *area =
        area_of(op, a, leader_at(a, a->here, leader));
    unsigned char *messages =
        (unsigned char *)area + (outgoing ? LINE : area->received);
    size_t at = places->at[leader];
    places->at[leader] += room_for(outgoing ? r->out : r->in);
    return messages + at + LINE;
}

ctn_step_t ctn_leader_rounds_await_started(ctn_op_t *op)
{
    ctn_leader_rounds_t *a = ctn_op_state(op);
    for (; a->next < a->here; a->next++) {
        const ctn_buffer_descriptor_t *descriptor =
            ctn_posted_find(op, a->topo, a->next);
        if (descriptor == NULL) {
            return CTN_STEP_WAIT;
        }
        if (descriptor->bytes != a->bytes) {
            return ctn_op_fail(
                op,
                ctn_op_give_up(
                    op, ctn_posted_report_length(
                            a->topo, ctn_topo_local_to_group(a->topo, a->next),
                            descriptor->bytes, a->bytes)));
        }
    }
    a->next = 0;
    return CTN_STEP_NEXT;
}

/** Fence: all members of the node have set a flag. */
static ctn_step_t await_flags(ctn_op_t *op, const ctn_node_entries_t *flags)
{
    ctn_leader_rounds_t *a = ctn_op_state(op);
    if (!ctn_node_all_set(&a->topo->node_area, flags, op->seq, &a->next, 1)) {
        op->waits_for = ctn_topo_local_to_group(a->topo, a->next);
        return CTN_STEP_WAIT;
    }
    a->next = 0;
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_leader_rounds_await_gathered(ctn_op_t *op)
{
    const ctn_leader_rounds_t *a = ctn_op_state(op);
    return await_flags(op, &a->topo->node_area.arrived);
}

ctn_step_t ctn_leader_rounds_await_scattered(ctn_op_t *op)
{
    const ctn_leader_rounds_t *a = ctn_op_state(op);
    return await_flags(op, &a->topo->node_area.departed);
}

/** Send the message of the round, once there is a CTS. */
static ctn_step_t send_message(ctn_op_t *op, ctn_leader_rounds_t *a,
                               const ctn_leader_round_t *r)
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
        return ctn_op_fail(
            op, ctn_op_give_up(op, ctn_message_report_length(
                                       op->exec, "alltoall",
                                       a->call.group->chain.place.rank,
                                       to->rank, a->bytes, cts->bytes)));
    }
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_op_connect(op, to->address.process, &endpoint);
    if (status == CATENA_OK) {
        op->exec->tally.messages++;
        status = ctn_put_signal(
            endpoint, ctn_exec_data(op->exec, a->sent_from + r->out_at + LINE),
            r->out, cts->place + LINE, cts->place, ctn_flag64(op->seq),
            &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Send and receive in a round. NEXT: the message has arrived. */
static ctn_step_t exchange_round(ctn_op_t *op, ctn_leader_rounds_t *a)
{
    const ctn_leader_round_t *r = &a->round;
    if (!a->sent && !a->all_sent) {
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

ctn_step_t ctn_leader_rounds_send(ctn_op_t *op)
{
    ctn_leader_rounds_t *a = ctn_op_state(op);
    ctn_leader_round_t *r = &a->round;
    bool more = a->area != NULL && ctn_leader_round_find(a, r);
    while (more) {
        ctn_step_t step =
            r->number > 0 ? send_message(op, a, r) : CTN_STEP_NEXT;
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        more = ctn_leader_round_next(a, r);
    }
    a->all_sent = true;
    *r = (ctn_leader_round_t){0};
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_leader_rounds_exchange(ctn_op_t *op)
{
    ctn_leader_rounds_t *a = ctn_op_state(op);
    if (a->area == NULL) {
        return CTN_STEP_NEXT;
    }
    bool more = ctn_leader_round_find(a, &a->round);
    while (more) {
        ctn_step_t step =
            a->round.number > 0 ? exchange_round(op, a) : CTN_STEP_NEXT;
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        more = ctn_leader_round_next(a, &a->round);
    }
    ctn_exec_post(op->exec,
                  &((ctn_leader_rounds_area_t *)(void *)a->area)->word,
                  ctn_flag64(op->seq));
    return CTN_STEP_NEXT;
}

ctn_step_t ctn_leader_rounds_await_received(ctn_op_t *op)
{
    ctn_leader_rounds_t *a = ctn_op_state(op);
    for (; a->next < leaders_of(a, a->here); a->next++) {
        uint32_t host = leader_at(a, a->here, a->next);
        const ctn_leader_rounds_area_t *area = area_of(op, a, host);
        if (area != NULL && ctn_word_load(&area->word) != ctn_flag64(op->seq)) {
            op->waits_for = ctn_topo_local_to_group(a->topo, host);
            return CTN_STEP_WAIT;
        }
    }
    a->next = 0;
    return CTN_STEP_NEXT;
}

void ctn_leader_rounds_finish(ctn_op_t *op)
{
    ctn_leader_rounds_t *a = ctn_op_state(op);
    ctn_alltoall_finish(op);
    if (op->status == CATENA_OK) { /* else other ranks may still access it */
        ctn_scratch_free(op->exec, a->area, a->area_bytes);
    }
    a->area = NULL;
}

_Static_assert(sizeof(ctn_leader_rounds_t) <= CTN_OP_STATE_BYTES,
               "fits an operation");
