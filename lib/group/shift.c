/* Each member's bytes to its right neighbour: as many slots as they need, the
 * first word of the first slot's data being the length. One round. */

#include <string.h>

#include "group/chain.h"

static size_t part_bytes(size_t bytes, unsigned slot)
{
    size_t rest = bytes - (size_t)slot * CTN_INLINE_BYTES;
    return rest < CTN_INLINE_BYTES ? rest : CTN_INLINE_BYTES;
}

static unsigned parts(size_t bytes)
{
    return (unsigned)((bytes + CTN_INLINE_BYTES - 1) / CTN_INLINE_BYTES);
}

/** The length goes into slot 0, the bytes into the slots from 1 on. */
static ctn_step_t begin(ctn_op_t *op)
{
    ctn_shift_t *shift = ctn_op_state(op);
    shift->slot = 0;
    *shift->received = 0;
    if (!ctn_address_exists(shift->chain->right)) {
        return CTN_STEP_NEXT;
    }
    uint64_t length = shift->send_bytes;
    catena_status_t status =
        ctn_op_send(op, shift->chain->right, 0, &length, sizeof(length));
    for (unsigned i = 0; status == CATENA_OK && i < parts(length); i++) {
        status = ctn_op_send(op, shift->chain->right, i + 1,
                             (const char *)shift->send + i * CTN_INLINE_BYTES,
                             part_bytes(length, i));
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
        } else {
            memcpy((char *)shift->receive +
                       (shift->slot - 1) * CTN_INLINE_BYTES,
                   data, part_bytes(*shift->received, shift->slot - 1));
        }
        if (shift->slot == parts(*shift->received)) {
            return CTN_STEP_NEXT;
        }
        shift->slot++;
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
