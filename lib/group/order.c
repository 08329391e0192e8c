/* Ordering a chain by key at one member. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 3.2
 * (GatherScatter). Rounds: 2 ceil(log2 p) + 3. Memory: O(p) at rank 0.
 * Differs from the paper: a first scan finds out whether anything is to be
 * done, and tells all where rank 0's table is, so that each member's record
 * goes there directly instead of up a tree. */

#include "group/order.h"

#include <stdlib.h>
#include <string.h>

typedef struct record {
    int64_t key;
    uint64_t rank;
    ctn_address_t member;
} record_t;

/** A record in rank 0's table, and the word that announces it. */
typedef struct entry {
    uint64_t ready;
    uint64_t unused;
    record_t record;
} entry_t;

/** Rank 0's answer: the member's place in the ordered chain. */
typedef struct place {
    uint64_t rank;
    ctn_address_t left;
    ctn_address_t right;
} place_t;

/** Everybody hands its record to rank 0, which answers with the places. */
typedef struct placing {
    ctn_chain_t *chain; /* reordered when it ends */
    int64_t key;
    uint64_t first_process; /* rank 0, and where its table is */
    uint64_t table_offset;
    entry_t *table; /* rank 0 */
    uint32_t collected;
} placing_t;

typedef struct order {
    ctn_lane_t *lane;
    int64_t key;
    unsigned char left_key[CTN_INLINE_BYTES];
    size_t left_bytes;
    ctn_words_t own, left, right;
    entry_t *table; /* rank 0 */
} order_t;

static ctn_step_t hand_in(ctn_op_t *op)
{
    placing_t *placing = ctn_op_state(op);
    const ctn_chain_t *chain = placing->chain;
    record_t record = {placing->key, chain->rank, chain->self};
    uint64_t at = placing->table_offset + chain->rank * sizeof(entry_t);
    ctn_endpoint_t *first;
    catena_status_t status =
        ctn_exec_connect(op->exec, placing->first_process, &first);
    if (status == CATENA_OK) {
        status = ctn_put_signal(first, &record, sizeof(record),
                                at + offsetof(entry_t, record),
                                at + offsetof(entry_t, ready), 1, &op->pending);
    }
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static int compare_records(const void *a, const void *b)
{
    const record_t *x = &((const entry_t *)a)->record;
    const record_t *y = &((const entry_t *)b)->record;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static catena_status_t answer(ctn_op_t *op, placing_t *placing)
{
    uint32_t size = placing->chain->size;
    entry_t *table = placing->table;
    qsort(table, size, sizeof(entry_t), compare_records);
    ctn_exec_charge(op->exec, CTN_WORK_COMPARE, (size_t)size * 16);
    for (uint32_t i = 0; i < size; i++) {
        place_t place = {i, i > 0 ? table[i - 1].record.member : CTN_NO_ADDRESS,
                         i + 1 < size ? table[i + 1].record.member
                                      : CTN_NO_ADDRESS};
        catena_status_t status =
            ctn_op_send(op, table[i].record.member, 0, &place, sizeof(place));
        if (status != CATENA_OK) {
            return status;
        }
    }
    return CATENA_OK;
}

static ctn_step_t sort(ctn_op_t *op)
{
    placing_t *placing = ctn_op_state(op);
    if (placing->chain->rank != 0) {
        return CTN_STEP_NEXT;
    }
    while (placing->collected < placing->chain->size) {
        if (ctn_word_load(&placing->table[placing->collected].ready) == 0) {
            return CTN_STEP_WAIT;
        }
        placing->collected++;
    }
    catena_status_t status = answer(op, placing);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static ctn_step_t take_place(ctn_op_t *op)
{
    placing_t *placing = ctn_op_state(op);
    if (!ctn_op_arrived(op, 0)) {
        return CTN_STEP_WAIT;
    }
    place_t place;
    memcpy(&place, ctn_op_slot(op, 0)->data, sizeof(place));
    placing->chain->rank = (uint32_t)place.rank;
    placing->chain->left = place.left;
    placing->chain->right = place.right;
    return CTN_STEP_NEXT;
}

static const ctn_phase_t placing_phases[] = {{"hand in", hand_in},
                                             {"sort", sort},
                                             {"take place", take_place},
                                             {NULL, NULL}};

static const ctn_algorithm_t placing_algorithm = {
    .name = "chain/sort",
    .state_bytes = sizeof(placing_t),
    .phases = placing_phases,
    .synchronizing = true, /* no place before all records are in */
};

static ctn_step_t show_key(ctn_op_t *op)
{
    order_t *order = ctn_op_state(op);
    ctn_op_t *child =
        ctn_op_create(op->exec, &ctn_shift_algorithm, &order->lane->channel);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    ctn_shift_t *shift = ctn_op_state(child);
    shift->chain = &order->lane->chain;
    shift->send = &order->key;
    shift->send_bytes = sizeof(order->key);
    shift->receive = order->left_key;
    shift->received = &order->left_bytes;
    return ctn_op_call(op, child);
}

/** Whether anybody is smaller than its left neighbour. */
static ctn_step_t count_disorder(ctn_op_t *op)
{
    order_t *order = ctn_op_state(op);
    int64_t left_key;
    memcpy(&left_key, order->left_key, sizeof(left_key));
    bool disorder =
        ctn_address_exists(order->lane->chain.left) && order->key < left_key;
    ctn_exec_charge(op->exec, CTN_WORK_COMPARE, 1);
    order->own = (ctn_words_t){{disorder}};
    return ctn_op_call(op, ctn_scan_create(op->exec, order->lane, ctn_fold_sum,
                                           &order->own, &order->left,
                                           &order->right, sizeof(ctn_words_t)));
}

enum { PHASE_END = 4 };

static ctn_step_t announce_table(ctn_op_t *op)
{
    order_t *order = ctn_op_state(op);
    const ctn_chain_t *chain = &order->lane->chain;
    if (order->own.word[0] + order->left.word[0] + order->right.word[0] == 0) {
        return ctn_op_jump(op, PHASE_END);
    }
    memset(&order->own, 0, sizeof(order->own));
    if (chain->rank == 0) {
        order->table =
            ctn_heap_calloc(op->exec->heap, 64, chain->size * sizeof(entry_t));
        if (order->table == NULL) {
            return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
        }
        order->own.word[0] = chain->self.process;
        (void)ctn_heap_contains(op->exec->heap, order->table, 1,
                                &order->own.word[1]);
    }
    return ctn_op_call(op, ctn_scan_create(op->exec, order->lane, ctn_fold_far,
                                           &order->own, &order->left,
                                           &order->right, sizeof(ctn_words_t)));
}

static ctn_step_t place(ctn_op_t *op)
{
    order_t *order = ctn_op_state(op);
    ctn_chain_t *chain = &order->lane->chain;
    ctn_op_t *child =
        ctn_op_create(op->exec, &placing_algorithm, &order->lane->channel);
    if (child == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    const ctn_words_t *first = chain->rank == 0 ? &order->own : &order->left;
    placing_t *placing = ctn_op_state(child);
    placing->chain = chain;
    placing->key = order->key;
    placing->first_process = first->word[0];
    placing->table_offset = first->word[1];
    placing->table = order->table;
    return ctn_op_call(op, child);
}

static void finish(ctn_op_t *op)
{
    order_t *order = ctn_op_state(op);
    ctn_heap_free(op->exec->heap, order->table);
}

static const ctn_phase_t phases[] = {{"show key", show_key},
                                     {"compare", count_disorder},
                                     {"announce", announce_table},
                                     {"place", place},
                                     {NULL, NULL}};

static const ctn_algorithm_t order_algorithm = {
    .name = "split/order",
    .state_bytes = sizeof(order_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_order_create(ctn_exec_t *exec, ctn_lane_t *lane, int64_t key)
{
    ctn_op_t *op = ctn_op_create(exec, &order_algorithm, NULL);
    if (op != NULL) {
        order_t *order = ctn_op_state(op);
        order->lane = lane;
        order->key = key;
    }
    return op;
}
