/* The messages of allgather_roots.c without content: for simulations of costs
 * only (--cost-only), in which the tables of all nodes have one length. */

#include "exec/slot.h"
#include "split/call/call.h"

typedef struct allgather_sizes {
    /* arguments */
    ctn_op_t *slot_owner; /* see ctn_allgather_roots_create */
    const ctn_topo_t *topo;
    size_t bytes; /* of a node's table */
    /* working */
    unsigned round;
    uint32_t nodes;   /* number of nodes whose tables would be here */
    uint64_t pending; /* gets that are not complete */
} allgather_sizes_t;

enum { PHASE_SEND, PHASE_END = 4 };

/** Return the slot for the acknowledgement of this round's message: the second
 * half of the slots is for these. */
static unsigned acknowledgement(const allgather_sizes_t *x)
{
    return CTN_SLOTS / 2 + x->round;
}

/** Return the number of tables in a message of this round. */
static uint32_t count(const allgather_sizes_t *x)
{
    uint32_t missing = x->topo->nodes - x->nodes;
    return x->nodes < missing ? x->nodes : missing;
}

/** Return the bytes of a message of this round: its length, then each table
 * with its length. */
static size_t message_bytes(const allgather_sizes_t *x)
{
    return sizeof(uint64_t) + count(x) * (sizeof(uint64_t) + x->bytes);
}

static ctn_step_t send(ctn_op_t *op)
{
    allgather_sizes_t *x = ctn_op_state(op);
    if (x->nodes == x->topo->nodes) {
        return ctn_op_jump(op, PHASE_END);
    }
    ctn_address_t to = x->topo->leader_ring[x->round].to.address;
    size_t bytes = message_bytes(x);
    op->exec->tally.rounds++;
    op->exec->tally.bytes += bytes;
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(op->exec, to.process, &endpoint);
    if (status == CATENA_OK && bytes <= CTN_ALLGATHER_ROOTS_EAGER_BYTES) {
        op->exec->tally.messages++;
        status = endpoint->transport->ops->put_signal(
            endpoint, NULL, bytes,
            ctn_eager_offset(to, x->slot_owner->seq, x->round, 0),
            ctn_slot_word_offset(x->slot_owner->sequence, to,
                                 x->slot_owner->seq, x->round, 0),
            ctn_flag(x->slot_owner->seq, 0), &op->pending);
    } else if (status == CATENA_OK) {
        uint64_t rts[2] = {0, bytes};
        status = ctn_op_send(x->slot_owner, to, x->round, rts, sizeof(rts));
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t fetch(ctn_op_t *op)
{
    allgather_sizes_t *x = ctn_op_state(op);
    ctn_address_t from = x->topo->leader_ring[x->round].from.address;
    if (!ctn_op_arrived(x->slot_owner, x->round)) {
        ctn_op_set_network(op, true);
        return CTN_STEP_WAIT;
    }
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, from.process, &endpoint);
    if (status == CATENA_OK &&
        message_bytes(x) > CTN_ALLGATHER_ROOTS_EAGER_BYTES) {
        status = endpoint->transport->ops->get(endpoint, NULL, message_bytes(x),
                                               0, &x->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t acknowledge(ctn_op_t *op)
{
    allgather_sizes_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (x->pending != 0) {
        return CTN_STEP_WAIT;
    }
    if (message_bytes(x) > CTN_ALLGATHER_ROOTS_EAGER_BYTES) {
        status = ctn_op_send(x->slot_owner,
                             x->topo->leader_ring[x->round].from.address,
                             acknowledgement(x), NULL, 0);
    }
    /* The receiver would append the message to what it has: a copy. */
    ctn_exec_charge(op->exec, CTN_WORK_COPY, message_bytes(x));
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t next_round(ctn_op_t *op)
{
    allgather_sizes_t *x = ctn_op_state(op);
    if (message_bytes(x) > CTN_ALLGATHER_ROOTS_EAGER_BYTES &&
        !ctn_op_arrived(x->slot_owner, acknowledgement(x))) {
        return CTN_STEP_WAIT;
    }
    x->nodes += count(x);
    x->round++;
    return ctn_op_jump(op, PHASE_SEND);
}

static const ctn_phase_t phases[] = {{"send", send},
                                     {"fetch", fetch},
                                     {"acknowledge", acknowledge},
                                     {"next round", next_round},
                                     {NULL, NULL}};

static const ctn_algorithm_t sizes_algorithm = {
    .name = "allgather of sizes among leaders",
    .state_bytes = sizeof(allgather_sizes_t),
    .phases = phases,
};

ctn_op_t *ctn_allgather_sizes_create(ctn_op_t *slot_owner,
                                     const ctn_topo_t *topo, size_t bytes)
{
    ctn_op_t *op = ctn_op_create(slot_owner->exec, &sizes_algorithm, NULL);
    if (op != NULL) {
        allgather_sizes_t *x = ctn_op_state(op);
        x->slot_owner = slot_owner;
        x->topo = topo;
        x->bytes = bytes;
        x->nodes = 1;
    }
    return op;
}
