/* P2P-7: scatter over messages, the reverse of gather: aggregates of short
 * blocks (aggregate.h) go down the tree, and the root puts a long block
 * directly to its place when its owner has sent a CTS. Rounds, messages and
 * memory as for gather. The root sends up to 4 long blocks at once, and has a
 * slot for CTS for each of these. It assigns these slots: to the owners of the
 * first 4 long blocks in the aggregate, to each further owner by a message when
 * a slot is free. */

#include "coll/bcol/p2p/aggregate.h"

#include <string.h>

#include "exec/slot.h"

/* Slots after those for aggregates, on the owner of a long block: one counts
 * fragments, in the other the root's message says which slot it has assigned.
 * The root uses the slots from the same number on for CTS. */
enum { FRAGMENTS, ASSIGNED };

/** Not assigned yet. */
enum { NO_SLOT = 255 };

/** State of the operation. */
typedef struct p2p_scatter {
    ctn_p2p_aggregation_t base; /* first; `block`: at the root those that it
                                   sends, at another member its own;
                                   `aggregate`: at the root, of all blocks but
                                   its own */
    /* of the root */
    uint32_t long_blocks; /* number of those begun so far */
    uint32_t place; /* in the tree: the next long block is there or further */
    /* of other members */
    ctn_receive_handle_t handle;    /* of the aggregate from the parent */
    ctn_p2p_aggregate_record_t own; /* this member's record; 0 bytes: its block
                                       is not long, or begun */
    /* of all: bytes sent to each child */
    size_t sent[CTN_P2P_AGGREGATE_CHILDREN];
} p2p_scatter_t;

static const ctn_sbgp_member_t *member_of(const p2p_scatter_t *scatter,
                                          uint32_t member)
{
    return ctn_p2p_aggregation_member(&scatter->base, member);
}

/** The root's record for a member. */
static ctn_p2p_aggregate_record_t block_of(const p2p_scatter_t *scatter,
                                           uint32_t member)
{
    const ctn_basic_coll_t *basic = scatter->base.call.basic;
    size_t bytes = basic->at[member + 1] - basic->at[member];
    return (ctn_p2p_aggregate_record_t){
        scatter->base.call.status == CATENA_OK || bytes == 0
            ? bytes
            : CTN_P2P_AGGREGATE_MISMATCH,
        (const unsigned char *)basic->in + basic->at[member], NO_SLOT};
}

static bool is_long(const p2p_scatter_t *scatter,
                    const ctn_p2p_aggregate_record_t *block)
{
    return block->bytes > scatter->base.limit &&
           block->bytes != CTN_P2P_AGGREGATE_MISMATCH;
}

static ctn_step_t begin(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    ctn_p2p_aggregation_begin(op);
    scatter->handle = (ctn_receive_handle_t){.data = NULL};
    scatter->own = (ctn_p2p_aggregate_record_t){.bytes = 0};
    scatter->long_blocks = 0;
    scatter->place = 1;
    return CTN_STEP_NEXT;
}

/* ---- aggregates ---- */

/** Send each child its subtree's part of an aggregate, the largest first. */
static catena_status_t send_aggregates(ctn_op_t *op, const unsigned char *at)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    const ctn_ktree_t *tree = &scatter->base.tree;
    for (unsigned i = 0; i < tree->children; i++) {
        const unsigned char *from = at;
        ctn_p2p_aggregate_record_t record;
        for (uint32_t n = ctn_ktree_child(tree, i).span; n > 0; n--) {
            at = ctn_p2p_aggregate_record_get(&scatter->base, at, &record);
        }
        scatter->sent[i] = (size_t)(at - from);
    }
    catena_status_t status = CATENA_OK;
    for (unsigned i = tree->children; i-- > 0 && status == CATENA_OK;) {
        uint32_t place = ctn_ktree_child(tree, i).place;
        at -= scatter->sent[i];
        op->exec->tally.rounds++;
        status = ctn_message_send_zcopy(
            op, member_of(scatter, ctn_ktree_member(tree, place))->memory, i, 0,
            at, scatter->sent[i]);
    }
    return status;
}

/** At the root: fill the aggregate with the records of all other members.
 * Assign slots for CTS to the first long blocks. */
static catena_status_t fill_aggregate(ctn_op_t *op, p2p_scatter_t *scatter)
{
    const ctn_p2p_aggregation_t *aggregation = &scatter->base;
    const ctn_ktree_t *tree = &aggregation->tree;
    size_t bytes = 0;
    for (uint32_t place = 1; place < tree->size; place++) {
        ctn_p2p_aggregate_record_t block =
            block_of(scatter, ctn_ktree_member(tree, place));
        bytes += ctn_p2p_aggregate_record_bytes(aggregation, block.bytes);
    }
    catena_status_t status = ctn_p2p_aggregate_make(op, bytes, 0);
    unsigned char *at = scatter->base.aggregate.memory;
    unsigned long_blocks = 0;
    for (uint32_t place = 1; place < tree->size && status == CATENA_OK;
         place++) {
        ctn_p2p_aggregate_record_t block =
            block_of(scatter, ctn_ktree_member(tree, place));
        if (is_long(scatter, &block) && long_blocks < CTN_P2P_LONG_BLOCKS) {
            block.slot = aggregation->slots + long_blocks++;
        }
        at = ctn_p2p_aggregate_record_put(op->exec, aggregation, at, block);
    }
    return status;
}

/** Copy this member's block to its receive buffer, if the record contains it;
 * check its length in any case. */
static void take_own(ctn_op_t *op, p2p_scatter_t *scatter,
                     const ctn_p2p_aggregate_record_t *own)
{
    const ctn_basic_coll_t *basic = scatter->base.call.basic;
    if (own->bytes == CTN_P2P_AGGREGATE_MISMATCH) {
        scatter->base.status = CATENA_ERR_ARG;
    } else if (ctn_p2p_check_length(op, &scatter->base.status, basic->root,
                                    own->bytes, basic->bytes) &&
               own->data != NULL && own->bytes > 0 && own->data != basic->out) {
        ctn_exec_copy(op->exec, basic->out, own->data, own->bytes);
    }
}

/** At the root: send the aggregates. */
static ctn_step_t send_all(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    const ctn_basic_coll_t *basic = scatter->base.call.basic;
    if (scatter->base.tree.place > 0) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = fill_aggregate(op, scatter);
    if (status == CATENA_OK) {
        status = send_aggregates(op, scatter->base.aggregate.memory);
    }
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    ctn_p2p_aggregate_record_t own = block_of(scatter, basic->root);
    take_own(op, scatter, &own);
    return CTN_STEP_NEXT;
}

/** At other members: receive the aggregate and forward its parts. */
static ctn_step_t receive(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    const ctn_ktree_t *tree = &scatter->base.tree;
    if (tree->place == 0) {
        return CTN_STEP_NEXT;
    }
    const ctn_sbgp_member_t *parent = member_of(scatter, tree->parent);
    op->waits_for = parent->rank;
    ctn_step_t step = ctn_message_receive(op, parent->memory, tree->index, 0,
                                          &scatter->handle);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    op->exec->tally.rounds++;
    catena_status_t status = send_aggregates(
        op, ctn_p2p_aggregate_record_get(&scatter->base, scatter->handle.data,
                                         &scatter->own));
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    take_own(op, scatter, &scatter->own);
    return CTN_STEP_NEXT;
}

/* ---- long blocks ---- */

/** The slot for this member's CTS at the root. NO_SLOT: not assigned yet. */
static unsigned slot_at_root(const ctn_op_t *op, const p2p_scatter_t *scatter)
{
    if (scatter->own.slot != NO_SLOT) {
        return scatter->own.slot;
    }
    const ctn_slot_t *assigned =
        ctn_op_slot(op, scatter->base.slots + ASSIGNED);
    uint64_t word = ctn_word_load(&assigned->word[0]);
    return ctn_flag_matches(word, op->seq) ? ctn_flag_count(word) : NO_SLOT;
}

/** At other members: receive this member's block if it is long. */
static ctn_step_t receive_block(ctn_op_t *op, p2p_scatter_t *scatter)
{
    const ctn_basic_coll_t *basic = scatter->base.call.basic;
    size_t bytes = scatter->own.bytes;
    op->waits_for = member_of(scatter, basic->root)->rank;
    if (scatter->own.data == NULL && bytes > 0 &&
        bytes != CTN_P2P_AGGREGATE_MISMATCH) {
        unsigned slot = slot_at_root(op, scatter);
        if (slot == NO_SLOT) {
            return CTN_STEP_WAIT;
        }
        scatter->own.bytes = 0;
        ctn_step_t step =
            scatter->base.status == CATENA_OK
                ? ctn_p2p_long_block_receive(op, 0, basic->root,
                                             scatter->base.slots + FRAGMENTS,
                                             slot, basic->out, bytes)
                : ctn_p2p_long_block_refuse(op, basic->root, slot);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
    }
    return ctn_p2p_long_blocks_advance(op);
}

/** Begin to send the next long block, as entry `index`, unless there is none.
 */
static catena_status_t begin_block(ctn_op_t *op, p2p_scatter_t *scatter,
                                   unsigned index)
{
    const ctn_ktree_t *tree = &scatter->base.tree;
    catena_status_t status = CATENA_OK;
    bool begun = false;
    for (; scatter->place < tree->size && !begun; scatter->place++) {
        uint32_t member = ctn_ktree_member(tree, scatter->place);
        ctn_p2p_aggregate_record_t block = block_of(scatter, member);
        begun = is_long(scatter, &block);
        if (!begun) {
            continue;
        }
        unsigned slot = scatter->base.slots + index;
        if (scatter->long_blocks++ >= CTN_P2P_LONG_BLOCKS) {
            ctn_word_store(&ctn_p2p_cts(op, slot)->word, 0);
            status = ctn_op_send_count(op, member_of(scatter, member)->memory,
                                       scatter->base.slots + ASSIGNED, slot,
                                       NULL, 0);
        }
        ctn_p2p_long_block_send(op, index, member, slot, block.data,
                                block.bytes);
    }
    return status;
}

/** At the root. NEXT: all long blocks are sent. */
static ctn_step_t send_blocks(ctn_op_t *op, p2p_scatter_t *scatter)
{
    catena_status_t status = CATENA_OK;
    for (unsigned i = 0; i < CTN_P2P_LONG_BLOCKS && status == CATENA_OK; i++) {
        if (scatter->base.block[i].span.bytes == 0) {
            status = begin_block(op, scatter, i);
        }
    }
    return status == CATENA_OK ? ctn_p2p_long_blocks_advance(op)
                               : ctn_op_fail(op, status);
}

static ctn_step_t move_blocks(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    return scatter->base.tree.place == 0 ? send_blocks(op, scatter)
                                         : receive_block(op, scatter);
}

/* ---- the end ---- */

static ctn_step_t end(ctn_op_t *op)
{
    const p2p_scatter_t *scatter = ctn_op_state(op);
    for (unsigned i = 0; i < scatter->base.tree.children; i++) {
        if (!ctn_message_zcopy_done(op, i, 0, scatter->sent[i])) {
            return CTN_STEP_WAIT;
        }
    }
    return ctn_p2p_end(op, scatter->base.status);
}

static void finish(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    if (op->status == CATENA_OK) { /* else children may still read from it */
        ctn_receive_handle_release(op, &scatter->handle);
    }
    ctn_p2p_aggregation_finish(op);
}

static const ctn_phase_t phases[] = {
    {"begin", begin},     {"send", send_all},
    {"receive", receive}, {"long blocks", move_blocks},
    {"end", end},         {NULL, NULL}};

const ctn_algorithm_t ctn_p2p_scatter = {
    .name = "p2p/scatter",
    .state_bytes = sizeof(p2p_scatter_t),
    .phases = phases,
    .finish = finish,
};
