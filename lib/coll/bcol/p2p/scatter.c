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
    ctn_p2p_call_t call; /* first */
    ctn_p2p_aggregation_t aggregation;
    catena_status_t status; /* that the operation will end with */
    /* of the root */
    ctn_p2p_aggregate_t aggregate; /* of all blocks but the root's */
    /* Long blocks being sent; 0 bytes: entry is free. */
    ctn_p2p_block_send_t out[CTN_P2P_LONG_BLOCKS];
    uint32_t long_blocks; /* number of those begun so far */
    uint32_t place; /* in the tree: the next long block is there or further */
    /* of other members */
    ctn_receive_handle_t handle;    /* of the aggregate from the parent */
    ctn_p2p_block_recv_t block;     /* this member's block, if long */
    ctn_p2p_aggregate_record_t own; /* this member's record */
    /* of all: bytes sent to each child */
    size_t sent[CTN_P2P_AGGREGATE_CHILDREN];
} p2p_scatter_t;

static ctn_address_t address_of(const p2p_scatter_t *scatter, uint32_t member)
{
    return scatter->call.p2p->module.sbgp->member[member].memory;
}

static int64_t rank_of(const p2p_scatter_t *scatter, uint32_t member)
{
    return scatter->call.p2p->module.sbgp->member[member].rank;
}

/** The root's record for a member. */
static ctn_p2p_aggregate_record_t block_of(const p2p_scatter_t *scatter,
                                           uint32_t member)
{
    const ctn_basic_coll_t *basic = scatter->call.basic;
    size_t bytes = basic->at[member + 1] - basic->at[member];
    return (ctn_p2p_aggregate_record_t){
        scatter->call.status == CATENA_OK || bytes == 0
            ? bytes
            : CTN_P2P_AGGREGATE_MISMATCH,
        (const unsigned char *)basic->in + basic->at[member], NO_SLOT};
}

static bool is_long(const p2p_scatter_t *scatter,
                    const ctn_p2p_aggregate_record_t *block)
{
    return block->bytes > scatter->aggregation.limit &&
           block->bytes != CTN_P2P_AGGREGATE_MISMATCH;
}

static ctn_step_t begin(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    ctn_p2p_begin(op);
    ctn_p2p_aggregation_set(&scatter->aggregation, &scatter->call);
    scatter->status = CATENA_OK;
    scatter->aggregate.memory = scatter->aggregate.inline_memory;
    scatter->aggregate.spare = false;
    scatter->handle = (ctn_receive_handle_t){.data = NULL};
    scatter->block = (ctn_p2p_block_recv_t){.block = {.bytes = 0}};
    scatter->own = (ctn_p2p_aggregate_record_t){.bytes = 0};
    for (unsigned i = 0; i < CTN_P2P_LONG_BLOCKS; i++) {
        scatter->out[i] = (ctn_p2p_block_send_t){.block = {.bytes = 0}};
    }
    scatter->long_blocks = 0;
    scatter->place = 1;
    return CTN_STEP_NEXT;
}

/* ---- aggregates ---- */

/** Send each child its subtree's part of an aggregate, the largest first. */
static catena_status_t send_aggregates(ctn_op_t *op, const unsigned char *at)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    const ctn_ktree_t *tree = &scatter->aggregation.tree;
    for (unsigned i = 0; i < tree->children; i++) {
        const unsigned char *from = at;
        ctn_p2p_aggregate_record_t record;
        for (uint32_t n = ctn_ktree_child(tree, i).span; n > 0; n--) {
            at = ctn_p2p_aggregate_record_get(&scatter->aggregation, at,
                                              &record);
        }
        scatter->sent[i] = (size_t)(at - from);
    }
    catena_status_t status = CATENA_OK;
    for (unsigned i = tree->children; i-- > 0 && status == CATENA_OK;) {
        uint32_t place = ctn_ktree_child(tree, i).place;
        at -= scatter->sent[i];
        op->exec->tally.rounds++;
        status = ctn_message_send_zcopy(
            op, address_of(scatter, ctn_ktree_member(tree, place)), i, 0, at,
            scatter->sent[i]);
    }
    return status;
}

/** At the root: fill the aggregate with the records of all other members.
 * Assign slots for CTS to the first long blocks. */
static catena_status_t fill_aggregate(ctn_op_t *op, p2p_scatter_t *scatter)
{
    const ctn_p2p_aggregation_t *aggregation = &scatter->aggregation;
    const ctn_ktree_t *tree = &aggregation->tree;
    size_t bytes = 0;
    for (uint32_t place = 1; place < tree->size; place++) {
        ctn_p2p_aggregate_record_t block =
            block_of(scatter, ctn_ktree_member(tree, place));
        bytes += ctn_p2p_aggregate_record_bytes(aggregation, block.bytes);
    }
    catena_status_t status =
        ctn_p2p_aggregate_make(op, &scatter->aggregate, bytes, 0);
    unsigned char *at = scatter->aggregate.memory;
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
    const ctn_basic_coll_t *basic = scatter->call.basic;
    if (own->bytes == CTN_P2P_AGGREGATE_MISMATCH) {
        scatter->status = CATENA_ERR_ARG;
    } else if (ctn_p2p_check_length(op, &scatter->status, basic->root,
                                    own->bytes, basic->bytes) &&
               own->data != NULL && own->bytes > 0 && own->data != basic->out) {
        ctn_exec_copy(op->exec, basic->out, own->data, own->bytes);
    }
}

/** At the root: send the aggregates. */
static ctn_step_t send_all(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    const ctn_basic_coll_t *basic = scatter->call.basic;
    if (scatter->aggregation.tree.place > 0) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = fill_aggregate(op, scatter);
    if (status == CATENA_OK) {
        status = send_aggregates(op, scatter->aggregate.memory);
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
    const ctn_ktree_t *tree = &scatter->aggregation.tree;
    if (tree->place == 0) {
        return CTN_STEP_NEXT;
    }
    op->waits_for = rank_of(scatter, tree->parent);
    ctn_step_t step = ctn_message_receive(op, address_of(scatter, tree->parent),
                                          tree->index, 0, &scatter->handle);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    op->exec->tally.rounds++;
    catena_status_t status = send_aggregates(
        op, ctn_p2p_aggregate_record_get(&scatter->aggregation,
                                         scatter->handle.data, &scatter->own));
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
        ctn_op_slot(op, scatter->aggregation.slots + ASSIGNED);
    uint64_t word = ctn_word_load(&assigned->word[0]);
    return ctn_flag_matches(word, op->seq) ? ctn_flag_count(word) : NO_SLOT;
}

/** Tell the root not to send this member's block. */
static ctn_step_t refuse_block(ctn_op_t *op, p2p_scatter_t *scatter,
                               unsigned slot)
{
    catena_status_t status = ctn_p2p_block_recv_refuse(
        op, address_of(scatter, scatter->call.basic->root), slot);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Receive this member's block if it is long. */
static ctn_step_t receive_block(ctn_op_t *op, p2p_scatter_t *scatter)
{
    const ctn_basic_coll_t *basic = scatter->call.basic;
    if (scatter->own.bytes == 0 || scatter->own.data != NULL ||
        scatter->own.bytes == CTN_P2P_AGGREGATE_MISMATCH) {
        return CTN_STEP_NEXT;
    }
    op->waits_for = rank_of(scatter, basic->root);
    if (scatter->block.block.bytes == 0) {
        unsigned slot = slot_at_root(op, scatter);
        if (slot == NO_SLOT) {
            return CTN_STEP_WAIT;
        }
        if (scatter->status != CATENA_OK) {
            return refuse_block(op, scatter, slot);
        }
        catena_status_t status = ctn_p2p_block_recv_post(
            op, &scatter->block, address_of(scatter, basic->root),
            scatter->aggregation.slots + FRAGMENTS, slot, basic->out,
            scatter->own.bytes);
        if (status ==
            CATENA_ERR_NO_MEMORY) { /* the root must not wait for it */
            scatter->status = status;
            scatter->block.block.bytes = 0;
            return refuse_block(op, scatter, slot);
        }
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return ctn_transfer_recv_block(op, &scatter->block.transfer,
                                   &scatter->block.block);
}

/** Begin to send the next long block, as entry `index` of scatter->out. NEXT:
 * there is none. */
static ctn_step_t begin_block(ctn_op_t *op, p2p_scatter_t *scatter,
                              unsigned index)
{
    const ctn_ktree_t *tree = &scatter->aggregation.tree;
    for (; scatter->place < tree->size; scatter->place++) {
        uint32_t member = ctn_ktree_member(tree, scatter->place);
        ctn_p2p_aggregate_record_t block = block_of(scatter, member);
        if (!is_long(scatter, &block)) {
            continue;
        }
        unsigned slot = scatter->aggregation.slots + index;
        catena_status_t status = CATENA_OK;
        if (scatter->long_blocks++ >= CTN_P2P_LONG_BLOCKS) {
            ctn_word_store(&ctn_p2p_cts(op, slot)->word, 0);
            status = ctn_op_send_count(op, address_of(scatter, member),
                                       scatter->aggregation.slots + ASSIGNED,
                                       slot, NULL, 0);
        }
        scatter->out[index] = (ctn_p2p_block_send_t){
            .transfer = {.to = address_of(scatter, member),
                         .cts = ctn_p2p_cts(op, slot)},
            .block = {(unsigned char *)(uintptr_t)block.data, block.bytes,
                      NULL}};
        scatter->place++;
        return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
    }
    return CTN_STEP_NEXT;
}

/** At the root. NEXT: all long blocks are sent. */
static ctn_step_t send_blocks(ctn_op_t *op, p2p_scatter_t *scatter)
{
    ctn_step_t result = CTN_STEP_NEXT;
    for (unsigned i = 0; i < CTN_P2P_LONG_BLOCKS; i++) {
        ctn_p2p_block_send_t *block = &scatter->out[i];
        ctn_step_t step =
            block->block.bytes > 0
                ? ctn_transfer_send_block(op, &block->transfer, &block->block)
                : begin_block(op, scatter, i);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step == CTN_STEP_NEXT && block->block.bytes > 0) {
            block->block.bytes = 0;
            step = CTN_STEP_MOVED;
        }
        if (step == CTN_STEP_MOVED || result == CTN_STEP_NEXT) {
            result = step;
        }
    }
    return result;
}

static ctn_step_t move_blocks(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    return scatter->aggregation.tree.place == 0 ? send_blocks(op, scatter)
                                                : receive_block(op, scatter);
}

/* ---- the end ---- */

static ctn_step_t end(ctn_op_t *op)
{
    const p2p_scatter_t *scatter = ctn_op_state(op);
    for (unsigned i = 0; i < scatter->aggregation.tree.children; i++) {
        if (!ctn_message_zcopy_done(op, i, 0, scatter->sent[i])) {
            return CTN_STEP_WAIT;
        }
    }
    return ctn_p2p_end(op, scatter->status);
}

static void finish(ctn_op_t *op)
{
    p2p_scatter_t *scatter = ctn_op_state(op);
    if (op->status == CATENA_OK) { /* else children may still read from it */
        ctn_receive_handle_release(op, &scatter->handle);
    }
    ctn_transfer_recv_close(op, &scatter->block.transfer);
    ctn_p2p_aggregate_drop(op, &scatter->aggregate);
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
