#include "coll/bcol/p2p/aggregate.h"

#include <string.h>

#include "exec/slot.h"

/* A linear tree, in which all are children of the root, takes one step, and no
 * more messages than another tree. 4 ranks on 4 hosts and 2 cores, gather of 16
 * KiB each and a barrier: 28 us, binomial 48. */

/* Radix of the algorithm "tree". */
enum { AGGREGATE_RADIX = 4 };

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
        return AGGREGATE_RADIX;
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

void ctn_p2p_aggregation_set(ctn_p2p_aggregation_t *aggregation,
                             const ctn_p2p_call_t *call)
{
    const ctn_p2p_t *p2p = call->p2p;
    uint32_t radix = choose_radix(call);
    ctn_ktree_set(&aggregation->tree, p2p->size, p2p->me, call->basic->root,
                  radix);
    aggregation->limit = longest_short(&aggregation->tree);
    aggregation->slots = ctn_ktree_most_children(p2p->size, radix);
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

/* ---- memory ---- */

catena_status_t ctn_p2p_aggregate_make(const ctn_op_t *op,
                                       ctn_p2p_aggregate_t *aggregate,
                                       size_t bytes, unsigned spare)
{
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

void ctn_p2p_aggregate_drop(const ctn_op_t *op, ctn_p2p_aggregate_t *aggregate)
{
    /* After a failure another member may still read it. */
    if (aggregate->memory != aggregate->inline_memory && !aggregate->spare &&
        op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, aggregate->memory, aggregate->bytes);
    }
    aggregate->memory = NULL;
}
