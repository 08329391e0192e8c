/* Allreduce over messages: P2P-3, recursive doubling, for short vectors, and
 * P2P-4, Rabenseifner's, for long ones. Thakur, Rabenseifner, Gropp:
 * Optimization of Collective Communication Operations in MPICH, IJHPCA 19,
 * 2005, section 4.5.
 *
 * Both run among 2^k of the members, the workers. Of m = 2^k + r members,
 * r < 2^k, the first 2r form pairs. The even member of a pair is idle: it first
 * sends its vector to the odd one (fold in), and gets the result in the end
 * (fold out). The odd members and those without a partner are the workers,
 * numbered anew in the same order. Each represents one or two consecutive
 * members, so operations need not commute.
 *
 * Recursive doubling: k rounds; in each one all workers exchange their partial
 * results. Messages: one per member and round. Memory: none; the result of a
 * round overwrites the message received in it, the last one goes to the receive
 * buffer. Both partners of a round reduce the same two vectors, that of the
 * lower members on the left, so all members get the same bits.
 *
 * Rabenseifner: a reduce-scatter by recursive halving, then an allgather by
 * recursive doubling: 2k rounds. A member sends 2n bytes of a vector of n bytes
 * in all; in recursive doubling it sends n log2 m. Memory: none; partial
 * results lie in the receive buffer. Differs from the paper: the nearest
 * partners exchange first, so a partial result is always that of consecutive
 * members, and operations need not commute. */

#include "coll/bcol/p2p/rounds.h"

/** This member's part. */
typedef struct fold {
    unsigned rounds; /* k */
    uint32_t pairs;  /* r */
    bool paired;
    bool idle;       /* this member is the even one of a pair */
    uint32_t worker; /* this member's number among workers, unless idle */
} fold_t;

static fold_t fold_of(const ctn_p2p_t *p2p)
{
    fold_t fold = {.rounds = 31 - (unsigned)__builtin_clz(p2p->size)};
    fold.pairs = p2p->size - (UINT32_C(1) << fold.rounds);
    fold.paired = p2p->me < 2 * fold.pairs;
    fold.idle = fold.paired && p2p->me % 2 == 0;
    fold.worker = fold.paired ? p2p->me / 2 : p2p->me - fold.pairs;
    return fold;
}

/** The worker with which this one exchanges messages in a round. */
static uint32_t partner_in(const fold_t *fold, unsigned round)
{
    uint32_t worker = fold->worker ^ UINT32_C(1) << round;
    return worker < fold->pairs ? 2 * worker + 1 : worker + fold->pairs;
}

/** The first round: idle members send their vectors. Folding uses the slots
 * after those of the rounds; algorithms use at most two slots for each
 * round. */
static void fold_in(ctn_p2p_rounds_t *rounds, const fold_t *fold)
{
    const ctn_p2p_t *p2p = rounds->call.p2p;
    size_t bytes = rounds->call.basic->bytes;
    unsigned slot = 2 * p2p->rounds;
    if (fold->idle) {
        ctn_p2p_round_send(rounds, p2p->me + 1, slot, rounds->value, bytes);
    } else if (fold->paired) {
        ctn_p2p_round_receive(rounds, p2p->me - 1, slot, bytes);
        ctn_p2p_round_reduce(rounds, rounds->value, NULL);
    }
}

/** The last round: idle members receive the result. */
static void fold_out(ctn_p2p_rounds_t *rounds, const fold_t *fold)
{
    const ctn_p2p_t *p2p = rounds->call.p2p;
    const ctn_basic_coll_t *basic = rounds->call.basic;
    unsigned slot = 2 * p2p->rounds + 1;
    if (fold->idle) {
        ctn_p2p_round_receive(rounds, p2p->me + 1, slot, basic->bytes);
        ctn_p2p_round_copy(rounds, basic->out, basic->bytes);
        rounds->rounds.overwrites = basic->in == basic->out;
    } else if (fold->paired) {
        ctn_p2p_round_send(rounds, p2p->me - 1, slot, basic->out, basic->bytes);
    } else if (p2p->size == 1) {
        ctn_p2p_round_copy(rounds, basic->out, basic->bytes);
    }
}

/* ---- recursive doubling ---- */

/** Exchange partial results with the partner, and reduce them. */
static bool double_up(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    const ctn_basic_coll_t *basic = rounds->call.basic;
    fold_t fold = fold_of(rounds->call.p2p);
    if (index == 0) {
        fold_in(rounds, &fold);
    } else if (index > fold.rounds) {
        fold_out(rounds, &fold);
    } else if (!fold.idle) {
        bool is_last = index == fold.rounds;
        uint32_t partner = partner_in(&fold, index - 1);
        ctn_p2p_round_send(rounds, partner, index - 1, rounds->value,
                           basic->bytes);
        ctn_p2p_round_receive(rounds, partner, index - 1, basic->bytes);
        ctn_p2p_round_reduce(rounds, rounds->value,
                             is_last ? basic->out : NULL);
        rounds->rounds.overwrites = is_last && basic->in == basic->out;
    }
    return index <= fold.rounds + 1;
}

const ctn_p2p_schedule_t ctn_p2p_doubling = {
    CTN_P2P_ROUNDS("p2p/allreduce, recursive-doubling", ctn_p2p_rounds_t, true),
    .signature = CTN_P2P_DOUBLING,
    .round = double_up,
};

/* ---- Rabenseifner ---- */

/** A range of the vector, in bytes. */
typedef struct range {
    size_t begin;
    size_t end;
} range_t;

/** Split the range that this member reduces before a round into the halves that
 * it and its partner of the round keep. */
static void split(const ctn_basic_coll_t *basic, const fold_t *fold,
                  unsigned round, range_t *mine, range_t *theirs)
{
    size_t element = basic->by.type->bytes;
    *mine = (range_t){0, basic->bytes};
    for (unsigned r = 0; r <= round; r++) {
        size_t middle =
            mine->begin + (mine->end - mine->begin) / element / 2 * element;
        range_t half[2] = {{mine->begin, middle}, {middle, mine->end}};
        unsigned upper = fold->worker >> r & 1;
        *mine = half[upper];
        *theirs = half[!upper];
    }
}

/** A round of the reduce-scatter. It writes only the half that this member
 * keeps, so it need not wait until the other half has been sent. */
static void halve(ctn_p2p_rounds_t *rounds, const fold_t *fold, unsigned r)
{
    const ctn_basic_coll_t *basic = rounds->call.basic;
    const unsigned char *value = r == 0 ? rounds->value : basic->out;
    uint32_t partner = partner_in(fold, r);
    range_t mine, give;
    split(basic, fold, r, &mine, &give);
    ctn_p2p_round_send(rounds, partner, r, value + give.begin,
                       give.end - give.begin);
    ctn_p2p_round_receive(rounds, partner, r, mine.end - mine.begin);
    ctn_p2p_round_reduce(rounds, value + mine.begin,
                         (unsigned char *)basic->out + mine.begin);
}

/** A round of the allgather: those of the reduce-scatter in reverse order. */
static void gather(ctn_p2p_rounds_t *rounds, const fold_t *fold, unsigned r)
{
    const ctn_basic_coll_t *basic = rounds->call.basic;
    unsigned char *out = basic->out;
    uint32_t partner = partner_in(fold, r);
    unsigned slot = rounds->call.p2p->rounds + r;
    range_t mine, get;
    split(basic, fold, r, &mine, &get);
    ctn_p2p_round_send(rounds, partner, slot, out + mine.begin,
                       mine.end - mine.begin);
    ctn_p2p_round_receive(rounds, partner, slot, get.end - get.begin);
    ctn_p2p_round_copy(rounds, out + get.begin, get.end - get.begin);
}

static bool halve_and_gather(ctn_op_t *op, unsigned index)
{
    ctn_p2p_rounds_t *rounds = ctn_op_state(op);
    fold_t fold = fold_of(rounds->call.p2p);
    unsigned k = fold.rounds;
    if (index == 0) {
        fold_in(rounds, &fold);
    } else if (index > 2 * k + 1) {
        fold_out(rounds, &fold);
    } else if (index == k + 1) {
        /* The allgather overwrites the halves that were sent. */
        rounds->rounds.overwrites = true;
    } else if (!fold.idle && index <= k) {
        halve(rounds, &fold, index - 1);
    } else if (!fold.idle) {
        gather(rounds, &fold, 2 * k + 1 - index);
    }
    return index <= 2 * k + 2;
}

const ctn_p2p_schedule_t ctn_p2p_halving = {
    CTN_P2P_ROUNDS("p2p/allreduce, rabenseifner", ctn_p2p_rounds_t, true),
    .signature = CTN_P2P_HALVING,
    .round = halve_and_gather,
};
