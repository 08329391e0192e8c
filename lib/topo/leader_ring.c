/* Builds the leader ring: the partners of each node leader in round d. First
 * the two ends of the chain of leaders become neighbors. Then, as on a
 * log-chain ([Moody], section 2), each leader sends its partner on one side the
 * address of its partner on the other side, round by round. Rounds: ceil(log2
 * nodes) here, and as many in the scan that finds the ends. Memory: O(log
 * nodes) at a leader. */

#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"

enum { LEFT, RIGHT };

/** State of the operation that finds the partners. */
typedef struct closing {
    ctn_double_scan_t double_scan; /* first; messages have the sender's rank */
    /* arguments */
    ctn_topo_t *topo;
    ctn_chain_place_t place; /* on the ring */
    struct {
        unsigned char head[CTN_DOUBLE_SCAN_HEAD_BYTES];
        uint64_t rank; /* in the group */
    } message[2];      /* by side */
} closing_t;

/** State of the operation around it. */
typedef struct leader_ring {
    ctn_topo_t *topo; /* argument */
    /* Addresses, of the scan: this leader's, the chain's first leader's, the
     * last one's. */
    ctn_words_t own;
    ctn_words_t first;
    ctn_words_t last;
} leader_ring_t;

/** Return the address that the first two words hold. */
static ctn_address_t address_in(const ctn_words_t *words)
{
    return (ctn_address_t){words->word[0], words->word[1]};
}

/* ---- the ends ---- */

/** Allocate the ring; find the first and the last leader of the chain. */
static ctn_step_t find_ends(ctn_op_t *op)
{
    leader_ring_t *leader_ring = ctn_op_state(op);
    ctn_topo_t *topo = leader_ring->topo;
    ctn_address_t self = topo->leaders.place.self;
    topo->leader_ring =
        calloc(ctn_rounds(topo->nodes), sizeof(ctn_leader_ring_round_t));
    if (topo->leader_ring == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    leader_ring->own = (ctn_words_t){{self.process, self.offset}};
    return ctn_op_call(
        op, ctn_scan_create(op->exec, &topo->leaders, ctn_fold_farthest,
                            &leader_ring->own, &leader_ring->first,
                            &leader_ring->last, sizeof(ctn_words_t)));
}

/* ---- the rounds ---- */

static ctn_step_t begin(ctn_op_t *op)
{
    closing_t *closing = ctn_op_state(op);
    ctn_double_scan_begin(&closing->double_scan);
    return CTN_STEP_NEXT;
}

static catena_status_t outgoing(ctn_op_t *op, unsigned side,
                                unsigned char **message, size_t *bytes)
{
    closing_t *closing = ctn_op_state(op);
    closing->message[side].rank = closing->topo->group->chain.place.rank;
    *message = closing->message[side].head;
    *bytes = sizeof(closing->message[side].rank);
    return CATENA_OK;
}

/** Keep this round's partner on `side`. */
static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes)
{
    const closing_t *closing = ctn_op_state(op);
    const ctn_double_scan_t *double_scan = &closing->double_scan;
    ctn_leader_ring_round_t *round =
        &closing->topo->leader_ring[double_scan->rounds.index];
    ctn_node_leader_t *partner = side == LEFT ? &round->from : &round->to;
    partner->address = double_scan->partner[side];
    memcpy(&partner->rank, value, bytes);
    return CATENA_OK;
}

static const ctn_double_scan_values_t values = {outgoing, incoming};

static const ctn_phase_t closing_phases[] = {
    {"begin", begin}, {"exchange", ctn_double_scan_rounds}, {NULL, NULL}};

/* Not synchronizing. This is allowed, since the scan before it is
 * synchronizing, and so is the next operation on the leaders' chain: two
 * operations that do not synchronize never follow each other. */
static const ctn_algorithm_t closing_algorithm = {
    .name = "chain/leader ring",
    .state_bytes = sizeof(closing_t),
    .phases = closing_phases,
};

/** Join the ends of the chain; find the partners of all rounds. */
static ctn_step_t close_ring(ctn_op_t *op)
{
    leader_ring_t *leader_ring = ctn_op_state(op);
    ctn_chain_t *chain = &leader_ring->topo->leaders;
    ctn_op_t *child =
        ctn_op_create(op->exec, &closing_algorithm, &chain->sequence);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    closing_t *closing = ctn_op_state(child);
    closing->topo = leader_ring->topo;
    closing->place = chain->place;
    if (chain->place.rank == 0) {
        closing->place.left = address_in(&leader_ring->last);
    }
    if (chain->place.rank + 1 == chain->place.size) {
        closing->place.right = address_in(&leader_ring->first);
    }
    closing->double_scan.place = &closing->place;
    closing->double_scan.values = &values;
    closing->double_scan.ring = ctn_rounds(chain->place.size);
    return ctn_op_call(op, child);
}

static const ctn_phase_t phases[] = {
    {"find ends", find_ends}, {"close", close_ring}, {NULL, NULL}};

static const ctn_algorithm_t leader_ring_algorithm = {
    .name = "leader ring",
    .state_bytes = sizeof(leader_ring_t),
    .phases = phases,
};

ctn_op_t *ctn_leader_ring_create(ctn_exec_t *exec, ctn_topo_t *topo)
{
    ctn_op_t *op = ctn_op_create(exec, &leader_ring_algorithm, NULL);
    if (op != NULL) {
        ((leader_ring_t *)ctn_op_state(op))->topo = topo;
    }
    return op;
}
