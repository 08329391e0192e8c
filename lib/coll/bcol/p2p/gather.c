/* P2P-6: gather over messages. Aggregates of short blocks (aggregate.h) go up a
 * tree: binomial, of radix 4, or with all members as children of the root. The
 * tree is that of Thakur, Rabenseifner, Gropp: Optimization of collective
 * communication operations in MPICH, IJHPCA 19 (1), 2005, section 3. A member
 * with a long block puts it directly to its place at the root, when the root
 * has sent a CTS. Rounds: the depth of the tree; for long blocks two more.
 * Messages: one per member; for a long block a CTS, and one for each 64 KiB of
 * it. Memory: on each member, the short blocks of its subtree. The length of a
 * block need be known only to the root and to the member that sends it. */

#include "coll/bcol/p2p/aggregate.h"

#include <string.h>

/** A child, and what was received from it. */
typedef struct child {
    ctn_receive_handle_t handle; /* of its aggregate */
    const unsigned char *at;     /* the next record; NULL: none received yet */
    uint32_t place; /* in the tree, of the member whose record that is */
    uint32_t end;   /* the place after the last one of the child's subtree */
} child_t;

/** State of the operation. */
typedef struct p2p_gather {
    ctn_p2p_aggregation_t base; /* first; `block`: at the root those that it
                                   receives, at another member its own */
    child_t child[CTN_P2P_AGGREGATE_CHILDREN];
} p2p_gather_t;

/** Where a member's block lies in the root's receive buffer. */
static unsigned char *block_at(const ctn_basic_coll_t *basic, uint32_t member)
{
    return (unsigned char *)basic->out + basic->at[member];
}

/** Whether the block of a member has the expected length. If not, it is not
 * copied. */
static bool check_length(ctn_op_t *op, p2p_gather_t *gather, uint32_t member,
                         size_t bytes)
{
    const size_t *at = &gather->base.call.basic->at[member];
    return ctn_p2p_check_length(op, &gather->base.status, member, bytes,
                                at[1] - at[0]);
}

/** At the root: copy its own block, unless it is in place. */
static void copy_own(ctn_op_t *op, p2p_gather_t *gather)
{
    const ctn_basic_coll_t *basic = gather->base.call.basic;
    unsigned char *target = block_at(basic, basic->root);
    if (check_length(op, gather, basic->root, basic->bytes) &&
        basic->bytes > 0 && basic->in != target) {
        ctn_exec_copy(op->exec, target, basic->in, basic->bytes);
    }
}

static ctn_step_t begin(ctn_op_t *op)
{
    p2p_gather_t *gather = ctn_op_state(op);
    const ctn_p2p_call_t *call = &gather->base.call;
    const ctn_ktree_t *tree = &gather->base.tree;
    ctn_p2p_aggregation_begin(op);
    gather->base.status = call->status;
    for (unsigned i = 0; i < tree->children; i++) {
        ctn_branch_t branch = ctn_ktree_child(tree, i);
        gather->child[i] =
            (child_t){.place = branch.place, .end = branch.place + branch.span};
    }
    if (tree->place == 0) {
        copy_own(op, gather);
    }
    return CTN_STEP_NEXT;
}

/** Receive the aggregate of a child. */
static ctn_step_t receive_aggregate(ctn_op_t *op, p2p_gather_t *gather,
                                    unsigned index)
{
    child_t *child = &gather->child[index];
    const ctn_sbgp_member_t *member = ctn_p2p_aggregation_member(
        &gather->base, ctn_ktree_member(&gather->base.tree, child->place));
    if (child->at != NULL) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step =
        ctn_message_receive(op, member->memory, index, 0, &child->handle);
    if (step == CTN_STEP_NEXT) {
        child->at = child->handle.data;
        op->exec->tally.rounds++;
    } else {
        op->waits_for = member->rank;
    }
    return step;
}

/* ---- the root ---- */

/** Send a CTS for a long block. WAIT: CTN_P2P_LONG_BLOCKS are under way. */
static ctn_step_t request_block(ctn_op_t *op, p2p_gather_t *gather,
                                uint32_t member, size_t bytes)
{
    unsigned slots = gather->base.slots;
    for (unsigned i = 0; i < CTN_P2P_LONG_BLOCKS; i++) {
        if (gather->base.block[i].span.bytes == 0) {
            return ctn_p2p_long_block_receive(
                op, i, member, slots + i, slots,
                block_at(gather->base.call.basic, member), bytes);
        }
    }
    return CTN_STEP_WAIT;
}

/** Copy a short block to its place, or send a CTS for a long one. A block of
 * the wrong length is dropped. */
static ctn_step_t take(ctn_op_t *op, p2p_gather_t *gather, uint32_t member,
                       const ctn_p2p_aggregate_record_t *record)
{
    if (record->bytes == CTN_P2P_AGGREGATE_MISMATCH) {
        gather->base.status = CATENA_ERR_ARG;
        return CTN_STEP_NEXT;
    }
    bool fits = check_length(op, gather, member, record->bytes);
    if (record->data == NULL) {
        return fits ? request_block(op, gather, member, record->bytes)
                    : ctn_p2p_long_block_refuse(op, member, gather->base.slots);
    }
    if (fits && record->bytes > 0) {
        ctn_exec_copy(op->exec, block_at(gather->base.call.basic, member),
                      record->data, record->bytes);
    }
    return CTN_STEP_NEXT;
}

/** Take the blocks of a child's aggregate. NEXT: the short ones are in place,
 * and a CTS was sent for each long one. */
static ctn_step_t unpack(ctn_op_t *op, p2p_gather_t *gather, child_t *child)
{
    while (child->place < child->end) {
        uint32_t member = ctn_ktree_member(&gather->base.tree, child->place);
        ctn_p2p_aggregate_record_t record;
        const unsigned char *next =
            ctn_p2p_aggregate_record_get(&gather->base, child->at, &record);
        ctn_step_t step = take(op, gather, member, &record);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        child->at = next;
        child->place++;
    }
    return CTN_STEP_NEXT;
}

/* ---- all ---- */

/** Receive from the children: the root takes the blocks of each aggregate as it
 * arrives, other members wait for the aggregates of all children. */
static ctn_step_t collect(ctn_op_t *op)
{
    p2p_gather_t *gather = ctn_op_state(op);
    const ctn_ktree_t *tree = &gather->base.tree;
    ctn_step_t result = ctn_p2p_long_blocks_advance(op);
    for (unsigned i = 0; i < tree->children && result != CTN_STEP_FAIL; i++) {
        child_t *child = &gather->child[i];
        uint32_t place = child->place;
        ctn_step_t step = place < child->end ? receive_aggregate(op, gather, i)
                                             : CTN_STEP_NEXT;
        if (step == CTN_STEP_NEXT && tree->place == 0) {
            step = unpack(op, gather, child);
        }
        if (step == CTN_STEP_FAIL || child->place > place) {
            result = step == CTN_STEP_FAIL ? step : CTN_STEP_MOVED;
        } else if (step == CTN_STEP_WAIT && result == CTN_STEP_NEXT) {
            result = step;
        }
    }
    return result;
}

/** Lay this member's record and the children's aggregates end to end. */
static catena_status_t fill_aggregate(ctn_op_t *op, p2p_gather_t *gather)
{
    const ctn_p2p_aggregation_t *aggregation = &gather->base;
    size_t own = gather->base.call.status == CATENA_OK
                     ? gather->base.call.basic->bytes
                     : CTN_P2P_AGGREGATE_MISMATCH;
    size_t bytes = ctn_p2p_aggregate_record_bytes(aggregation, own);
    for (unsigned i = 0; i < aggregation->tree.children; i++) {
        bytes += gather->child[i].handle.bytes;
    }
    catena_status_t status =
        ctn_p2p_aggregate_make(op, bytes, aggregation->tree.children);
    if (status != CATENA_OK) {
        return status;
    }
    unsigned char *at = ctn_p2p_aggregate_record_put(
        op->exec, aggregation, gather->base.aggregate.memory,
        (ctn_p2p_aggregate_record_t){own, gather->base.call.basic->in, 0});
    for (unsigned i = 0; i < aggregation->tree.children; i++) {
        ctn_receive_handle_t *handle = &gather->child[i].handle;
        memcpy(at, handle->data, handle->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, handle->bytes);
        at += handle->bytes;
        ctn_receive_handle_release(op, handle);
    }
    return CATENA_OK;
}

/** Send the aggregate to the parent, and begin to send this member's block to
 * the root if it is long. */
static ctn_step_t send_up(ctn_op_t *op)
{
    p2p_gather_t *gather = ctn_op_state(op);
    const ctn_p2p_aggregation_t *base = &gather->base;
    const ctn_basic_coll_t *basic = base->call.basic;
    if (base->tree.place == 0) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = fill_aggregate(op, gather);
    if (status == CATENA_OK) {
        op->exec->tally.rounds++;
        status = ctn_message_send_zcopy(
            op, ctn_p2p_aggregation_member(base, base->tree.parent)->memory,
            base->tree.index, 0, base->aggregate.memory, base->aggregate.bytes);
    }
    if (basic->bytes > base->limit && base->call.status == CATENA_OK) {
        ctn_p2p_long_block_send(op, 0, basic->root, base->slots, basic->in,
                                basic->bytes);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Send this member's block if it is long. */
static ctn_step_t send_block(ctn_op_t *op)
{
    const ctn_p2p_aggregation_t *base = ctn_op_state(op);
    op->waits_for =
        ctn_p2p_aggregation_member(base, base->call.basic->root)->rank;
    return ctn_p2p_long_blocks_advance(op);
}

static ctn_step_t end(ctn_op_t *op)
{
    p2p_gather_t *gather = ctn_op_state(op);
    const ctn_ktree_t *tree = &gather->base.tree;
    return tree->place == 0 ||
                   ctn_message_zcopy_done(op, tree->index, 0,
                                          gather->base.aggregate.bytes)
               ? ctn_p2p_end(op, gather->base.status)
               : CTN_STEP_WAIT;
}

static void finish(ctn_op_t *op)
{
    p2p_gather_t *gather = ctn_op_state(op);
    for (unsigned i = 0; i < gather->base.tree.children; i++) {
        ctn_receive_handle_release(op, &gather->child[i].handle);
    }
    ctn_p2p_aggregation_finish(op);
}

static const ctn_phase_t phases[] = {
    {"begin", begin},           {"collect", collect}, {"pass on", send_up},
    {"long block", send_block}, {"end", end},         {NULL, NULL}};

const ctn_algorithm_t ctn_p2p_gather = {
    .name = "p2p/gather",
    .state_bytes = sizeof(p2p_gather_t),
    .phases = phases,
    .finish = finish,
};
