/* Allgather on a chain, of blocks of any lengths. Moody, Ahn, de Supinski:
 * Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2:
 * a double scan that concatenates values. Rounds: ceil(log2 p). Messages: two
 * per member and round; every block is sent to each member once. Memory: the
 * result, and the messages that are under way. */

#include <string.h>

#include "group/chain_coll.h"
#include "group/scan_rounds.h"

typedef struct chain_allgather {
    ctn_double_scan_t double_scan; /* first */
    /* arguments */
    ctn_rank_block_t own;
    ctn_rank_blocks_t *result; /* NULL: ctn_chain_allgather_sizes */
    unsigned char *table;      /* of ctn_chain_allgather_table, or NULL */
    /* working */
    ctn_rank_blocks_t blocks; /* with a table: the result */
    /* By side: space for the head of a message, this member's block, then the
     * blocks from that side, the nearest first. In simulations of costs only
     * they have a length but no memory. */
    ctn_stream_t stream[2];
} chain_allgather_t;

static ctn_step_t begin(ctn_op_t *op)
{
    chain_allgather_t *gather = ctn_op_state(op);
    catena_status_t status = CATENA_OK;
    op->clean = gather->double_scan.place->size == 1; /* nobody waits for it */
    ctn_double_scan_begin(&gather->double_scan);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        ctn_stream_t *stream = &gather->stream[side];
        if (gather->result == NULL) {
            stream->bytes = CTN_DOUBLE_SCAN_HEAD_BYTES +
                            ctn_stream_bytes(gather->own.bytes);
            continue;
        }
        if (status == CATENA_OK) {
            status =
                ctn_stream_reserve(op->exec, stream,
                                   CTN_DOUBLE_SCAN_HEAD_BYTES +
                                       ctn_stream_bytes(gather->own.bytes));
        }
        if (status == CATENA_OK) {
            stream->bytes = CTN_DOUBLE_SCAN_HEAD_BYTES;
            status = ctn_stream_put(op->exec, stream, gather->own);
        }
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static catena_status_t outgoing(ctn_op_t *op, unsigned side,
                                unsigned char **message, size_t *bytes)
{
    const chain_allgather_t *gather = ctn_op_state(op);
    *message = gather->stream[side].memory;
    *bytes = gather->stream[side].bytes - CTN_DOUBLE_SCAN_HEAD_BYTES;
    return CATENA_OK;
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes)
{
    chain_allgather_t *gather = ctn_op_state(op);
    if (gather->result == NULL) {
        gather->stream[side].bytes += bytes;
        ctn_exec_charge(op->exec, CTN_WORK_COPY, bytes);
        return CATENA_OK;
    }
    return ctn_stream_append(op->exec, &gather->stream[side], value, bytes);
}

static const ctn_double_scan_values_t values = {outgoing, incoming};

/** Copy the blocks of all members into the table, one behind the other. */
static void fill_table(ctn_op_t *op, const chain_allgather_t *gather)
{
    unsigned char *at = gather->table;
    for (uint32_t i = 0; i < gather->blocks.count; i++) {
        ctn_rank_block_t block = gather->blocks.block[i];
        memcpy(at, block.data, block.bytes);
        at += block.bytes;
    }
    ctn_exec_charge(op->exec, CTN_WORK_COPY, (size_t)(at - gather->table));
}

static ctn_step_t hand_over(ctn_op_t *op)
{
    chain_allgather_t *gather = ctn_op_state(op);
    const ctn_chain_place_t *place = gather->double_scan.place;
    if (gather->result == NULL) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = ctn_rank_blocks_take(
        op->exec, gather->result, gather->stream, CTN_DOUBLE_SCAN_HEAD_BYTES,
        place->rank, place->size);
    if (status == CATENA_OK && gather->table != NULL) {
        fill_table(op, gather);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void finish(ctn_op_t *op)
{
    chain_allgather_t *gather = ctn_op_state(op);
    ctn_double_scan_drop(op);
    ctn_stream_release(op->exec, &gather->stream[CTN_LEFT]);
    ctn_stream_release(op->exec, &gather->stream[CTN_RIGHT]);
    ctn_rank_blocks_release(op->exec, &gather->blocks);
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"rounds", ctn_double_scan_rounds},
                                     {"hand over", hand_over},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/allgather of any lengths",
    .state_bytes = sizeof(chain_allgather_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

ctn_op_t *ctn_chain_allgather(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_rank_block_t own, ctn_rank_blocks_t *result)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        chain_allgather_t *gather = ctn_op_state(op);
        gather->double_scan.place = &chain->place;
        gather->double_scan.values = &values;
        gather->double_scan.of_group = true;
        gather->own = own;
        gather->result = result;
    }
    return op;
}

ctn_op_t *ctn_chain_allgather_table(ctn_exec_t *exec, ctn_chain_t *chain,
                                    const void *own, size_t bytes, void *table)
{
    ctn_op_t *op =
        ctn_chain_allgather(exec, chain, (ctn_rank_block_t){own, bytes}, NULL);
    if (op != NULL) {
        chain_allgather_t *gather = ctn_op_state(op);
        gather->result = &gather->blocks;
        gather->table = table;
        gather->double_scan.of_group = false; /* of any chain */
    }
    return op;
}

ctn_op_t *ctn_chain_allgather_sizes(ctn_exec_t *exec, ctn_chain_t *chain,
                                    size_t bytes, ctn_address_t *addresses)
{
    ctn_op_t *op = ctn_chain_allgather(
        exec, chain, (ctn_rank_block_t){.bytes = bytes}, NULL);
    if (op != NULL) {
        chain_allgather_t *gather = ctn_op_state(op);
        gather->double_scan.addresses = addresses;
    }
    return op;
}
