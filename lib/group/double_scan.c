/* Double exclusive scan on a chain. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2. Rounds:
 * ceil(log2 p). Messages: two per member and round. Memory: O(1). Differences
 * from the paper: one round serves both directions; values are folded into the
 * exclusive results, too, as they arrive, so no inclusive result is shifted by
 * one member at the end. */

#include <string.h>

#include "exec/slot.h"
#include "group/chain_place.h"

enum { LEFT, RIGHT };

/** A message. For its receiver, `beyond` is the partner of the next round. */
typedef struct scan_message {
    uint64_t beyond; /* packed address of the sender's partner on its other
                        side */
    unsigned char value[CTN_SCAN_BYTES];
} scan_message_t;

_Static_assert(sizeof(scan_message_t) == CTN_INLINE_BYTES, "fills a slot");

ctn_step_t ctn_scan_begin(ctn_op_t *op)
{
    ctn_scan_t *scan = ctn_op_state(op);
    memcpy(scan->inclusive[LEFT], scan->own, scan->bytes);
    memcpy(scan->inclusive[RIGHT], scan->own, scan->bytes);
    scan->partner[LEFT] = scan->place->left;
    scan->partner[RIGHT] = scan->place->right;
    scan->round = 0;
    scan->sent = scan->received = 0;
    return CTN_STEP_NEXT;
}

/** Send the partner on `side` the inclusive value of the other side, and the
 * address of the partner's next partner. */
static catena_status_t send(ctn_op_t *op, ctn_scan_t *scan, int side)
{
    scan_message_t message;
    bool opens = scan->round == 0 && scan->opening != NULL;
    size_t bytes = opens ? scan->opening_bytes : scan->bytes;
    message.beyond = ctn_address_pack(scan->partner[!side]);
    memcpy(message.value, opens ? scan->opening : scan->inclusive[!side],
           bytes);
    unsigned slot = 2 * scan->round + (unsigned)!side;
    return ctn_op_send(op, scan->partner[side], slot, &message,
                       offsetof(scan_message_t, value) + bytes);
}

static ctn_step_t send_both(ctn_op_t *op, ctn_scan_t *scan)
{
    for (int side = LEFT; side <= RIGHT; side++) {
        if (ctn_address_exists(scan->partner[side])) {
            catena_status_t status = send(op, scan, side);
            if (status != CATENA_OK) {
                return ctn_op_fail(op, status);
            }
        }
    }
    scan->sent = 1;
    op->exec->tally.rounds++;
    return CTN_STEP_MOVED;
}

/** This round's message from `side`, which has arrived. */
static const scan_message_t *message_from(ctn_op_t *op, ctn_scan_t *scan,
                                          int side)
{
    unsigned slot = 2 * scan->round + (unsigned)side;
    return (const void *)ctn_op_slot(op, slot)->data;
}

/** Fold the round's message from `side` if it has arrived. Return whether it
 * has been folded, or there is none. */
static bool receive(ctn_op_t *op, ctn_scan_t *scan, int side)
{
    if (!ctn_address_exists(scan->partner[side]) ||
        (scan->received & 1u << side) != 0) {
        return true;
    }
    if (!ctn_op_arrived(op, 2 * scan->round + (unsigned)side)) {
        return false;
    }
    const scan_message_t *message = message_from(op, scan, side);
    if (scan->round == 0 && scan->opening != NULL) {
        scan->fold_opening(scan, side, message->value);
    } else {
        scan->fold(scan->from[side], message->value, side == LEFT);
        scan->fold(scan->inclusive[side], message->value, side == LEFT);
    }
    ctn_exec_charge(op->exec, CTN_WORK_REDUCE, 2 * scan->bytes);
    scan->received |= 1u << side;
    return true;
}

ctn_step_t ctn_scan_rounds(ctn_op_t *op)
{
    ctn_scan_t *scan = ctn_op_state(op);
    if (!ctn_address_exists(scan->partner[LEFT]) &&
        !ctn_address_exists(scan->partner[RIGHT])) {
        return CTN_STEP_NEXT;
    }
    if (!scan->sent) {
        return send_both(op, scan);
    }
    /* A round ends when the messages of both sides have arrived: this member's
     * next messages must contain the values of both. */
    if (!receive(op, scan, LEFT) || !receive(op, scan, RIGHT)) {
        return CTN_STEP_WAIT;
    }
    for (int side = LEFT; side <= RIGHT; side++) {
        if (ctn_address_exists(scan->partner[side])) {
            scan->partner[side] =
                ctn_address_unpack(message_from(op, scan, side)->beyond);
        }
    }
    scan->round++;
    scan->sent = scan->received = 0;
    return CTN_STEP_MOVED;
}

static const ctn_phase_t phases[] = {
    {"begin", ctn_scan_begin}, {"rounds", ctn_scan_rounds}, {NULL, NULL}};

const ctn_algorithm_t ctn_scan_algorithm = {
    .name = "chain/scan",
    .state_bytes = sizeof(ctn_scan_t),
    .phases = phases,
    .synchronizing = true,
};

void ctn_fold_sum(void *inout, const void *in, int in_is_left)
{
    (void)in_is_left;
    ctn_words_t *a = inout;
    const ctn_words_t *b = in;
    for (unsigned i = 0; i < CTN_WORDS; i++) {
        a->word[i] += b->word[i];
    }
}

void ctn_fold_farthest(void *inout, const void *in, int in_is_left)
{
    (void)in_is_left;
    memcpy(inout, in, sizeof(ctn_words_t));
}
