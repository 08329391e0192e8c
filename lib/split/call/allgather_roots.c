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

#include "exec/message.h"
#include "exec/slot.h"
#include "split/call/call.h"

enum {
    /* Longer messages are not eager. */
    EAGER_BYTES = CTN_EAGER_FRAGMENTS * CTN_EAGER_FRAGMENT_BYTES,
};

/* The count in the sequence flag of an eager message is this and its length.
 * The other messages of this operation have turn 0, hence another count
 * (exec/message.c). */
#define COUNT_EAGER (UINT32_C(1) << 31)

_Static_assert(CTN_EAGER_SLOTS >= 32,
               "a slot with an eager buffer for each round of 2^32 nodes");

typedef struct allgather_roots {
    /* arguments */
    ctn_op_t *slot_owner; /* see ctn_allgather_roots_create */
    const ctn_topo_t *topo;
    ctn_stream_t *tables; /* without memory in simulations of costs */
    /* working */
    size_t own_bytes; /* of the own node's block */
    unsigned round;
    uint32_t nodes;    /* number of nodes whose blocks are here */
    size_t sent_bytes; /* of this round's message; 0: it is not sent yet */
    ctn_receive_handle_t receive_handle;
} allgather_roots_t;

/** Return the partners of this round. */
static const ctn_partner_t *partners(const allgather_roots_t *x)
{
    return x->topo->leaders.log->round[x->round].side;
}

/** Return the number of blocks in a message of this round. */
static uint32_t count(const allgather_roots_t *x)
{
    uint32_t missing = x->topo->nodes - x->nodes;
    return x->nodes < missing ? x->nodes : missing;
}

/** Return the bytes of the message of this round: the first blocks here. */
static size_t message_bytes(const allgather_roots_t *x)
{
    size_t bytes = 0;
    if (x->tables->memory == NULL) {
        return count(x) * x->own_bytes;
    }
    for (uint32_t i = 0; i < count(x); i++) {
        (void)ctn_stream_next(x->tables->memory, &bytes);
    }
    return bytes;
}

/** Send the first blocks to this round's partner. */
static catena_status_t send(ctn_op_t *op, allgather_roots_t *x)
{
    ctn_address_t to = partners(x)[CTN_RIGHT].address;
    const unsigned char *message = x->tables->memory;
    size_t bytes = x->sent_bytes = message_bytes(x);
    op->exec->tally.rounds++;
    if (bytes > EAGER_BYTES) {
        return ctn_message_send_zcopy(x->slot_owner, to, x->round, 0, message,
                                      bytes);
    }
    uint64_t seq = x->slot_owner->seq;
    return ctn_op_put(
        op, to.process, message, bytes, ctn_eager_offset(to, seq, x->round, 0),
        ctn_slot_word_offset(x->slot_owner->sequence, to, seq, x->round, 0),
        ctn_flag(seq, COUNT_EAGER | bytes));
}

/** Return whether the message that was sent may change. */
static bool is_taken(const ctn_op_t *op, const allgather_roots_t *x)
{
    return x->sent_bytes > EAGER_BYTES
               ? ctn_message_zcopy_done(x->slot_owner, x->round, 0,
                                        x->sent_bytes)
               : op->pending == 0;
}

/** Receive this round's message: an eager one, or one of exec/message.h. Both
 * are at receive_handle.data in the end. */
static ctn_step_t receive(ctn_op_t *op, allgather_roots_t *x)
{
    const ctn_partner_t *from = &partners(x)[CTN_LEFT];
    ctn_op_t *slot_owner = x->slot_owner;
    ctn_receive_handle_t *handle = &x->receive_handle;
    uint64_t word = ctn_word_load(&ctn_op_slot(slot_owner, x->round)->word[0]);
    if (ctn_flag_matches(word, slot_owner->seq) &&
        (ctn_flag_count(word) & COUNT_EAGER) != 0) {
        handle->data =
            ctn_group_block(x->topo->group)
                ->eager[slot_owner->seq % CTN_GENERATIONS][x->round][0];
        handle->bytes = ctn_flag_count(word) & ~COUNT_EAGER;
        return CTN_STEP_NEXT;
    }
    if (x->tables->memory == NULL) {
        handle->into = x; /* nothing is written there */
    }
    ctn_step_t step =
        ctn_message_receive(slot_owner, from->address, x->round, 0, handle);
    if (step == CTN_STEP_WAIT) {
        op->waits_for = (int64_t)from->rank;
    }
    return step == CTN_STEP_FAIL ? ctn_op_fail(op, slot_owner->status) : step;
}

/** Append the received blocks to those that are here. */
static catena_status_t append(ctn_op_t *op, allgather_roots_t *x)
{
    size_t bytes = x->receive_handle.bytes;
    if (x->tables->memory != NULL) {
        return ctn_stream_append(op->exec, x->tables, x->receive_handle.data,
                                 bytes);
    }
    ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
    x->tables->bytes += bytes;
    return CATENA_OK;
}

/** The phase of all rounds. A round ends when both messages have arrived: what
 * was sent from `tables` must not move before. */
static ctn_step_t rounds(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (x->sent_bytes == 0) {
        status = send(op, x);
        return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
    }
    ctn_step_t step = receive(op, x);
    if (step == CTN_STEP_NEXT && !is_taken(op, x)) {
        step = CTN_STEP_WAIT;
    }
    if (step != CTN_STEP_NEXT) {
        ctn_op_set_network(op, true);
        return step;
    }
    status = append(op, x);
    ctn_receive_handle_release(x->slot_owner, &x->receive_handle);
    x->nodes += count(x);
    x->round++;
    x->sent_bytes = 0;
    return status != CATENA_OK         ? ctn_op_fail(op, status)
           : x->nodes < x->topo->nodes ? CTN_STEP_MOVED
                                       : CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    allgather_roots_t *x = ctn_op_state(op);
    ctn_receive_handle_release(x->slot_owner, &x->receive_handle);
}

static const ctn_phase_t phases[] = {{"rounds", rounds}, {NULL, NULL}};

static const ctn_algorithm_t allgather_roots_algorithm = {
    .name = "allgather among leaders",
    .state_bytes = sizeof(allgather_roots_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_allgather_roots_create(ctn_op_t *slot_owner,
                                     const ctn_topo_t *topo,
                                     ctn_stream_t *tables)
{
    if (ctn_group_take_eager(topo->group, ctn_rounds(topo->nodes)) !=
        CATENA_OK) {
        return NULL;
    }
    ctn_op_t *op =
        ctn_op_create(slot_owner->exec, &allgather_roots_algorithm, NULL);
    if (op != NULL) {
        allgather_roots_t *x = ctn_op_state(op);
        x->slot_owner = slot_owner;
        x->topo = topo;
        x->tables = tables;
        x->own_bytes = tables->bytes;
        x->nodes = 1;
    }
    return op;
}
