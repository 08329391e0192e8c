/* Allgather among the node leaders (roots), of tables of any length:
 * dissemination (Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for
 * all-to-all communications in multiport message-passing systems, IEEE TPDS 8,
 * 1997) over the leader ring. Rounds: ceil(log2 nodes), one message in each.
 * Messages of up to 16 KiB are sent eagerly to the eager buffers of the split
 * call (slot_owner); longer ones are read by the receiver. Memory:
 * O(length of the tables of all nodes) at a leader.
 *
 * In simulations of costs only (exec->drop_tables) messages have a length but
 * no content, as if the tables of all nodes had one length. */

#include <string.h>

#include "exec/message.h"
#include "exec/slot.h"
#include "split/call/call.h"

enum {
    MOST_ROUNDS = 32, /* with 2^32 nodes */
    HEAD_BYTES = sizeof(uint64_t),
    /* Longer messages are not eager. */
    EAGER_BYTES = CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES,
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
    bool sent;      /* in this round */
    uint32_t nodes; /* number of nodes whose blocks are here */
    /* Their blocks before each round, the own first, behind space for the bytes
     * of what is sent. Kept until the end, since they are sent from here.
     * Without memory in simulations of costs. */
    ctn_bytes_t held[MOST_ROUNDS + 1];
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

/** Return the bytes of the first `n` blocks that are here. */
static size_t prefix_bytes(const allgather_roots_t *x, uint32_t n)
{
    const ctn_bytes_t *held = &x->held[x->round];
    size_t at = HEAD_BYTES;
    if (held->memory == NULL) {
        return n * (x->held[0].bytes - HEAD_BYTES);
    }
    while (n-- > 0) {
        at += block_bytes(held->memory + at);
    }
    return at - HEAD_BYTES;
}

/* ---- messages: the bytes of all blocks in it, then the blocks ---- */

/** Return the number of blocks in a message of this round. */
static uint32_t count(const allgather_roots_t *x)
{
    uint32_t missing = x->topo->nodes - x->nodes;
    return x->nodes < missing ? x->nodes : missing;
}

static size_t message_bytes(const allgather_roots_t *x)
{
    return HEAD_BYTES + prefix_bytes(x, count(x));
}

/** Send the first blocks that are here to this round's partner. */
static catena_status_t send(ctn_op_t *op, allgather_roots_t *x)
{
    ctn_address_t to = x->topo->leader_ring[x->round].to.address;
    unsigned char *message = x->held[x->round].memory;
    size_t bytes = message_bytes(x);
    uint64_t content = bytes - HEAD_BYTES;
    if (message != NULL) {
        memcpy(message, &content, HEAD_BYTES);
    }
    if (bytes > EAGER_BYTES) {
        return ctn_message_send_zcopy(x->slot_owner, to, x->round, 0, message,
                                      bytes);
    }
    ctn_endpoint_t *endpoint;
    catena_status_t status = ctn_exec_connect(op->exec, to.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    uint64_t seq = x->slot_owner->seq;
    op->exec->tally.messages++;
    op->exec->tally.bytes += bytes;
    return ctn_put_signal(
        endpoint, message, bytes, ctn_eager_offset(to, seq, x->round, 0),
        ctn_slot_word_offset(x->slot_owner->sequence, to, seq, x->round, 0),
        ctn_flag(seq, (uint32_t)COUNT_EAGER), &op->pending);
}

/** Append the blocks of a message to those that are here. @return false: no
 * memory */
static bool append(ctn_op_t *op, allgather_roots_t *x,
                   const unsigned char *message)
{
    const ctn_bytes_t *held = &x->held[x->round];
    ctn_bytes_t *grown = &x->held[x->round + 1];
    uint64_t bytes = prefix_bytes(x, count(x));
    if (held->memory != NULL) {
        memcpy(&bytes, message, HEAD_BYTES);
    }
    ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
    grown->bytes = held->bytes + bytes;
    if (held->memory == NULL) {
        return true;
    }
    if (ctn_bytes_open(op->exec, grown, grown->bytes) == NULL) {
        return false;
    }
    memcpy(grown->memory, held->memory, held->bytes);
    memcpy(grown->memory + held->bytes, message + HEAD_BYTES, bytes);
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
        if (x->held[0].memory == NULL) {
            x->receive_handle.into = x; /* nothing is written there */
        }
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

enum { PHASE_ROUNDS };

/** Send and receive the messages of one round. */
static ctn_step_t rounds(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    if (!x->sent) {
        catena_status_t status = send(op, x);
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
    return step;
}

/** Wait until the receiver has read the message of this round, if it was not
 * eager. */
static ctn_step_t await_taken(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    size_t bytes = message_bytes(x);
    if (bytes > EAGER_BYTES &&
        !ctn_message_zcopy_done(x->slot_owner, x->round, 0, bytes)) {
        return CTN_STEP_WAIT;
    }
    x->nodes += count(x);
    x->round++;
    x->sent = false;
    return x->nodes < x->topo->nodes ? ctn_op_jump(op, PHASE_ROUNDS)
                                     : CTN_STEP_NEXT;
}

/** Copy the blocks to the result, without their lengths. */
static ctn_step_t hand_over(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    const ctn_bytes_t *held = &x->held[x->round];
    size_t lengths = x->topo->nodes * sizeof(uint64_t);
    if (held->memory == NULL) {
        return CTN_STEP_NEXT;
    }
    unsigned char *to =
        ctn_bytes_open(op->exec, x->all, held->bytes - HEAD_BYTES - lengths);
    if (to == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    for (size_t at = HEAD_BYTES; at < held->bytes;) {
        size_t bytes = block_bytes(held->memory + at);
        size_t content = bytes - sizeof(uint64_t);
        memcpy(to, held->memory + at + sizeof(uint64_t), content);
        to += content;
        at += bytes;
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    ctn_receive_handle_release(x->slot_owner, &x->receive_handle);
    /* After an error other leaders or the network may still read the messages.
     * If their memory were used again, other data would be sent in their place.
     * So they are kept until the heap is destroyed. */
    for (unsigned i = 0; i <= MOST_ROUNDS && op->status == CATENA_OK; i++) {
        ctn_bytes_close(op->exec, &x->held[i]);
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
    x->held[0].bytes = HEAD_BYTES + sizeof(uint64_t) + own->bytes;
    if (own->memory == NULL) {
        return op;
    }
    uint64_t bytes = own->bytes;
    unsigned char *held =
        ctn_bytes_open(op->exec, &x->held[0], x->held[0].bytes);
    if (held == NULL ||
        ctn_group_take_eager(topo->group, ctn_rounds(topo->nodes)) !=
            CATENA_OK) {
        ctn_bytes_close(op->exec, &x->held[0]);
        ctn_op_release(op);
        return NULL;
    }
    memcpy(held + HEAD_BYTES, &bytes, sizeof(bytes));
    memcpy(held + HEAD_BYTES + sizeof(bytes), own->memory, own->bytes);
    return op;
}
