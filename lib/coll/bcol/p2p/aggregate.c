/* Aggregates of a gather or scatter: records of a subtree, which each level of
 * the tree forwards. See aggregate.h. */

#include "coll/bcol/p2p/aggregate.h"

#include <string.h>

#include "exec/slot.h"

/* A linear tree, in which all are children of the root, takes one step, and no
 * more messages than another tree. 4 ranks on 4 hosts and 2 cores, gather of 16
 * KiB each and a barrier: 28 us, binomial 48. */

/* Radix of the algorithm "tree". */
enum { AGGREGATE_RADIX = 4 };

/* With this radix a root has up to CTN_P2P_AGGREGATE_CHILDREN among so many
 * members. */
enum { AGGREGATE_MEMBERS = 65536 };

/* Blocks up to this length are always aggregated, though each level of the tree
 * copies them. A long block instead takes a message (its CTS) and a step more
 * (4 ranks as above, gather of 16 KiB each, aggregated: 28 us; 32 KiB, not
 * aggregated: 53). */
enum { SHORT_BLOCK = 2048 };

/** The most children that a root may have: each aggregate that it receives
 * needs an eager buffer. */
static unsigned most_children(const ctn_p2p_t *p2p)
{
    unsigned slots = ctn_p2p_eager_slots(p2p->rounds);
    return slots < CTN_P2P_AGGREGATE_CHILDREN ? slots
                                              : CTN_P2P_AGGREGATE_CHILDREN;
}

/** Rules match no lengths: no member knows those of all. */
static uint32_t choose_radix(const ctn_p2p_call_t *call)
{
    ctn_p2p_t *p2p = call->p2p;
    ctn_algorithm_set_t possible = CTN_P2P_AGGREGATIONS;
    if (p2p->size - 1 > most_children(p2p)) {
        possible &= ~CTN_ALGORITHM_BIT(LINEAR);
    }
    switch (
        ctn_basic_choose(&p2p->module, call->kind, possible, call->basic, 0)) {
    case CTN_ALGORITHM_BINOMIAL:
        return 2;
    case CTN_ALGORITHM_LINEAR:
        return p2p->size > 2 ? p2p->size : 2;
    default:
        return p2p->size > AGGREGATE_MEMBERS ? 2 : AGGREGATE_RADIX;
    }
}

/** The longest block that is aggregated: if all blocks are that long, each
 * aggregate just fits a slot, but at least SHORT_BLOCK. */
static size_t longest_short(const ctn_ktree_t *tree)
{
    uint64_t span = 1; /* members of the largest subtree below the root */
    while (span * tree->radix < tree->size) {
        span *= tree->radix;
    }
    size_t share = CTN_CHUNK_BYTES / span;
    size_t limit = share > sizeof(uint64_t) ? share - sizeof(uint64_t) : 0;
    return limit < SHORT_BLOCK ? SHORT_BLOCK : limit & ~(size_t)7;
}

void ctn_p2p_aggregation_begin(ctn_op_t *op)
{
    ctn_p2p_aggregation_t *aggregation = ctn_op_state(op);
    const ctn_p2p_call_t *call = &aggregation->call;
    const ctn_p2p_t *p2p = call->p2p;
    ctn_p2p_begin(op);
    uint32_t radix = choose_radix(call);
    ctn_ktree_set(&aggregation->tree, p2p->size, p2p->me, call->basic->root,
                  radix);
    aggregation->limit = longest_short(&aggregation->tree);
    aggregation->slots = ctn_ktree_most_children(p2p->size, radix);
    aggregation->status = CATENA_OK;
    aggregation->aggregate.memory = aggregation->aggregate.inline_memory;
    for (unsigned i = 0; i < CTN_P2P_LONG_BLOCKS; i++) {
        aggregation->block[i].span.bytes = 0;
    }
}

void ctn_p2p_aggregation_finish(ctn_op_t *op)
{
    ctn_p2p_aggregation_t *aggregation = ctn_op_state(op);
    ctn_p2p_aggregate_t *aggregate = &aggregation->aggregate;
    for (unsigned i = 0; i < CTN_P2P_LONG_BLOCKS; i++) {
        ctn_p2p_long_block_t *block = &aggregation->block[i];
        if (block->span.bytes > 0 && block->receives) {
            ctn_transfer_recv_close(op, &block->in);
        }
    }
    /* After a failure another member may still read it. */
    if (aggregate->memory != aggregate->inline_memory && !aggregate->spare &&
        op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, aggregate->memory, aggregate->bytes);
    }
    aggregate->memory = NULL;
}

/* ---- records ---- */

/* A record begins with 64 bits: the block's length in the lower 56, the slot
 * above them. */
enum { SLOT_SHIFT = 56 };

unsigned char *ctn_p2p_aggregate_record_put(
    ctn_exec_t *exec, const ctn_p2p_aggregation_t *aggregation,
    unsigned char *at, ctn_p2p_aggregate_record_t record)
{
    uint64_t word = record.bytes | (uint64_t)record.slot << SLOT_SHIFT;
    memcpy(at, &word, sizeof(word));
    if (record.bytes > 0 && record.bytes <= aggregation->limit) {
        ctn_exec_copy(exec, at + sizeof(word), record.data, record.bytes);
    }
    return at + ctn_p2p_aggregate_record_bytes(aggregation, record.bytes);
}

const unsigned char *
ctn_p2p_aggregate_record_get(const ctn_p2p_aggregation_t *aggregation,
                             const unsigned char *at,
                             ctn_p2p_aggregate_record_t *record)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    record->bytes = word & ((UINT64_C(1) << SLOT_SHIFT) - 1);
    record->slot = (unsigned)(word >> SLOT_SHIFT);
    record->data =
        record->bytes <= aggregation->limit ? at + sizeof(word) : NULL;
    return at + ctn_p2p_aggregate_record_bytes(aggregation, record->bytes);
}

catena_status_t ctn_p2p_aggregate_make(ctn_op_t *op, size_t bytes,
                                       unsigned spare)
{
    ctn_p2p_aggregation_t *aggregation = ctn_op_state(op);
    ctn_p2p_aggregate_t *aggregate = &aggregation->aggregate;
    aggregate->bytes = bytes;
    aggregate->memory = bytes <= sizeof(aggregate->inline_memory)
                            ? aggregate->inline_memory
                            : ctn_scratch_alloc(op->exec, bytes);
    aggregate->spare = aggregate->memory == NULL;
    if (aggregate->spare) {
        aggregate->memory =
            ctn_op_eager(op, spare, op->sequence->eager_slots - spare, bytes);
    }
    return aggregate->memory != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

/* ---- long blocks ---- */

void ctn_p2p_long_block_send(ctn_op_t *op, unsigned i, uint32_t to,
                             unsigned cts_slot, const void *data, size_t bytes)
{
    ctn_p2p_aggregation_t *aggregation = ctn_op_state(op);
    aggregation->block[i] = (ctn_p2p_long_block_t){
        .span = {(void *)(uintptr_t)data, bytes, NULL},
        .out = {.to = ctn_p2p_aggregation_member(aggregation, to)->memory,
                .cts = ctn_p2p_cts(op, cts_slot)}};
}

ctn_step_t ctn_p2p_long_block_receive(ctn_op_t *op, unsigned i, uint32_t from,
                                      unsigned slot, unsigned cts_slot,
                                      void *target, size_t bytes)
{
    ctn_p2p_aggregation_t *aggregation = ctn_op_state(op);
    ctn_p2p_long_block_t *block = &aggregation->block[i];
    ctn_address_t sender =
        ctn_p2p_aggregation_member(aggregation, from)->memory;
    *block =
        (ctn_p2p_long_block_t){.span = {target, bytes, NULL}, .receives = true};
    ctn_transfer_params_t params = {.from = sender,
                                    .cts = ctn_p2p_cts_at(op, sender, cts_slot),
                                    .own = ctn_op_slot(op, slot),
                                    .slot = slot,
                                    .bytes = bytes,
                                    .target = block->span,
                                    .posts = true};
    catena_status_t status = ctn_transfer_recv_open(op, &block->in, &params);
    if (status == CATENA_ERR_NO_MEMORY) {
        aggregation->status = status;
        block->span.bytes = 0;
        return ctn_p2p_long_block_refuse(op, from, cts_slot);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

ctn_step_t ctn_p2p_long_block_refuse(ctn_op_t *op, uint32_t from,
                                     unsigned cts_slot)
{
    const ctn_p2p_aggregation_t *aggregation = ctn_op_state(op);
    ctn_address_t sender =
        ctn_p2p_aggregation_member(aggregation, from)->memory;
    catena_status_t status =
        ctn_transfer_send_cts(op, sender, ctn_p2p_cts_at(op, sender, cts_slot),
                              1, CTN_CTS_REFUSED, 0);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

ctn_step_t ctn_p2p_long_blocks_advance(ctn_op_t *op)
{
    ctn_p2p_aggregation_t *aggregation = ctn_op_state(op);
    ctn_step_t result = CTN_STEP_NEXT;
    for (unsigned i = 0; i < CTN_P2P_LONG_BLOCKS; i++) {
        ctn_p2p_long_block_t *block = &aggregation->block[i];
        if (block->span.bytes == 0) {
            continue;
        }
        ctn_step_t step =
            block->receives
                ? ctn_transfer_recv_block(op, &block->in, &block->span)
                : ctn_transfer_send_block(op, &block->out, &block->span,
                                          block->span.bytes);
        if (step == CTN_STEP_FAIL) {
            return step;
        }
        if (step == CTN_STEP_NEXT) {
            if (block->receives) {
                ctn_transfer_recv_close(op, &block->in);
            }
            block->span.bytes = 0;
        }
        if (step != CTN_STEP_WAIT) {
            result = CTN_STEP_MOVED;
        } else if (result == CTN_STEP_NEXT) {
            result = step;
        }
    }
    return result;
}
