/* Reduction on a chain to any root. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2. Rounds:
 * ceil(log2 p). Messages: one per member. Memory: O(1) values. Members are
 * combined in their order, since a subtree is a contiguous part of the chain
 * (group/rooted_tree.h). */

#include <string.h>

#include "group/rooted_tree.h"

typedef struct reduce {
    ctn_rooted_t tree; /* first */
    /* arguments */
    ctn_operator_t by;
    const void *own;
    size_t bytes;
    void *result;
    /* working */
    unsigned char *value; /* of this member and the children received so far */
} reduce_t;

static ctn_step_t begin(ctn_op_t *op)
{
    reduce_t *reduce = ctn_op_state(op);
    catena_status_t status = ctn_rooted_begin(&reduce->tree);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    reduce->value = ctn_scratch_alloc(op->exec, reduce->bytes);
    if (reduce->value == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    if (reduce->bytes > 0) {
        memcpy(reduce->value, reduce->own, reduce->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, reduce->bytes);
    }
    return CTN_STEP_NEXT;
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const ctn_receive_handle_t *receive_handle)
{
    reduce_t *reduce = ctn_op_state(op);
    if (receive_handle->bytes != reduce->bytes) {
        return CATENA_ERR_ARG; /* length mismatch */
    }
    reduce->by.combine(reduce->value, receive_handle->data, reduce->bytes,
                       side == CTN_LEFT, reduce->by.argument);
    ctn_exec_charge(op->exec, CTN_WORK_REDUCE, reduce->bytes);
    return CATENA_OK;
}

static const ctn_rooted_values_t values = {.incoming = incoming};

static ctn_step_t pass_on(ctn_op_t *op)
{
    reduce_t *reduce = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    if (!reduce->tree.is_root) {
        status = ctn_rooted_send_up(op, reduce->value, reduce->bytes);
    } else if (reduce->bytes > 0) {
        memcpy(reduce->result, reduce->value, reduce->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, reduce->bytes);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void finish(ctn_op_t *op)
{
    reduce_t *reduce = ctn_op_state(op);
    ctn_rooted_drop(op);
    /* After an error the memory stays: the parent may still read it. */
    if (op->status == CATENA_OK) {
        ctn_scratch_free(op->exec, reduce->value, reduce->bytes);
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"collect", ctn_rooted_collect},
                                     {"pass on", pass_on},
                                     {"end", ctn_rooted_await_parent},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/reduce",
    .state_bytes = sizeof(reduce_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_chain_reduce(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                           ctn_operator_t by, const void *own, size_t bytes,
                           void *result)
{
    void *state;
    ctn_op_t *op =
        ctn_rooted_create(exec, chain, root, &algorithm, &values, &state);
    if (op != NULL) {
        reduce_t *reduce = state;
        reduce->by = by;
        reduce->own = own;
        reduce->bytes = bytes;
        reduce->result = result;
    }
    return op;
}
