/* The log-chain: the addresses of the members 2^d away, for all d. Moody, Ahn,
 * de Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI
 * 2011, section 2: the addresses found by forwarding are stored. Rounds:
 * ceil(log2 p). Messages: two per member and round. Memory: O(log p). */

#include <string.h>

#include "group/chain.h"

/** State of the operation that builds a log-chain. */
typedef struct building {
    ctn_double_scan_t double_scan; /* first; without values */
    ctn_chain_t *chain;            /* argument */
    ctn_log_chain_t *log;          /* becomes chain->log when it is complete */
} building_t;

static unsigned rounds_of(uint32_t size)
{
    unsigned rounds = 0;
    while (UINT64_C(1) << rounds < size) {
        rounds++;
    }
    return rounds;
}

static size_t log_bytes(unsigned rounds)
{
    return sizeof(ctn_log_chain_t) +
           rounds * sizeof(((ctn_log_chain_t *)NULL)->round[0]);
}

static ctn_step_t begin(ctn_op_t *op)
{
    building_t *building = ctn_op_state(op);
    const ctn_chain_place_t *place = &building->chain->place;
    unsigned rounds = rounds_of(place->size);
    ctn_log_chain_t *log = ctn_scratch_alloc(op->exec, log_bytes(rounds));
    if (log == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    log->exec = op->exec;
    log->rounds = rounds;
    building->log = log;
    building->double_scan.place = place;
    ctn_double_scan_begin(&building->double_scan);
    return CTN_STEP_NEXT;
}

/** Keep the partners of each round. Only in the last one a member may have
 * none. */
static ctn_step_t rounds(ctn_op_t *op)
{
    building_t *building = ctn_op_state(op);
    const ctn_double_scan_t *double_scan = &building->double_scan;
    if (double_scan->round < building->log->rounds) {
        memcpy(building->log->round[double_scan->round].side,
               double_scan->partner, sizeof(double_scan->partner));
    }
    ctn_step_t step = ctn_double_scan_rounds(op);
    if (step == CTN_STEP_NEXT) {
        building->chain->log = building->log;
        building->log = NULL;
    }
    return step;
}

static void drop(ctn_log_chain_t *log)
{
    if (log != NULL) {
        ctn_scratch_free(log->exec, log, log_bytes(log->rounds));
    }
}

static void finish(ctn_op_t *op)
{
    building_t *building = ctn_op_state(op);
    drop(building->log);
}

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"rounds", rounds}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "chain/log",
    .state_bytes = sizeof(building_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
};

ctn_op_t *ctn_log_chain_create(ctn_exec_t *exec, ctn_chain_t *chain)
{
    if (chain->log != NULL) {
        return ctn_op_create_empty(exec);
    }
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        building_t *building = ctn_op_state(op);
        building->chain = chain;
    }
    return op;
}

void ctn_log_chain_drop(ctn_chain_t *chain)
{
    drop(chain->log);
    chain->log = NULL;
}
