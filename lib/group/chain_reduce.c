/* Reduction on a chain to any root. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2.
 * Rounds: ceil(log2 p). Messages: one per member. Memory: O(1) values. Order is
 * kept: see group/rooted.h. */

#include <string.h>

#include "group/rooted.h"

typedef struct reduce {
    ctn_rooted_t tree; /* first */
    /* arguments */
    ctn_operator_t by;
    const void *own;
    size_t bytes;
    void *result;
    /* working */
    unsigned char *value; /* of the members heard of */
    unsigned heard[2];    /* children on each side, the nearest first */
    ctn_letter_t letter[2];
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

/** The next child on `side`. MOVED: its value is in; NEXT: there is none. */
static ctn_step_t hear(ctn_op_t *op, reduce_t *reduce, unsigned side)
{
    unsigned round = reduce->heard[side];
    ctn_letter_t *letter = &reduce->letter[side];
    if (round == reduce->tree.children[side]) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = ctn_rooted_receive(op, side, round, letter);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    if (letter->bytes != reduce->bytes) {
        return ctn_op_fail(op, CATENA_ERR_ARG); /* members do not agree */
    }
    reduce->by.combine(reduce->value, letter->data, reduce->bytes,
                       side == CTN_LEFT, reduce->by.argument);
    ctn_exec_charge(op->exec, CTN_WORK_REDUCE, reduce->bytes);
    ctn_letter_release(op, letter);
    reduce->heard[side]++;
    return CTN_STEP_MOVED;
}

static ctn_step_t collect(ctn_op_t *op)
{
    reduce_t *reduce = ctn_op_state(op);
    ctn_step_t left = hear(op, reduce, CTN_LEFT);
    if (left == CTN_STEP_MOVED || left == CTN_STEP_FAIL) {
        return left;
    }
    ctn_step_t right = hear(op, reduce, CTN_RIGHT);
    return right == CTN_STEP_NEXT ? left : right;
}

static ctn_step_t pass_on(ctn_op_t *op)
{
    reduce_t *reduce = ctn_op_state(op);
    const ctn_rooted_t *tree = &reduce->tree;
    catena_status_t status = CATENA_OK;
    if (!tree->is_root) {
        status = ctn_rooted_lend(op, tree->up, tree->up_round, reduce->value,
                                 reduce->bytes);
    } else if (reduce->bytes > 0) {
        memcpy(reduce->result, reduce->value, reduce->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, reduce->bytes);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t end(ctn_op_t *op)
{
    reduce_t *reduce = ctn_op_state(op);
    const ctn_rooted_t *tree = &reduce->tree;
    return tree->is_root || ctn_rooted_returned(op, tree->up, tree->up_round,
                                                reduce->bytes)
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

static void finish(ctn_op_t *op)
{
    reduce_t *reduce = ctn_op_state(op);
    ctn_letter_release(op, &reduce->letter[CTN_LEFT]);
    ctn_letter_release(op, &reduce->letter[CTN_RIGHT]);
    if (op->status == CATENA_OK) { /* else it may be lent */
        ctn_scratch_free(op->exec, reduce->value, reduce->bytes);
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"collect", collect},
                                     {"pass on", pass_on},
                                     {"end", end},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/reduce",
    .state_bytes = sizeof(reduce_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_chain_reduce(ctn_exec_t *exec, ctn_lane_t *lane, uint32_t root,
                           ctn_operator_t by, const void *own, size_t bytes,
                           void *result)
{
    void *state;
    ctn_op_t *op = ctn_rooted_create(exec, lane, root, &algorithm, &state);
    if (op != NULL) {
        reduce_t *reduce = state;
        reduce->by = by;
        reduce->own = own;
        reduce->bytes = bytes;
        reduce->result = result;
    }
    return op;
}
