/* P2P-11: reduce_scatter over messages, ring; for operations that commute.
 * Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of
 * workstations, JPDC 69 (2), 2009. The block of member i starts at member i + 1
 * and goes round the ring; each member reduces its own data into it. Blocks are
 * cut into fragments of up to 64 KiB, two of which travel round the ring
 * together, step by step, before the next two begin.
 * Rounds: m - 1. Messages: one per member and fragment of each other block (an
 * empty block counts as one fragment, so that a member ends only when all have
 * begun), and a CTS for most fragments. Memory: four fragments. The order in
 * which a block is reduced depends only on its owner's number, so the result
 * has the same bits in each run. */

#include "coll/bcol/p2p/parts.h"
#include "coll/bcol/p2p/vector.h"

/* Slots: one counts the fragments that arrived, one receives CTS (vector.h). */
enum { FRAGMENTS, CTS };

/* Fragments of a block that travel together. A member receives a fragment in
 * one of two staging buffers, and frees that one by reducing the fragment into
 * the buffer `ready`, from which it sends to the staging buffers of the next
 * member. With three fragments of each block under way, all these buffers could
 * be full on all members, each of which would wait for the next one. */
enum { TOGETHER = CTN_STAGING_FRAGMENTS };

/** A fragment under way, at one member. */
typedef struct reduce_scatter_ring_cursor {
    uint32_t group; /* number of its group of TOGETHER fragments of a block */
    uint32_t step;  /* steps along the ring that it has made */
    uint32_t index; /* in the group */
} reduce_scatter_ring_cursor_t;

/** State of the operation. */
typedef struct reduce_scatter_ring {
    ctn_p2p_call_t call;      /* first */
    size_t fragment;          /* bytes of a fragment, at most: whole elements */
    uint32_t fragments;       /* number of fragments of the longest block */
    ctn_fragmented_recv_t in; /* from the previous member */
    ctn_fragmented_send_t out;             /* to the next member */
    reduce_scatter_ring_cursor_t received; /* the next fragment to receive */
    reduce_scatter_ring_cursor_t sent;     /* the next fragment to send */
    ctn_staging_t *ready; /* the fragment to send, reduced with this member's
                             data; NULL: not received yet */
    ctn_fragmented_mismatch_t mismatch;
} reduce_scatter_ring_t;

/** The member `away` before this one; `away` is at most twice the size. */
static uint32_t before(const ctn_p2p_t *p2p, uint32_t away)
{
    uint64_t member = (uint64_t)p2p->me + 2 * (uint64_t)p2p->size - away;
    return (uint32_t)(member % p2p->size);
}

/** The owner of a fragment's block: the member that gets its result.
 * @param incoming the fragment is to be received here, not to be sent: at equal
 * steps its owner is one member further back */
static uint32_t owner(const reduce_scatter_ring_t *ring,
                      const reduce_scatter_ring_cursor_t *cursor, bool incoming)
{
    return before(ring->call.p2p, cursor->step + 1 + incoming);
}

/** Offset of a fragment in its block. */
static size_t offset_of(const reduce_scatter_ring_t *ring,
                        const reduce_scatter_ring_cursor_t *cursor)
{
    return ((size_t)cursor->group * TOGETHER + cursor->index) * ring->fragment;
}

/** Bytes of a fragment. */
static size_t bytes_of(const reduce_scatter_ring_t *ring,
                       const reduce_scatter_ring_cursor_t *cursor,
                       bool incoming)
{
    size_t bytes =
        ctn_p2p_block_bytes(ring->call.basic, owner(ring, cursor, incoming));
    size_t from = offset_of(ring, cursor);
    size_t rest = bytes > from ? bytes - from : 0;
    return rest < ring->fragment ? rest : ring->fragment;
}

/** Whether the cursor is beyond the last fragment. */
static bool ended(const reduce_scatter_ring_t *ring,
                  const reduce_scatter_ring_cursor_t *cursor)
{
    return (uint64_t)cursor->group * TOGETHER >= ring->fragments;
}

/** Advance to the next fragment that members exchange: the first of each block,
 * and all others that are not empty. */
static void advance(const reduce_scatter_ring_t *ring,
                    reduce_scatter_ring_cursor_t *cursor, bool incoming)
{
    do {
        uint32_t rest = ring->fragments - cursor->group * TOGETHER;
        if (++cursor->index >= (rest < TOGETHER ? rest : TOGETHER)) {
            cursor->index = 0;
            cursor->step++;
        }
        if (cursor->step + 1 >= ring->call.p2p->size) {
            *cursor = (reduce_scatter_ring_cursor_t){cursor->group + 1, 0, 0};
        }
    } while (!ended(ring, cursor) && offset_of(ring, cursor) > 0 &&
             bytes_of(ring, cursor, incoming) == 0);
}

/** This member's data of a fragment. */
static const unsigned char *
own_fragment(const reduce_scatter_ring_t *ring,
             const reduce_scatter_ring_cursor_t *cursor, bool incoming)
{
    const ctn_basic_coll_t *basic = ring->call.basic;
    return (const unsigned char *)basic->in +
           basic->at[owner(ring, cursor, incoming)] + offset_of(ring, cursor);
}

/* ---- beginning ---- */

/** Describe what this member receives; sets ring->fragments. */
static ctn_fragmented_recv_params_t params_of(reduce_scatter_ring_t *ring)
{
    const ctn_p2p_t *p2p = ring->call.p2p;
    /* This member receives fragments of all blocks but that of the previous
     * member, which starts here. */
    uint32_t previous = before(p2p, 1);
    ctn_fragmented_recv_params_t params = {
        .from = p2p->module.sbgp->member[previous].memory,
        .slot = FRAGMENTS,
        .cts_slot = CTS,
        .digest = ctn_p2p_blocks_digest(ring->call.basic, p2p->size),
        .spare_slots = ctn_p2p_eager_slots(p2p->rounds)};
    ring->fragments = 1;
    for (uint32_t i = 0; i < p2p->size; i++) {
        size_t bytes = ctn_p2p_block_bytes(ring->call.basic, i);
        uint32_t fragments =
            bytes > 0 ? (uint32_t)((bytes - 1) / ring->fragment) + 1 : 1;
        ring->fragments =
            fragments > ring->fragments ? fragments : ring->fragments;
        if (i != previous) {
            size_t longest = bytes < ring->fragment ? bytes : ring->fragment;
            params.longest =
                longest > params.longest ? longest : params.longest;
            params.fragments += fragments;
        }
    }
    return params;
}

static ctn_step_t begin(ctn_op_t *op)
{
    reduce_scatter_ring_t *ring = ctn_op_state(op);
    const ctn_p2p_t *p2p = ring->call.p2p;
    const ctn_basic_coll_t *basic = ring->call.basic;
    const ctn_sbgp_member_t *member = p2p->module.sbgp->member;
    size_t element = basic->by.type->bytes > 0 ? basic->by.type->bytes : 1;
    ctn_p2p_begin_ring(op);
    ring->fragment = CTN_STAGING_BYTES / element * element;
    ring->received = ring->sent = (reduce_scatter_ring_cursor_t){0, 0, 0};
    ring->ready = NULL;
    ring->mismatch = (ctn_fragmented_mismatch_t){0, 0};
    ring->in.staging = NULL;
    ring->fragments = 0;
    if (p2p->size == 1) {
        ctn_p2p_copy(op, basic->out, basic->in, ctn_p2p_block_bytes(basic, 0));
        return CTN_STEP_NEXT;
    }
    ctn_fragmented_recv_params_t params = params_of(ring);
    ctn_fragmented_send_open(&ring->out,
                             member[before(p2p, p2p->size - 1)].memory, CTS);
    ring->out.digest = params.digest;
    op->waits_for = member[before(p2p, 1)].rank;
    catena_status_t status = ctn_fragmented_recv_open(op, &ring->in, &params);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- round ---- */

/** Send the next fragment, if it is ready and has a CTS. */
static ctn_step_t send(ctn_op_t *op, reduce_scatter_ring_t *ring)
{
    bool own = ring->sent.step == 0; /* it starts here: this member's data */
    if ((!own && ring->ready == NULL) ||
        !ctn_fragmented_send_has_cts(op, &ring->out)) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = ctn_fragmented_send_put(
        op, &ring->out,
        own ? own_fragment(ring, &ring->sent, false) : ring->ready->data,
        bytes_of(ring, &ring->sent, false), 0,
        own ? &op->pending : &ring->ready->pending);
    if (!own) {
        ring->ready->pending--; /* see receive */
        ring->ready = NULL;
    }
    advance(ring, &ring->sent, false);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** If the next fragment has arrived, reduce it with this member's data. */
static ctn_step_t receive(ctn_op_t *op, reduce_scatter_ring_t *ring)
{
    const unsigned char *data = NULL;
    /* Whether its block belongs to this member: the result is complete. */
    bool last = ring->received.step + 2 == ring->call.p2p->size;
    if ((!last && ring->ready != NULL) ||
        ctn_fragmented_recv_next(op, &ring->in, &data) == CTN_STEP_WAIT) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = CATENA_OK;
    unsigned char *target = ring->call.basic->out;
    if (last) {
        target += offset_of(ring, &ring->received);
    } else {
        status = ctn_staging_get(op, &ring->ready);
        if (status == CATENA_OK && ring->ready == NULL) {
            return CTN_STEP_WAIT;
        }
        if (status == CATENA_OK) { /* in use until it has been sent */
            ring->ready->pending++;
            target = ring->ready->data;
        }
    }
    if (status == CATENA_OK) {
        status =
            ctn_p2p_reduce(op, data, own_fragment(ring, &ring->received, true),
                           target, bytes_of(ring, &ring->received, true));
    }
    if (status == CATENA_OK) {
        status = ctn_fragmented_recv_consumed(op, &ring->in);
    }
    advance(ring, &ring->received, true);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** Lengths differ: receive the fragments that still arrive, and send counts of
 * steps instead of fragments (vector.h). */
static ctn_step_t go_round_mismatch(ctn_op_t *op, reduce_scatter_ring_t *ring)
{
    uint32_t steps = ring->call.p2p->size - 1;
    const unsigned char *data;
    if (ring->ready != NULL) {
        ring->ready->pending--;
        ring->ready = NULL;
    }
    if (!ended(ring, &ring->received) &&
        ctn_fragmented_recv_next(op, &ring->in, &data) == CTN_STEP_NEXT) {
        catena_status_t status = ctn_fragmented_recv_consumed(op, &ring->in);
        advance(ring, &ring->received, true);
        return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
    }
    if (ended(ring, &ring->sent)) {
        ring->mismatch.steps_sent = steps;
    }
    return ctn_fragmented_send_steps(
        op, &ring->mismatch, &ring->in, &ring->out, FRAGMENTS,
        ring->received.group > 0 ? steps : ring->received.step, steps);
}

/** Send or receive one fragment. NEXT: all are sent and received. */
static ctn_step_t go_round(ctn_op_t *op)
{
    reduce_scatter_ring_t *ring = ctn_op_state(op);
    ctn_step_t step = CTN_STEP_NEXT;
    if (ring->call.status != CATENA_OK && ring->call.p2p->size > 1) {
        return go_round_mismatch(op, ring);
    }
    if (!ended(ring, &ring->sent)) {
        step = send(op, ring);
    }
    if (step == CTN_STEP_MOVED || step == CTN_STEP_FAIL) {
        return step;
    }
    if (!ended(ring, &ring->received)) {
        step = receive(op, ring);
    }
    return step == CTN_STEP_WAIT &&
                   ctn_p2p_blocks_differ(op, &ring->in, &ring->out)
               ? CTN_STEP_MOVED
               : step;
}

static void finish(ctn_op_t *op)
{
    reduce_scatter_ring_t *ring = ctn_op_state(op);
    ctn_fragmented_recv_close(op, &ring->in);
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"round", go_round},
                                     {"end", ctn_p2p_end_vector},
                                     {NULL, NULL}};

const ctn_algorithm_t ctn_p2p_reduce_scatter_ring = {
    .name = "p2p/reduce_scatter/ring",
    .state_bytes = sizeof(reduce_scatter_ring_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};
