/* P2P-5: scan and exscan.
 *
 * Recursive doubling. Hillis, Steele: Data Parallel Algorithms, Communications
 * of the ACM 29, 1986. In round d each member sends the reduction of the 2^d
 * members that end with it to the member 2^d after it. Rounds: ceil(log2 m).
 * Messages: fewer than one per member and round. Memory: none; a partial result
 * overwrites the message that it was reduced with.
 *
 * Chain. Each member reduces what comes from the member before it with its own
 * data, and sends the result to the member after it. The vector is cut into
 * ceil(log2 m) + 2 fragments, which follow each other, so the members work at
 * the same time. Members are added one after the other, ((x0 + x1) + x2) and so
 * on. Rounds: m - 1, and one for each further fragment. Messages: m - 1 for
 * each fragment. Memory: none.
 *
 * An exscan reduces each message twice, with this member's data and without;
 * the partial result with these data lies in the eager buffers after those of
 * the rounds, or fragments. */

#include "coll/bcol/p2p/rounds.h"

#include "exec/slot.h"

/** State of the operation. */
typedef struct p2p_scan {
    ctn_p2p_rounds_t rounds; /* first; `value`: the reduction of this member and
                                those received from */
    const void *before;      /* exscan: of those received from */
} p2p_scan_t;

static bool is_exclusive(const ctn_op_t *op)
{
    return op->algorithm == &ctn_p2p_exclusive_scan.algorithm;
}

static bool sends_in(const ctn_p2p_t *p2p, unsigned round)
{
    return p2p->me + (UINT64_C(1) << round) < p2p->size;
}

static bool receives_in(const ctn_p2p_t *p2p, unsigned round)
{
    return p2p->me >= UINT64_C(1) << round;
}

static bool double_up(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_p2p_t *p2p = rounds->call.p2p;
    const ctn_basic_coll_t *basic = rounds->call.basic;
    bool last = !receives_in(p2p, index + 1); /* no further message arrives */
    if (index < p2p->rounds && sends_in(p2p, index)) {
        ctn_p2p_round_send(rounds, p2p->me + (UINT32_C(1) << index), index,
                           rounds->value, basic->bytes);
    }
    if (index < p2p->rounds && receives_in(p2p, index)) {
        ctn_p2p_round_receive(rounds, p2p->me - (UINT32_C(1) << index), index,
                              basic->bytes);
        ctn_p2p_round_reduce(rounds, rounds->value, last ? basic->out : NULL);
        rounds->rounds.overwrites = last && basic->in == basic->out;
    } else if (index == p2p->rounds && p2p->me == 0 && !is_exclusive(op)) {
        ctn_p2p_round_copy(rounds, basic->out, basic->bytes);
    }
    return index <= p2p->rounds;
}

/** exscan: reduce what has arrived from lower members, with this member's data
 * (if that is sent), and without. */
static catena_status_t take(ctn_op_t *op, unsigned index, unsigned char *theirs)
{
    p2p_scan_t *scan = ctn_op_state(op);
    const ctn_p2p_t *p2p = scan->rounds.call.p2p;
    size_t bytes = scan->rounds.bytes;
    void *result = scan->rounds.out != NULL ? scan->rounds.out : theirs;
    if (theirs == NULL) {
        return CATENA_OK;
    }
    if (sends_in(p2p, index + 1)) {
        void *value = ctn_op_eager(op, p2p->rounds + index, 1, bytes);
        ctn_p2p_reduce(op, theirs, scan->rounds.value, value, bytes);
        scan->rounds.value = value;
    }
    if (index == 0) {
        ctn_p2p_copy(op, result, theirs, bytes);
    } else {
        ctn_p2p_reduce(op, theirs, scan->before, result, bytes);
    }
    scan->before = result;
    return CATENA_OK;
}

/* The first member does not wait for any other. */
const ctn_p2p_schedule_t ctn_p2p_inclusive_scan = {
    CTN_P2P_ROUNDS("p2p/scan", p2p_scan_t, false),
    .signature = CTN_P2P_SCAN,
    .round = double_up,
};

const ctn_p2p_schedule_t ctn_p2p_exclusive_scan = {
    CTN_P2P_ROUNDS("p2p/scan", p2p_scan_t, false),
    .signature = CTN_P2P_SCAN,
    .round = double_up,
    .take = take,
};

/* ---- chain ---- */

/** State of the operation. */
typedef struct chain_scan {
    ctn_p2p_rounds_t rounds;   /* first */
    const unsigned char *next; /* the fragment to be sent next */
} chain_scan_t;

/** The number of fragments, for vectors of any length: so members whose lengths
 * differ send as many messages. */
static unsigned fragments_of(const chain_scan_t *chain)
{
    return ctn_p2p_eager_slots(chain->rounds.call.p2p->rounds) / 2;
}

/** Where a fragment begins; that of number `fragments`: where the vector ends.
 */
static size_t begin_of(const chain_scan_t *chain, unsigned fragment)
{
    const ctn_basic_coll_t *basic = chain->rounds.call.basic;
    size_t each = basic->by.type->bytes;
    return basic->bytes / each * fragment / fragments_of(chain) * each;
}

static size_t bytes_of(const chain_scan_t *chain, unsigned fragment)
{
    return begin_of(chain, fragment + 1) - begin_of(chain, fragment);
}

/** Round `index`: send the fragment before that; receive the fragment. */
static bool pass_on(ctn_op_t *op, unsigned index)
{
    chain_scan_t *chain = ctn_op_state(op);
    ctn_p2p_rounds_t *rounds = &chain->rounds;
    const ctn_p2p_t *p2p = rounds->call.p2p;
    const unsigned char *in = rounds->call.basic->in;
    if (index > 0 && index <= fragments_of(chain) && p2p->me + 1 < p2p->size) {
        ctn_p2p_round_send(rounds, p2p->me + 1, index - 1,
                           p2p->me > 0 ? chain->next
                                       : in + begin_of(chain, index - 1),
                           bytes_of(chain, index - 1));
    }
    if (index < fragments_of(chain) && p2p->me > 0) {
        ctn_p2p_round_receive(rounds, p2p->me - 1, index,
                              bytes_of(chain, index));
    }
    return index <= fragments_of(chain);
}

/** Reduce the fragment that has arrived. The first member receives none: it
 * copies its data. */
static catena_status_t take_fragment(ctn_op_t *op, unsigned index,
                                     unsigned char *theirs)
{
    chain_scan_t *chain = ctn_op_state(op);
    const ctn_p2p_call_t *call = &chain->rounds.call;
    const ctn_basic_coll_t *basic = call->basic;
    size_t from = begin_of(chain, index);
    size_t bytes = chain->rounds.bytes;
    const unsigned char *own = (const unsigned char *)basic->in + from;
    unsigned char *out = (unsigned char *)basic->out + from;
    bool inclusive = call->kind == CTN_SCAN;
    if (call->p2p->me == 0 && index == fragments_of(chain) && inclusive) {
        ctn_p2p_copy(op, basic->out, basic->in, basic->bytes);
    }
    if (theirs == NULL) {
        return CATENA_OK;
    }
    unsigned char *sum =
        inclusive ? out
        : call->p2p->me + 1 < call->p2p->size
            ? ctn_op_eager(op, fragments_of(chain) + index, 1, bytes)
            : NULL;
    if (sum != NULL) {
        ctn_p2p_reduce(op, theirs, own, sum, bytes);
        chain->next = sum;
    }
    if (!inclusive) {
        ctn_p2p_copy(op, out, theirs, bytes);
    }
    return CATENA_OK;
}

const ctn_p2p_schedule_t ctn_p2p_chain_scan = {
    CTN_P2P_ROUNDS("p2p/scan, chain", chain_scan_t, false),
    .signature = CTN_P2P_CHAIN_SCAN,
    .round = pass_on,
    .take = take_fragment,
};
