/* Builds the ring of node leaders: the partner of each leader in round d. The
 * chain of leaders is closed at its ends; then, as on a log-chain (Moody, Ahn,
 * de Supinski, section 2), partners send each other the address beyond. Rounds:
 * ceil(log2 nodes) here, and as many in the scan that finds the ends. Memory:
 * O(log nodes) at a leader. */

#include <stdlib.h>
#include <string.h>

#include "exec/slot.h"
#include "topo/topo.h"

enum { LEFT, RIGHT };

typedef struct closing {
    ctn_topo_t *topo; /* argument */
    ctn_address_t neighbour[2];
    unsigned round;
    bool sent;
} closing_t;

typedef struct leader_ring {
    ctn_topo_t *topo; /* argument */
    ctn_words_t own;
    ctn_words_t first;
    ctn_words_t last;
} leader_ring_t;

_Static_assert(sizeof(ctn_node_leader_t) <= CTN_INLINE_BYTES, "fits a slot");

static ctn_address_t address_in(const ctn_words_t *words)
{
    return (ctn_address_t){words->word[0], words->word[1]};
}

/* ---- the ends ---- */

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

/** In round 0, send this leader's record to both neighbors. In later rounds,
 * send each partner of the round before the leader 2^(round - 1) beyond. */
static catena_status_t send_to(ctn_op_t *op, const closing_t *closing, int side)
{
    const ctn_topo_t *topo = closing->topo;
    ctn_node_leader_t content;
    ctn_address_t to;
    if (closing->round == 0) {
        content = (ctn_node_leader_t){.address = topo->leaders.place.self,
                                      .rank = topo->group->chain.place.rank};
        to = closing->neighbour[side];
    } else {
        const ctn_leader_ring_round_t *before =
            &topo->leader_ring[closing->round - 1];
        content = side == LEFT ? before->to : before->from;
        to = side == LEFT ? before->from.address : before->to.address;
    }
    return ctn_op_send(op, to, 2 * closing->round + (side == LEFT), &content,
                       sizeof(content));
}

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

/* The preceding scan is synchronizing, and so is the next operation on the
 * leaders' chain. Hence two non-synchronizing operations never follow each
 * other. */
static const ctn_algorithm_t closing_algorithm = {
    .name = "chain/leader ring",
    .state_bytes = sizeof(closing_t),
    .phases = closing_phases,
};

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
    closing->neighbour[LEFT] = chain->place.rank > 0
                                   ? chain->place.left
                                   : address_in(&leader_ring->last);
    closing->neighbour[RIGHT] = chain->place.rank + 1 < chain->place.size
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
