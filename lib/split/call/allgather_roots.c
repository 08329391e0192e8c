/* Allgather among the node leaders (roots), of tables of any length:
 * dissemination (Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for
 * all-to-all communications in multiport message-passing systems, IEEE TPDS 8,
 * 1997) over the leader ring. Rounds: ceil(log2 nodes), one message in each.
 * Messages of up to 16 KiB are sent eagerly to the eager buffers of the split
 * call (slot_owner); longer ones are read by the receiver. Memory:
 * O(length of the tables of all nodes) at a leader. */

#include <string.h>

#include "exec/message.h"
#include "exec/slot.h"
#include "split/call/call.h"

enum {
    MOST_ROUNDS = 32, /* with 2^32 nodes */
    /* The count in the sequence flag of an eager message. The other messages of
     * this operation have turn 0, hence another count (exec/message.c). */
    COUNT_EAGER = -1
};

_Static_assert(MOST_ROUNDS <= CTN_EAGER_SLOTS,
               "a slot with an eager buffer for each round");

typedef struct allgather_roots {
    /* arguments */
    ctn_op_t *slot_owner; /* see ctn_allgather_roots_create */
    const ctn_topo_t *topo;
    ctn_bytes_t *all; /* the result */
    /* working */
    unsigned round;
    bool sent;        /* in this round */
    uint32_t nodes;   /* number of nodes whose blocks are here */
    ctn_bytes_t held; /* their blocks, the own first */
    ctn_bytes_t message[MOST_ROUNDS]; /* sent, by round; kept until the end */
    ctn_send_handle_t send_handle;
    ctn_receive_handle_t receive_handle;
} allgather_roots_t;

_Static_assert(sizeof(allgather_roots_t) <= CTN_OP_STATE_BYTES,
               "fits an operation");

unsigned char *ctn_bytes_open(ctn_exec_t *exec, ctn_bytes_t *table,
                              size_t bytes)
{
    *table = (ctn_bytes_t){ctn_scratch_alloc(exec, bytes), bytes};
    return table->memory;
}

void ctn_bytes_close(ctn_exec_t *exec, ctn_bytes_t *table)
{
    ctn_scratch_free(exec, table->memory, table->bytes);
    *table = (ctn_bytes_t){NULL, 0};
}

/* Here a block is the table of a node, preceded by its length. */

/** Return the bytes of a block, its length field included. */
static size_t block_bytes(const unsigned char *block)
{
    uint64_t bytes;
    memcpy(&bytes, block, sizeof(bytes));
    return sizeof(bytes) + bytes;
}

/** Return the bytes of the first `n` blocks. */
static size_t prefix_bytes(const ctn_bytes_t *blocks, uint32_t n)
{
    size_t at = 0;
    while (n-- > 0) {
        at += block_bytes(blocks->memory + at);
    }
    return at;
}

/* ---- messages: the bytes of all blocks in it, then the blocks ---- */

/** Send the first `count` blocks that are here to this round's partner. */
static catena_status_t send(ctn_op_t *op, allgather_roots_t *x, uint32_t count)
{
    const ctn_node_leader_t *to = &x->topo->leader_ring[x->round].to;
    ctn_bytes_t *message = &x->message[x->round];
    uint64_t bytes = prefix_bytes(&x->held, count);
    if (ctn_bytes_open(op->exec, message, sizeof(bytes) + bytes) == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    memcpy(message->memory, &bytes, sizeof(bytes));
    memcpy(message->memory + sizeof(bytes), x->held.memory, bytes);
    if (message->bytes > CTN_ALLGATHER_ROOTS_EAGER_BYTES) {
        return ctn_message_send(x->slot_owner, to->address, x->round, 0,
                                message->memory, message->bytes,
                                &x->send_handle);
    }
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, to->address.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t seq = x->slot_owner->seq;
    op->exec->tally.messages++;
    op->exec->tally.bytes += message->bytes;
    return ctn_put_signal(endpoint, message->memory, message->bytes,
                          ctn_eager_offset(to->address, seq, x->round, 0),
                          ctn_slot_word_offset(x->slot_owner->sequence,
                                               to->address, seq, x->round, 0),
                          ctn_flag(seq, (uint32_t)COUNT_EAGER), &op->pending);
}

/** Append the blocks of a message to those that are here. @return false: no
 * memory */
static bool append(ctn_op_t *op, allgather_roots_t *x,
                   const unsigned char *message)
{
    uint64_t bytes;
    ctn_bytes_t grown;
    memcpy(&bytes, message, sizeof(bytes));
    if (ctn_bytes_open(op->exec, &grown, x->held.bytes + bytes) == NULL) {
        return false;
    }
    memcpy(grown.memory, x->held.memory, x->held.bytes);
    memcpy(grown.memory + x->held.bytes, message + sizeof(bytes), bytes);
    ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
    ctn_bytes_close(op->exec, &x->held);
    x->held = grown;
    return true;
}

/** Receive this round's message: an eager one, or one of exec/message.h. */
static ctn_step_t receive(ctn_op_t *op, allgather_roots_t *x)
{
    const ctn_node_leader_t *from = &x->topo->leader_ring[x->round].from;
    const ctn_op_t *slot_owner = x->slot_owner;
    uint64_t word = ctn_word_load(&ctn_op_slot(slot_owner, x->round)->word[0]);
    const unsigned char *message =
        ctn_group_block(x->topo->group)
            ->eager[slot_owner->seq % CTN_GENERATIONS][x->round][0];
    if (word != ctn_flag(slot_owner->seq, (uint32_t)COUNT_EAGER)) {
        ctn_step_t step = ctn_message_receive(x->slot_owner, from->address,
                                              x->round, 0, &x->receive_handle);
        if (step != CTN_STEP_NEXT) {
            return step == CTN_STEP_FAIL ? ctn_op_fail(op, slot_owner->status)
                                         : step;
        }
        message = x->receive_handle.data;
    }
    bool appended = append(op, x, message);
    ctn_receive_handle_release(x->slot_owner, &x->receive_handle);
    return appended ? CTN_STEP_NEXT : ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
}

/* ---- phases ---- */

enum { PHASE_ROUNDS, PHASE_TAKEN };

/** Send and receive the messages of one round. */
static ctn_step_t rounds(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    uint32_t nodes = x->topo->nodes;
    if (x->nodes == nodes) {
        return CTN_STEP_NEXT;
    }
    uint32_t count = x->nodes < nodes - x->nodes ? x->nodes : nodes - x->nodes;
    if (!x->sent) {
        catena_status_t status = send(op, x, count);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        x->sent = true;
        op->exec->tally.rounds++;
        return CTN_STEP_MOVED;
    }
    ctn_step_t step = receive(op, x);
    if (step == CTN_STEP_WAIT) {
        op->waits_for = (int64_t)x->topo->leader_ring[x->round].from.rank;
        ctn_op_set_network(op, true);
    }
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    x->nodes += count;
    x->sent = false;
    return ctn_op_jump(op, PHASE_TAKEN);
}

/** Wait until the receiver has read the message of this round, if it was not
 * eager: there is one send handle for all rounds. */
static ctn_step_t await_taken(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    if (!ctn_message_send_done(x->slot_owner, &x->send_handle)) {
        return CTN_STEP_WAIT;
    }
    x->round++;
    return x->nodes < x->topo->nodes ? ctn_op_jump(op, PHASE_ROUNDS)
                                     : CTN_STEP_NEXT;
}

/** Copy the blocks to the result, without their lengths. */
static ctn_step_t hand_over(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    size_t lengths = x->topo->nodes * sizeof(uint64_t);
    unsigned char *to =
        ctn_bytes_open(op->exec, x->all, x->held.bytes - lengths);
    if (to == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    for (size_t at = 0; at < x->held.bytes;) {
        size_t bytes = block_bytes(x->held.memory + at);
        size_t content = bytes - sizeof(uint64_t);
        memcpy(to, x->held.memory + at + sizeof(uint64_t), content);
        to += content;
        at += bytes;
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    ctn_send_handle_release(x->slot_owner, &x->send_handle);
    ctn_receive_handle_release(x->slot_owner, &x->receive_handle);
    ctn_bytes_close(op->exec, &x->held);
    /* After an error the network may still read these messages. If their memory
     * were used again, other data would be sent in their place. So they are
     * kept until the heap is destroyed. */
    for (unsigned i = 0; i < MOST_ROUNDS && op->pending == 0; i++) {
        ctn_bytes_close(op->exec, &x->message[i]);
    }
}

static const ctn_phase_t phases[] = {{"rounds", rounds},
                                     {"await taken", await_taken},
                                     {"hand over", hand_over},
                                     {NULL, NULL}};

static const ctn_algorithm_t allgather_roots_algorithm = {
    .name = "allgather among leaders",
    .state_bytes = sizeof(allgather_roots_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_allgather_roots_create(ctn_op_t *slot_owner,
                                     const ctn_topo_t *topo,
                                     const ctn_bytes_t *own, ctn_bytes_t *all)
{
    ctn_op_t *op =
        ctn_op_create(slot_owner->exec, &allgather_roots_algorithm, NULL);
    if (op == NULL) {
        return NULL;
    }
    allgather_roots_t *x = ctn_op_state(op);
    x->slot_owner = slot_owner;
    x->topo = topo;
    x->all = all;
    x->nodes = 1;
    uint64_t bytes = own->bytes;
    if (ctn_group_take_eager(topo->group, ctn_rounds(topo->nodes)) !=
            CATENA_OK ||
        ctn_bytes_open(slot_owner->exec, &x->held, sizeof(bytes) + bytes) ==
            NULL) {
        ctn_op_release(op);
        return NULL;
    }
    memcpy(x->held.memory, &bytes, sizeof(bytes));
    memcpy(x->held.memory + sizeof(bytes), own->memory, own->bytes);
    return op;
}
