/* Scans on a chain, and allreduce by a scan. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 2, figure 1.
 * Rounds: ceil(log2 p). Messages: two per member and round. Memory: O(1)
 * values. Differences from the paper: one round serves both directions; values
 * are folded into the exclusive results, too, as they arrive, so no inclusive
 * result is shifted by one member at the end. */

#include "group/scan.h"

#include <string.h>

#include "group/chain_coll.h"

/** Memory for a value behind the head of a message; NULL: none. */
static unsigned char *new_value(ctn_op_t *op, ctn_scan_t *scan, unsigned i)
{
    return scan->bytes <= CTN_SCAN_BYTES
               ? scan->inline_value[i]
               : ctn_scratch_alloc(op->exec,
                                   CTN_DOUBLE_SCAN_HEAD_BYTES + scan->bytes);
}

static void copy_value(ctn_op_t *op, const ctn_scan_t *scan, void *to,
                       const void *from)
{
    if (scan->bytes > 0) {
        memcpy(to, from, scan->bytes);
        ctn_exec_charge(op->exec, CTN_WORK_COPY, scan->bytes);
    }
}

static void fold_value(ctn_op_t *op, const ctn_scan_t *scan, void *inout,
                       const void *in, unsigned side)
{
    if (scan->fold != NULL) {
        scan->fold(inout, in, side == CTN_LEFT);
    } else {
        scan->by.combine(inout, in, scan->bytes, side == CTN_LEFT,
                         scan->by.argument);
    }
    ctn_exec_charge(op->exec, CTN_WORK_REDUCE, scan->bytes);
}

static catena_status_t outgoing(ctn_op_t *op, unsigned side,
                                unsigned char **message, size_t *bytes)
{
    ctn_scan_t *scan = ctn_op_state(op);
    if (scan->opening != NULL && scan->double_scan.rounds.index == 0) {
        *message = scan->inline_value[2 + side];
        *bytes = scan->opening_bytes;
        memcpy(*message + CTN_DOUBLE_SCAN_HEAD_BYTES, scan->opening, *bytes);
    } else if (scan->scanned[side]) {
        *message = scan->running[side];
        *bytes = scan->bytes;
    }
    return CATENA_OK;
}

static catena_status_t incoming(ctn_op_t *op, unsigned side,
                                const unsigned char *value, size_t bytes)
{
    ctn_scan_t *scan = ctn_op_state(op);
    if (scan->opening != NULL && scan->double_scan.rounds.index == 0) {
        scan->fold_opening(scan, side, value);
        ctn_exec_charge(op->exec, CTN_WORK_REDUCE, 2 * scan->bytes);
        return CATENA_OK;
    }
    if (bytes != (scan->scanned[side] ? scan->bytes : 0)) {
        return CATENA_ERR_ARG; /* length mismatch */
    }
    if (!scan->scanned[side]) {
        return CATENA_OK;
    }
    void *exclusive = scan->exclusive[side];
    if (exclusive != NULL && scan->any[side]) {
        fold_value(op, scan, exclusive, value, side);
    } else if (exclusive != NULL) {
        copy_value(op, scan, exclusive, value);
    }
    scan->any[side] = true;
    fold_value(op, scan, ctn_scan_running(scan, side), value, side);
    return CATENA_OK;
}

static const ctn_double_scan_values_t values = {outgoing, incoming};

ctn_step_t ctn_scan_begin(ctn_op_t *op)
{
    ctn_scan_t *scan = ctn_op_state(op);
    scan->double_scan.values = &values;
    ctn_double_scan_begin(&scan->double_scan);
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        scan->any[side] = scan->identity;
        if (!scan->scanned[side]) {
            continue;
        }
        scan->running[side] = new_value(op, scan, side);
        if (scan->running[side] == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        copy_value(op, scan, ctn_scan_running(scan, side), scan->own);
    }
    if (scan->total != NULL) {
        scan->right = new_value(op, scan, 2);
        scan->exclusive[CTN_RIGHT] = scan->right;
    }
    return scan->total == NULL || scan->right != NULL
               ? CTN_STEP_NEXT
               : ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
}

static ctn_step_t hand_over(ctn_op_t *op)
{
    ctn_scan_t *scan = ctn_op_state(op);
    void *result = scan->total != NULL ? scan->total : scan->inclusive;
    if (result != NULL) {
        copy_value(op, scan, result, ctn_scan_running(scan, CTN_LEFT));
    }
    if (scan->total != NULL && scan->any[CTN_RIGHT]) {
        fold_value(op, scan, scan->total, scan->right, CTN_RIGHT);
    }
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    ctn_scan_t *scan = ctn_op_state(op);
    size_t bytes = CTN_DOUBLE_SCAN_HEAD_BYTES + scan->bytes;
    ctn_double_scan_drop(op);
    if (scan->bytes > CTN_SCAN_BYTES) {
        ctn_scratch_free(op->exec, scan->running[CTN_LEFT], bytes);
        ctn_scratch_free(op->exec, scan->running[CTN_RIGHT], bytes);
        ctn_scratch_free(op->exec, scan->right, bytes);
    }
}

static const ctn_phase_t phases[] = {{"begin", ctn_scan_begin},
                                     {"rounds", ctn_double_scan_rounds},
                                     {"hand over", hand_over},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/scan",
    .state_bytes = offsetof(ctn_scan_t, inline_value), /* need not be zero */
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

/* ---- the calls ---- */

void ctn_scan_init(ctn_scan_t *scan, const ctn_chain_place_t *place,
                   ctn_fold_t fold, const void *own, void *left, void *right,
                   size_t bytes)
{
    scan->double_scan.place = place;
    scan->fold = fold;
    scan->own = own;
    scan->bytes = bytes;
    scan->scanned[CTN_LEFT] = scan->scanned[CTN_RIGHT] = true;
    scan->identity = true;
    scan->exclusive[CTN_LEFT] = left;
    scan->exclusive[CTN_RIGHT] = right;
    memset(left, 0, bytes);
    memset(right, 0, bytes);
}

ctn_op_t *ctn_scan_create(ctn_exec_t *exec, ctn_chain_t *chain, ctn_fold_t fold,
                          void *own, void *left, void *right, size_t bytes)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        ctn_scan_init(ctn_op_state(op), &chain->place, fold, own, left, right,
                      bytes);
    }
    return op;
}

/** Create an operation on `chain`. NULL: no memory.
 * @param arguments the sides to scan from, and where the results go */
static ctn_op_t *create(ctn_exec_t *exec, ctn_chain_t *chain, ctn_operator_t by,
                        const void *own, size_t bytes,
                        const ctn_scan_t *arguments)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        ctn_scan_t *scan = ctn_op_state(op);
        *scan = *arguments;
        scan->double_scan.place = &chain->place;
        scan->double_scan.of_group = true;
        scan->by = by;
        scan->own = own;
        scan->bytes = bytes;
    }
    return op;
}

ctn_op_t *ctn_chain_inclusive_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                   ctn_operator_t by, const void *own,
                                   size_t bytes, void *result)
{
    return create(exec, chain, by, own, bytes,
                  &(ctn_scan_t){.scanned = {true, false}, .inclusive = result});
}

ctn_op_t *ctn_chain_exclusive_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                   ctn_operator_t by, const void *own,
                                   size_t bytes, void *result)
{
    return create(
        exec, chain, by, own, bytes,
        &(ctn_scan_t){.scanned = {true, false}, .exclusive = {result, NULL}});
}

ctn_op_t *ctn_chain_double_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                ctn_operator_t by, const void *own,
                                size_t bytes, void *left, void *right)
{
    return create(
        exec, chain, by, own, bytes,
        &(ctn_scan_t){.scanned = {true, true}, .exclusive = {left, right}});
}

ctn_op_t *ctn_chain_allreduce(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_operator_t by, const void *own, size_t bytes,
                              void *result)
{
    return create(exec, chain, by, own, bytes,
                  &(ctn_scan_t){.scanned = {true, true}, .total = result});
}

static void combine_nothing(void *inout, const void *in, size_t bytes,
                            bool in_is_left, void *argument)
{
    (void)inout, (void)in, (void)bytes, (void)in_is_left, (void)argument;
}

ctn_op_t *ctn_chain_barrier(ctn_exec_t *exec, ctn_chain_t *chain)
{
    ctn_operator_t nothing = {combine_nothing, NULL};
    return create(exec, chain, nothing, NULL, 0, &(ctn_scan_t){.own = NULL});
}

/* ---- folds ---- */

void ctn_fold_sum(void *inout, const void *in, int in_is_left)
{
    (void)in_is_left;
    ctn_words_t *a = inout;
    const ctn_words_t *b = in;
    for (unsigned i = 0; i < CTN_WORDS; i++) {
        a->word[i] += b->word[i];
    }
}
