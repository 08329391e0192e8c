/* Scatter on a chain from any root, of blocks of any lengths. Moody, Ahn, de
 * Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011,
 * section 2. Rounds: ceil(log2 p). Messages: one per member. Memory: the blocks
 * of a member's subtree. The root of a subtree receives the blocks of its
 * subtree as one block stream (group/stream.h), that of the member nearest to
 * the root first. The blocks for each of its children are contiguous in this
 * stream, and the child reads them there. */

#include "group/rooted_tree.h"

typedef struct chain_scatter {
    ctn_rooted_t tree; /* first */
    /* arguments */
    const ctn_rank_block_t *blocks; /* root only */
    ctn_rank_blocks_t *result;
    /* working */
    ctn_stream_t stream[2]; /* root only, one for each side */
    const ctn_receive_handle_t *receive_handle; /* other members: the stream */
    /* By side: offset of the blocks for each child in the stream, and the end
     * of those for the last child. */
    size_t bound[2][CTN_ROOTED_ROUNDS + 1];
} chain_scatter_t;

/** Pack the root's blocks for one side, the nearest member's first. */
static catena_status_t pack(ctn_op_t *op, chain_scatter_t *scatter,
                            unsigned side)
{
    const ctn_chain_place_t *place = &scatter->tree.chain->place;
    ctn_stream_t *stream = &scatter->stream[side];
    int64_t step = side == CTN_LEFT ? -1 : 1;
    size_t bytes = 0;
    for (int64_t i = place->rank + step; i >= 0 && i < place->size; i += step) {
        bytes += ctn_stream_bytes(scatter->blocks[i].bytes);
    }
    catena_status_t status = ctn_stream_reserve(op->exec, stream, bytes);
    for (int64_t i = place->rank + step;
         status == CATENA_OK && i >= 0 && i < place->size; i += step) {
        status = ctn_stream_put(op->exec, stream, scatter->blocks[i]);
    }
    return status;
}

/** Find the blocks for each child on `side`. The blocks for child c are those
 * of 2^c members, fewer for the last child.
 * @param at  offset of the blocks for the first child
 * @param end length of the stream */
static void find_bounds(chain_scatter_t *scatter, unsigned side,
                        const unsigned char *stream, size_t at, size_t end)
{
    unsigned children = scatter->tree.children[side];
    for (unsigned child = 0; child < children; child++) {
        scatter->bound[side][child] = at;
        for (uint64_t i = 0; at < end && i < UINT64_C(1) << child; i++) {
            (void)ctn_stream_next(stream, &at);
        }
    }
    scatter->bound[side][children] = at;
}

/** Set the result to a copy of this member's block. */
static catena_status_t store_own(ctn_op_t *op, chain_scatter_t *scatter,
                                 ctn_rank_block_t own)
{
    ctn_stream_t stream[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    catena_status_t status = ctn_stream_put(op->exec, &stream[CTN_RIGHT], own);
    return status == CATENA_OK ? ctn_rank_blocks_take(op->exec, scatter->result,
                                                      stream, 0, 0, 1)
                               : status;
}

static ctn_step_t begin(ctn_op_t *op)
{
    chain_scatter_t *scatter = ctn_op_state(op);
    const ctn_rooted_t *tree = &scatter->tree;
    catena_status_t status = ctn_rooted_begin(&scatter->tree);
    if (status == CATENA_OK && tree->is_root) {
        status = store_own(op, scatter, scatter->blocks[tree->root]);
    }
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (status == CATENA_OK && tree->is_root) {
            const ctn_stream_t *stream = &scatter->stream[side];
            status = pack(op, scatter, side);
            find_bounds(scatter, side, stream->memory, 0, stream->bytes);
        }
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const ctn_receive_handle_t *receive_handle)
{
    chain_scatter_t *scatter = ctn_op_state(op);
    scatter->receive_handle = receive_handle;
    size_t at = 0;
    ctn_rank_block_t own = ctn_stream_next(receive_handle->data, &at);
    find_bounds(scatter, !side, receive_handle->data, at,
                receive_handle->bytes);
    return store_own(op, scatter, own);
}

/** The part of the stream that has the blocks for a child. */
static ctn_rank_block_t outgoing(ctn_op_t *op, unsigned side, unsigned child)
{
    const chain_scatter_t *scatter = ctn_op_state(op);
    const size_t *bound = scatter->bound[side];
    const unsigned char *stream = scatter->tree.is_root
                                      ? scatter->stream[side].memory
                                      : scatter->receive_handle->data;
    return (ctn_rank_block_t){stream + bound[child],
                              bound[child + 1] - bound[child]};
}

static const ctn_rooted_values_t values = {incoming, outgoing};

static void finish(ctn_op_t *op)
{
    chain_scatter_t *scatter = ctn_op_state(op);
    /* After an error the memory stays: children may still read it. */
    if (op->status == CATENA_OK) {
        ctn_rooted_drop(op);
        ctn_stream_release(op->exec, &scatter->stream[CTN_LEFT]);
        ctn_stream_release(op->exec, &scatter->stream[CTN_RIGHT]);
    }
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"receive", ctn_rooted_receive},
                                     {"pass on", ctn_rooted_send_down},
                                     {"end", ctn_rooted_await_children},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/scatter",
    .state_bytes = sizeof(chain_scatter_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_chain_scatter(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                            const ctn_rank_block_t *blocks,
                            ctn_rank_blocks_t *result)
{
    void *state;
    ctn_op_t *op =
        ctn_rooted_create(exec, chain, root, &algorithm, &values, &state);
    if (op != NULL) {
        chain_scatter_t *scatter = state;
        scatter->blocks = blocks;
        scatter->result = result;
    }
    return op;
}
