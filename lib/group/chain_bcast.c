/* Broadcast on a chain from any root. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2. Rounds:
 * ceil(log2 p). Messages: one per member. Memory: one copy of the value,
 * because all children read the same buffer. */

#include <string.h>

#include "group/rooted_tree.h"

typedef struct bcast {
    ctn_rooted_t tree; /* first */
    /* arguments */
    void *data;
    size_t bytes;
    /* working */
    unsigned char *copy; /* root: a copy of data that does not fit a slot */
    const void *source;  /* what the children read */
} bcast_t;

static ctn_step_t begin(ctn_op_t *op)
{
    bcast_t *bcast = ctn_op_state(op);
    catena_status_t status = ctn_rooted_begin(&bcast->tree);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    bcast->source = bcast->data;
    if (bcast->tree.is_root && bcast->bytes > CTN_MESSAGE_INLINE_BYTES) {
        bcast->copy = ctn_scratch_alloc(op->exec, bcast->bytes);
        if (bcast->copy == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        memcpy(bcast->copy, bcast->data, bcast->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, bcast->bytes);
        bcast->source = bcast->copy;
    }
    return CTN_STEP_NEXT;
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const ctn_receive_handle_t *receive_handle)
{
    (void)side;
    bcast_t *bcast = ctn_op_state(op);
    if (receive_handle->bytes != bcast->bytes) {
        return CATENA_ERR_ARG; /* length mismatch */
    }
    bcast->source = receive_handle->data;
    return CATENA_OK;
}

/** Every child gets the whole value. */
static ctn_rank_block_t outgoing(ctn_op_t *op, unsigned side, unsigned child)
{
    (void)side, (void)child;
    const bcast_t *bcast = ctn_op_state(op);
    return (ctn_rank_block_t){bcast->source, bcast->bytes};
}

static const ctn_rooted_values_t values = {incoming, outgoing};

/** Send to the children, then copy to the caller's buffer: the messages are on
 * the critical path, the copy is not. */
static ctn_step_t pass_on(ctn_op_t *op)
{
    bcast_t *bcast = ctn_op_state(op);
    ctn_step_t step = ctn_rooted_send_down(op);
    if (step == CTN_STEP_NEXT && !bcast->tree.is_root && bcast->bytes > 0) {
        memcpy(bcast->data, bcast->source, bcast->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, bcast->bytes);
    }
    return step;
}

static void finish(ctn_op_t *op)
{
    bcast_t *bcast = ctn_op_state(op);
    /* After an error the memory stays: children may still read it. */
    if (op->status == CATENA_OK) {
        ctn_rooted_drop(op);
        ctn_scratch_free(op->exec, bcast->copy, bcast->bytes);
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"receive", ctn_rooted_receive},
                                     {"pass on", pass_on},
                                     {"end", ctn_rooted_await_children},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/bcast",
    .state_bytes = sizeof(bcast_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_chain_bcast(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                          void *data, size_t bytes)
{
    void *state;
    ctn_op_t *op =
        ctn_rooted_create(exec, chain, root, &algorithm, &values, &state);
    if (op != NULL) {
        bcast_t *bcast = state;
        bcast->data = data;
        bcast->bytes = bytes;
    }
    return op;
}
