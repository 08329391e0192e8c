/* NBR-6. Links: the memory of link ends, and the counts that give credit. */

#include <string.h>

#include "core/tiny.h"
#include "neighbor/link/protocol.h"

/* Bytes of an eager buffer between nodes: EAGER_MOST, halved until the eager
 * buffers of all such links of a rank fit CTN_LINK_EAGER_ALL, but at least
 * EAGER_LEAST. Over TCP the CTS of a rendezvous takes longer than the second
 * copy of an eager message: 16 ranks on 4 emulated hosts with 4 neighbors each
 * exchange 64 KiB in 1.25 ms eager, in 1.5 ms with a CTS. */
#define EAGER_MOST CTN_PICK((size_t)64 << 10, (size_t)1 << 10)
#define EAGER_LEAST CTN_PICK((size_t)1 << 10, (size_t)128)

/* The same on a node: EAGER_LOCAL with more ranks than cores, else
 * EAGER_ROTATED, through which messages of up to 16 KiB rotate (decision 0044).
 * Longer messages are zero-copy sends, where they lie or of a copy in the heap.
 * Time in us, eager and zero-copy, before messages rotated:
 *   2 ranks with a core each, neighbor_alltoall, received data are read: of
 *   malloc, which is copied first, 2 KiB 1.1 and 1.6, 8 KiB 3.0 and 3.5; in the
 *   heap 2 KiB 1.1 and 0.9, 8 KiB 3.0 and 2.3 (see ctn_link_prefers_zcopy).
 *   16 ranks on 2 cores with 4 neighbors each, where the sender of a zero-copy
 *   message has to wait until the receiver has run: one exchange after a
 *   barrier: 2 KiB 18 and 28, 4 KiB 22 and 31, 8 KiB 31 and 36; exchange after
 *   exchange: 2 KiB 21 and 19, 8 KiB 35 and 24. */
#define EAGER_LOCAL CTN_PICK((size_t)8 << 10, (size_t)512)
#define EAGER_ROTATED CTN_PICK((size_t)64 << 10, (size_t)1 << 10)

_Static_assert(EAGER_MOST <= CTN_STAGING_BYTES,
               "an eager message is packed into one staging buffer");
_Static_assert(EAGER_LEAST > CTN_INLINE_BYTES, "shorter ones are inline");

/* ---- memory ---- */

size_t ctn_link_most_eager(bool local, bool oversubscribed)
{
    return !local ? EAGER_MOST : oversubscribed ? EAGER_LOCAL : EAGER_ROTATED;
}

uint32_t ctn_link_eager_bytes(uint32_t links, size_t most, size_t all)
{
    while (most > EAGER_LEAST && links * most * CTN_LINK_GENERATIONS > all) {
        most /= 2;
    }
    return (uint32_t)most;
}

/** Where the eager buffers of a link begin. `at` is the next free byte. */
static size_t eager_start(const ctn_link_in_t *in, size_t at)
{
    size_t alignment = in->peer.local ? 64 : 4096;
    return (at + alignment - 1) & ~(alignment - 1);
}

void *ctn_link_take(ctn_exec_t *exec, ctn_link_out_t *out, uint32_t outs,
                    ctn_link_in_t *in, uint32_t ins, uint64_t begun)
{
    size_t slots = ins * CTN_LINK_GENERATIONS * sizeof(ctn_slot_t);
    size_t controls = outs * sizeof(ctn_link_control_t);
    size_t zero = slots + controls;
    size_t end = zero;
    for (uint32_t i = 0; i < ins; i++) {
        end =
            eager_start(&in[i], end) + in[i].eager_bytes * CTN_LINK_GENERATIONS;
    }
    unsigned char *memory =
        ctn_heap_alloc(exec->heap, CTN_MEMBER_ALIGNMENT, end + 1);
    if (memory == NULL) {
        return NULL;
    }
    memset(memory, 0, zero);
    size_t at = zero;
    for (uint32_t i = 0; i < ins; i++) {
        in[i].slots = (ctn_slot_t *)(void *)memory + i * CTN_LINK_GENERATIONS;
        at = eager_start(&in[i], at);
        in[i].eager = memory + at;
        at += in[i].eager_bytes * CTN_LINK_GENERATIONS;
        in[i].reported = begun;
    }
    ctn_link_control_t *control = (void *)(memory + slots);
    for (uint32_t o = 0; o < outs; o++) {
        out[o].control = &control[o];
        out[o].complete = control[o].complete = begun;
    }
    return memory;
}

/* ---- credits ---- */

catena_status_t ctn_link_complete(ctn_exec_t *exec, ctn_link_in_t *in,
                                  uint64_t complete)
{
    ctn_link_note_sent(in);
    /* The sender needs no new report for operations below reported +
     * CTN_LINK_GENERATIONS, and runs CTN_LINK_FLIGHT operations at once. So one
     * report for each CTN_LINK_FLIGHT operations suffices. */
    if (complete < in->reported + CTN_LINK_FLIGHT) {
        return CATENA_OK;
    }
    catena_status_t status = ctn_link_reach(exec, &in->peer);
    if (status == CATENA_OK) {
        in->reported = complete;
        status = ctn_signal(
            in->peer.endpoint,
            in->control + offsetof(ctn_link_control_t, complete), complete);
    }
    return status;
}

void ctn_link_zero(ctn_link_in_t *in, uint32_t ins, uint64_t seq)
{
    for (uint32_t i = 0; i < ins; i++) {
        ctn_slot_t *slot = &in[i].slots[ctn_link_generation(seq)];
        ctn_word_store(&slot->word[0], 0);
        ctn_word_store(&slot->word[1], 0);
    }
}

catena_status_t ctn_link_finalize(ctn_exec_t *exec)
{
    catena_status_t status = ctn_exec_flush(exec, exec->local);
    return status == CATENA_OK && exec->network != NULL
               ? ctn_exec_flush(exec, exec->network)
               : status;
}
