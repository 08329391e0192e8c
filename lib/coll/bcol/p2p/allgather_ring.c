/* P2P-9: allgather over messages, ring. Thakur, Rabenseifner, Gropp:
 * Optimization of collective communication operations in MPICH, IJHPCA 19 (1),
 * 2005, section 3.1. Every member sends to the next one its own block, then the
 * blocks that it receives from the one before, in fragments of up to 64 KiB,
 * each as soon as it has arrived. If the result is in the heap, fragments are
 * put to their places directly; if not, they go through two staging buffers.
 * Rounds: m - 1. Messages: one per member and fragment of each other block (an
 * empty block counts as one fragment, so that a member ends only when all have
 * begun), and a CTS; with staging buffers one for each further fragment.
 * Memory: none, or the two staging buffers, which lie in eager buffers if there
 * is no other memory. */

#include "coll/bcol/p2p/parts.h"
#include "coll/bcol/p2p/vector.h"

/* Slots: one counts the fragments that arrived, one receives CTS (vector.h). */
enum { FRAGMENTS, CTS };

/** A fragment: of the block of the member `step` before this one, from byte
 * `from` of that block on. */
typedef struct allgather_ring_cursor {
    uint32_t step;
    size_t from;
} allgather_ring_cursor_t;

/** State of the operation. */
typedef struct allgather_ring {
    ctn_p2p_call_t call;              /* first */
    ctn_fragmented_recv_t in;         /* from the left neighbor in the ring */
    ctn_fragmented_send_t out;        /* to the right neighbor */
    allgather_ring_cursor_t received; /* the next fragment to receive */
    allgather_ring_cursor_t sent;     /* the next fragment to send */
    ctn_fragmented_mismatch_t mismatch;
} allgather_ring_t;

/** The member whose block the cursor is in. */
static uint32_t member_at(const ctn_p2p_t *p2p,
                          const allgather_ring_cursor_t *cursor)
{
    return cursor->step <= p2p->me ? p2p->me - cursor->step
                                   : p2p->me + (p2p->size - cursor->step);
}

/** Bytes of the fragment at the cursor. */
static size_t fragment_at(const allgather_ring_t *ring,
                          const allgather_ring_cursor_t *cursor)
{
    uint32_t member = member_at(ring->call.p2p, cursor);
    return ctn_fragment_bytes(ctn_p2p_block_bytes(ring->call.basic, member),
                              cursor->from);
}

/** Advance to the next fragment. */
static void advance(const allgather_ring_t *ring,
                    allgather_ring_cursor_t *cursor)
{
    uint32_t member = member_at(ring->call.p2p, cursor);
    cursor->from += fragment_at(ring, cursor);
    if (cursor->from == ctn_p2p_block_bytes(ring->call.basic, member)) {
        *cursor = (allgather_ring_cursor_t){cursor->step + 1, 0};
    }
}

/** What is received from the left neighbor, whose memory is at `left`. */
static ctn_fragmented_recv_params_t params_of(const allgather_ring_t *ring,
                                              ctn_address_t left)
{
    const ctn_p2p_t *p2p = ring->call.p2p;
    const ctn_basic_coll_t *basic = ring->call.basic;
    ctn_fragmented_recv_params_t params = {
        .from = left,
        .slot = FRAGMENTS,
        .cts_slot = CTS,
        .digest = ctn_p2p_blocks_digest(basic, p2p->size),
        .target = ctn_p2p_block_at(basic, 0),
        .target_bytes = ctn_p2p_blocks_total(basic, p2p->size),
        .spare_slots = ctn_p2p_eager_slots(p2p->rounds)};
    for (uint32_t i = 0; i < p2p->size; i++) {
        size_t bytes = i != p2p->me ? ctn_p2p_block_bytes(basic, i) : 0;
        size_t longest = ctn_fragment_bytes(bytes, 0);
        params.longest = longest > params.longest ? longest : params.longest;
        if (i != p2p->me) {
            params.fragments += bytes > 0 ? ctn_fragment_count(bytes) : 1;
        }
    }
    return params;
}

static ctn_step_t begin(ctn_op_t *op)
{
    allgather_ring_t *ring = ctn_op_state(op);
    const ctn_p2p_t *p2p = ring->call.p2p;
    const ctn_basic_coll_t *basic = ring->call.basic;
    const ctn_sbgp_member_t *member = p2p->module.sbgp->member;
    uint32_t left = p2p->me > 0 ? p2p->me - 1 : p2p->size - 1;
    uint32_t right = p2p->me + 1 < p2p->size ? p2p->me + 1 : 0;
    catena_status_t status = CATENA_OK;
    ctn_p2p_begin_ring(op);
    ring->mismatch = (ctn_fragmented_mismatch_t){0, 0};
    ring->received = (allgather_ring_cursor_t){1, 0};
    ring->sent = (allgather_ring_cursor_t){0, 0};
    ring->in.staging = NULL;
    if (p2p->size > 1) {
        ctn_fragmented_send_open(&ring->out, member[right].memory, CTS);
        ctn_fragmented_recv_params_t params =
            params_of(ring, member[left].memory);
        ring->out.digest = params.digest;
        status = ctn_fragmented_recv_open(op, &ring->in, &params);
        op->waits_for = member[left].rank;
    }
    ctn_p2p_copy(op, ctn_p2p_block_at(basic, p2p->me), basic->in,
                 ctn_p2p_block_bytes(basic, p2p->me));
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Receive the next fragment, if it has arrived. */
static ctn_step_t receive(ctn_op_t *op, allgather_ring_t *ring)
{
    const ctn_basic_coll_t *basic = ring->call.basic;
    uint32_t member = member_at(ring->call.p2p, &ring->received);
    ctn_step_t step = ctn_fragmented_recv_take(
        op, &ring->in, ctn_p2p_block_at(basic, member) + ring->received.from,
        fragment_at(ring, &ring->received));
    if (step == CTN_STEP_NEXT) {
        advance(ring, &ring->received);
        step = CTN_STEP_MOVED;
    }
    return step;
}

/** Whether a fragment is in this member's receive buffer. */
static bool is_here(const allgather_ring_t *ring,
                    const allgather_ring_cursor_t *cursor)
{
    return cursor->step < ring->received.step ||
           (cursor->step == ring->received.step &&
            cursor->from < ring->received.from);
}

/** Send the next fragment, if it has arrived and has a CTS. */
static ctn_step_t send(ctn_op_t *op, allgather_ring_t *ring)
{
    if (!is_here(ring, &ring->sent) ||
        !ctn_fragmented_send_has_cts(op, &ring->out)) {
        return CTN_STEP_WAIT;
    }
    const ctn_basic_coll_t *basic = ring->call.basic;
    uint32_t member = member_at(ring->call.p2p, &ring->sent);
    uint64_t at = basic->at[member] - basic->at[0] + ring->sent.from;
    catena_status_t status = ctn_fragmented_send_put(
        op, &ring->out, ctn_p2p_block_at(basic, member) + ring->sent.from,
        fragment_at(ring, &ring->sent), at, &op->pending);
    advance(ring, &ring->sent);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** Lengths differ: receive the fragments that still arrive, and send counts of
 * steps instead of fragments (vector.h). */
static ctn_step_t go_round_mismatch(ctn_op_t *op, allgather_ring_t *ring)
{
    uint32_t steps = ring->call.p2p->size - 1;
    ctn_step_t step =
        ring->received.step <= steps ? receive(op, ring) : CTN_STEP_WAIT;
    if (ring->sent.step == steps) {
        ring->mismatch.steps_sent = steps;
    }
    return step != CTN_STEP_WAIT
               ? step
               : ctn_fragmented_send_steps(op, &ring->mismatch, &ring->in,
                                           &ring->out, FRAGMENTS,
                                           ring->received.step - 1, steps);
}

/** Send or receive one fragment. NEXT: all are sent and received. */
static ctn_step_t go_round(ctn_op_t *op)
{
    allgather_ring_t *ring = ctn_op_state(op);
    uint32_t size = ring->call.p2p->size;
    bool more = ring->sent.step + 1 < size; /* fragments to send */
    if (ring->call.status != CATENA_OK && size > 1) {
        return go_round_mismatch(op, ring);
    }
    ctn_step_t step = more ? send(op, ring) : CTN_STEP_NEXT;
    if (step == CTN_STEP_MOVED || step == CTN_STEP_FAIL) {
        return step;
    }
    if (ring->received.step < size) {
        step = receive(op, ring);
    }
    return step == CTN_STEP_WAIT &&
                   ctn_p2p_blocks_differ(op, &ring->in, &ring->out)
               ? CTN_STEP_MOVED
               : step;
}

static void finish(ctn_op_t *op)
{
    allgather_ring_t *ring = ctn_op_state(op);
    ctn_fragmented_recv_close(op, &ring->in);
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"round", go_round},
                                     {"end", ctn_p2p_end_vector},
                                     {NULL, NULL}};

const ctn_algorithm_t ctn_p2p_allgather_ring = {
    .name = "p2p/allgather/ring",
    .state_bytes = sizeof(allgather_ring_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};
