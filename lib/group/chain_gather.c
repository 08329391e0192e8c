/* Gather on a chain to any root, of blocks of any lengths. Moody, Ahn, de
 * Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011,
 * section 2. Rounds: ceil(log2 p). Messages: one per member. Memory: the blocks
 * of a member's subtree. The root of a subtree sends the blocks of its subtree
 * in the order of the chain, the nearest to the root first. So a parent
 * concatenates the block streams (group/stream.h) of its children. */

#include "group/rooted_tree.h"

typedef struct chain_gather {
    ctn_rooted_t tree; /* first */
    /* arguments */
    ctn_rank_block_t own;
    ctn_rank_blocks_t *result;
    /* working */
    /* By side: this member's block, then those of the children on that side. */
    ctn_stream_t stream[2];
} chain_gather_t;

/** Whether a member collects blocks from `side`: the root from both sides,
 * another member from the side away from the root. */
static bool has_stream(const ctn_rooted_t *tree, unsigned side)
{
    return tree->is_root || side != tree->up;
}

static ctn_step_t begin(ctn_op_t *op)
{
    chain_gather_t *gather = ctn_op_state(op);
    catena_status_t status = ctn_rooted_begin(&gather->tree);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (status == CATENA_OK && has_stream(&gather->tree, side)) {
            status =
                ctn_stream_put(op->exec, &gather->stream[side], gather->own);
        }
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const ctn_receive_handle_t *receive_handle)
{
    chain_gather_t *gather = ctn_op_state(op);
    return ctn_stream_append(op->exec, &gather->stream[side],
                             receive_handle->data, receive_handle->bytes);
}

static const ctn_rooted_values_t values = {.incoming = incoming};

static ctn_step_t pass_on(ctn_op_t *op)
{
    chain_gather_t *gather = ctn_op_state(op);
    const ctn_rooted_t *tree = &gather->tree;
    const ctn_chain_place_t *place = &tree->chain->place;
    const ctn_stream_t *stream = &gather->stream[!tree->up];
    catena_status_t status =
        tree->is_root
            ? ctn_rank_blocks_take(op->exec, gather->result, gather->stream, 0,
                                   place->rank, place->size)
            : ctn_rooted_send_up(op, stream->memory, stream->bytes);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void finish(ctn_op_t *op)
{
    chain_gather_t *gather = ctn_op_state(op);
    ctn_rooted_drop(op);
    /* After an error the memory stays: the parent may still read it. */
    if (op->status == CATENA_OK) {
        ctn_stream_release(op->exec, &gather->stream[CTN_LEFT]);
        ctn_stream_release(op->exec, &gather->stream[CTN_RIGHT]);
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"collect", ctn_rooted_collect},
                                     {"pass on", pass_on},
                                     {"end", ctn_rooted_await_parent},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/gather",
    .state_bytes = sizeof(chain_gather_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_chain_gather(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                           ctn_rank_block_t own, ctn_rank_blocks_t *result)
{
    void *state;
    ctn_op_t *op =
        ctn_rooted_create(exec, chain, root, &algorithm, &values, &state);
    if (op != NULL) {
        chain_gather_t *gather = state;
        gather->own = own;
        gather->result = result;
    }
    return op;
}
