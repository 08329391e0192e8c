/* The rounds of a double scan: ceil(log2 p). Messages: two per member and
 * round. A message longer than a slot takes three steps instead of one
 * (exec/message.h), and the next round begins only after its receiver has read
 * it. Memory: for each side one message that is sent and one that is received.
 */

#include "group/scan_rounds.h"

#include <string.h>

void ctn_double_scan_begin(ctn_double_scan_t *double_scan)
{
    double_scan->partner[CTN_LEFT] = double_scan->place->left;
    double_scan->partner[CTN_RIGHT] = double_scan->place->right;
    double_scan->round = 0;
    double_scan->sent = double_scan->arrived[CTN_LEFT] =
        double_scan->arrived[CTN_RIGHT] = false;
    memset(double_scan->send_handle, 0, sizeof(double_scan->send_handle));
    memset(double_scan->receive_handle, 0, sizeof(double_scan->receive_handle));
    memset(double_scan->length, 0, sizeof(double_scan->length));
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

/** The slot for the message to the partner on `side`. */
static unsigned slot_to(const ctn_double_scan_t *double_scan, unsigned side)
{
    return 2 * double_scan->round + !side;
}

/** Send a message of `bytes` without content. */
static catena_status_t send_length(ctn_op_t *op, ctn_double_scan_t *double_scan,
                                   unsigned side, size_t bytes)
{
    uint32_t beyond = rank_at(double_scan, !side, double_scan->round);
    if (beyond != UINT32_MAX) {
        double_scan->addresses[beyond] = double_scan->partner[!side];
    }
    if (bytes > CTN_MESSAGE_INLINE_BYTES) { /* it would be copied */
        ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
    }
    double_scan->length[side] = bytes;
    return ctn_message_send_zcopy(op, double_scan->partner[side],
                                  slot_to(double_scan, side), 0, NULL, bytes);
}

/** Send the partner on `side` the value of the other side, and the address of
 * the partner's next partner. */
static catena_status_t send(ctn_op_t *op, ctn_double_scan_t *double_scan,
                            unsigned side)
{
    uint64_t beyond = ctn_address_pack(double_scan->partner[!side]);
    size_t bytes = 0;
    unsigned char *message = NULL;
    catena_status_t status =
        double_scan->values != NULL
            ? double_scan->values->outgoing(op, !side, &message, &bytes)
            : CATENA_OK;
    if (status != CATENA_OK) {
        return status;
    }
    if (double_scan->addresses != NULL) {
        return send_length(op, double_scan, side,
                           CTN_DOUBLE_SCAN_HEAD_BYTES + bytes);
    }
    if (message != NULL) {
        memcpy(message, &beyond, sizeof(beyond));
    }
    return ctn_message_send(
        op, double_scan->partner[side], slot_to(double_scan, side), 0,
        message != NULL ? (const void *)message : &beyond,
        CTN_DOUBLE_SCAN_HEAD_BYTES + bytes, &double_scan->send_handle[side]);
}

/** Whether the partner on `side` has read the message of the round before. */
static bool taken(ctn_op_t *op, ctn_double_scan_t *double_scan, unsigned side)
{
    size_t *length = &double_scan->length[side];
    if (*length > 0 && ctn_message_zcopy_done(
                           op, slot_to(double_scan, side) - 2, 0, *length)) {
        *length = 0;
    }
    return *length == 0 &&
           ctn_message_send_done(op, &double_scan->send_handle[side]);
}

/** Whether both partners have. */
static bool all_taken(ctn_op_t *op, ctn_double_scan_t *double_scan)
{
    bool left = taken(op, double_scan, CTN_LEFT);
    return taken(op, double_scan, CTN_RIGHT) && left;
}

static ctn_step_t send_both(ctn_op_t *op, ctn_double_scan_t *double_scan)
{
    if (!all_taken(op, double_scan)) {
        return CTN_STEP_WAIT;
    }
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        catena_status_t status = CATENA_OK;
        if (ctn_address_exists(double_scan->partner[side])) {
            status = send(op, double_scan, side);
        }
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    double_scan->sent = true;
    op->exec->tally.rounds++;
    return CTN_STEP_MOVED;
}

/** Return the address that a message from `side` has, which has arrived. */
static ctn_address_t address_in(const ctn_double_scan_t *double_scan,
                                unsigned side, const unsigned char *message)
{
    uint64_t beyond;
    if (double_scan->addresses != NULL) {
        uint32_t rank = rank_at(double_scan, side, double_scan->round + 1);
        return rank != UINT32_MAX ? double_scan->addresses[rank]
                                  : CTN_NO_ADDRESS;
    }
    memcpy(&beyond, message, sizeof(beyond));
    return ctn_address_unpack(beyond);
}

/** NEXT: the round's message from `side` has been consumed, or there is none.
 */
static ctn_step_t receive(ctn_op_t *op, ctn_double_scan_t *double_scan,
                          unsigned side)
{
    ctn_receive_handle_t *receive_handle = &double_scan->receive_handle[side];
    if (!ctn_address_exists(double_scan->partner[side]) ||
        double_scan->arrived[side]) {
        return CTN_STEP_NEXT;
    }
    if (double_scan->addresses != NULL) {
        receive_handle->into = double_scan; /* nothing is written there */
    }
    ctn_step_t step =
        ctn_message_receive(op, double_scan->partner[side],
                            2 * double_scan->round + side, 0, receive_handle);
    if (step != CTN_STEP_NEXT) {
        if (double_scan->of_group) {
            op->waits_for = rank_at(double_scan, side, double_scan->round);
        }
        return step;
    }
    double_scan->beyond[side] =
        address_in(double_scan, side, receive_handle->data);
    catena_status_t status =
        double_scan->values != NULL
            ? double_scan->values->incoming(
                  op, side, receive_handle->data + CTN_DOUBLE_SCAN_HEAD_BYTES,
                  receive_handle->bytes - CTN_DOUBLE_SCAN_HEAD_BYTES)
            : CATENA_OK;
    ctn_receive_handle_release(op, receive_handle);
    double_scan->arrived[side] = true;
    return status == CATENA_OK ? step : ctn_op_fail(op, status);
}

/** Whether all rounds are over. */
static bool is_over(const ctn_double_scan_t *double_scan)
{
    return double_scan->ring > 0
               ? double_scan->round == double_scan->ring
               : !ctn_address_exists(double_scan->partner[CTN_LEFT]) &&
                     !ctn_address_exists(double_scan->partner[CTN_RIGHT]);
}

ctn_step_t ctn_double_scan_rounds(ctn_op_t *op)
{
    ctn_double_scan_t *double_scan = ctn_op_state(op);
    if (is_over(double_scan)) {
        return all_taken(op, double_scan) ? CTN_STEP_NEXT : CTN_STEP_WAIT;
    }
    if (!double_scan->sent) {
        return send_both(op, double_scan);
    }
    /* A round ends when the messages of both sides have arrived: this member's
     * next messages must contain the values of both. */
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_step_t step = receive(op, double_scan, side);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
    }
    bool greeting = double_scan->greets && double_scan->round == 0;
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (!greeting && ctn_address_exists(double_scan->partner[side])) {
            double_scan->partner[side] = double_scan->beyond[side];
        }
        double_scan->arrived[side] = false;
    }
    double_scan->round++;
    double_scan->sent = false;
    return CTN_STEP_MOVED;
}

void ctn_double_scan_drop(ctn_op_t *op)
{
    ctn_double_scan_t *double_scan = ctn_op_state(op);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_send_handle_release(op, &double_scan->send_handle[side]);
        ctn_receive_handle_release(op, &double_scan->receive_handle[side]);
    }
}
