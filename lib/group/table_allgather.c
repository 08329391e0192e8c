/* Allgather on a chain into published tables. Recursive doubling without
 * wrap-around: before round d a member has the records of the members less than
 * 2^d away on either side. In round d it sends its partner 2^d to the left its
 * own records and those of the members to its right, which that partner lacks,
 * and conversely its partner to the right. Rounds: ceil(log2 p), and one before
 * to publish the tables. All members know the number of records, so a sender
 * puts them directly to their final place, in one step a round. In
 * chain_allgather.c, for blocks of any lengths, the receiver copies them. */

#include <string.h>

#include "exec/slot.h"
#include "group/chain_place.h"

enum { LEFT, RIGHT };

/* Slots: two for the addresses of the tables, then two for each round. */
static unsigned slot_of(unsigned round, unsigned side)
{
    return 2 + 2 * round + side;
}

/** Send the address of this member's table to the neighbor on `side`. */
static catena_status_t publish(ctn_op_t *op, ctn_table_allgather_t *gather,
                               int side)
{
    const ctn_chain_place_t *place = gather->place;
    ctn_address_t peer = side == LEFT ? place->left : place->right;
    gather->partner[side].address = peer;
    if (!ctn_address_exists(peer)) {
        return CATENA_OK;
    }
    return ctn_op_send(op, peer, (unsigned)!side, &gather->table,
                       sizeof(gather->table));
}

static ctn_step_t begin(ctn_op_t *op)
{
    ctn_table_allgather_t *gather = ctn_op_state(op);
    gather->round = gather->sent = 0;
    for (int side = LEFT; side <= RIGHT; side++) {
        catena_status_t status = publish(op, gather, side);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    return CTN_STEP_NEXT;
}

static ctn_step_t receive_tables(ctn_op_t *op)
{
    ctn_table_allgather_t *gather = ctn_op_state(op);
    for (int side = LEFT; side <= RIGHT; side++) {
        unsigned slot = (unsigned)side;
        if (!ctn_address_exists(gather->partner[side].address)) {
            continue;
        }
        if (!ctn_op_arrived(op, slot)) {
            return CTN_STEP_WAIT;
        }
        memcpy(&gather->partner[side].table, ctn_op_slot(op, slot)->data,
               sizeof(uint64_t));
    }
    return CTN_STEP_NEXT;
}

/** Return the offset of member `i`'s records in a table. */
static size_t record_start(const ctn_table_allgather_t *gather, uint32_t i)
{
    return (gather->first != NULL ? gather->first[i] : i) *
           gather->record_bytes;
}

/** Put the records that the partner on `side` lacks into its table, announced
 * by word 1 of the slot. Then send the address of its next partner in the slot,
 * announced by word 0. */
static catena_status_t send(ctn_op_t *op, ctn_table_allgather_t *gather,
                            int side)
{
    uint64_t rank = gather->place->rank;
    uint64_t reach = UINT64_C(1) << gather->round;
    /* The first and the last member whose records are sent. */
    uint64_t low =
        side == LEFT ? rank : rank + 1 - (reach < rank + 1 ? reach : rank + 1);
    uint64_t high = side == RIGHT ? rank : rank + reach - 1;
    if (high >= gather->place->size) {
        high = gather->place->size - 1;
    }
    size_t start = record_start(gather, (uint32_t)low);
    size_t bytes = record_start(gather, (uint32_t)high + 1) - start;
    const struct ctn_table_allgather_peer *to = &gather->partner[side];
    ctn_endpoint_t *endpoint;
    catena_status_t status =
        ctn_exec_connect(op->exec, to->address.process, &endpoint);
    if (status != CATENA_OK) {
        return status;
    }
    unsigned slot = slot_of(gather->round, (unsigned)!side);
    status = ctn_put_signal(
        endpoint, gather->memory + start, bytes, to->table + start,
        ctn_slot_word_offset(op->sequence, to->address, op->seq, slot, 1),
        ctn_flag(op->seq, 0), &op->pending);
    if (status != CATENA_OK) {
        return status;
    }
    return ctn_op_send(op, to->address, slot, &gather->partner[!side],
                       sizeof(gather->partner[0]));
}

static ctn_step_t send_both(ctn_op_t *op, ctn_table_allgather_t *gather)
{
    for (int side = LEFT; side <= RIGHT; side++) {
        if (ctn_address_exists(gather->partner[side].address)) {
            catena_status_t status = send(op, gather, side);
            if (status != CATENA_OK) {
                return ctn_op_fail(op, status);
            }
        }
    }
    gather->sent = 1;
    op->exec->tally.rounds++;
    return CTN_STEP_MOVED;
}

/** Whether this round's records and address from `side` have arrived, or there
 * is no partner. */
static bool received(ctn_op_t *op, const ctn_table_allgather_t *gather,
                     int side)
{
    unsigned slot = slot_of(gather->round, (unsigned)side);
    return !ctn_address_exists(gather->partner[side].address) ||
           (ctn_op_arrived(op, slot) &&
            ctn_word_load(&ctn_op_slot(op, slot)->word[1]) ==
                ctn_flag(op->seq, 0));
}

static ctn_step_t rounds(ctn_op_t *op)
{
    ctn_table_allgather_t *gather = ctn_op_state(op);
    if (!ctn_address_exists(gather->partner[LEFT].address) &&
        !ctn_address_exists(gather->partner[RIGHT].address)) {
        return CTN_STEP_NEXT;
    }
    if (!gather->sent) {
        return send_both(op, gather);
    }
    if (!received(op, gather, LEFT) || !received(op, gather, RIGHT)) {
        return CTN_STEP_WAIT;
    }
    for (int side = LEFT; side <= RIGHT; side++) {
        unsigned slot = slot_of(gather->round, (unsigned)side);
        if (ctn_address_exists(gather->partner[side].address)) {
            memcpy(&gather->partner[side], ctn_op_slot(op, slot)->data,
                   sizeof(gather->partner[0]));
        }
    }
    gather->round++;
    gather->sent = 0;
    return CTN_STEP_MOVED;
}

static const ctn_phase_t phases[] = {{"publish", begin},
                                     {"receive tables", receive_tables},
                                     {"rounds", rounds},
                                     {NULL, NULL}};

const ctn_algorithm_t ctn_table_allgather_algorithm = {
    .name = "chain/allgather",
    .state_bytes = sizeof(ctn_table_allgather_t),
    .phases = phases,
    .synchronizing = true,
};
