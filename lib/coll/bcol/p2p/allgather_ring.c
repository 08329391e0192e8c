/* P2P-9: allgather over messages, ring. Thakur, Rabenseifner, Gropp:
 * Optimization of collective communication operations in MPICH, IJHPCA 19 (1),
 * 2005, section 3.1. Every member sends to the next one its own block, then the
 * blocks that it receives from the one before, in fragments of up to 64 KiB,
 * each as soon as it has arrived. If the result is in the heap, fragments are
 * put to their places directly; if not, they go through two staging buffers.
 * Memory: none, or the two staging buffers, which lie in eager buffers if there
 * is no other memory. */

#include "coll/bcol/p2p/ring.h"

static void begin(ctn_op_t *op, ctn_transfer_params_t *params)
{
    ctn_p2p_ring_t *ring = ctn_op_state(op);
    const ctn_p2p_t *p2p = ring->call.p2p;
    const ctn_basic_coll_t *basic = ring->call.basic;
    ring->fragment = CTN_FRAGMENT_BYTES;
    ring->together = UINT32_MAX; /* all of a block */
    ring->first = 0;
    params->target = (ctn_span_t){ctn_p2p_block_at(basic, 0),
                                  ctn_p2p_blocks_total(basic, p2p->size), NULL};
    ctn_p2p_copy(op, ctn_p2p_block_at(basic, p2p->me), basic->in,
                 ctn_p2p_block_bytes(basic, p2p->me));
}

/** Where the next fragment to receive or to send lies. */
static unsigned char *place_of(const ctn_p2p_ring_t *ring, bool incoming)
{
    return ctn_p2p_block_at(ring->call.basic,
                            ctn_p2p_ring_owner(ring, incoming)) +
           ctn_p2p_ring_offset(ring, incoming);
}

static bool next(const ctn_p2p_ring_t *ring, const unsigned char **data,
                 uint64_t *at)
{
    const ctn_p2p_cursor_t *received = &ring->received;
    const ctn_p2p_cursor_t *sent = &ring->sent;
    *data = place_of(ring, false);
    *at = (uint64_t)(*data - ctn_p2p_block_at(ring->call.basic, 0));
    return sent->step == 0 || received->group > 0 ||
           received->step >= sent->step ||
           (received->step + 1 == sent->step && received->index > sent->index);
}

static ctn_step_t take(ctn_op_t *op, const unsigned char *data)
{
    const ctn_p2p_ring_t *ring = ctn_op_state(op);
    size_t bytes = ctn_p2p_ring_bytes(ring, true);
    if (data != NULL) {
        ctn_exec_copy(op->exec, place_of(ring, true), data, bytes);
    }
    op->exec->tally.bytes += bytes;
    return CTN_STEP_NEXT;
}

const ctn_p2p_ring_algorithm_t ctn_p2p_allgather_ring = {
    CTN_P2P_RING_ALGORITHM("p2p/allgather/ring"),
    .begin = begin,
    .next = next,
    .take = take,
};
