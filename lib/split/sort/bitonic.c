/* Batcher's bitonic sort with one record at each member. Moody, Ahn, de
 * Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011,
 * section 3.2 (Bitonic); K. E. Batcher: Sorting Networks and Their
 * Applications, AFIPS 1968; for any number of members: H. W. Lang: Bitonic
 * Sorting Network for n Not a Power of 2, where a merge of n positions first
 * compares positions that are the greatest power of two below n apart, so that
 * all partners are in the log-chain. Rounds: with l = ceil(log2 p), l for the
 * log-chain unless it exists, l (l + 1) / 2 here, l + 2 to finalize. Messages:
 * one per member and round here. Memory: two records and O(log p).
 *
 * Differs from the paper, which describes powers of two only. Partners exchange
 * their records; both compare them, and one keeps the lower, the other the
 * higher, so no round waits for an answer. With an inconsistent comparator both
 * may keep the same record; finalizing (split/sort/finalize.c) detects this. */

#include "split/sort/sort.h"

enum { LEFT, RIGHT, ROUNDS_MAX = 32 };

/** The positions that a sort or a merge covers; a position is a member's rank
 * in the parent. */
typedef struct split_range {
    uint32_t low; /* the first */
    uint32_t count;
    bool descending; /* the highest record goes to the first position */
} split_range_t;

typedef struct bitonic_sort {
    /* First. The item is at first the own record, in the end that of this
     * position. */
    ctn_sort_t sort;
    /* working */
    unsigned depth;      /* of the recursion: ranges at this depth are merged */
    split_range_t range; /* the part of the merge that is left to do here */
    unsigned round;      /* the partner is 2^round away, ... */
    unsigned side;       /* ... on this side */
    unsigned sends;      /* number of sends so far */
    uint32_t exchanges[ROUNDS_MAX][2]; /* completed, with each partner: by round
                                          and side */
    ctn_send_handle_t send_handle[2];  /* used in alternation */
    ctn_receive_handle_t receive_handle;
} bitonic_sort_t;

/** Return the range that contains position `place` at `depth` of the recursion:
 * each range is halved, and its lower half is sorted in the opposite order. */
static split_range_t range_at(uint32_t place, uint32_t size, unsigned depth)
{
    split_range_t range = {0, size, false};
    for (; depth > 0; depth--) {
        uint32_t half = range.count / 2;
        if (place < range.low + half) {
            range.count = half;
            range.descending = !range.descending;
        } else {
            range.low += half;
            range.count -= half;
        }
    }
    return range;
}

/** Set the partner of position `place` in the next step of the merge, and
 * reduce the range to the part in which the merge goes on for this position.
 * @return whether this position has a partner in this step */
static bool merge_step(bitonic_sort_t *sort, uint32_t place)
{
    split_range_t *range = &sort->range;
    sort->round = 31 - (unsigned)__builtin_clz(range->count - 1);
    uint32_t distance = UINT32_C(1) << sort->round;
    uint32_t offset = place - range->low;
    uint32_t count = range->count;
    if (offset >= distance) {
        sort->side = LEFT;
        range->low += distance;
        range->count -= distance;
        return true;
    }
    sort->side = RIGHT;
    range->count = distance;
    return offset < count - distance;
}

static ctn_step_t begin(ctn_op_t *op)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    const ctn_split_args_t *args = sort->sort.args;
    sort->depth = args->parent->log->rounds;
    sort->range.count = 1;
    catena_status_t status =
        ctn_item_set(op->exec, sort->sort.item, args->record);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

enum { PHASE_SEEK = 1, PHASE_END = 4 };

/** Go to the next step of a merge in which this position has a partner. */
static ctn_step_t seek(ctn_op_t *op)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    const ctn_chain_place_t *place = &sort->sort.args->parent->place;
    for (;;) {
        if (sort->range.count > 1) {
            if (merge_step(sort, place->rank)) {
                return CTN_STEP_NEXT;
            }
        } else if (sort->depth > 0) {
            sort->range = range_at(place->rank, place->size, --sort->depth);
        } else {
            return ctn_op_jump(op, PHASE_END);
        }
    }
}

static ctn_address_t partner(const bitonic_sort_t *sort)
{
    return sort->sort.args->parent->log->round[sort->round].side[sort->side];
}

/** Return the slot for the message from the partner on `side`. Successive
 * exchanges with one partner alternate between two slots (exec/message.h). */
static unsigned slot_of(const bitonic_sort_t *sort, unsigned side,
                        uint32_t exchange)
{
    return 4 * sort->round + 2 * side + (exchange & 1);
}

static ctn_step_t send(ctn_op_t *op)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    ctn_send_handle_t *send_handle = &sort->send_handle[sort->sends & 1];
    uint32_t exchange = sort->exchanges[sort->round][sort->side];
    if (!ctn_message_send_done(op, send_handle)) {
        return CTN_STEP_WAIT;
    }
    const ctn_record_t *record = ctn_item_record(sort->sort.item);
    catena_status_t status = ctn_message_send(
        op, partner(sort), slot_of(sort, !sort->side, exchange), exchange,
        record, ctn_record_bytes(record), send_handle);
    sort->sends++;
    op->exec->tally.rounds++;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Receive the partner's record; keep the lower or the higher one. Both
 * partners call the comparator with the same arguments, so each of the two
 * records is kept by one of them, unless the comparator is inconsistent. */
static ctn_step_t receive(ctn_op_t *op)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    uint32_t *exchange = &sort->exchanges[sort->round][sort->side];
    ctn_step_t step = ctn_message_receive(op, partner(sort),
                                          slot_of(sort, sort->side, *exchange),
                                          *exchange, &sort->receive_handle);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    const ctn_record_t *own = ctn_item_record(sort->sort.item);
    const ctn_record_t *other = (const void *)sort->receive_handle.data;
    const ctn_order_by_t *by = &sort->sort.args->by;
    int order = sort->side == RIGHT ? ctn_record_compare(by, own, other)
                                    : ctn_record_compare(by, other, own);
    catena_status_t status = CATENA_OK;
    if ((order > 0) != sort->range.descending) {
        status = ctn_item_set(op->exec, sort->sort.item, other);
    }
    ctn_receive_handle_release(op, &sort->receive_handle);
    ++*exchange;
    return status == CATENA_OK ? ctn_op_jump(op, PHASE_SEEK)
                               : ctn_op_fail(op, status);
}

static ctn_step_t end(ctn_op_t *op)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    return ctn_message_send_done(op, &sort->send_handle[0]) &&
                   ctn_message_send_done(op, &sort->send_handle[1])
               ? CTN_STEP_NEXT
               : CTN_STEP_WAIT;
}

static void finish_sort(ctn_op_t *op)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    ctn_send_handle_release(op, &sort->send_handle[0]);
    ctn_send_handle_release(op, &sort->send_handle[1]);
    ctn_receive_handle_release(op, &sort->receive_handle);
}

static const ctn_phase_t sort_phases[] = {
    {"begin", begin},     {"seek", seek}, {"send", send},
    {"receive", receive}, {"end", end},   {NULL, NULL}};

/* Synchronizing: the record at a position depends on all records. */
static const ctn_algorithm_t sort_algorithm = {
    .name = "split/bitonic sort",
    .state_bytes = sizeof(bitonic_sort_t),
    .phases = sort_phases,
    .synchronizing = true,
    .finish = finish_sort,
};

ctn_op_t *ctn_split_bitonic(const ctn_split_args_t *args)
{
    return ctn_split_by_sort(args, &sort_algorithm);
}
