/* Collectives on a chain that have a root: reduce, broadcast, gather and
 * scatter. Moody, Ahn, de Supinski: Exascale Algorithms for Generalized
 * MPI_Comm_split, EuroMPI 2011, section 2. Rounds: ceil(log2 p). Messages: one
 * per member. They run up or down a tree (group/rooted_tree.h), whose subtrees
 * are contiguous parts of the chain.
 *
 * Reduce combines members in their order. Memory: O(1) values. In a broadcast
 * all children read the same buffer: one copy of the value. Gather and scatter
 * have blocks of any lengths. The root of a subtree sends or receives the
 * blocks of its subtree as one block stream (group/stream.h), that of the
 * member nearest to the root first. So a parent concatenates the streams of its
 * children, or finds theirs as contiguous parts of its own, where they read
 * them. Memory: the blocks of a member's subtree. */

#include <string.h>

#include "group/chain_coll.h"
#include "group/rooted_tree.h"

typedef struct chain_rooted chain_rooted_t;

/** One of the collectives. */
typedef struct rooted_kind {
    bool up; /* to the root; false: from the root */
    /** The tree is known: prepare what is sent from here. */
    catena_status_t (*begin)(ctn_op_t *op, chain_rooted_t *call);
    ctn_rooted_incoming_t incoming;
    /** Up, at the root: all has been received. Down: all has been read. Set the
     * result. NULL: it is set. */
    catena_status_t (*deliver)(ctn_op_t *op, chain_rooted_t *call);
} rooted_kind_t;

struct chain_rooted {
    ctn_rooted_t tree; /* first */
    /* arguments */
    const rooted_kind_t *kind;
    ctn_operator_t by;            /* of reduce */
    ctn_rank_block_t own;         /* this member's value or block */
    const ctn_rank_block_t *list; /* scatter, at the root: the blocks */
    void *result;                 /* reduce, bcast: the value */
    ctn_rank_blocks_t *blocks;    /* gather, scatter: the result */
    /* working */
    /* Gather and scatter, by side: the blocks of the members there; gather:
     * after this member's block. Reduce, on the side that `own_side` returns:
     * the value so far. Bcast, likewise, at the root: a copy of the value. */
    ctn_stream_t stream[2];
};

/** Return the side on which a member has children, at the root one of them. */
static unsigned own_side(const ctn_rooted_t *tree)
{
    return tree->is_root ? CTN_LEFT : !tree->up;
}

static void copy_value(ctn_op_t *op, void *to, const void *from, size_t bytes)
{
    if (bytes > 0) {
        memcpy(to, from, bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
    }
}

/* ---- reduce ---- */

static catena_status_t begin_reduce(ctn_op_t *op, chain_rooted_t *call)
{
    return ctn_stream_append(op->exec, &call->stream[own_side(&call->tree)],
                             call->own.data, call->own.bytes);
}

static catena_status_t combine(ctn_op_t *op, unsigned side,
                               const ctn_receive_handle_t *receive_handle)
{
    chain_rooted_t *call = ctn_op_state(op);
    size_t bytes = call->own.bytes;
    if (receive_handle->bytes != bytes) {
        return CATENA_ERR_ARG; /* length mismatch */
    }
    if (bytes > 0) {
        call->by.combine(call->stream[own_side(&call->tree)].memory,
                         receive_handle->data, bytes, side == CTN_LEFT,
                         call->by.argument);
        ctn_exec_charge(op->exec, CTN_WORK_REDUCE, bytes);
    }
    return CATENA_OK;
}

static catena_status_t deliver_value(ctn_op_t *op, chain_rooted_t *call)
{
    copy_value(op, call->result, call->stream[own_side(&call->tree)].memory,
               call->own.bytes);
    return CATENA_OK;
}

/* ---- broadcast ---- */

static catena_status_t begin_bcast(ctn_op_t *op, chain_rooted_t *call)
{
    ctn_stream_t *copy = &call->stream[CTN_LEFT];
    catena_status_t status = CATENA_OK;
    if (call->tree.is_root) {
        status =
            ctn_stream_append(op->exec, copy, call->own.data, call->own.bytes);
        ctn_rooted_repeat(&call->tree, copy->memory, copy->bytes);
    }
    return status;
}

static catena_status_t repeat(ctn_op_t *op, unsigned side,
                              const ctn_receive_handle_t *receive_handle)
{
    (void)side;
    chain_rooted_t *call = ctn_op_state(op);
    ctn_rooted_repeat(&call->tree, receive_handle->data, receive_handle->bytes);
    return receive_handle->bytes == call->own.bytes
               ? CATENA_OK
               : CATENA_ERR_ARG; /* length mismatch */
}

static catena_status_t deliver_bcast(ctn_op_t *op, chain_rooted_t *call)
{
    if (!call->tree.is_root) {
        copy_value(op, call->result, call->tree.data[CTN_LEFT],
                   call->own.bytes);
    }
    return CATENA_OK;
}

/* ---- gather ---- */

/** The root collects blocks from both sides, another member from the side away
 * from the root. */
static catena_status_t begin_gather(ctn_op_t *op, chain_rooted_t *call)
{
    catena_status_t status = CATENA_OK;
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (status == CATENA_OK &&
            (call->tree.is_root || side != call->tree.up)) {
            status = ctn_stream_put(op->exec, &call->stream[side], call->own);
        }
    }
    return status;
}

static catena_status_t append(ctn_op_t *op, unsigned side,
                              const ctn_receive_handle_t *receive_handle)
{
    chain_rooted_t *call = ctn_op_state(op);
    return ctn_stream_append(op->exec, &call->stream[side],
                             receive_handle->data, receive_handle->bytes);
}

static catena_status_t deliver_blocks(ctn_op_t *op, chain_rooted_t *call)
{
    const ctn_chain_place_t *place = &call->tree.chain->place;
    return ctn_rank_blocks_take(op->exec, call->blocks, call->stream, 0,
                                place->rank, place->size);
}

/* ---- scatter ---- */

static void skip_block(const unsigned char *stream, size_t *at)
{
    (void)ctn_stream_next(stream, at);
}

/** Pack the root's blocks for one side, the nearest member's first. */
static catena_status_t pack(ctn_op_t *op, chain_rooted_t *call, unsigned side)
{
    const ctn_chain_place_t *place = &call->tree.chain->place;
    ctn_stream_t *stream = &call->stream[side];
    int64_t step = side == CTN_LEFT ? -1 : 1;
    size_t bytes = 0;
    for (int64_t i = place->rank + step; i >= 0 && i < place->size; i += step) {
        bytes += ctn_stream_bytes(call->list[i].bytes);
    }
    catena_status_t status = ctn_stream_reserve(op->exec, stream, bytes);
    for (int64_t i = place->rank + step;
         status == CATENA_OK && i >= 0 && i < place->size; i += step) {
        status = ctn_stream_put(op->exec, stream, call->list[i]);
    }
    ctn_rooted_divide(&call->tree, side, stream->memory, 0, stream->bytes,
                      skip_block);
    return status;
}

/** Set the result to a copy of this member's block. */
static catena_status_t store_own(ctn_op_t *op, chain_rooted_t *call,
                                 ctn_rank_block_t own)
{
    ctn_stream_t stream[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    catena_status_t status = ctn_stream_put(op->exec, &stream[CTN_RIGHT], own);
    return status == CATENA_OK
               ? ctn_rank_blocks_take(op->exec, call->blocks, stream, 0, 0, 1)
               : status;
}

static catena_status_t begin_scatter(ctn_op_t *op, chain_rooted_t *call)
{
    catena_status_t status = CATENA_OK;
    if (call->tree.is_root) {
        status = store_own(op, call, call->list[call->tree.root]);
        for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
            status = status == CATENA_OK ? pack(op, call, side) : status;
        }
    }
    return status;
}

static catena_status_t divide(ctn_op_t *op, unsigned side,
                              const ctn_receive_handle_t *receive_handle)
{
    chain_rooted_t *call = ctn_op_state(op);
    size_t at = 0;
    ctn_rank_block_t own = ctn_stream_next(receive_handle->data, &at);
    ctn_rooted_divide(&call->tree, !side, receive_handle->data, at,
                      receive_handle->bytes, skip_block);
    return store_own(op, call, own);
}

/* ---- phases ---- */

static ctn_step_t begin(ctn_op_t *op)
{
    chain_rooted_t *call = ctn_op_state(op);
    catena_status_t status = ctn_rooted_begin(&call->tree);
    call->tree.subtree = &call->stream[own_side(&call->tree)];
    if (status == CATENA_OK) {
        status = call->kind->begin(op, call);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t pass(ctn_op_t *op)
{
    const chain_rooted_t *call = ctn_op_state(op);
    return call->kind->up ? ctn_rooted_up(op) : ctn_rooted_down(op);
}

static ctn_step_t end(ctn_op_t *op)
{
    chain_rooted_t *call = ctn_op_state(op);
    const rooted_kind_t *kind = call->kind;
    catena_status_t status = CATENA_OK;
    if (kind->deliver != NULL && (call->tree.is_root || !kind->up)) {
        status = kind->deliver(op, call);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void finish(ctn_op_t *op)
{
    chain_rooted_t *call = ctn_op_state(op);
    /* After an error the memory stays: other members may still read it. */
    if (op->status == CATENA_OK) {
        ctn_rooted_drop(op);
        ctn_stream_release(op->exec, &call->stream[CTN_LEFT]);
        ctn_stream_release(op->exec, &call->stream[CTN_RIGHT]);
    }
}

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"pass on", pass}, {"end", end}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/with a root",
    .state_bytes = sizeof(chain_rooted_t),
    .phases = phases,
    .finish = finish,
};

/* ---- the calls ---- */

/** Create the operation of a collective; arguments and working part are those
 * of `call`. */
static ctn_op_t *create(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                        const chain_rooted_t *call)
{
    void *state;
    ctn_op_t *op = ctn_rooted_create(exec, chain, root, &algorithm, &state);
    if (op != NULL) {
        chain_rooted_t *made = state;
        *made = *call;
        made->tree.chain = chain;
        made->tree.root = root;
        made->tree.incoming = call->kind->incoming;
    }
    return op;
}

ctn_op_t *ctn_chain_reduce(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                           ctn_operator_t by, const void *own, size_t bytes,
                           void *result)
{
    static const rooted_kind_t reduce = {true, begin_reduce, combine,
                                         deliver_value};
    return create(
        exec, chain, root,
        &(chain_rooted_t){
            .kind = &reduce, .by = by, .own = {own, bytes}, .result = result});
}

ctn_op_t *ctn_chain_bcast(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                          void *data, size_t bytes)
{
    static const rooted_kind_t bcast = {false, begin_bcast, repeat,
                                        deliver_bcast};
    return create(exec, chain, root,
                  &(chain_rooted_t){
                      .kind = &bcast, .own = {data, bytes}, .result = data});
}

ctn_op_t *ctn_chain_gather(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                           ctn_rank_block_t own, ctn_rank_blocks_t *result)
{
    static const rooted_kind_t gather = {true, begin_gather, append,
                                         deliver_blocks};
    return create(
        exec, chain, root,
        &(chain_rooted_t){.kind = &gather, .own = own, .blocks = result});
}

ctn_op_t *ctn_chain_scatter(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                            const ctn_rank_block_t *blocks,
                            ctn_rank_blocks_t *result)
{
    static const rooted_kind_t scatter = {false, begin_scatter, divide, NULL};
    return create(
        exec, chain, root,
        &(chain_rooted_t){.kind = &scatter, .list = blocks, .blocks = result});
}
