/* P2P-11: reduce_scatter over messages, ring; for operations that commute.
 * Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of
 * workstations, JPDC 69 (2), 2009. The block of member i starts at member i + 1
 * and goes round the ring; each member reduces its own data into it. Blocks are
 * cut into fragments of up to 64 KiB.
 * Memory: four fragments. The order in which a block is reduced depends only on
 * its owner's number, so the result has the same bits in each run. */

#include "coll/bcol/p2p/ring.h"

static void begin(ctn_op_t *op, ctn_transfer_params_t *params)
{
    ctn_p2p_ring_t *ring = ctn_op_state(op);
    const ctn_basic_coll_t *basic = ring->call.basic;
    size_t element = basic->by.type->bytes > 0 ? basic->by.type->bytes : 1;
    params->indirect = true;
    ring->fragment = CTN_STAGING_BYTES / element * element;
    /* A member receives a fragment in one of two staging buffers, and frees
     * that one by reducing the fragment into the buffer `ready`, from which it
     * sends to the staging buffers of the next member. With three fragments of
     * each block under way, all these buffers could be full on all members,
     * each of which would wait for the next one. */
    ring->together = CTN_STAGING_FRAGMENTS;
    ring->first = 1;
    if (ring->call.p2p->size == 1) {
        ctn_p2p_copy(op, basic->out, basic->in, ctn_p2p_block_bytes(basic, 0));
    }
}

/** This member's data of the next fragment to receive or to send. */
static const unsigned char *own_fragment(const ctn_p2p_ring_t *ring,
                                         bool incoming)
{
    const ctn_basic_coll_t *basic = ring->call.basic;
    return (const unsigned char *)basic->in +
           basic->at[ctn_p2p_ring_owner(ring, incoming)] +
           ctn_p2p_ring_offset(ring, incoming);
}

static bool next(const ctn_p2p_ring_t *ring, const unsigned char **data,
                 uint64_t *at)
{
    (void)at;
    if (ring->sent.step == 0) { /* its block starts here */
        *data = own_fragment(ring, false);
        return true;
    }
    *data = ring->ready != NULL ? ring->ready->data : NULL;
    return ring->ready != NULL;
}

/** Find memory for the fragment that has arrived, from which it is sent. WAIT:
 * there is none; else NEXT or FAIL. */
static ctn_step_t make_ready(ctn_op_t *op, ctn_p2p_ring_t *ring)
{
    if (ring->ready != NULL) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = ctn_staging_get(op, &ring->ready);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    if (ring->ready == NULL) {
        return CTN_STEP_WAIT;
    }
    ring->ready->pending++; /* in use until it has been sent */
    return CTN_STEP_NEXT;
}

/** Reduce the fragment with this member's data. */
static ctn_step_t take(ctn_op_t *op, const unsigned char *data)
{
    ctn_p2p_ring_t *ring = ctn_op_state(op);
    unsigned char *target = ring->call.basic->out;
    if (ring->received.step + 2 == ring->call.p2p->size) {
        target += ctn_p2p_ring_offset(ring, true); /* the result is complete */
    } else {
        ctn_step_t step = make_ready(op, ring);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        target = ring->ready->data;
    }
    ctn_p2p_reduce(op, data, own_fragment(ring, true), target,
                   ctn_p2p_ring_bytes(ring, true));
    return CTN_STEP_NEXT;
}

const ctn_p2p_ring_algorithm_t ctn_p2p_reduce_scatter_ring = {
    CTN_P2P_RING_ALGORITHM("p2p/reduce_scatter/ring"),
    .begin = begin,
    .next = next,
    .take = take,
};
