/* Builds the leader ring: the partners of each node leader in round d. First
 * the two ends of the chain of leaders become neighbors. Then, as on a
 * log-chain ([Moody], section 2), each leader sends its partner on one side the
 * address of its partner on the other side, round by round. Rounds: ceil(log2
 * nodes) here, and as many in the scan that finds the ends. Memory: O(log
 * nodes) at a leader. */

#include <stdlib.h>
#include <string.h>

#include "exec/slot.h"
#include "topo/topo.h"

enum { LEFT, RIGHT };

/** State of the operation that finds the partners. */
typedef struct closing {
    /* arguments */
    ctn_topo_t *topo;
    ctn_address_t neighbor[2]; /* on the ring */
    /* working */
    unsigned round;
    bool sent; /* in this round */
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

_Static_assert(sizeof(ctn_node_leader_t) <= CTN_INLINE_BYTES, "fits a slot");

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

/** In round 0 send address and rank of this leader to the neighbor on `side`.
 * In a later round send to the partner of the previous round on `side` that
 * round's partner on the other side: it is 2^round away from the receiver. */
static catena_status_t send_to(ctn_op_t *op, const closing_t *closing, int side)
{
    const ctn_topo_t *topo = closing->topo;
    ctn_node_leader_t content;
    ctn_address_t to;
    if (closing->round == 0) {
        content = (ctn_node_leader_t){.address = topo->leaders.place.self,
                                      .rank = topo->group->chain.place.rank};
        to = closing->neighbor[side];
    } else {
        const ctn_leader_ring_round_t *before =
            &topo->leader_ring[closing->round - 1];
        content = side == LEFT ? before->to : before->from;
        to = side == LEFT ? before->from.address : before->to.address;
    }
    return ctn_op_send(op, to, 2 * closing->round + (side == LEFT), &content,
                       sizeof(content));
}

/** Run one round: send to both sides, then receive from both. */
static ctn_step_t exchange(ctn_op_t *op)
{
    closing_t *closing = ctn_op_state(op);
    ctn_topo_t *topo = closing->topo;
    unsigned slot = 2 * closing->round;
    if (closing->round == ctn_rounds(topo->nodes)) {
        return CTN_STEP_NEXT;
    }
    if (!closing->sent) {
        for (int side = LEFT; side <= RIGHT; side++) {
            catena_status_t status = send_to(op, closing, side);
            if (status != CATENA_OK) {
                return ctn_op_fail(op, status);
            }
        }
        closing->sent = true;
    }
    if (!ctn_op_arrived(op, slot) || !ctn_op_arrived(op, slot + 1)) {
        return CTN_STEP_WAIT;
    }
    ctn_leader_ring_round_t *round = &topo->leader_ring[closing->round];
    memcpy(&round->from, ctn_op_slot(op, slot)->data,
           sizeof(ctn_node_leader_t));
    memcpy(&round->to, ctn_op_slot(op, slot + 1)->data,
           sizeof(ctn_node_leader_t));
    closing->round++;
    closing->sent = false;
    return CTN_STEP_MOVED;
}

static const ctn_phase_t closing_phases[] = {{"exchange", exchange},
                                             {NULL, NULL}};

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
    closing->neighbor[LEFT] = chain->place.rank > 0
                                  ? chain->place.left
                                  : address_in(&leader_ring->last);
    closing->neighbor[RIGHT] = chain->place.rank + 1 < chain->place.size
                                   ? chain->place.right
                                   : address_in(&leader_ring->first);
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
