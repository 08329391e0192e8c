/* The log-chain: the addresses of the members 2^d away, for all d. Moody, Ahn,
 * de Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI
 * 2011, section 2: the addresses found by forwarding are stored. Rounds:
 * ceil(log2 p). Messages: two per member and round. Memory: O(log p). */

#include "group/chain.h"

/** State of the operation that builds a log-chain. */
typedef struct building {
    ctn_double_scan_t double_scan; /* first; of addresses only */
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

/** Keep this round's partner on `side`. */
static catena_status_t keep(ctn_op_t *op, unsigned side,
                            const unsigned char *value, size_t bytes)
{
    building_t *building = ctn_op_state(op);
    const ctn_double_scan_t *double_scan = &building->double_scan;
    (void)value, (void)bytes;
    building->log->round[double_scan->rounds.index].side[side] =
        double_scan->partner[side];
    return CATENA_OK;
}

static const ctn_double_scan_values_t values = {.incoming = keep};

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
    for (unsigned i = 0; i < rounds; i++) {
        log->round[i].side[CTN_LEFT] = log->round[i].side[CTN_RIGHT] =
            CTN_NO_ADDRESS;
    }
    building->log = log;
    building->double_scan.place = place;
    building->double_scan.values = &values;
    ctn_double_scan_begin(&building->double_scan);
    return CTN_STEP_NEXT;
}

static ctn_step_t end(ctn_op_t *op)
{
    building_t *building = ctn_op_state(op);
    building->chain->log = building->log;
    building->log = NULL;
    return CTN_STEP_NEXT;
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

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"rounds", ctn_double_scan_rounds},
                                     {"end", end},
                                     {NULL, NULL}};

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
