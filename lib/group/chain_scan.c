/* Scans on a chain, and allreduce by a scan. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2, figure 1.
 * Rounds: ceil(log2 p). Messages: two per member and round. Memory: O(1)
 * values. Difference from the paper: values are folded into the exclusive
 * results, too, as they arrive, so no inclusive result is shifted by one member
 * at the end. */

#include <string.h>

#include "group/chain_coll.h"
#include "group/scan_rounds.h"

typedef struct chain_scan {
    ctn_double_scan_t double_scan; /* first */
    /* arguments */
    ctn_operator_t by;
    const void *own;
    size_t bytes;
    bool scanned[2]; /* by side: whether values are scanned from there */
    /* Results; NULL: not requested. */
    void *exclusive[2]; /* by side */
    void *inclusive;    /* of rank 0 to this member */
    void *total;        /* of all members */
    /* working */
    /* By side: space for the head of a message, then the value of this member
     * and the members on that side that the rounds so far have reached. */
    unsigned char *running[2];
    unsigned char *right; /* exclusive result of the right side, for `total` */
    bool any[2];          /* by side: a value has arrived from there */
} chain_scan_t;

/** Memory for a value behind the head of a message; NULL: none. */
static unsigned char *new_value(ctn_op_t *op, const chain_scan_t *scan)
{
    return ctn_scratch_alloc(op->exec,
                             CTN_DOUBLE_SCAN_HEAD_BYTES + scan->bytes);
}

static void copy_value(ctn_op_t *op, const chain_scan_t *scan, void *to,
                       const void *from)
{
    if (scan->bytes > 0) {
        memcpy(to, from, scan->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, scan->bytes);
    }
}

static void fold(ctn_op_t *op, const chain_scan_t *scan, void *inout,
                 const void *in, unsigned side)
{
    scan->by.combine(inout, in, scan->bytes, side == CTN_LEFT,
                     scan->by.argument);
    ctn_exec_charge(op->exec, CTN_WORK_REDUCE, scan->bytes);
}

static ctn_step_t begin(ctn_op_t *op)
{
    chain_scan_t *scan = ctn_op_state(op);
    ctn_double_scan_begin(&scan->double_scan);
    scan->any[CTN_LEFT] = scan->any[CTN_RIGHT] = false;
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (!scan->scanned[side]) {
            continue;
        }
        scan->running[side] = new_value(op, scan);
        if (scan->running[side] == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        copy_value(op, scan, scan->running[side] + CTN_DOUBLE_SCAN_HEAD_BYTES,
                   scan->own);
    }
    if (scan->total != NULL) {
        scan->right = new_value(op, scan);
        scan->exclusive[CTN_RIGHT] = scan->right;
    }
    return scan->total == NULL || scan->right != NULL
               ? CTN_STEP_NEXT
               : ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
}

static unsigned char *outgoing(ctn_op_t *op, unsigned side, size_t *bytes)
{
    chain_scan_t *scan = ctn_op_state(op);
    *bytes = scan->scanned[side] ? scan->bytes : 0;
    return scan->running[side];
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes)
{
    chain_scan_t *scan = ctn_op_state(op);
    if (bytes != (scan->scanned[side] ? scan->bytes : 0)) {
        return CATENA_ERR_ARG; /* length mismatch */
    }
    if (!scan->scanned[side]) {
        return CATENA_OK;
    }
    void *exclusive = scan->exclusive[side];
    if (exclusive != NULL && scan->any[side]) {
        fold(op, scan, exclusive, value, side);
    } else if (exclusive != NULL) {
        copy_value(op, scan, exclusive, value);
    }
    scan->any[side] = true;
    fold(op, scan, scan->running[side] + CTN_DOUBLE_SCAN_HEAD_BYTES, value,
         side);
    return CATENA_OK;
}

static const ctn_double_scan_values_t values = {outgoing, incoming};

static ctn_step_t hand_over(ctn_op_t *op)
{
    chain_scan_t *scan = ctn_op_state(op);
    void *result = scan->total != NULL ? scan->total : scan->inclusive;
    if (result != NULL) {
        copy_value(op, scan, result,
                   scan->running[CTN_LEFT] + CTN_DOUBLE_SCAN_HEAD_BYTES);
    }
    if (scan->total != NULL && scan->any[CTN_RIGHT]) {
        fold(op, scan, scan->total, scan->right, CTN_RIGHT);
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    chain_scan_t *scan = ctn_op_state(op);
    size_t bytes = CTN_DOUBLE_SCAN_HEAD_BYTES + scan->bytes;
    ctn_double_scan_drop(op);
    ctn_scratch_free(op->exec, scan->running[CTN_LEFT], bytes);
    ctn_scratch_free(op->exec, scan->running[CTN_RIGHT], bytes);
    ctn_scratch_free(op->exec, scan->right, bytes);
    scan->running[CTN_LEFT] = scan->running[CTN_RIGHT] = scan->right = NULL;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"rounds", ctn_double_scan_rounds},
                                     {"hand over", hand_over},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/scan of any length",
    .state_bytes = sizeof(chain_scan_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

/** Create an operation on `chain`. NULL: no memory.
 * @param arguments the sides to scan from, and where the results go */
static ctn_op_t *create(ctn_exec_t *exec, ctn_chain_t *chain, ctn_operator_t by,
                        const void *own, size_t bytes,
                        const chain_scan_t *arguments)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        chain_scan_t *scan = ctn_op_state(op);
        *scan = *arguments;
        scan->by = by;
        scan->own = own;
        scan->bytes = bytes;
        scan->double_scan.place = &chain->place;
        scan->double_scan.values = &values;
    }
    return op;
}

ctn_op_t *ctn_chain_inclusive_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                   ctn_operator_t by, const void *own,
                                   size_t bytes, void *result)
{
    return create(
        exec, chain, by, own, bytes,
        &(chain_scan_t){.scanned = {true, false}, .inclusive = result});
}

ctn_op_t *ctn_chain_exclusive_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                   ctn_operator_t by, const void *own,
                                   size_t bytes, void *result)
{
    return create(
        exec, chain, by, own, bytes,
        &(chain_scan_t){.scanned = {true, false}, .exclusive = {result, NULL}});
}

ctn_op_t *ctn_chain_double_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                ctn_operator_t by, const void *own,
                                size_t bytes, void *left, void *right)
{
    return create(
        exec, chain, by, own, bytes,
        &(chain_scan_t){.scanned = {true, true}, .exclusive = {left, right}});
}

ctn_op_t *ctn_chain_allreduce(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_operator_t by, const void *own, size_t bytes,
                              void *result)
{
    return create(exec, chain, by, own, bytes,
                  &(chain_scan_t){.scanned = {true, true}, .total = result});
}

static void combine_nothing(void *inout, const void *in, size_t bytes,
                            bool in_is_left, void *argument)
{
    (void)inout, (void)in, (void)bytes, (void)in_is_left, (void)argument;
}

ctn_op_t *ctn_chain_barrier(ctn_exec_t *exec, ctn_chain_t *chain)
{
    ctn_operator_t nothing = {combine_nothing, NULL};
    return create(exec, chain, nothing, NULL, 0, &(chain_scan_t){.own = NULL});
}
