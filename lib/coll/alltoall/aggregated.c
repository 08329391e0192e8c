/* Aggregates of the direct alltoall (exec/aggregate.h). The members of a node
 * form teams. The blocks of a team for all members of another node are one
 * aggregate, and all members of that node read it in place. A team is the whole
 * node unless the blocks are so long that the aggregate would not be short:
 * then each member is a team. 32 members on 4 nodes, 8 B: 12 messages instead
 * of 768.
 *
 * Each node numbers the aggregates that it receives, and in the same way those
 * that it sends: by the other node, then by the sending team. Member i of n
 * owns the areas of the numbers i, i + n, i + 2n ..., so that the members
 * receive equal shares. An area is a slot of the owner, with eager buffers if
 * the aggregate does not fit it. When all aggregates of a member have arrived,
 * it sets one flag for the node.
 *
 * Slots and flags are reused by generation (exec/generations.h). A member has
 * read all aggregates of its node, and its own have left their areas, when its
 * operation is complete. So no message is needed to learn that an area is free.
 */

#include "coll/alltoall/aggregated.h"

#include "coll/alltoall/pairwise.h"
#include "core/tiny.h"
#include "exec/aggregate.h"
#include "exec/slot.h"

/** The longest aggregate. At this length one aggregate of a node is still
 * faster than one of each member: 4 ranks on each of 2 hosts, 2 cores, 4 KiB:
 * 129 us, of each member 160. */
#define MOST_BYTES CTN_PICK(65536u, 2048u)

/* The words of pairwise rounds in the same slots never have the aggregates'
 * bit. */
_Static_assert((uint64_t)CTN_PAIRWISE_TURNS << 20 <= CTN_AGGREGATE_FLAG,
               "turns leave the highest bit of a count");
_Static_assert(MOST_BYTES <= CTN_STAGING_BYTES &&
                   MOST_BYTES <= CTN_AGGREGATE_BLOCK_BYTES &&
                   CTN_EAGER_ROWS_MEMBERS * CTN_EAGER_ROWS_NODE_BYTES <=
                       CTN_EAGER_ROWS_BYTES,
               "aggregates can be packed, and small blocks are in rows");

/* ---- layout ---- */

/** Areas for each number: one for what arrives; teams of several members have
 * another one behind it, for what they send. */
static uint32_t areas(const ctn_aggregated_t *x)
{
    return x->team > 1 ? 2 : 1;
}

/** Set the layout for teams of so many members. False: their aggregates are too
 * long, or one member has too few slots for them. */
static bool set_teams(ctn_aggregated_t *x, uint32_t team)
{
    const ctn_member_table_t *table = &x->topo->member_table;
    size_t bytes = x->send->bytes;
    size_t longest = (size_t)team * table->most * bytes;
    size_t eager = ctn_group_eager_bytes(x->topo->group);
    if (longest > MOST_BYTES) {
        return false;
    }
    x->team = team;
    x->each = (table->most + team - 1) / team;
    x->eager = longest > CTN_INLINE_BYTES;
    x->span = x->eager ? (uint32_t)((longest + eager - 1) / eager) : 0;
    /* The blocks within a node need no slots if they use eager rows on every
     * node. Their limit is lowest for many members with a core each. But
     * the slots for words do not depend on the length, so that members with
     * different lengths find each other's words. */
    x->words = table->most;
    x->first = ctn_eager_rows_fit(bytes, CTN_EAGER_ROWS_MEMBERS, false)
                   ? 0
                   : table->most;
    uint64_t numbers = (x->topo->nodes - 1) * (uint64_t)x->each;
    uint64_t most = (numbers + table->least - 1) / table->least * areas(x);
    return x->words + most <= CTN_SLOTS &&
           x->first + most * x->span <= CTN_PAIRWISE_EAGER_SLOTS;
}

bool ctn_aggregated_set(ctn_aggregated_t *x)
{
    uint32_t most = x->topo->member_table.most;
    return x->topo->nodes > 1 && x->send->bytes <= MOST_BYTES && most > 1 &&
           most <= CTN_EAGER_ROWS_MEMBERS &&
           (set_teams(x, most) || set_teams(x, 1));
}

/** Members of a team of a node with n members; 0: there is no such team. */
static uint32_t members_of_team(const ctn_aggregated_t *x, uint32_t n,
                                uint32_t team)
{
    uint32_t begin = team * x->team;
    uint32_t left = begin < n ? n - begin : 0;
    return left < x->team ? left : x->team;
}

/** Offset of the word of area `index` of a member, whose control block is at
 * `at`, in its arena. */
static uint64_t word_offset(const ctn_op_t *op, const ctn_aggregated_t *x,
                            ctn_address_t at, uint32_t index)
{
    return ctn_slot_word_offset(op->sequence, at, op->seq, x->words + index, 0);
}

/** The same of the data of an aggregate of `bytes`. */
static uint64_t data_offset(const ctn_op_t *op, const ctn_aggregated_t *x,
                            ctn_address_t at, uint32_t index, size_t bytes)
{
    return bytes <= CTN_INLINE_BYTES
               ? ctn_slot_data_offset(op->sequence, at, op->seq,
                                      x->words + index)
               : at.offset + ctn_group_eager(x->topo->group, op->seq,
                                             x->first + index * x->span);
}

/** Memory of member i of this node. */
static void *memory_at(const ctn_topo_t *topo, uint32_t i, uint64_t offset)
{
    return ctn_pointer(topo->peer[i], offset);
}

/** How many numbers this node has for what it receives, and for what it sends;
 * some have no team. */
static uint32_t numbers(const ctn_aggregated_t *x)
{
    return (x->topo->nodes - 1) * x->each;
}

/** How many of them member i of this node owns. */
static uint32_t numbers_of(const ctn_aggregated_t *x, uint32_t i)
{
    uint32_t n = ctn_topo_local_size(x->topo);
    return i < numbers(x) ? (numbers(x) - i + n - 1) / n : 0;
}

catena_status_t ctn_aggregated_begin(const ctn_op_t *op, ctn_aggregated_t *x)
{
    const ctn_topo_t *topo = x->topo;
    x->peer_checks = op->exec->peer_checks;
    x->status = CATENA_OK;
    x->sent = 0;
    x->awaited = 0;
    x->open = 0;
    for (uint32_t i = 0; i < ctn_topo_local_size(topo); i++) {
        x->open |= (uint64_t)(numbers_of(x, i) > 0) << i;
    }
    uint32_t count = numbers_of(x, ctn_topo_local_rank(topo)) * areas(x);
    /* Other members write these slots, too: mark them as used. */
    (void)ctn_op_slot(op, x->words + count - (count > 0));
    return x->eager
               ? ctn_group_take_eager(topo->group, x->first + count * x->span)
               : CATENA_OK;
}

/* ---- sending ---- */

/** The aggregate of this member's team for a node of n members. */
static catena_status_t outgoing(const ctn_op_t *op, const ctn_aggregated_t *x,
                                uint32_t node, uint32_t n, ctn_aggregate_t *out)
{
    const ctn_topo_t *topo = x->topo;
    uint32_t here = ctn_topo_local_size(topo);
    uint32_t team = ctn_topo_local_rank(topo) / x->team;
    uint32_t from = topo->node_index;
    out->number = op->seq;
    out->contributors = members_of_team(x, here, team);
    out->blocks = out->contributors * n;
    size_t bytes = out->blocks * x->send->bytes;
    if (out->contributors > 1) {
        uint32_t number = (node - (node > from)) * x->each + team;
        uint32_t owner = number % here;
        uint32_t index = number / here * areas(x) + 1;
        ctn_address_t at = ctn_topo_local(topo, owner)->address;
        out->word = memory_at(topo, owner, word_offset(op, x, at, index));
        out->data =
            memory_at(topo, owner, data_offset(op, x, at, index, bytes));
    }
    uint32_t number = (from - (from > node)) * x->each + team;
    uint32_t index = number / n * areas(x);
    const ctn_member_table_t *table = &topo->member_table;
    ctn_address_t to = table->member[table->first[node] + number % n].address;
    out->to = (ctn_put_t){.offset = data_offset(op, x, to, index, bytes),
                          .word = word_offset(op, x, to, index)};
    return ctn_exec_connect(op->exec, to.process, &out->to.endpoint);
}

/** Contribute the blocks for a node. 1: done, 0: the network still uses all
 * staging buffers, < 0: status. */
static int contribute(ctn_op_t *op, const ctn_aggregated_t *x, uint32_t node)
{
    const ctn_member_table_t *table = &x->topo->member_table;
    const ctn_member_t *member = &table->member[table->first[node]];
    uint32_t n = ctn_member_table_count(table, node);
    ctn_aggregate_t out;
    catena_status_t status = outgoing(op, x, node, n, &out);
    ctn_span_t block[CTN_EAGER_ROWS_MEMBERS];
    for (uint32_t i = 0; i < n; i++) {
        block[i] = ctn_blocks_at(x->send, member[i].rank);
    }
    if (status != CATENA_OK) {
        return status;
    }
    if (out.contributors == 1) {
        return ctn_aggregate_send_alone(op, &out, block, x->send->bytes);
    }
    uint32_t first = ctn_topo_local_rank(x->topo) % x->team * n;
    for (uint32_t i = 0; i < n; i++) {
        ctn_aggregate_add(op, &out, first + i, &block[i]);
    }
    status = ctn_aggregate_join(op, &out, x->send->bytes);
    return status == CATENA_OK ? 1 : status;
}

static bool all_sent(const ctn_aggregated_t *x)
{
    return x->sent + 1 == x->topo->nodes;
}

/** Contribute to the aggregates for the other nodes, beginning with the one
 * after this node. 1: to some, 0: to none, < 0: status. */
static int contribute_all(ctn_op_t *op, ctn_aggregated_t *x)
{
    int moved = 0;
    while (!all_sent(x)) {
        uint32_t node = x->topo->node_index + x->sent + 1;
        int sent = contribute(
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

/** An aggregate that arrives at this node. */
typedef struct alltoall_arrival {
    const ctn_member_t *from; /* [members]: the contributors */
    uint32_t members;         /* 0: there is no such team */
    uint32_t area;            /* of the owner */
} alltoall_arrival_t;

/** Aggregate `index` of those that member i receives. */
static alltoall_arrival_t arrival_at(const ctn_aggregated_t *x, uint32_t i,
                                     uint32_t index)
{
    const ctn_member_table_t *table = &x->topo->member_table;
    uint32_t number = i + index * ctn_topo_local_size(x->topo);
    uint32_t team = number % x->each;
    uint32_t node = number / x->each;
    node += node >= x->topo->node_index;
    uint32_t n = ctn_member_table_count(table, node);
    return (alltoall_arrival_t){
        &table->member[table->first[node] + team * x->team],
        members_of_team(x, n, team), index * areas(x)};
}

static bool all_arrived(const ctn_aggregated_t *x)
{
    return x->awaited == numbers_of(x, ctn_topo_local_rank(x->topo));
}

/** Check for the aggregates that this member receives. When all have arrived,
 * notify the node by this member's word `departed`, which the exchange on the
 * node does not use. */
static void poll_arrivals(ctn_op_t *op, ctn_aggregated_t *x)
{
    const ctn_topo_t *topo = x->topo;
    uint32_t me = ctn_topo_local_rank(topo);
    for (; !all_arrived(x); x->awaited++) {
        alltoall_arrival_t arrival = arrival_at(x, me, x->awaited);
        const ctn_slot_t *slot = ctn_op_slot(op, x->words + arrival.area);
        if (arrival.members > 0 &&
            !ctn_aggregate_matches(ctn_word_load(&slot->word[0]), op->seq)) {
            op->waits_for = arrival.from->rank;
            return;
        }
    }
    ctn_exec_post(op->exec, ctn_node_departed(&topo->node_area, op->seq, me),
                  ctn_flag64(op->seq));
}

/** Record and report blocks of another length than expected. */
CTN_COLD static void report_length(ctn_op_t *op, ctn_aggregated_t *x,
                                   uint32_t from, uint32_t found)
{
    if (found != CTN_AGGREGATE_MISMATCH) {
        (void)ctn_posted_report_length(x->topo, from, found, x->receive->bytes);
    } else if (x->status == CATENA_OK) {
        ctn_error(op->exec->log,
                  "alltoall: rank %u and other ranks of its node have blocks "
                  "of different lengths for rank %u; all ranks must have the "
                  "same",
                  from, x->topo->group->chain.place.rank);
    }
    x->status = CATENA_ERR_ARG;
}

/** Take this member's blocks of an aggregate that member i received. */
static void take_blocks(ctn_op_t *op, ctn_aggregated_t *x, uint32_t i,
                        const alltoall_arrival_t *arrival)
{
    const ctn_topo_t *topo = x->topo;
    uint32_t n = ctn_topo_local_size(topo);
    size_t bytes = x->receive->bytes;
    ctn_address_t at = ctn_topo_local(topo, i)->address;
    uint32_t found = ctn_aggregate_bytes(ctn_word_load(
        memory_at(topo, i, word_offset(op, x, at, arrival->area))));
    const unsigned char *data = memory_at(
        topo, i,
        data_offset(op, x, at, arrival->area, arrival->members * n * bytes));
    for (uint32_t k = 0; k < arrival->members; k++) {
        uint32_t from = arrival->from[k].rank;
        ctn_span_t block = ctn_blocks_at(x->receive, from);
        if (found == bytes) {
            ctn_span_write(op->exec, &block, 0, bytes,
                           data + (k * n + ctn_topo_local_rank(topo)) * bytes);
        } else {
            report_length(op, x, from, found);
        }
    }
}
/** Take this member's blocks of all aggregates that member i received. */
static void take_all(ctn_op_t *op, ctn_aggregated_t *x, uint32_t i)
{
    for (uint32_t index = 0; index < numbers_of(x, i); index++) {
        alltoall_arrival_t arrival = arrival_at(x, i, index);
        if (arrival.members > 0) {
            take_blocks(op, x, i, &arrival);
        }
    }
}

/** Whether all aggregates of member i of the node have arrived. */
static bool has_all(const ctn_op_t *op, const ctn_aggregated_t *x, uint32_t i)
{
    return i == ctn_topo_local_rank(x->topo)
               ? all_arrived(x)
               : ctn_word_load(ctn_node_departed(&x->topo->node_area, op->seq,
                                                 i)) == ctn_flag64(op->seq);
}

/** Whether the network still reads this member's blocks, or those of others
 * that it sends. */
static bool still_sends(const ctn_op_t *op, const ctn_aggregated_t *x)
{
    return !all_sent(x) || op->pending != 0;
}

/** Take this member's blocks of the aggregates that have arrived. In place,
 * none may be overwritten before all of them have been sent. */
static bool take_arrived(ctn_op_t *op, ctn_aggregated_t *x)
{
    bool moved = false;
    if (x->in_place && still_sends(op, x)) {
        return false;
    }
    for (uint64_t left = x->open; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        if (has_all(op, x, i)) {
            take_all(op, x, i);
            x->open &= ~(UINT64_C(1) << i);
            moved = true;
        } else if (all_arrived(x)) {
            op->waits_for = ctn_topo_local(x->topo, i)->rank;
        }
    }
    return moved;
}

/* ---- all ---- */

/** Some messages will never be sent, so no rank can complete the operation
 * for certain. */
CTN_COLD static void give_up_mismatch(ctn_op_t *op)
{
    ctn_error(op->exec->log,
              "alltoall: this rank has blocks of another length than "
              "some ranks; all ranks must have the same");
    op->status = ctn_op_give_up(op, CATENA_ERR_ARG);
}

void ctn_aggregated_check_mismatch(ctn_op_t *op, const ctn_topo_t *topo,
                                   uint64_t bytes)
{
    uint32_t members = ctn_topo_local_size(topo);
    for (uint32_t i = 0; i < members * CTN_SLOTS; i++) {
        ctn_address_t at = ctn_topo_local(topo, i / CTN_SLOTS)->address;
        uint64_t word = ctn_word_load(memory_at(
            topo, i / CTN_SLOTS,
            ctn_slot_word_offset(op->sequence, at, op->seq, i % CTN_SLOTS, 0)));
        if (ctn_aggregate_matches(word, op->seq) &&
            ctn_aggregate_bytes(word) != bytes) {
            give_up_mismatch(op);
            return;
        }
    }
}

/** Whether all aggregates to which this member has contributed are complete. */
static bool all_complete(const ctn_op_t *op, const ctn_aggregated_t *x)
{
    for (uint32_t node = 0; node < x->topo->nodes; node++) {
        ctn_aggregate_t out;
        uint32_t n = ctn_member_table_count(&x->topo->member_table, node);
        if (node == x->topo->node_index ||
            outgoing(op, x, node, n, &out) != CATENA_OK ||
            out.contributors == 1) {
            continue;
        }
        uint64_t word = ctn_word_load(out.word);
        if (!ctn_aggregate_matches(word, op->seq) ||
            ctn_aggregate_contributions(word) != out.contributors) {
            return false;
        }
    }
    return true;
}

ctn_step_t ctn_aggregated_end_mismatch(ctn_op_t *op, ctn_aggregated_t *x)
{
    if (all_complete(op, x)) {
        return CTN_STEP_NEXT;
    }
    if (op->exec->peer_checks != x->peer_checks) {
        x->peer_checks = op->exec->peer_checks;
        give_up_mismatch(op);
    }
    return CTN_STEP_WAIT;
}

ctn_step_t ctn_aggregated_advance(ctn_op_t *op, ctn_aggregated_t *x)
{
    int sent = all_sent(x) ? 0 : contribute_all(op, x);
    if (sent < 0) {
        return ctn_op_fail(op, (catena_status_t)sent);
    }
    if (!all_arrived(x)) {
        poll_arrivals(op, x);
    }
    bool moved = take_arrived(op, x) || sent > 0;
    bool with_network = still_sends(op, x) || ctn_staging_busy(op);
    if (!with_network && all_arrived(x)) {
        if (x->open == 0) {
            x->peer_checks = op->exec->peer_checks;
            return CTN_STEP_NEXT;
        }
        ctn_op_set_network(op,
                           false); /* only members of the node are missing */
    }
    if (!moved && op->exec->peer_checks != x->peer_checks) {
        x->peer_checks = op->exec->peer_checks;
        ctn_aggregated_check_mismatch(op, x->topo, x->receive->bytes);
    }
    return moved ? CTN_STEP_MOVED : CTN_STEP_WAIT;
}
