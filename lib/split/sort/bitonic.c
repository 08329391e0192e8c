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

#include "exec/schedule.h"
#include "split/sort/sort.h"

enum { ROUNDS_MAX = 32 };

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
    unsigned distance;   /* the partner is 2^distance away, ... */
    unsigned side;       /* ... on this side */
    uint32_t exchanges[ROUNDS_MAX][2]; /* completed, with each partner: by
                                          distance and side */
    ctn_rounds_t rounds;
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
    sort->distance = 31 - (unsigned)__builtin_clz(range->count - 1);
    uint32_t distance = UINT32_C(1) << sort->distance;
    uint32_t offset = place - range->low;
    uint32_t count = range->count;
    if (offset >= distance) {
        sort->side = CTN_LEFT;
        range->low += distance;
        range->count -= distance;
        return true;
    }
    sort->side = CTN_RIGHT;
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

/** Go to the next step of a merge in which this position has a partner.
 * @return false: there are no more */
static bool seek(bitonic_sort_t *sort)
{
    const ctn_chain_place_t *place = &sort->sort.args->parent->place;
    for (;;) {
        if (sort->range.count > 1) {
            if (merge_step(sort, place->rank)) {
                return true;
            }
        } else if (sort->depth > 0) {
            sort->range = range_at(place->rank, place->size, --sort->depth);
        } else {
            return false;
        }
    }
}

/** Return the slot for the message from the partner on `side`. Successive
 * exchanges with one partner alternate between two slots (exec/message.h). */
static unsigned slot_of(const bitonic_sort_t *sort, unsigned side,
                        uint32_t exchange)
{
    return 4 * sort->distance + 2 * side + (exchange & 1);
}

static bool set_round(ctn_op_t *op, unsigned index)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    (void)index;
    if (!seek(sort)) {
        return false;
    }
    ctn_address_t partner = sort->sort.args->parent->log->round[sort->distance]
                                .side[sort->side]
                                .address;
    uint32_t exchange = sort->exchanges[sort->distance][sort->side];
    const ctn_record_t *record = ctn_item_record(sort->sort.item);
    size_t bytes = ctn_record_bytes(record);
    sort->rounds.turn = exchange;
    sort->rounds.overwrites = bytes > CTN_MESSAGE_INLINE_BYTES;
    ctn_rounds_send(&sort->rounds, 0, partner,
                    slot_of(sort, !sort->side, exchange), record, bytes);
    ctn_rounds_receive(&sort->rounds, 0, partner,
                       slot_of(sort, sort->side, exchange), -1);
    return true;
}

/** Keep the lower or the higher one of the own record and the partner's. Both
 * partners call the comparator with the same arguments, so each of the two
 * records is kept by one of them, unless the comparator is inconsistent. */
static catena_status_t take(ctn_op_t *op, unsigned index)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    const ctn_record_t *own = ctn_item_record(sort->sort.item);
    const ctn_record_t *other = (const void *)sort->rounds.handle[0].data;
    const ctn_order_by_t *by = &sort->sort.args->by;
    (void)index;
    sort->exchanges[sort->distance][sort->side]++;
    int order = sort->side == CTN_RIGHT ? ctn_record_compare(by, own, other)
                                        : ctn_record_compare(by, other, own);
    return (order > 0) != sort->range.descending
               ? ctn_item_set(op->exec, sort->sort.item, other)
               : CATENA_OK;
}

static ctn_step_t sort_rounds(ctn_op_t *op)
{
    static const ctn_rounds_schedule_t schedule = {.round = set_round,
                                                   .take = take};
    bitonic_sort_t *sort = ctn_op_state(op);
    return ctn_rounds_run(op, &sort->rounds, &schedule);
}

static void finish_sort(ctn_op_t *op)
{
    bitonic_sort_t *sort = ctn_op_state(op);
    ctn_rounds_release(op, &sort->rounds);
    if (op->status != CATENA_OK) { /* the partner may still read it */
        *sort->sort.item = (ctn_stream_t){NULL, 0, 0};
    }
}

static const ctn_phase_t sort_phases[] = {
    {"begin", begin}, {"rounds", sort_rounds}, {NULL, NULL}};

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
