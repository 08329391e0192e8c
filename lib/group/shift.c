/* Each member's bytes to its right neighbour: their number, then the bytes, in
 * as many slots as they need. One round; one message up to 104 bytes. */

#include <string.h>

#include "group/chain.h"

enum { HEADER = sizeof(uint64_t) };

/** Slots that `bytes` with their number take. */
static unsigned slots_for(size_t bytes)
{
    return (unsigned)((HEADER + bytes + CTN_INLINE_BYTES - 1) /
                      CTN_INLINE_BYTES);
}

/** The stretch of the bytes that a slot holds: its start, its length, and
 * where in the slot it lies. */
static size_t stretch(size_t bytes, unsigned slot, size_t *start, size_t *at)
{
    *at = slot == 0 ? HEADER : 0;
    *start = slot == 0 ? 0 : slot * (size_t)CTN_INLINE_BYTES - HEADER;
    size_t room = CTN_INLINE_BYTES - *at;
    return bytes - *start < room ? bytes - *start : room;
}

static ctn_step_t begin(ctn_op_t *op)
{
    ctn_shift_t *shift = ctn_op_state(op);
    shift->slot = 0;
    *shift->received = 0;
    if (!ctn_address_exists(shift->chain->right)) {
        return CTN_STEP_NEXT;
    }
    uint64_t length = shift->send_bytes;
    catena_status_t status = CATENA_OK;
    for (unsigned i = 0; status == CATENA_OK && i < slots_for(length); i++) {
        unsigned char message[CTN_INLINE_BYTES];
        size_t start;
        size_t at;
        size_t n = stretch(length, i, &start, &at);
        memcpy(message, &length, at);
        memcpy(message + at, (const unsigned char *)shift->send + start, n);
        status = ctn_op_send(op, shift->chain->right, i, message, at + n);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t receive(ctn_op_t *op)
{
    ctn_shift_t *shift = ctn_op_state(op);
    if (!ctn_address_exists(shift->chain->left)) {
        return CTN_STEP_NEXT;
    }
    while (ctn_op_arrived(op, shift->slot)) {
        const unsigned char *data = ctn_op_slot(op, shift->slot)->data;
        if (shift->slot == 0) {
            uint64_t length;
            memcpy(&length, data, sizeof(length));
            *shift->received = (size_t)length;
        }
        size_t start;
        size_t at;
        size_t n = stretch(*shift->received, shift->slot, &start, &at);
        memcpy((unsigned char *)shift->receive + start, data + at, n);
        if (++shift->slot == slots_for(*shift->received)) {
            return CTN_STEP_NEXT;
        }
    }
    return CTN_STEP_WAIT;
}

static const ctn_phase_t phases[] = {
    {"send", begin}, {"receive", receive}, {NULL, NULL}};

const ctn_algorithm_t ctn_shift_algorithm = {
    .name = "chain/shift",
    .state_bytes = sizeof(ctn_shift_t),
    .phases = phases,
};
