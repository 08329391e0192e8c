#include "coll/bcol/p2p/ring.h"

/* Slots: one counts the fragments that arrived, one receives the CTS. */
enum { FRAGMENTS, CTS };

/** Added to a count of steps (ring.h). So a count of at least STEPS is one of
 * steps, a smaller one is of fragments. */
#define STEPS (UINT32_C(1) << 31)

static const ctn_p2p_ring_algorithm_t *algorithm_of(const ctn_op_t *op)
{
    return (const ctn_p2p_ring_algorithm_t *)op->algorithm;
}

static const ctn_p2p_cursor_t *cursor_of(const ctn_p2p_ring_t *ring,
                                         bool incoming)
{
    return incoming ? &ring->received : &ring->sent;
}

/** The member `away` before this one; `away` is at most twice the size. */
static uint32_t before(const ctn_p2p_t *p2p, uint32_t away)
{
    uint64_t member = (uint64_t)p2p->me + 2 * (uint64_t)p2p->size - away;
    return (uint32_t)(member % p2p->size);
}

uint32_t ctn_p2p_ring_owner(const ctn_p2p_ring_t *ring, bool incoming)
{
    return before(ring->call.p2p,
                  cursor_of(ring, incoming)->step + ring->first + incoming);
}

size_t ctn_p2p_ring_offset(const ctn_p2p_ring_t *ring, bool incoming)
{
    const ctn_p2p_cursor_t *cursor = cursor_of(ring, incoming);
    return ((size_t)cursor->group * ring->together + cursor->index) *
           ring->fragment;
}

size_t ctn_p2p_ring_bytes(const ctn_p2p_ring_t *ring, bool incoming)
{
    size_t bytes = ctn_p2p_block_bytes(ring->call.basic,
                                       ctn_p2p_ring_owner(ring, incoming));
    size_t from = ctn_p2p_ring_offset(ring, incoming);
    size_t rest = bytes > from ? bytes - from : 0;
    return rest < ring->fragment ? rest : ring->fragment;
}

/** Whether all fragments are received, or sent. */
static bool ended(const ctn_p2p_ring_t *ring, bool incoming)
{
    return (uint64_t)cursor_of(ring, incoming)->group * ring->together >=
           ring->fragments;
}

/** Advance to the next fragment that members exchange: the first of each block,
 * and all others that are not empty. */
static void advance(ctn_p2p_ring_t *ring, bool incoming)
{
    ctn_p2p_cursor_t *cursor = incoming ? &ring->received : &ring->sent;
    do {
        uint32_t rest = ring->fragments - cursor->group * ring->together;
        if (++cursor->index >=
                (rest < ring->together ? rest : ring->together) ||
            ctn_p2p_ring_bytes(ring, incoming) == 0) {
            cursor->index = 0;
            cursor->step++;
        }
        if (cursor->step + 1 >= ring->call.p2p->size) {
            *cursor = (ctn_p2p_cursor_t){cursor->group + 1, 0, 0};
        }
    } while (!ended(ring, incoming) &&
             ctn_p2p_ring_offset(ring, incoming) > 0 &&
             ctn_p2p_ring_bytes(ring, incoming) == 0);
}

/** Set the lengths of what this member receives: all blocks but the one that
 * starts here. Also sets ring->fragments. */
static void measure(ctn_p2p_ring_t *ring, ctn_transfer_params_t *params)
{
    const ctn_p2p_t *p2p = ring->call.p2p;
    uint32_t starts_here = before(p2p, ring->first);
    ring->fragments = 1;
    for (uint32_t i = 0; i < p2p->size; i++) {
        size_t bytes = ctn_p2p_block_bytes(ring->call.basic, i);
        uint32_t fragments =
            bytes > 0 ? (uint32_t)((bytes - 1) / ring->fragment) + 1 : 1;
        ring->fragments =
            fragments > ring->fragments ? fragments : ring->fragments;
        if (i != starts_here) {
            size_t longest = bytes < ring->fragment ? bytes : ring->fragment;
            params->longest =
                longest > params->longest ? longest : params->longest;
            params->fragments += fragments;
        }
    }
}

static ctn_step_t begin(ctn_op_t *op)
{
    ctn_p2p_ring_t *ring = ctn_op_state(op);
    const ctn_p2p_t *p2p = ring->call.p2p;
    const ctn_sbgp_member_t *member = p2p->module.sbgp->member;
    const ctn_sbgp_member_t *previous = &member[before(p2p, 1)];
    ctn_p2p_begin_ring(op);
    ring->received = ring->sent = (ctn_p2p_cursor_t){0, 0, 0};
    ring->ready = NULL;
    ring->steps_received = ring->steps_sent = 0;
    ring->in = (ctn_transfer_recv_t){.staging = NULL};
    ring->fragments = 0;
    unsigned spare_slots = ctn_p2p_eager_slots(p2p->rounds);
    size_t spare_bytes = (size_t)spare_slots * CTN_EAGER_BYTES;
    ctn_transfer_params_t params = {
        .from = previous->memory,
        .cts = ctn_p2p_cts_at(op, previous->memory, CTS),
        .own = ctn_op_slot(op, FRAGMENTS),
        .slot = FRAGMENTS,
        .bytes = ctn_p2p_blocks_digest(ring->call.basic, p2p->size),
        .spare = ctn_op_eager(op, 0, spare_slots, spare_bytes),
        .spare_bytes = spare_bytes};
    algorithm_of(op)->begin(op, &params);
    if (p2p->size == 1) {
        return CTN_STEP_NEXT;
    }
    measure(ring, &params);
    ring->out =
        (ctn_transfer_send_t){.to = member[before(p2p, p2p->size - 1)].memory,
                              .cts = ctn_p2p_cts(op, CTS),
                              .digest = params.bytes};
    op->waits_for = previous->rank;
    catena_status_t status = ctn_transfer_recv_open(op, &ring->in, &params);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- fragments ---- */

/** The fragment that was ready has been sent, or is not sent any more. */
static void drop_ready(ctn_p2p_ring_t *ring)
{
    if (ring->ready != NULL) {
        ring->ready->pending--;
        ring->ready = NULL;
    }
}

/** Send the next fragment. WAIT: there is none, it is not there yet, or it has
 * no CTS. */
static ctn_step_t send_fragment(ctn_op_t *op, ctn_p2p_ring_t *ring)
{
    const unsigned char *data;
    uint64_t at = 0;
    if (ended(ring, false) || !ctn_transfer_has_cts(op, &ring->out) ||
        !algorithm_of(op)->next(ring, &data, &at)) {
        return CTN_STEP_WAIT;
    }
    bool own = ring->sent.step == 0;
    catena_status_t status = ctn_transfer_put(
        op, &ring->out, data, ctn_p2p_ring_bytes(ring, false), at,
        own || ring->ready == NULL ? &op->pending : &ring->ready->pending);
    if (!own) {
        drop_ready(ring);
    }
    advance(ring, false);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/** Receive the next fragment. WAIT: there is none, it has not arrived, or there
 * is no memory for it. */
static ctn_step_t receive_fragment(ctn_op_t *op, ctn_p2p_ring_t *ring)
{
    const unsigned char *data;
    if (ended(ring, true) ||
        ctn_transfer_recv_next(op, &ring->in, &data) == CTN_STEP_WAIT) {
        return CTN_STEP_WAIT;
    }
    ctn_step_t step = algorithm_of(op)->take(op, data);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    catena_status_t status = ctn_transfer_recv_consumed(op, &ring->in);
    advance(ring, true);
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

/* ---- different lengths ---- */

/** The count of steps in this member's slot; 0: none has arrived. */
static uint32_t steps_in(const ctn_op_t *op)
{
    uint64_t word = ctn_word_load(&ctn_op_slot(op, FRAGMENTS)->word[0]);
    uint32_t count = ctn_flag_count(word);
    return ctn_flag_matches(word, op->seq) && count >= STEPS ? count - STEPS
                                                             : 0;
}

/** Whether the next member has sent a CTS. */
static bool has_any_cts(const ctn_op_t *op, const ctn_p2p_ring_t *ring)
{
    return ctn_flag_matches(ctn_word_load(&ring->out.cts->word), op->seq);
}

/** For a member that waits: check whether a neighbor in the ring has other
 * lengths or no valid data. If so, set the operation's status. */
static bool differs(ctn_op_t *op, ctn_p2p_ring_t *ring)
{
    const ctn_p2p_t *p2p = ring->call.p2p;
    if (has_any_cts(op, ring) && ring->out.cts->bytes != ring->out.digest) {
        ctn_p2p_refuse_blocks(op, before(p2p, p2p->size - 1));
    } else if (steps_in(op) > 0) {
        ring->call.status = CATENA_ERR_ARG;
    } else {
        ctn_p2p_look_for_mismatch(op, before(p2p, 1),
                                  ctn_p2p_slots(p2p->rounds) - 1);
    }
    return ring->call.status != CATENA_OK;
}

/** Send the next member a count of steps: one more than the steps that this
 * member has received, at most `steps`.
 * @param steps_received steps received as fragments
 * @return NEXT: all `steps` have been sent and received */
static ctn_step_t send_steps(ctn_op_t *op, ctn_p2p_ring_t *ring,
                             uint32_t steps_received, uint32_t steps)
{
    uint32_t count = steps_in(op);
    steps_received = count > 0 ? count : steps_received;
    if (steps_received > ring->steps_received) {
        ring->steps_received = steps_received;
    }
    uint32_t may_send = /* number of steps */
        ring->steps_received < steps ? ring->steps_received + 1 : steps;
    /* The next member clears the slot before it sends its CTS. A word that
     * arrives earlier would be lost. */
    if (ring->steps_sent < may_send && has_any_cts(op, ring)) {
        ring->steps_sent = may_send;
        catena_status_t status = ctn_op_send_count(op, ring->out.to, FRAGMENTS,
                                                   STEPS + may_send, NULL, 0);
        return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
    }
    return ring->steps_sent == steps && ring->steps_received == steps
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

/** Lengths differ: receive the fragments that still arrive, and send counts of
 * steps instead of fragments. */
static ctn_step_t go_round_mismatch(ctn_op_t *op, ctn_p2p_ring_t *ring)
{
    uint32_t steps = ring->call.p2p->size - 1;
    const unsigned char *data;
    drop_ready(ring);
    if (!ended(ring, true) &&
        ctn_transfer_recv_next(op, &ring->in, &data) == CTN_STEP_NEXT) {
        catena_status_t status = ctn_transfer_recv_consumed(op, &ring->in);
        advance(ring, true);
        return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
    }
    if (ended(ring, false)) {
        ring->steps_sent = steps;
    }
    /* While fragments may still arrive, the last step has not been received. */
    uint32_t received = ended(ring, true)          ? steps
                        : ring->received.group > 0 ? steps - 1
                                                   : ring->received.step;
    return send_steps(op, ring, received, steps);
}

/** Send or receive one fragment. NEXT: all are sent and received. */
static ctn_step_t go_round(ctn_op_t *op)
{
    ctn_p2p_ring_t *ring = ctn_op_state(op);
    if (ring->call.status != CATENA_OK && ring->call.p2p->size > 1) {
        return go_round_mismatch(op, ring);
    }
    if (ended(ring, false) && ended(ring, true)) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = send_fragment(op, ring);
    if (step == CTN_STEP_WAIT) {
        step = receive_fragment(op, ring);
    }
    return step == CTN_STEP_WAIT && differs(op, ring) ? CTN_STEP_MOVED : step;
}

void ctn_p2p_ring_finish(ctn_op_t *op)
{
    ctn_p2p_ring_t *ring = ctn_op_state(op);
    drop_ready(ring);
    ctn_transfer_recv_close(op, &ring->in);
}

const ctn_phase_t ctn_p2p_ring_phases[] = {{"begin", begin},
                                           {"round", go_round},
                                           {"end", ctn_p2p_end_vector},
                                           {NULL, NULL}};
