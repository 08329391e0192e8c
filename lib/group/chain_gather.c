/* Gather on a chain to any root, of any lengths. Moody, Ahn, de Supinski:
 * Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2.
 * Rounds: ceil(log2 p). Messages: one per member. Memory: that of the members
 * below. What a subtree sends are its pieces, the nearest to the root first, so
 * a parent lays the streams of its children end to end. */

#include <string.h>

#include "group/rooted.h"

typedef struct gather {
    ctn_rooted_t tree; /* first */
    /* arguments */
    ctn_piece_t own;
    ctn_pieces_t *result;
    /* working: by the side of the children */
    ctn_stream_t stream[2];
    unsigned heard[2];
    ctn_letter_t letter[2];
} gather_t;

/** Streams begin with the own piece: the root has two, others that away from
 * it. */
static bool has_stream(const ctn_rooted_t *tree, unsigned side)
{
    return tree->is_root || side != tree->up;
}

static ctn_step_t begin(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    catena_status_t status = ctn_rooted_begin(&gather->tree);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (status == CATENA_OK && has_stream(&gather->tree, side)) {
            status =
                ctn_stream_put(op->exec, &gather->stream[side], gather->own);
        }
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** The next child on `side`. MOVED: its pieces are in; NEXT: there is none. */
static ctn_step_t hear(ctn_op_t *op, gather_t *gather, unsigned side)
{
    unsigned round = gather->heard[side];
    ctn_letter_t *letter = &gather->letter[side];
    if (round == gather->tree.children[side]) {
        return CTN_STEP_NEXT;
    }
    ctn_step_t step = ctn_rooted_receive(op, side, round, letter);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    catena_status_t status = ctn_stream_append(op->exec, &gather->stream[side],
                                               letter->data, letter->bytes);
    ctn_letter_release(op, letter);
    gather->heard[side]++;
    return status == CATENA_OK ? CTN_STEP_MOVED : ctn_op_fail(op, status);
}

static ctn_step_t collect(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    ctn_step_t left = hear(op, gather, CTN_LEFT);
    if (left == CTN_STEP_MOVED || left == CTN_STEP_FAIL) {
        return left;
    }
    ctn_step_t right = hear(op, gather, CTN_RIGHT);
    return right == CTN_STEP_NEXT ? left : right;
}

static ctn_step_t pass_on(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    const ctn_rooted_t *tree = &gather->tree;
    const ctn_chain_t *chain = &tree->lane->chain;
    const ctn_stream_t *stream = &gather->stream[!tree->up];
    catena_status_t status =
        tree->is_root
            ? ctn_pieces_take(op->exec, gather->result, gather->stream, 0,
                              chain->rank, chain->size)
            : ctn_rooted_lend(op, tree->up, tree->up_round, stream->memory,
                              stream->bytes);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t end(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    const ctn_rooted_t *tree = &gather->tree;
    return tree->is_root || ctn_rooted_returned(op, tree->up, tree->up_round,
                                                gather->stream[!tree->up].bytes)
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

static void finish(ctn_op_t *op)
{
    gather_t *gather = ctn_op_state(op);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_letter_release(op, &gather->letter[side]);
        if (op->status == CATENA_OK) { /* else it may be lent */
            ctn_stream_release(op->exec, &gather->stream[side]);
        }
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"collect", collect},
                                     {"pass on", pass_on},
                                     {"end", end},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/gather",
    .state_bytes = sizeof(gather_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_chain_gather(ctn_exec_t *exec, ctn_lane_t *lane, uint32_t root,
                           ctn_piece_t own, ctn_pieces_t *result)
{
    void *state;
    ctn_op_t *op = ctn_rooted_create(exec, lane, root, &algorithm, &state);
    if (op != NULL) {
        gather_t *gather = state;
        gather->own = own;
        gather->result = result;
    }
    return op;
}
