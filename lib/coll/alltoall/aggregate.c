/* Aggregates of short blocks between nodes. A member sends its blocks for all
 * members of another node as one message, if that is not too long. It is
 * written to one member of that node, the receiving member: into a slot, or
 * into the eager buffers of a few consecutive slots. All members of the node
 * copy their blocks from there through the shared heap, so nothing is
 * forwarded. When all its messages have arrived, the receiving member sets one
 * flag for the node. Member i sends to member i modulo the number of members of
 * that node, so that the members receive equal shares. 32 members on 4 nodes
 * send 96 messages instead of 768.
 *
 * Slots and flags are reused by generation (exec/generations.h). A member has
 * read all messages of its node when its operation is complete, so a sender
 * need not ask whether a slot is free.
 *
 * In this file a message is an aggregate, and x is the state of all of them. */

#include "coll/alltoall/aggregate.h"

#include "coll/alltoall/pairwise.h"
#include "core/tiny.h"
#include "exec/message.h"
#include "exec/slot.h"

/** Largest aggregate. */
#define CTN_AGGREGATE_BYTES CTN_PICK(65536u, 2048u)

/* The words of pairwise rounds in the same slots never have the aggregates'
 * bit. */
_Static_assert((uint64_t)CTN_PAIRWISE_TURNS << 20 <= CTN_AGGREGATE_FLAG,
               "turns leave the highest bit of a count");

/* ---- senders and receivers ---- */

/** The smallest and the largest number of members on a node. */
typedef struct alltoall_range {
    uint32_t least, most;
} alltoall_range_t;

/** The range of all nodes. */
static alltoall_range_t members_of_nodes(const ctn_member_table_t *member_table)
{
    alltoall_range_t n = {ctn_member_table_count(member_table, 0), 0};
    for (uint32_t node = 0; node < member_table->nodes; node++) {
        uint32_t count = ctn_member_table_count(member_table, node);
        n.least = count < n.least ? count : n.least;
        n.most = count > n.most ? count : n.most;
    }
    return n;
}

/** Largest number of messages from one node that one member receives. */
static uint32_t most_at_one(alltoall_range_t n)
{
    return (n.most + n.least - 1) / n.least;
}

/** Slots that the blocks within a node may need: none if they use eager rows on
 * every node. The limit of rows is lowest for two members with a core each. */
static uint32_t slots_of_node(alltoall_range_t n, size_t bytes)
{
    return ctn_eager_rows_fit(bytes, 2, false) ? 0 : n.most;
}

/** Slots that a message of `bytes` takes. */
static uint32_t slots_of_message(const ctn_topo_t *topo, size_t bytes)
{
    const size_t eager = ctn_group_eager_bytes(topo->group);
    return bytes <= eager ? 1 : (uint32_t)((bytes + eager - 1) / eager);
}

bool ctn_aggregate_suits(const ctn_topo_t *topo, size_t bytes)
{
    const ctn_member_table_t *member_table = &topo->member_table;
    if (bytes > CTN_AGGREGATE_BYTES || member_table->nodes < 2 ||
        member_table->nodes > CTN_PAIRWISE_SLOTS) {
        return false;
    }
    alltoall_range_t n = members_of_nodes(member_table);
    /* The messages to one member must fit its slots, beside what the blocks
     * within the node need. */
    size_t message = n.most * bytes; /* the longest one */
    uint32_t slots = message <= CTN_INLINE_BYTES ? CTN_PAIRWISE_SLOTS
                                                 : CTN_PAIRWISE_EAGER_SLOTS;
    return n.most > 1 && n.most <= CTN_EAGER_ROWS_MEMBERS &&
           message <= CTN_AGGREGATE_BYTES &&
           slots_of_node(n, bytes) + (member_table->nodes - 1) *
                                         most_at_one(n) *
                                         slots_of_message(topo, message) <=
               slots;
}

_Static_assert(CTN_AGGREGATE_BYTES <= CTN_STAGING_BYTES &&
                   CTN_EAGER_ROWS_MEMBERS * CTN_EAGER_ROWS_PAIR_BYTES <=
                       CTN_EAGER_ROWS_BYTES,
               "messages can be packed, and small blocks are in rows");

/** The messages that one member receives have numbers: most_at_one for each
 * other node, in the order of nodes. */
static uint32_t messages(const ctn_aggregate_t *x)
{
    return (x->topo->nodes - 1) * x->each;
}

/** The sender of message `number` to member `at` of this node: on each other
 * node these are the members at, at + n, at + 2n ..., where n is the number of
 * members of this node. NULL: there is no such member. */
static const ctn_member_t *sender(const ctn_aggregate_t *x, uint32_t at,
                                  uint32_t number)
{
    const ctn_member_table_t *member_table = &x->topo->member_table;
    uint32_t node = number / x->each;
    uint32_t member = at + number % x->each * ctn_topo_local_size(x->topo);
    node += node >= x->topo->node_index;
    return member < ctn_member_table_count(member_table, node)
               ? &member_table->member[member_table->first[node] + member]
               : NULL;
}

/** Number of the message that this member sends to a node of n members. */
static uint32_t number_for(const ctn_aggregate_t *x, uint32_t node, uint32_t n)
{
    uint32_t from = x->topo->node_index;
    return (from - (from > node)) * x->each + ctn_topo_local_rank(x->topo) / n;
}

/** First slot of a message. */
static unsigned slot_of(const ctn_aggregate_t *x, uint32_t number)
{
    return x->first + number * x->span;
}

/** Offset of a message of `bytes` in the arena of the receiving member, whose
 * control block is at `at`. */
static uint64_t offset_of(const ctn_op_t *op, const ctn_topo_t *topo,
                          ctn_address_t at, unsigned slot, size_t bytes)
{
    return bytes <= CTN_INLINE_BYTES
               ? ctn_slot_data_offset(op->sequence, at, op->seq, slot)
               : at.offset + ctn_group_eager(topo->group, op->seq, slot);
}

catena_status_t ctn_aggregate_begin(ctn_aggregate_t *x)
{
    const ctn_topo_t *topo = x->topo;
    alltoall_range_t n = members_of_nodes(&topo->member_table);
    x->first = slots_of_node(n, x->send->bytes);
    x->span = slots_of_message(topo, n.most * x->send->bytes);
    x->each = most_at_one(n);
    x->peer_checks = topo->group->exec->peer_checks;
    x->status = CATENA_OK;
    x->sent = 0;
    x->awaited = 0;
    x->open = 0;
    for (uint32_t i = 0; i < ctn_topo_local_size(topo); i++) {
        for (uint32_t number = 0; number < messages(x); number++) {
            x->open |= (uint64_t)(sender(x, i, number) != NULL) << i;
        }
    }
    return n.most * x->send->bytes > CTN_INLINE_BYTES
               ? ctn_group_take_eager(topo->group, slot_of(x, messages(x)))
               : CATENA_OK;
}

/* ---- sending ---- */

/** Send the blocks for a node. 1: sent, 0: the network still uses all staging
 * buffers, < 0: status. */
static int send_to(ctn_op_t *op, const ctn_aggregate_t *x, uint32_t node)
{
    const ctn_topo_t *topo = x->topo;
    const ctn_member_table_t *member_table = &topo->member_table;
    const ctn_member_t *member = /* of the node */
        &member_table->member[member_table->first[node]];
    uint32_t n = ctn_member_table_count(member_table, node);
    ctn_address_t to = member[ctn_topo_local_rank(topo) % n].address;
    size_t bytes = n * x->send->bytes;
    unsigned slot = slot_of(x, number_for(x, node, n));
    ctn_span_t block[CTN_EAGER_ROWS_MEMBERS];
    for (uint32_t i = 0; i < n; i++) {
        block[i] = ctn_blocks_at(x->send, member[i].rank);
    }
    ctn_put_t put = {
        .offset = offset_of(op, topo, to, slot, bytes),
        .word = ctn_slot_word_offset(op->sequence, to, op->seq, slot, 0),
        .value = ctn_flag(op->seq, CTN_AGGREGATE_FLAG | x->send->bytes)};
    ctn_span_cursor_t cursor = {block, 0};
    catena_status_t status =
        ctn_exec_connect(op->exec, to.process, &put.endpoint);
    return status == CATENA_OK ? ctn_put_spans(op, &put, &cursor, bytes)
                               : status;
}

static bool all_sent(const ctn_aggregate_t *x)
{
    return x->sent + 1 == x->topo->nodes;
}

/** Send to the other nodes, beginning with the one after this node. 1: sent to
 * some, 0: to none, < 0: status. */
static int send_all(ctn_op_t *op, ctn_aggregate_t *x)
{
    int moved = 0;
    while (!all_sent(x)) {
        uint32_t node = x->topo->node_index + x->sent + 1;
        int sent = send_to(
            op, x, node < x->topo->nodes ? node : node - x->topo->nodes);
        if (sent <= 0) {
            return sent < 0 ? sent : moved;
        }
        x->sent++;
        moved = 1;
    }
    return moved;
}

/* ---- receiving ---- */

static bool all_arrived(const ctn_aggregate_t *x)
{
    return x->awaited == messages(x);
}

/** Whether a slot holds a message of this operation; its blocks may have any
 * length. */
static bool has_arrived(const ctn_op_t *op, const ctn_slot_t *slot)
{
    uint64_t word = ctn_word_load(&slot->word[0]);
    return ctn_flag_matches(word, op->seq) &&
           (ctn_flag_count(word) & CTN_AGGREGATE_FLAG) != 0;
}

bool ctn_aggregate_check_mismatch(const ctn_op_t *op, uint64_t bytes)
{
    for (unsigned i = 0; i < CTN_SLOTS; i++) {
        const ctn_slot_t *slot = ctn_op_slot(op, i);
        uint64_t found =
            ctn_flag_count(ctn_word_load(&slot->word[0])) & ~CTN_AGGREGATE_FLAG;
        if (has_arrived(op, slot) && found != bytes) {
            ctn_error(op->exec->log,
                      "alltoall: some ranks have blocks of %llu bytes, this "
                      "rank has another length; all ranks must have the same",
                      (unsigned long long)found);
            (void)ctn_exec_abort(op->exec, CATENA_ERR_ARG);
            return true;
        }
    }
    return false;
}

/** Check for the messages to this member. When all have arrived, notify the
 * node by this member's word `departed`, which the exchange on the node does
 * not use.
 */
static void poll_arrivals(ctn_op_t *op, ctn_aggregate_t *x)
{
    const ctn_topo_t *topo = x->topo;
    uint32_t me = ctn_topo_local_rank(topo);
    for (; !all_arrived(x); x->awaited++) {
        const ctn_member_t *from = sender(x, me, x->awaited);
        if (from != NULL &&
            !has_arrived(op, ctn_op_slot(op, slot_of(x, x->awaited)))) {
            op->waits_for = from->rank;
            return;
        }
    }
    ctn_exec_post(op->exec, ctn_node_departed(&topo->node_area, op->seq, me),
                  ctn_flag64(op->seq));
}

/** Copy this member's block out of each message that member i received. */
static void unpack_from(ctn_op_t *op, ctn_aggregate_t *x, uint32_t i)
{
    const ctn_topo_t *topo = x->topo;
    size_t bytes = x->receive->bytes;
    size_t message_bytes = ctn_topo_local_size(topo) * bytes;
    ctn_address_t where = ctn_topo_local(topo, i)->address;
    for (uint32_t number = 0; number < messages(x); number++) {
        const ctn_member_t *from = sender(x, i, number);
        if (from == NULL) {
            continue;
        }
        unsigned slot = slot_of(x, number);
        uint64_t at = offset_of(op, topo, where, slot, message_bytes);
        const uint64_t *word =
            ctn_pointer(topo->peer[i], ctn_slot_word_offset(op->sequence, where,
                                                            op->seq, slot, 0));
        uint32_t found =
            ctn_flag_count(ctn_word_load(word)) & ~CTN_AGGREGATE_FLAG;
        if (found != bytes) {
            x->status = ctn_message_report_length(
                op->exec, "alltoall", from->rank, topo->group->chain.place.rank,
                found, bytes);
            continue;
        }
        const unsigned char *message = ctn_pointer(topo->peer[i], at);
        ctn_span_t block = ctn_blocks_at(x->receive, from->rank);
        ctn_span_write(op->exec, &block, 0, bytes,
                       message + ctn_topo_local_rank(topo) * bytes);
    }
}

/** Whether all messages to member i of the node have arrived. */
static bool has_all(const ctn_op_t *op, const ctn_aggregate_t *x, uint32_t i)
{
    return i == ctn_topo_local_rank(x->topo)
               ? all_arrived(x)
               : ctn_word_load(ctn_node_departed(&x->topo->node_area, op->seq,
                                                 i)) == ctn_flag64(op->seq);
}

/** Whether the network still reads this member's blocks. */
static bool still_sends(const ctn_op_t *op, const ctn_aggregate_t *x)
{
    return !all_sent(x) || op->pending != 0;
}

/** Copy this member's blocks out of the messages that have arrived. In place,
 * none may be overwritten before all of them have been sent. */
static bool unpack(ctn_op_t *op, ctn_aggregate_t *x)
{
    bool moved = false;
    if (x->in_place && still_sends(op, x)) {
        return false;
    }
    for (uint64_t left = x->open; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        if (has_all(op, x, i)) {
            unpack_from(op, x, i);
            x->open &= ~(UINT64_C(1) << i);
            moved = true;
        } else if (all_arrived(x)) {
            op->waits_for = ctn_topo_local(x->topo, i)->rank;
        }
    }
    return moved;
}

ctn_step_t ctn_aggregate_advance(ctn_op_t *op, ctn_aggregate_t *x)
{
    int sent = all_sent(x) ? 0 : send_all(op, x);
    if (sent < 0) {
        return ctn_op_fail(op, (catena_status_t)sent);
    }
    if (!all_arrived(x)) {
        poll_arrivals(op, x);
    }
    bool moved = unpack(op, x) || sent > 0;
    bool with_network = still_sends(op, x) || ctn_staging_busy(op);
    if (!with_network && all_arrived(x)) {
        if (x->open == 0) {
            return CTN_STEP_NEXT;
        }
        ctn_op_set_network(op,
                           false); /* only members of the node are missing */
    }
    if (!moved && op->exec->peer_checks != x->peer_checks) {
        x->peer_checks = op->exec->peer_checks;
        (void)ctn_aggregate_check_mismatch(op, x->receive->bytes);
    }
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}
