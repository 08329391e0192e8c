/* Allgather on a chain, of any lengths. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2: a double
 * scan whose values are laid end to end.
 * Rounds: ceil(log2 p). Messages: two per member and round; every piece travels
 * to each member once. Memory: the result, and what is sent of it. */

#include "group/rooted_tree.h"

typedef struct allgather {
    ctn_spread_t spread; /* first */
    /* arguments */
    ctn_piece_t own;
    ctn_pieces_t *result;
    /* working: this member's piece and those from either side, nearest first */
    ctn_stream_t stream[2];
} allgather_t;

static ctn_step_t begin(ctn_op_t *op)
{
    allgather_t *gather = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    ctn_spread_begin(&gather->spread);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_stream_t *stream = &gather->stream[side];
        if (status == CATENA_OK) {
            status = ctn_stream_reserve(
                op->exec, stream,
                CTN_SPREAD_HEAD + ctn_stream_bytes(gather->own.bytes));
        }
        if (status == CATENA_OK) {
            stream->bytes = CTN_SPREAD_HEAD;
            status = ctn_stream_put(op->exec, stream, gather->own);
        }
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static unsigned char *outgoing(ctn_op_t *op, unsigned side, size_t *bytes)
{
    allgather_t *gather = ctn_op_state(op);
    *bytes = gather->stream[side].bytes - CTN_SPREAD_HEAD;
    return gather->stream[side].memory;
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes)
{
    allgather_t *gather = ctn_op_state(op);
    return ctn_stream_append(op->exec, &gather->stream[side], value, bytes);
}

static const ctn_spread_values_t values = {outgoing, incoming};

static ctn_step_t hand_over(ctn_op_t *op)
{
    allgather_t *gather = ctn_op_state(op);
    const ctn_chain_t *chain = gather->spread.chain;
    catena_status_t status =
        ctn_pieces_take(op->exec, gather->result, gather->stream,
                        CTN_SPREAD_HEAD, chain->rank, chain->size);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void finish(ctn_op_t *op)
{
    allgather_t *gather = ctn_op_state(op);
    ctn_spread_drop(op);
    ctn_stream_release(op->exec, &gather->stream[CTN_LEFT]);
    ctn_stream_release(op->exec, &gather->stream[CTN_RIGHT]);
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"rounds", ctn_spread_rounds},
                                     {"hand over", hand_over},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/allgather of any lengths",
    .state_bytes = sizeof(allgather_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

ctn_op_t *ctn_chain_allgather(ctn_exec_t *exec, ctn_lane_t *lane,
                              ctn_piece_t own, ctn_pieces_t *result)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &lane->channel);
    if (op != NULL) {
        allgather_t *gather = ctn_op_state(op);
        gather->spread.chain = &lane->chain;
        gather->spread.values = &values;
        gather->own = own;
        gather->result = result;
    }
    return op;
}
