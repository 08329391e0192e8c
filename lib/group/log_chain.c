/* The log-chain: the addresses of the members 2^d away, for all d. Moody, Ahn,
 * de Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI
 * 2011, section 2: the addresses found by forwarding are stored. Rounds:
 * ceil(log2 p). Messages: two per member and round. Memory: O(log p). On a ring
 * the rounds are those of a dissemination in both directions. */

#include <string.h>

#include "group/chain.h"

/** State of the operation that builds a log-chain. */
typedef struct building {
    ctn_double_scan_t double_scan; /* first; messages have the sender's rank */
    /* arguments */
    ctn_chain_t *chain;
    ctn_chain_place_t place; /* that of the chain; at the ends of a ring with
                                both neighbors */
    uint64_t rank;
    /* working */
    ctn_log_chain_t *log; /* becomes chain->log when it is complete */
    struct {
        unsigned char head[CTN_DOUBLE_SCAN_HEAD_BYTES];
        uint64_t rank;
    } message[2]; /* by side */
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

ctn_log_chain_t *ctn_log_chain_alloc(ctn_exec_t *exec, uint32_t members)
{
    unsigned rounds = rounds_of(members);
    ctn_log_chain_t *log = ctn_scratch_alloc(exec, log_bytes(rounds));
    if (log != NULL) {
        log->exec = exec;
        log->rounds = rounds;
    }
    for (unsigned i = 0; log != NULL && i < rounds; i++) {
        log->round[i].side[CTN_LEFT] = log->round[i].side[CTN_RIGHT] =
            (ctn_partner_t){.address = CTN_NO_ADDRESS};
    }
    return log;
}

static catena_status_t outgoing(ctn_op_t *op, unsigned side,
                                unsigned char **message, size_t *bytes)
{
    building_t *building = ctn_op_state(op);
    building->message[side].rank = building->rank;
    *message = building->message[side].head;
    *bytes = sizeof(building->message[side].rank);
    return CATENA_OK;
}

/** Keep this round's partner on `side`. */
static catena_status_t keep(ctn_op_t *op, unsigned side,
                            const unsigned char *value, size_t bytes)
{
    building_t *building = ctn_op_state(op);
    const ctn_double_scan_t *double_scan = &building->double_scan;
    ctn_partner_t *partner =
        &building->log->round[double_scan->rounds.index].side[side];
    partner->address = double_scan->partner[side];
    memcpy(&partner->rank, value, bytes);
    return CATENA_OK;
}

static const ctn_double_scan_values_t values = {outgoing, keep};

static ctn_step_t begin(ctn_op_t *op)
{
    building_t *building = ctn_op_state(op);
    building->log = ctn_log_chain_alloc(op->exec, building->place.size);
    ctn_double_scan_begin(&building->double_scan);
    return building->log != NULL ? CTN_STEP_NEXT
                                 : ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
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

/** Create the operation. @param ring its rounds; 0: the chain is no ring */
static ctn_op_t *create(ctn_exec_t *exec, ctn_chain_t *chain,
                        ctn_chain_place_t place, unsigned ring, uint32_t rank)
{
    ctn_op_t *op = ctn_op_create(exec, &algorithm, &chain->sequence);
    if (op != NULL) {
        building_t *building = ctn_op_state(op);
        building->double_scan.place = &building->place;
        building->double_scan.values = &values;
        building->double_scan.ring = ring;
        building->chain = chain;
        building->place = place;
        building->rank = rank;
    }
    return op;
}

ctn_op_t *ctn_log_chain_create(ctn_exec_t *exec, ctn_chain_t *chain)
{
    return chain->log != NULL
               ? ctn_op_create_empty(exec)
               : create(exec, chain, chain->place, 0, chain->place.rank);
}

ctn_op_t *ctn_log_ring_create(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_address_t first, ctn_address_t last,
                              uint32_t rank)
{
    ctn_chain_place_t place = chain->place;
    place.left = place.rank == 0 ? last : place.left;
    place.right = place.rank + 1 == place.size ? first : place.right;
    return create(exec, chain, place, rounds_of(place.size), rank);
}

void ctn_log_chain_drop(ctn_chain_t *chain)
{
    drop(chain->log);
    chain->log = NULL;
}
