/* The log-chain: the addresses of the members 2^d away, for all d. Moody, Ahn,
 * de Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI
 * 2011, section 2: the addresses found by forwarding are stored. Rounds:
 * ceil(log2 p). Messages: two per member and round. Memory: O(log p). */

#include <string.h>

#include "exec/slot.h"
#include "group/chain.h"

enum { LEFT, RIGHT };

/** State of the operation that builds a log-chain. */
typedef struct building {
    ctn_chain_t *chain;   /* argument */
    ctn_log_chain_t *log; /* becomes chain->log when it is complete */
    unsigned round;       /* the last one whose partners are known */
    bool sent;            /* this round's messages were sent */
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
    building->round = 0;
    building->sent = false;
    if (rounds > 0) {
        log->round[0].side[LEFT] = place->left;
        log->round[0].side[RIGHT] = place->right;
    }
    return CTN_STEP_NEXT;
}

/** Send to each partner the address of the partner on the other side. */
static ctn_step_t send_both(ctn_op_t *op, building_t *building)
{
    const ctn_address_t *partner = building->log->round[building->round].side;
    for (unsigned side = LEFT; side <= RIGHT; side++) {
        catena_status_t status = CATENA_OK;
        if (ctn_address_exists(partner[side])) {
            status = ctn_op_send(op, partner[side], 2 * building->round + !side,
                                 &partner[!side], sizeof(partner[!side]));
        }
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
    }
    building->sent = true;
    op->exec->tally.rounds++;
    return CTN_STEP_MOVED;
}

/** Return whether the round's message from `side` has arrived, or there is
 * none.
 * @param[out] beyond its content: the member twice as far away as the sender.
 *                    Without a partner on `side` there is none further away */
static bool received(ctn_op_t *op, const building_t *building, unsigned side,
                     ctn_address_t *beyond)
{
    unsigned slot = 2 * building->round + side;
    *beyond = CTN_NO_ADDRESS;
    if (!ctn_address_exists(building->log->round[building->round].side[side])) {
        return true;
    }
    if (!ctn_op_arrived(op, slot)) {
        return false;
    }
    memcpy(beyond, ctn_op_slot(op, slot)->data, sizeof(*beyond));
    return true;
}

static ctn_step_t rounds(ctn_op_t *op)
{
    building_t *building = ctn_op_state(op);
    ctn_log_chain_t *log = building->log;
    if (building->round == log->rounds) {
        building->chain->log = log;
        building->log = NULL;
        return CTN_STEP_NEXT;
    }
    if (!building->sent) {
        return send_both(op, building);
    }
    ctn_address_t beyond[2];
    if (!received(op, building, LEFT, &beyond[LEFT]) ||
        !received(op, building, RIGHT, &beyond[RIGHT])) {
        return CTN_STEP_WAIT;
    }
    building->round++;
    building->sent = false;
    if (building->round < log->rounds) {
        memcpy(log->round[building->round].side, beyond, sizeof(beyond));
    }
    return CTN_STEP_MOVED;
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
