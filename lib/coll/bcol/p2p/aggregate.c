#include "coll/bcol/p2p/aggregate.h"

#include <string.h>

#include "exec/slot.h"

/* Up to so many members the root serves all others itself: one step, and as
 * many messages as any tree has. 4 ranks on 4 hosts and 2 cores, gather of
 * 16 KiB each and a barrier: 28 us, binomial 48. */
enum { LINEAR_MEMBERS = 8, WIDE_RADIX = 4 };

/* Parts up to here go with others, though they are copied once for each level:
 * a flow takes a message and a step more (4 ranks as above, gather of 16 KiB
 * each with others: 28 us, 32 KiB by themselves: 53). */
enum { ALWAYS_SHORT = 2048 };

const char *const ctn_bundling_shapes[] = {"binomial", "linear", NULL};

/** The most children of a root: bundles want wide payloads. */
static unsigned most_children(const ctn_p2p_t *p2p)
{
    unsigned slots = ctn_p2p_wide_slots(p2p->rounds);
    return slots < CTN_BUNDLE_CHILDREN ? slots : CTN_BUNDLE_CHILDREN;
}

static uint32_t choose_radix(const ctn_p2p_t *p2p,
                             const ctn_basic_coll_t *basic)
{
    if (ctn_p2p_asked(basic, "binomial")) {
        return 2;
    }
    bool linear = p2p->size <= LINEAR_MEMBERS || ctn_p2p_asked(basic, "linear");
    if (linear && p2p->size - 1 <= most_children(p2p)) {
        return p2p->size > 2 ? p2p->size : 2;
    }
    return WIDE_RADIX;
}

/** Bundles of short parts fit their slots, unless there are very many. */
static size_t longest_short(const ctn_ktree_t *tree)
{
    uint64_t span = 1;
    while (span * tree->radix < tree->size) {
        span *= tree->radix;
    }
    size_t share = CTN_CHUNK_BYTES / span;
    size_t limit = share > sizeof(uint64_t) ? share - sizeof(uint64_t) : 0;
    return limit < ALWAYS_SHORT ? ALWAYS_SHORT : limit & ~(size_t)7;
}

void ctn_bundling_set(ctn_bundling_t *bundling, const ctn_p2p_call_t *call)
{
    const ctn_p2p_t *p2p = call->p2p;
    uint32_t radix = choose_radix(p2p, call->basic);
    ctn_ktree_set(&bundling->tree, p2p->size, p2p->me, call->basic->root,
                  radix);
    bundling->limit = longest_short(&bundling->tree);
    bundling->slots = ctn_ktree_most_children(p2p->size, radix);
}

/* ---- records ---- */

/* A record begins with a word: the length, and above it the slot. */
enum { SLOT_SHIFT = 56 };

unsigned char *ctn_bundle_record_put(ctn_exec_t *exec,
                                     const ctn_bundling_t *bundling,
                                     unsigned char *at,
                                     ctn_bundle_record_t record)
{
    uint64_t word = record.bytes | (uint64_t)record.slot << SLOT_SHIFT;
    memcpy(at, &word, sizeof(word));
    if (record.bytes > 0 && record.bytes <= bundling->limit) {
        ctn_exec_copy(exec, at + sizeof(word), record.data, record.bytes);
    }
    return at + ctn_bundle_record_bytes(bundling, record.bytes);
}

const unsigned char *ctn_bundle_record_get(const ctn_bundling_t *bundling,
                                           const unsigned char *at,
                                           ctn_bundle_record_t *record)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    record->bytes = word & ((UINT64_C(1) << SLOT_SHIFT) - 1);
    record->slot = (unsigned)(word >> SLOT_SHIFT);
    record->data = record->bytes <= bundling->limit ? at + sizeof(word) : NULL;
    return at + ctn_bundle_record_bytes(bundling, record->bytes);
}

/* ---- memory ---- */

catena_status_t ctn_bundle_make(const ctn_op_t *op, ctn_bundle_t *bundle,
                                size_t bytes, unsigned spare)
{
    bundle->bytes = bytes;
    bundle->memory = bytes <= sizeof(bundle->small)
                         ? bundle->small
                         : ctn_scratch_alloc(op->exec, bytes);
    bundle->spare = bundle->memory == NULL;
    if (bundle->spare) {
        bundle->memory =
            ctn_op_eager(op, spare, op->sequence->eager_slots - spare, bytes);
    }
    return bundle->memory != NULL ? CATENA_OK : CATENA_ERR_NO_MEMORY;
}

void ctn_bundle_drop(const ctn_op_t *op, ctn_bundle_t *bundle)
{
    /* After a failure somebody may still be fetching it. */
    if (bundle->memory != bundle->small && !bundle->spare &&
        op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, bundle->memory, bundle->bytes);
    }
    bundle->memory = NULL;
}
