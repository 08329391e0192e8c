/* P2P-5: scan and exscan, recursive doubling. Hillis, Steele: Data Parallel
 * Algorithms, Communications of the ACM 29, 1986. In round d each member sends
 * the reduction of the 2^d members that end with it to the member 2^d after it.
 * Rounds: ceil(log2 m). Messages: fewer than one per member and round. Memory:
 * none; a partial result overwrites the message that it was reduced with. An
 * exscan reduces each message twice, with this member's data and without; the
 * partial result with these data lies in the eager buffers after those of the
 * rounds. */

#include "coll/bcol/p2p/p2p.h"

/** State of the operation. */
typedef struct p2p_scan {
    ctn_p2p_call_t call; /* first */
    /* argument */
    bool exclusive; /* exscan */
    /* working */
    const void *value;  /* reduction of this member and those received from */
    const void *before; /* exscan: of those received from; NULL: of none */
    unsigned round;
    bool sent; /* this member has sent in this round, or need not */
} p2p_scan_t;

static ctn_step_t begin(ctn_op_t *op)
{
    p2p_scan_t *scan = ctn_op_state(op);
    ctn_p2p_begin_vector(op, CTN_P2P_SCAN);
    scan->value = scan->call.basic->in;
    scan->before = NULL;
    scan->round = 0;
    scan->sent = false;
    return CTN_STEP_NEXT;
}

static bool sends_in(const ctn_p2p_t *p2p, unsigned round)
{
    return p2p->me + (UINT64_C(1) << round) < p2p->size;
}

static bool receives_in(const ctn_p2p_t *p2p, unsigned round)
{
    return p2p->me >= UINT64_C(1) << round;
}

/** An eager buffer of this member that receives no message. */
static void *spare(const ctn_op_t *op, const p2p_scan_t *scan)
{
    unsigned slot = scan->call.p2p->rounds + scan->round;
    return (unsigned char *)op->sequence->slots +
           ctn_slot_eager_at(op->sequence, op->seq, slot);
}

/** Reduce what has arrived from lower members.
 * @param last no further message arrives: this gives the result */
static catena_status_t fold(ctn_op_t *op, p2p_scan_t *scan,
                            unsigned char *theirs, bool last)
{
    const ctn_p2p_t *p2p = scan->call.p2p;
    const ctn_basic_coll_t *basic = scan->call.basic;
    void *result = last ? basic->out : theirs;
    catena_status_t status = CATENA_OK;
    if (!scan->exclusive || sends_in(p2p, scan->round + 1)) {
        void *out = scan->exclusive ? spare(op, scan) : result;
        status = ctn_p2p_reduce(op, theirs, scan->value, out, basic->bytes);
        scan->value = out;
    }
    if (!scan->exclusive || status != CATENA_OK) {
        return status;
    }
    if (scan->before != NULL) {
        status = ctn_p2p_reduce(op, theirs, scan->before, result, basic->bytes);
    } else {
        ctn_p2p_copy(op, result, theirs, basic->bytes);
    }
    scan->before = result;
    return status;
}

/** NEXT: the round's message has arrived, if there is one. */
static ctn_step_t receive_round(ctn_op_t *op, p2p_scan_t *scan)
{
    const ctn_p2p_t *p2p = scan->call.p2p;
    const ctn_basic_coll_t *basic = scan->call.basic;
    if (!receives_in(p2p, scan->round)) {
        return CTN_STEP_NEXT;
    }
    unsigned char *theirs;
    ctn_step_t step =
        ctn_p2p_receive_vector(op, p2p->me - (UINT32_C(1) << scan->round),
                               scan->round, basic->bytes, &theirs);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    bool last = !receives_in(p2p, scan->round + 1);
    if (last && !ctn_p2p_may_write(op)) {
        return CTN_STEP_WAIT;
    }
    catena_status_t status = fold(op, scan, theirs, last);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t double_up(ctn_op_t *op)
{
    p2p_scan_t *scan = ctn_op_state(op);
    const ctn_p2p_t *p2p = scan->call.p2p;
    for (; scan->round < p2p->rounds; scan->round++) {
        if (!scan->sent && sends_in(p2p, scan->round)) {
            catena_status_t status = ctn_p2p_send_vector(
                op, p2p->me + (UINT32_C(1) << scan->round), scan->round,
                scan->value, scan->call.basic->bytes);
            if (status != CATENA_OK) {
                return ctn_op_fail(op, status);
            }
        }
        scan->sent = true;
        ctn_step_t step = receive_round(op, scan);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        scan->sent = false;
    }
    if (p2p->me == 0 && !scan->exclusive) {
        ctn_p2p_copy(op, scan->call.basic->out, scan->value,
                     scan->call.basic->bytes);
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"double", double_up},
                                     {"end", ctn_p2p_end_vector},
                                     {NULL, NULL}};

/* The first member does not wait for any other. */
static const ctn_algorithm_t algorithm = {
    .name = "p2p/scan",
    .state_bytes = sizeof(p2p_scan_t),
    .phases = phases,
};

ctn_op_t *ctn_p2p_scan(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    return ctn_p2p_create(module, &algorithm, basic);
}

ctn_op_t *ctn_p2p_exscan(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    ctn_op_t *op = ctn_p2p_create(module, &algorithm, basic);
    if (op != NULL) {
        ((p2p_scan_t *)ctn_op_state(op))->exclusive = true;
    }
    return op;
}
