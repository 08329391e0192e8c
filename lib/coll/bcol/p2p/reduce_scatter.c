/* P2P-10: reduce_scatter over messages, recursive halving. Thakur,
 * Rabenseifner, Gropp: Optimization of collective communication operations in
 * MPICH, IJHPCA 19 (1), 2005, section 3.3. Rounds run among 2^k units
 * (rounds.h). In round r two units, 2^r apart, each send the half of their
 * blocks that the other one keeps. Rounds: k, and two more if there are pairs.
 * Messages: one per member and round.
 *
 * If the vector is longer than a slot takes, each block is cut into slices. A
 * *pass* runs all rounds for one slice of each block. Memory: the slices of one
 * pass.
 *
 * Differs from the paper: near units exchange first and far ones last, so a
 * partial result is always that of consecutive members, and operations need not
 * commute. For that, blocks are laid out in the order of the reversed bits of
 * their units' numbers. */

#include "coll/bcol/p2p/ring.h"
#include "coll/bcol/p2p/rounds.h"

#include "exec/slot.h"

/* Limits: bytes of a slice, even if messages then do not fit their slots;
 * passes. */
enum { LEAST_SLICE = 1024, MOST_PASSES = 65535 };

/* Slots, two of each, which passes use alternately: for the vector that the
 * second member of a pair sends, for the block returned to it, and for each
 * round. */
enum { VECTOR = 0, RESULT = 2, ROUND = 4 };

/** State of the operation. */
typedef struct reduce_scatter_halving {
    ctn_p2p_rounds_t base; /* first */
    ctn_p2p_units_t units;
    size_t slice;    /* bytes of each block in a pass, at most */
    uint32_t passes; /* number of them */
    uint32_t pass;   /* the current one */
    /* The slices of unit u begin at start[reversed(u)] of `vector`. */
    size_t *start;         /* [2^rounds + 1] */
    unsigned char *vector; /* partial result; in the memory after `start` */
    size_t memory_bytes;   /* of `start` and `vector` */
    bool spare;            /* they lie in eager buffers without messages */
    uint32_t low, high;    /* entries of `start` whose slices are kept so far */
} reduce_scatter_halving_t;

/* ---- members and units ---- */

/** Number of members of a unit. */
static uint32_t count_of(const reduce_scatter_halving_t *halving, uint32_t unit)
{
    return unit < halving->units.paired ? 2 : 1;
}

/** The lowest `count` bits in reverse order. */
static uint32_t reversed(uint32_t bits, unsigned count)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < count; i++) {
        result = result << 1 | (bits >> i & 1);
    }
    return result;
}

/** Bytes of a member's block in this pass. */
static size_t slice_of(const reduce_scatter_halving_t *halving, uint32_t member)
{
    size_t bytes = ctn_p2p_block_bytes(halving->base.call.basic, member);
    size_t from = halving->pass * halving->slice;
    size_t rest = bytes > from ? bytes - from : 0;
    return rest < halving->slice ? rest : halving->slice;
}

/** Set the bytes of a slice, and the number of passes: whole elements, such
 * that messages fit their slots unless a limit above prevents that. */
static void cut(reduce_scatter_halving_t *halving)
{
    const ctn_p2p_t *p2p = halving->base.call.p2p;
    const ctn_basic_coll_t *basic = halving->base.call.basic;
    size_t element = basic->by.type->bytes > 0 ? basic->by.type->bytes : 1;
    size_t longest = 0;
    for (uint32_t i = 0; i < p2p->size; i++) {
        size_t bytes = ctn_p2p_block_bytes(basic, i);
        longest = bytes > longest ? bytes : longest;
    }
    size_t slice = longest;
    if (ctn_p2p_blocks_total(basic, p2p->size) > CTN_CHUNK_BYTES) {
        uint32_t blocks =
            halving->units.paired > 0 ? p2p->size : (p2p->size + 1) / 2;
        slice = CTN_CHUNK_BYTES / blocks;
        slice = slice < LEAST_SLICE ? LEAST_SLICE : slice;
        slice = slice < longest / MOST_PASSES + 1 ? longest / MOST_PASSES + 1
                                                  : slice;
        slice = slice < element ? element : slice / element * element;
    }
    halving->slice = slice;
    halving->passes =
        longest > 0 ? (uint32_t)((longest + slice - 1) / slice) : 1;
}

/** Set where the slices of this pass lie. @return bytes of all of them */
static size_t lay_out(reduce_scatter_halving_t *halving)
{
    size_t at = 0;
    for (uint32_t p = 0; p < UINT32_C(1) << halving->units.rounds; p++) {
        uint32_t unit = reversed(p, halving->units.rounds);
        uint32_t member = ctn_p2p_unit_member(&halving->units, unit);
        halving->start[p] = at;
        at += slice_of(halving, member);
        at += count_of(halving, unit) == 2 ? slice_of(halving, member + 1) : 0;
    }
    halving->start[UINT32_C(1) << halving->units.rounds] = at;
    return at;
}

/** Eager buffers that receive no message: those of VECTOR and RESULT if there
 * are no pairs; else the two after those of the rounds, since a module has
 * slots for ceil(log2 m) rounds, and only floor(log2 m) are needed. */
static void *find_spare(const ctn_op_t *op,
                        const reduce_scatter_halving_t *halving)
{
    return halving->units.paired == 0
               ? ctn_op_eager(op, VECTOR, ROUND, halving->memory_bytes)
               : ctn_op_eager(op, ROUND + 2 * halving->units.rounds, 2,
                              halving->memory_bytes);
}

static ctn_step_t begin(ctn_op_t *op)
{
    reduce_scatter_halving_t *halving = ctn_op_state(op);
    halving->units = ctn_p2p_units_of(halving->base.call.p2p);
    cut(halving);
    ctn_p2p_begin_blocks(op, CTN_P2P_REDUCE_SCATTER, halving->passes);
    halving->pass = 0;
    size_t vector = 0;
    for (uint32_t i = 0; i < halving->base.call.p2p->size; i++) {
        vector += slice_of(halving, i);
    }
    size_t table =
        (((size_t)1 << halving->units.rounds) + 1) * sizeof(*halving->start);
    table = (table + 63) & ~(size_t)63;
    halving->memory_bytes = table + vector;
    halving->start = ctn_scratch_alloc(op->exec, halving->memory_bytes);
    halving->spare = halving->start == NULL;
    if (halving->spare) {
        halving->start = find_spare(op, halving);
    }
    if (halving->start == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    halving->vector = (unsigned char *)halving->start + table;
    return CTN_STEP_NEXT;
}

/* ---- a pass ---- */

/** Begin a pass: copy this member's slices to the vector. */
static ctn_step_t pack(ctn_op_t *op)
{
    reduce_scatter_halving_t *halving = ctn_op_state(op);
    const ctn_basic_coll_t *basic = halving->base.call.basic;
    const unsigned char *in = basic->in;
    size_t from = halving->pass * halving->slice;
    (void)lay_out(halving);
    ctn_p2p_begin_pass(op, halving->pass);
    for (uint32_t p = 0; p < UINT32_C(1) << halving->units.rounds; p++) {
        unsigned char *at = halving->vector + halving->start[p];
        uint32_t unit = reversed(p, halving->units.rounds);
        uint32_t member = ctn_p2p_unit_member(&halving->units, unit);
        for (uint32_t n = count_of(halving, unit); n > 0; n--, member++) {
            size_t bytes = slice_of(halving, member);
            ctn_p2p_copy(op, at, in + basic->at[member] + from, bytes);
            at += bytes;
        }
    }
    halving->low = 0;
    halving->high = UINT32_C(1) << halving->units.rounds;
    ctn_p2p_rounds_begin(op);
    return CTN_STEP_NEXT;
}

/** Bytes of the slices of entries `low` to `high` - 1. */
static size_t bytes_between(const reduce_scatter_halving_t *halving,
                            uint32_t low, uint32_t high)
{
    return halving->start[high] - halving->start[low];
}

/** Receive what this member keeps, and reduce it with that. */
static void reduce(reduce_scatter_halving_t *halving, uint32_t member,
                   unsigned slot)
{
    unsigned char *own = halving->vector + halving->start[halving->low];
    ctn_p2p_round_receive(&halving->base, member, slot + halving->pass % 2,
                          bytes_between(halving, halving->low, halving->high));
    ctn_p2p_round_reduce(&halving->base, own, own);
}

/** The second member of a pair sends its vector to the first. */
static void give_vector(reduce_scatter_halving_t *halving)
{
    uint32_t me = halving->base.call.p2p->me;
    if (halving->units.passive) {
        ctn_p2p_round_send(&halving->base, me - 1, VECTOR + halving->pass % 2,
                           halving->vector,
                           bytes_between(halving, 0, halving->high));
    } else if (halving->units.in_pair) {
        reduce(halving, me + 1, VECTOR);
    }
}

/** Send the half that the partner of round r keeps, and keep the other one. */
static void exchange(reduce_scatter_halving_t *halving, unsigned r)
{
    uint32_t bit = UINT32_C(1) << r;
    uint32_t partner =
        ctn_p2p_unit_member(&halving->units, halving->units.unit ^ bit);
    bool upper =
        (halving->units.unit & bit) != 0; /* this member keeps that half */
    uint32_t middle = halving->low + (halving->high - halving->low) / 2;
    uint32_t low = upper ? halving->low : middle;
    uint32_t high = upper ? middle : halving->high;
    *(upper ? &halving->low : &halving->high) = middle;
    ctn_p2p_round_send(&halving->base, partner,
                       ROUND + 2 * r + halving->pass % 2,
                       halving->vector + halving->start[low],
                       bytes_between(halving, low, high));
    reduce(halving, partner, ROUND + 2 * r);
}

/** All vectors are reduced: copy this member's slice to its receive buffer. The
 * second member of a pair receives its slice from the first. */
static void hand_over(ctn_op_t *op)
{
    reduce_scatter_halving_t *halving = ctn_op_state(op);
    uint32_t me = halving->base.call.p2p->me;
    unsigned char *out = halving->base.call.basic->out;
    size_t bytes = slice_of(halving, me);
    out += halving->pass * halving->slice;
    if (halving->units.passive) {
        ctn_p2p_round_receive(&halving->base, me - 1,
                              RESULT + halving->pass % 2, bytes);
        ctn_p2p_round_copy(&halving->base, out, bytes);
        return;
    }
    const unsigned char *own = halving->vector + halving->start[halving->low];
    ctn_p2p_copy(op, out, own, bytes);
    if (halving->units.in_pair) {
        ctn_p2p_round_send(&halving->base, me + 1, RESULT + halving->pass % 2,
                           own + bytes, slice_of(halving, me + 1));
    }
}

static bool set_round(ctn_op_t *op, unsigned index)
{
    reduce_scatter_halving_t *halving = ctn_op_state(op);
    if (index == 0) {
        give_vector(halving);
    } else if (index == halving->units.rounds + 1) {
        hand_over(op);
    } else if (index <= halving->units.rounds && !halving->units.passive) {
        exchange(halving, index - 1);
    }
    return index <= halving->units.rounds + 1;
}

/* Index in `phases`. */
enum { PACK = 1 };

static ctn_step_t end_pass(ctn_op_t *op)
{
    reduce_scatter_halving_t *halving = ctn_op_state(op);
    if (!ctn_rounds_all_read(op, &halving->base.rounds)) {
        return CTN_STEP_WAIT; /* the next pass overwrites the vector */
    }
    return ++halving->pass < halving->passes ? ctn_op_jump(op, PACK)
                                             : CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    reduce_scatter_halving_t *halving = ctn_op_state(op);
    ctn_p2p_rounds_finish(op);
    /* After a failure other members may still read the vector. */
    if (op->status == CATENA_OK && !halving->spare) {
        ctn_scratch_free(op->exec, halving->start, halving->memory_bytes);
    }
    halving->start = NULL;
}

static const ctn_phase_t phases[] = {{"begin", begin},
                                     {"pack", pack},
                                     {"rounds", ctn_p2p_rounds_run},
                                     {"end of pass", end_pass},
                                     {"end", ctn_p2p_end_vector},
                                     {NULL, NULL}};

const ctn_p2p_schedule_t ctn_p2p_recursive_halving = {
    .algorithm = {.name = "p2p/reduce_scatter/recursive halving",
                  .state_bytes = sizeof(reduce_scatter_halving_t),
                  .phases = phases,
                  .synchronizing = true,
                  .finish = finish},
    .round = set_round,
};

/* ---- selection ---- */

const ctn_algorithm_t *ctn_p2p_reduce_scatter(ctn_p2p_t *p2p,
                                              const ctn_basic_coll_t *basic)
{
    ctn_algorithm_set_t possible = CTN_P2P_REDUCE_SCATTERS;
    if (basic->balanced || !ctn_reduce_op_commutes(basic->by.op) ||
        basic->by.type->bytes > CTN_STAGING_BYTES) {
        possible &= ~CTN_ALGORITHM_BIT(RING);
    }
    return ctn_basic_choose(&p2p->module, CTN_REDUCE_SCATTER, possible, basic,
                            ctn_p2p_blocks_total(basic, p2p->size)) ==
                   CTN_ALGORITHM_RING
               ? &ctn_p2p_reduce_scatter_ring.algorithm
               : &ctn_p2p_recursive_halving.algorithm;
}
