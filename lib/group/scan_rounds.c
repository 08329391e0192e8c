/* Rounds: ceil(log2 p). Messages: two per member and round. A message longer
 * than a slot takes three steps instead of one (exec/message.h), and its copy
 * must have been taken before the next round's is made: memory is that of one
 * message out and one in for either side. */

#include "group/scan_rounds.h"

#include <string.h>

void ctn_spread_begin(ctn_spread_t *spread)
{
    spread->partner[CTN_LEFT] = spread->chain->left;
    spread->partner[CTN_RIGHT] = spread->chain->right;
    spread->round = 0;
    spread->sent = spread->here[CTN_LEFT] = spread->here[CTN_RIGHT] = false;
    memset(spread->parcel, 0, sizeof(spread->parcel));
    memset(spread->letter, 0, sizeof(spread->letter));
}

/** To the partner on `side` what came from the other one, and whom it meets
 * there next. */
static catena_status_t send(ctn_op_t *op, ctn_spread_t *spread, unsigned side)
{
    uint64_t beyond = ctn_address_pack(spread->partner[!side]);
    size_t bytes = 0;
    const void *message = &beyond;
    unsigned char *value = spread->values->outgoing(op, !side, &bytes);
    if (value != NULL) {
        memcpy(value, &beyond, sizeof(beyond));
        message = value;
    }
    return ctn_mail_send(op, spread->partner[side], 2 * spread->round + !side,
                         0, message, CTN_SPREAD_HEAD + bytes,
                         &spread->parcel[side]);
}

static bool all_taken(ctn_op_t *op, ctn_spread_t *spread)
{
    bool left = ctn_mail_taken(op, &spread->parcel[CTN_LEFT]);
    return ctn_mail_taken(op, &spread->parcel[CTN_RIGHT]) && left;
}

static ctn_step_t send_both(ctn_op_t *op, ctn_spread_t *spread)
{
    if (!all_taken(op, spread)) {
        return CTN_STEP_WAIT;
    }
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        catena_status_t status = CATENA_OK;
        if (ctn_address_exists(spread->partner[side])) {
            status = send(op, spread, side);
        }
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    spread->sent = true;
    op->exec->tally.rounds++;
    return CTN_STEP_MOVED;
}

/** NEXT: the round's message from `side` has been taken, or is not due. */
static ctn_step_t receive(ctn_op_t *op, ctn_spread_t *spread, unsigned side)
{
    ctn_letter_t *letter = &spread->letter[side];
    if (!ctn_address_exists(spread->partner[side]) || spread->here[side]) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = ctn_mail_receive(op, spread->partner[side],
                                       2 * spread->round + side, 0, letter);
    if (step != CTN_STEP_NEXT) {
        uint32_t away = UINT32_C(1) << spread->round;
        op->waits_for = side == CTN_LEFT ? spread->chain->rank - away
                                         : spread->chain->rank + away;
        return step;
    }
    uint64_t beyond;
    memcpy(&beyond, letter->data, sizeof(beyond));
    spread->beyond[side] = ctn_address_unpack(beyond);
    catena_status_t status =
        spread->values->incoming(op, side, letter->data + CTN_SPREAD_HEAD,
                                 letter->bytes - CTN_SPREAD_HEAD);
    ctn_letter_release(op, letter);
    spread->here[side] = true;
    return status == CATENA_OK ? step : ctn_op_fail(op, status);
}

ctn_step_t ctn_spread_rounds(ctn_op_t *op)
{
    ctn_spread_t *spread = ctn_op_state(op);
    if (!ctn_address_exists(spread->partner[CTN_LEFT]) &&
        !ctn_address_exists(spread->partner[CTN_RIGHT])) {
        return all_taken(op, spread) ? CTN_STEP_NEXT : CTN_STEP_WAIT;
    }
    if (!spread->sent) {
        return send_both(op, spread);
    }
    /* A round ends when both sides are in: what is sent next must not
     * contain a later round's values. */
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_step_t step = receive(op, spread, side);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
    }
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (ctn_address_exists(spread->partner[side])) {
            spread->partner[side] = spread->beyond[side];
        }
        spread->here[side] = false;
    }
    spread->round++;
    spread->sent = false;
    return CTN_STEP_MOVED;
}

void ctn_spread_drop(ctn_op_t *op)
{
    ctn_spread_t *spread = ctn_op_state(op);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_parcel_drop(op, &spread->parcel[side]);
        ctn_letter_release(op, &spread->letter[side]);
    }
}
