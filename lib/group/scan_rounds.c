/* The rounds of a double scan: ceil(log2 p). Messages: two per member and
 * round. A message longer than a slot takes three steps instead of one
 * (exec/message.h), and the round ends only after its receiver has read it.
 * Memory: for each side one message that is sent and one that is received. */

#include "group/scan_rounds.h"

#include <string.h>

void ctn_double_scan_begin(ctn_double_scan_t *double_scan)
{
    double_scan->partner[CTN_LEFT] = double_scan->place->left;
    double_scan->partner[CTN_RIGHT] = double_scan->place->right;
    ctn_rounds_begin(&double_scan->rounds, 0);
}

/** Return the rank of the member 2^round away on `side`; UINT32_MAX: there is
 * none. */
static uint32_t rank_at(const ctn_double_scan_t *double_scan, unsigned side,
                        unsigned round)
{
    const ctn_chain_place_t *place = double_scan->place;
    int64_t away = INT64_C(1) << round;
    int64_t rank = place->rank + (side == CTN_LEFT ? -away : away);
    return rank >= 0 && rank < place->size ? (uint32_t)rank : UINT32_MAX;
}

/** Set the message to the partner on `side`: the value of the other side, and
 * the address of the partner's next partner. */
static catena_status_t set_message(ctn_op_t *op, ctn_double_scan_t *double_scan,
                                   unsigned side)
{
    ctn_rounds_t *rounds = &double_scan->rounds;
    ctn_address_t beyond = double_scan->partner[!side];
    uint64_t *address = &double_scan->address[side];
    unsigned char *message = NULL;
    size_t bytes = 0;
    catena_status_t status =
        double_scan->values->outgoing != NULL
            ? double_scan->values->outgoing(op, !side, &message, &bytes)
            : CATENA_OK;
    bytes += CTN_DOUBLE_SCAN_HEAD_BYTES;
    if (double_scan->addresses != NULL) { /* a length without content */
        uint32_t rank = rank_at(double_scan, !side, rounds->index);
        if (rank != UINT32_MAX) {
            double_scan->addresses[rank] = beyond;
        }
    } else {
        message = message != NULL ? message : (void *)address;
        *address = ctn_address_pack(beyond);
        memcpy(message, address, sizeof(*address));
    }
    rounds->overwrites |= bytes > CTN_MESSAGE_INLINE_BYTES;
    ctn_rounds_send(rounds, side, double_scan->partner[side],
                    2 * rounds->index + !side, message, bytes);
    return status;
}

/** Whether all rounds are over. */
static bool is_over(const ctn_double_scan_t *double_scan)
{
    return double_scan->ring > 0
               ? double_scan->rounds.index == double_scan->ring
               : !ctn_address_exists(double_scan->partner[CTN_LEFT]) &&
                     !ctn_address_exists(double_scan->partner[CTN_RIGHT]);
}

static bool set_round(ctn_op_t *op, unsigned index)
{
    ctn_double_scan_t *double_scan = ctn_op_state(op);
    if (is_over(double_scan)) {
        return false;
    }
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (op->status != CATENA_OK ||
            !ctn_address_exists(double_scan->partner[side])) {
            continue;
        }
        op->status = set_message(op, double_scan, side);
        ctn_rounds_receive(&double_scan->rounds, side,
                           double_scan->partner[side], 2 * index + side,
                           double_scan->of_group
                               ? (int64_t)rank_at(double_scan, side, index)
                               : -1);
        if (double_scan->addresses != NULL) { /* nothing is written there */
            double_scan->rounds.handle[side].into = double_scan;
        }
    }
    return true;
}

/** Return the address in the message from `side`. */
static ctn_address_t address_in(const ctn_double_scan_t *double_scan,
                                unsigned side)
{
    uint64_t beyond;
    if (double_scan->addresses != NULL) {
        uint32_t rank =
            rank_at(double_scan, side, double_scan->rounds.index + 1);
        return rank != UINT32_MAX ? double_scan->addresses[rank]
                                  : CTN_NO_ADDRESS;
    }
    memcpy(&beyond, double_scan->rounds.handle[side].data, sizeof(beyond));
    return ctn_address_unpack(beyond);
}

/** Consume the messages of the round, and find the partners of the next one. */
static catena_status_t take(ctn_op_t *op, unsigned index)
{
    (void)index;
    ctn_double_scan_t *double_scan = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        const ctn_receive_handle_t *handle = &double_scan->rounds.handle[side];
        if (handle->data == NULL || status != CATENA_OK) {
            continue;
        }
        status = double_scan->values->incoming(
            op, side, handle->data + CTN_DOUBLE_SCAN_HEAD_BYTES,
            handle->bytes - CTN_DOUBLE_SCAN_HEAD_BYTES);
        double_scan->partner[side] = address_in(double_scan, side);
    }
    return status;
}

ctn_step_t ctn_double_scan_rounds(ctn_op_t *op)
{
    static const ctn_rounds_schedule_t schedule = {.round = set_round,
                                                   .take = take};
    ctn_double_scan_t *double_scan = ctn_op_state(op);
    return ctn_rounds_run(op, &double_scan->rounds, &schedule);
}

void ctn_double_scan_drop(ctn_op_t *op)
{
    ctn_double_scan_t *double_scan = ctn_op_state(op);
    ctn_rounds_release(op, &double_scan->rounds);
}
