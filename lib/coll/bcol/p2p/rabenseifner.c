/* P2P-4: allreduce of long vectors, Rabenseifner. Thakur, Rabenseifner, Gropp:
 * Optimization of Collective Communication Operations in MPICH, IJHPCA 19,
 * 2005, section 4.5.
 * A reduce-scatter by recursive halving, then an allgather by recursive
 * doubling. Rounds: 2 floor(log2 m), and two more unless m is a power of two
 * (fold.h). A member sends 2n bytes of a vector of n bytes in all; in recursive
 * doubling it sends n log2 m. Memory: none; partial results lie in the receive
 * buffer.
 * Differs from the paper: the nearest partners exchange first, so a partial
 * result is always that of consecutive members, and operations need not
 * commute. */

#include "coll/bcol/p2p/fold.h"

/* At most: member numbers have 32 bits. */
enum { ROUNDS = 32 };

/** A range of the vector, in bytes. */
typedef struct range {
    size_t begin;
    size_t end;
} range_t;

/** State of the operation. */
typedef struct rabenseifner_halving {
    ctn_p2p_fold_t fold;       /* first */
    unsigned round;            /* the allgather counts it down again */
    bool sent;                 /* this member has sent in this round */
    range_t range[ROUNDS + 1]; /* that this member reduces, before each round */
} rabenseifner_halving_t;

static ctn_step_t begin(ctn_op_t *op)
{
    rabenseifner_halving_t *halving = ctn_op_state(op);
    halving->round = 0;
    halving->sent = false;
    ctn_step_t step = ctn_p2p_fold_begin(op, CTN_P2P_HALVING);
    const ctn_basic_coll_t *basic = halving->fold.call.basic;
    halving->range[0] = (range_t){0, basic->bytes};
    return step;
}

/** Split this member's range before a round into the halves that it and its
 * partner of the round keep. */
static void split(const rabenseifner_halving_t *halving, unsigned round,
                  range_t *mine, range_t *theirs)
{
    size_t element = halving->fold.call.basic->by.type->bytes;
    range_t whole = halving->range[round];
    size_t middle =
        whole.begin + (whole.end - whole.begin) / element / 2 * element;
    range_t half[2] = {{whole.begin, middle}, {middle, whole.end}};
    unsigned upper = halving->fold.worker >> round & 1;
    *mine = half[upper];
    *theirs = half[!upper];
}

/** Send the partner of this round a fragment of `vector`, and receive one of
 * `bytes`, both in slot `slot`. NEXT: it has arrived, at *data. */
static ctn_step_t exchange(ctn_op_t *op, unsigned slot, const void *vector,
                           range_t fragment, size_t bytes, unsigned char **data)
{
    rabenseifner_halving_t *halving = ctn_op_state(op);
    const ctn_p2p_fold_t *fold = &halving->fold;
    uint32_t partner =
        ctn_p2p_worker(fold, fold->worker ^ UINT32_C(1) << halving->round);
    if (!halving->sent) {
        catena_status_t status = ctn_p2p_send_vector(
            op, partner, slot, (const unsigned char *)vector + fragment.begin,
            fragment.end - fragment.begin);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        halving->sent = true;
    }
    ctn_step_t step = ctn_p2p_receive_vector(op, partner, slot, bytes, data);
    if (step == CTN_STEP_NEXT) {
        halving->sent = false;
    }
    return step;
}

/** The reduce-scatter. A round writes only the half that this member keeps, so
 * it need not wait until the other half has been sent. */
static ctn_step_t halve(ctn_op_t *op)
{
    rabenseifner_halving_t *halving = ctn_op_state(op);
    ctn_p2p_fold_t *fold = &halving->fold;
    unsigned char *out = fold->call.basic->out;
    for (; halving->round < fold->rounds && !fold->idle; halving->round++) {
        range_t mine;
        range_t give;
        split(halving, halving->round, &mine, &give);
        size_t bytes = mine.end - mine.begin;
        unsigned char *theirs;
        ctn_step_t step =
            exchange(op, halving->round, fold->value, give, bytes, &theirs);
        if (step != CTN_STEP_NEXT) {
            return step;
        }
        bool is_left = (fold->worker >> halving->round & 1) != 0;
        const unsigned char *own =
            (const unsigned char *)fold->value + mine.begin;
        catena_status_t status =
            ctn_p2p_reduce(op, is_left ? theirs : own, is_left ? own : theirs,
                           out + mine.begin, bytes);
        if (status != CATENA_OK) {
            return ctn_op_fail(op, status);
        }
        fold->value = out;
        halving->range[halving->round + 1] = mine;
    }
    if (fold->rounds == 0) { /* the only member */
        ctn_p2p_copy(op, out, fold->value, fold->call.basic->bytes);
    }
    return CTN_STEP_NEXT;
}

/** The allgather overwrites the halves that were sent: wait until all sends
 * have completed. */
static ctn_step_t await_sends(ctn_op_t *op)
{
    return op->pending == 0 ? CTN_STEP_NEXT : CTN_STEP_WAIT;
}

/** The allgather: the rounds of the reduce-scatter in reverse order. */
static ctn_step_t gather(ctn_op_t *op)
{
    rabenseifner_halving_t *halving = ctn_op_state(op);
    const ctn_p2p_fold_t *fold = &halving->fold;
    unsigned char *out = fold->call.basic->out;
    while (!fold->idle && halving->round > 0) {
        range_t mine;
        range_t get;
        unsigned char *theirs;
        halving->round--;
        split(halving, halving->round, &mine, &get);
        size_t bytes = get.end - get.begin;
        ctn_step_t step = exchange(op, fold->call.p2p->rounds + halving->round,
                                   out, mine, bytes, &theirs);
        if (step != CTN_STEP_NEXT) {
            halving->round++;
            return step;
        }
        ctn_p2p_copy(op, out + get.begin, theirs, bytes);
    }
    return CTN_STEP_NEXT;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"fold in", ctn_p2p_fold_in},
                                     {"halve", halve},
                                     {"await sends", await_sends},
                                     {"gather", gather},
                                     {"fold out", ctn_p2p_fold_out},
                                     {"end", ctn_p2p_end_vector},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "p2p/allreduce, rabenseifner",
    .state_bytes = sizeof(rabenseifner_halving_t),
    .phases = phases,
    .synchronizing = true,
};

ctn_op_t *ctn_p2p_halving(ctn_module_t *module, const ctn_basic_coll_t *basic)
{
    return ctn_p2p_create(module, &algorithm, basic);
}
