/* A2A-6: Bruck. Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for
 * all-to-all communications in multiport message-passing systems, IEEE TPDS 8
 * (11), 1997, the index algorithm with radix r, for any number of members.
 * The distance of a block is that from its sender to its receiver, in ranks
 * modulo p; in base r it has ceil(log_r p) digits. For one digit after the
 * other, a member sends up to r - 1 concurrent messages; a block is sent once
 * for each nonzero digit of its distance.
 * Memory: a copy of all blocks. Differs from the paper: messages are not
 * packed; each is a derived type on the copy. */

#include <catena/type.h>
#include <stdlib.h>
#include <string.h>

#include "coll/alltoall/alltoall.h"

enum { DEFAULT_RADIX = 2 };

/** What a persistent request keeps between starts. A round is one message in
 * each direction; the rounds of a digit run concurrently. */
typedef struct tables {
    uint32_t radix;
    uint32_t count;
    ctn_round_t *rounds;  /* [count], digit by digit */
    unsigned char copy[]; /* [p] blocks: before the exchange block i is for the
                             member at distance i, after it from the one at
                             distance -i */
} tables_t;

/** State of the operation. */
typedef struct alltoall_bruck {
    ctn_alltoall_t call;
    uint32_t p;          /* ranks of the group */
    uint32_t me;         /* this rank */
    uint32_t digit_step; /* weight of the current digit: a power of r */
    ctn_pairwise_t exchange;
} alltoall_bruck_t;

static tables_t *tables_of(const alltoall_bruck_t *b)
{
    return b->call.kept;
}

/** Number of rounds of all digits. */
static uint32_t count_rounds(uint32_t p, uint32_t radix)
{
    uint32_t rounds = 0;
    for (uint64_t step = 1; step < p; step *= radix) {
        for (uint64_t j = 1; j < radix && j * step < p; j++) {
            rounds++;
        }
    }
    return rounds;
}

/** Number of rounds of the current digit. */
static uint32_t rounds_of_digit(const alltoall_bruck_t *b)
{
    uint32_t most = (b->p - 1) / b->digit_step;
    uint32_t radix = tables_of(b)->radix;
    return most < radix - 1 ? most : radix - 1;
}

/** Make the type of one round's message: the blocks whose distance has digit j
 * at the place of weight `step`, which is a power of r. These are runs of
 * `step` blocks, at intervals of r * step; the last run may be shorter. */
static catena_status_t make_type(size_t bytes, uint32_t p, uint64_t step,
                                 uint64_t j, uint32_t radix,
                                 const ctn_type_t **type)
{
    catena_type_t made;
    size_t runs = (size_t)((p - 1 - j * step) / (step * radix) + 1);
    size_t *lengths = calloc(runs, sizeof(*lengths));
    ptrdiff_t *places = calloc(runs, sizeof(*places));
    catena_status_t status = CATENA_ERR_NO_MEMORY;
    if (lengths != NULL && places != NULL) {
        for (size_t i = 0; i < runs; i++) {
            uint64_t first = j * step + i * step * radix;
            uint64_t length = p - first < step ? p - first : step;
            lengths[i] = (size_t)length * bytes;
            places[i] = (ptrdiff_t)(first * bytes);
        }
        status =
            catena_type_hindexed(runs, lengths, places, CATENA_BYTE, &made);
        *type = ctn_type_of(made);
    }
    free(lengths);
    free(places);
    return status;
}

/** Add the round of digit j to the tables. */
static catena_status_t make_round(const alltoall_bruck_t *b, tables_t *t,
                                  uint64_t step, uint64_t j)
{
    uint64_t distance = j * step;
    ctn_round_t *round = &t->rounds[t->count];
    catena_status_t status = make_type(b->call.send->bytes, b->p, step, j,
                                       t->radix, &round->block.type);
    if (status == CATENA_OK) {
        round->block.base = t->copy;
        round->block.bytes = round->block.type->bytes;
        round->to = (uint32_t)((b->me + distance) % b->p);
        round->from = (uint32_t)((b->me + b->p - distance) % b->p);
        t->count++;
    }
    return status;
}

static void free_tables(alltoall_bruck_t *b)
{
    tables_t *t = tables_of(b);
    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        ctn_type_drop(t->rounds[i].block.type);
    }
    free(t->rounds);
    free(t);
    b->call.kept = NULL;
}

static catena_status_t make_rounds(alltoall_bruck_t *b, tables_t *t)
{
    uint32_t n = count_rounds(b->p, t->radix);
    t->rounds = calloc(n > 0 ? n : 1, sizeof(*t->rounds));
    if (t->rounds == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    for (uint64_t step = 1; step < b->p; step *= t->radix) {
        for (uint64_t j = 1; j < t->radix && j * step < b->p; j++) {
            catena_status_t status = make_round(b, t, step, j);
            if (status != CATENA_OK) {
                return status;
            }
        }
    }
    return CATENA_OK;
}

static catena_status_t make_tables(alltoall_bruck_t *b)
{
    if (tables_of(b) != NULL) {
        return CATENA_OK;
    }
    tables_t *t = malloc(sizeof(*t) + b->p * b->call.send->bytes);
    if (t == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    *t = (tables_t){.radix = b->call.radix > 0 ? b->call.radix : DEFAULT_RADIX};
    b->call.kept = t;
    catena_status_t status = make_rounds(b, t);
    if (status != CATENA_OK) {
        free_tables(b);
    }
    return status;
}

/** Copy the send blocks to the copy, in the order of their distance (`out`), or
 * the copy to the receive blocks. */
static void rotate(ctn_op_t *op, alltoall_bruck_t *b, bool out)
{
    size_t bytes = b->call.send->bytes;
    for (uint32_t i = 0; i < b->p; i++) {
        ctn_span_t copy = {tables_of(b)->copy + i * bytes, bytes, NULL};
        uint64_t rank = out ? (uint64_t)b->me + i : (uint64_t)b->me + b->p - i;
        ctn_span_t block = ctn_blocks_at(out ? b->call.send : b->call.receive,
                                         (uint32_t)(rank % b->p));
        if (out) {
            ctn_span_copy(op->exec, &copy, &block);
        } else {
            ctn_span_copy(op->exec, &block, &copy);
        }
    }
}

static ctn_step_t begin(ctn_op_t *op)
{
    alltoall_bruck_t *b = ctn_op_state(op);
    const ctn_topo_t *topo = b->call.topo;
    b->p = b->call.group->chain.place.size;
    b->me = b->call.group->chain.place.rank;
    b->digit_step = 1;
    ctn_pairwise_clear(&b->exchange);
    catena_status_t status = make_tables(b);
    if (status != CATENA_OK) {
        return ctn_op_fail(op, status);
    }
    rotate(op, b, true);
    ctn_alltoall_exchange(&b->call, true, &b->exchange);
    b->exchange.n = tables_of(b)->count;
    b->exchange.list = tables_of(b)->rounds;
    b->exchange.in_place = true; /* a received block replaces the sent one */
    b->exchange.order = CTN_ORDER_LISTED;
    b->exchange.window = 0;
    ctn_pairwise_begin(&b->exchange);
    ctn_pairwise_extend(&b->exchange, b->p > 1 ? rounds_of_digit(b) : 0);
    ctn_op_set_network(op, topo->nodes > 1);
    return CTN_STEP_NEXT;
}

static ctn_step_t exchange(ctn_op_t *op)
{
    alltoall_bruck_t *b = ctn_op_state(op);
    ctn_pairwise_t *x = &b->exchange;
    ctn_step_t step = ctn_pairwise_advance(op, x);
    if (step != CTN_STEP_NEXT || x->limit == x->n) {
        return step;
    }
    b->digit_step *= tables_of(b)->radix;
    ctn_pairwise_extend(x, x->limit + rounds_of_digit(b));
    return CTN_STEP_MOVED;
}

static ctn_step_t end(ctn_op_t *op)
{
    alltoall_bruck_t *b = ctn_op_state(op);
    if (b->exchange.status == CATENA_OK) {
        rotate(op, b, false);
    }
    return ctn_pairwise_end(op, &b->exchange);
}

static const ctn_phase_t phases[] = {
    {"begin", begin}, {"exchange", exchange}, {"end", end}, {NULL, NULL}};

static void finish(ctn_op_t *op)
{
    alltoall_bruck_t *b = ctn_op_state(op);
    ctn_alltoall_finish(op);
    ctn_pairwise_finish(op, &b->exchange);
}

static void release(ctn_op_t *op)
{
    free_tables(ctn_op_state(op));
    ctn_alltoall_release(op);
}

const ctn_algorithm_t ctn_alltoall_bruck = {
    .name = "alltoall/bruck",
    .state_bytes = sizeof(alltoall_bruck_t),
    .phases = phases,
    .synchronizing = true,
    .finish = finish,
    .release = release,
};

_Static_assert(sizeof(alltoall_bruck_t) <= CTN_OP_STATE_BYTES,
               "fits an operation");
