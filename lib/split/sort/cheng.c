/* Sorts at some of the members, the sorters. Moody, Ahn, de Supinski: Exascale
 * Algorithms for Generalized MPI_Comm_split, EuroMPI 2011, section 3.2
 * (ChengM); P. Sack, W. Gropp: A Scalable MPI_Comm_split Algorithm for Exascale
 * Computing, EuroMPI 2010. Each M consecutive members form a section, whose
 * first member is its sorter: it gets the records of the section and sorts
 * them. If there are several sorters, they sort all records as in
 * split/sort/exact.c. Each then sends the members of its section one record
 * each: member i of the parent gets the record at position i of the order.
 * Rounds: with l = ceil(log2 p), l for the log-chain unless it exists, log2(M)
 * each up and down, those of the exact sort among p / M sorters, l + 2 to
 * finalize. Memory: O(M + p / M) at a sorter, O(2^d) at a member with a subtree
 * of 2^d.
 *
 * With one section this is GatherScatter of the same section of the paper:
 * memory O(p) and time O(p log p) at its sorter.
 *
 * Differs from the paper: the number of members of a section is M rounded down
 * to a power of two (the paper uses only such M), so that neighboring sorters
 * find each other in the log-chain. */

#include <string.h>

#include "exec/slot.h"
#include "split/sort/exact.h"

typedef struct cheng_sort {
    ctn_sort_t sort; /* first */
    /* working */
    /* The records of the subtree; at a sorter those of its section, then those
     * of its positions. */
    ctn_stream_t table;
    const unsigned char *data; /* records for the subtree, by position */
    unsigned levels;           /* of the trees: each is that of a section */
    ctn_own_chain_t sorters;   /* the chain of the sorters */
} cheng_sort_t;

/** Return the levels of the sections' trees: log2 of M rounded down, at most
 * those of a tree of all members. */
static unsigned levels_of(const ctn_split_args_t *args)
{
    uint32_t most = args->most > 0 ? args->most : 1;
    unsigned levels = 31 - (unsigned)__builtin_clz(most);
    unsigned rounds = args->parent->log->rounds;
    return levels < rounds ? levels : rounds;
}

/* ---- records up the tree ---- */

/** Append the records of a child's subtree (ctn_rooted_incoming_t). */
static catena_status_t append(ctn_op_t *op, unsigned side,
                              const ctn_receive_handle_t *receive_handle)
{
    (void)side;
    cheng_sort_t *sort = ctn_op_state(op);
    return ctn_stream_append(op->exec, &sort->table, receive_handle->data,
                             receive_handle->bytes);
}

static ctn_step_t begin(ctn_op_t *op)
{
    cheng_sort_t *sort = ctn_op_state(op);
    const ctn_record_t *record = sort->sort.args->record;
    sort->levels = levels_of(sort->sort.args);
    sort->sort.tree.incoming = append;
    sort->sort.tree.subtree = &sort->table;
    ctn_rooted_begin_section(&sort->sort.tree, sort->levels);
    catena_status_t status = ctn_stream_append(op->exec, &sort->table, record,
                                               ctn_record_bytes(record));
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** The sorter has the records of the whole section: sort them. */
static ctn_step_t sort_section(ctn_op_t *op)
{
    cheng_sort_t *sort = ctn_op_state(op);
    catena_status_t status =
        sort->sort.tree.is_root
            ? ctn_record_table_sort(&sort->sort.args->by, &sort->table)
            : CATENA_OK;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/* ---- the sorters ---- */

/** Return whether this member is one of several sorters. */
static bool sorts_with_others(const cheng_sort_t *sort)
{
    return sort->sort.tree.is_root &&
           sort->levels < sort->sort.args->parent->log->rounds;
}

/** Return the address in the parent of the sorter of the next section on
 * `side`. */
static ctn_address_t next_sorter(const cheng_sort_t *sort, unsigned side)
{
    return sort->sort.args->parent->log->round[sort->levels].side[side].address;
}

/** Return the slot for the address from a neighboring sorter: the tree does not
 * use it. */
static unsigned address_slot(const cheng_sort_t *sort, unsigned side)
{
    return 2 * sort->sort.args->parent->log->rounds + side;
}

/** Create this sorter's end of the chain of the sorters; its neighbors'
 * addresses there are not known yet. */
static catena_status_t make_chain(ctn_exec_t *exec, cheng_sort_t *sort)
{
    const ctn_chain_place_t *all = &sort->sort.args->parent->place;
    ctn_chain_place_t *place = &sort->sorters.chain.place;
    uint32_t size = ((all->size - 1) >> sort->levels) + 1;
    catena_status_t status = ctn_own_chain_open(exec, &sort->sorters, 0,
                                                CTN_CHAIN_ROUND_SLOTS, size);
    place->rank = all->rank >> sort->levels;
    place->size = size;
    return status;
}

/** Send the address of the own slots to the neighboring sorters. */
static ctn_step_t exchange_addresses(ctn_op_t *op)
{
    cheng_sort_t *sort = ctn_op_state(op);
    if (!sorts_with_others(sort)) {
        return CTN_STEP_NEXT;
    }
    catena_status_t status = make_chain(op->exec, sort);
    for (unsigned side = CTN_LEFT; status == CATENA_OK && side <= CTN_RIGHT;
         side++) {
        ctn_address_t neighbor = next_sorter(sort, side);
        if (ctn_address_exists(neighbor)) {
            status = ctn_op_send(op, neighbor, address_slot(sort, !side),
                                 &sort->sorters.chain.place.self,
                                 sizeof(ctn_address_t));
        }
    }
    op->exec->tally.rounds++;
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Receive the addresses of the neighboring sorters; sort with all sorters. */
static ctn_step_t sort_tables(ctn_op_t *op)
{
    cheng_sort_t *sort = ctn_op_state(op);
    if (!sorts_with_others(sort)) {
        return CTN_STEP_NEXT;
    }
    ctn_address_t neighbor[2] = {CTN_NO_ADDRESS, CTN_NO_ADDRESS};
    for (unsigned side = CTN_LEFT; side <= CTN_RIGHT; side++) {
        if (!ctn_address_exists(next_sorter(sort, side))) {
            continue;
        }
        if (!ctn_op_arrived(op, address_slot(sort, side))) {
            return CTN_STEP_WAIT;
        }
        memcpy(&neighbor[side], ctn_op_slot(op, address_slot(sort, side))->data,
               sizeof(neighbor[side]));
    }
    ctn_chain_place_t *place = &sort->sorters.chain.place;
    place->left = neighbor[CTN_LEFT];
    place->right = neighbor[CTN_RIGHT];
    return ctn_op_call(op,
                       ctn_exact_create(&sort->sort.args->by,
                                        &sort->sorters.chain, &sort->table));
}

/* ---- sorted records down the tree ---- */

/** Move past the record of a member (ctn_rooted_skip_t). */
static void skip_record(const unsigned char *data, size_t *at)
{
    *at += ctn_record_bytes((const void *)(data + *at));
}

/** Set what the children get: all records but the first, which is this
 * member's item. */
static void divide(cheng_sort_t *sort, const unsigned char *data, size_t bytes)
{
    size_t at = 0;
    skip_record(data, &at);
    sort->data = data;
    ctn_rooted_divide(&sort->sort.tree, CTN_RIGHT, data, at, bytes,
                      skip_record);
}

/** Take the records of this member's subtree (ctn_rooted_incoming_t). */
static catena_status_t take(ctn_op_t *op, unsigned side,
                            const ctn_receive_handle_t *receive_handle)
{
    (void)side;
    divide(ctn_op_state(op), receive_handle->data, receive_handle->bytes);
    return CATENA_OK;
}

/** Free the chain of the sorters; a sorter sends the sorted table, the other
 * members receive. */
static ctn_step_t prepare_scatter(ctn_op_t *op)
{
    cheng_sort_t *sort = ctn_op_state(op);
    ctn_own_chain_close(op->exec, &sort->sorters);
    if (sort->sort.tree.is_root) {
        divide(sort, sort->table.memory, sort->table.bytes);
    }
    sort->sort.tree.incoming = take;
    return CTN_STEP_NEXT;
}

/** Keep this member's record. */
static ctn_step_t end(ctn_op_t *op)
{
    const cheng_sort_t *sort = ctn_op_state(op);
    catena_status_t status =
        ctn_item_set(op->exec, sort->sort.item, (const void *)sort->data);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

static void finish(ctn_op_t *op)
{
    cheng_sort_t *sort = ctn_op_state(op);
    /* After an error that this member may have alone, other members may still
     * read its memory, which is kept until the heap is destroyed. */
    if (op->status == CATENA_OK) {
        ctn_rooted_drop(op);
        ctn_stream_release(op->exec, &sort->table);
    }
}

static const ctn_phase_t sort_phases[] = {
    {"begin", begin},
    {"gather", ctn_rooted_up},
    {"sort section", sort_section},
    {"exchange addresses", exchange_addresses},
    {"sort", sort_tables},
    {"prepare scatter", prepare_scatter},
    {"scatter", ctn_rooted_down},
    {"end", end},
    {NULL, NULL}};

/* Synchronizing: every sorter receives from all others, and they from their
 * sections. */
static const ctn_algorithm_t sort_algorithm = {
    .name = "split/cheng sort",
    .state_bytes = sizeof(cheng_sort_t),
    .phases = sort_phases,
    .synchronizing = true,
    .finish = finish,
};

ctn_op_t *ctn_split_cheng(const ctn_split_args_t *args)
{
    return ctn_split_by_sort(args, &sort_algorithm);
}

ctn_op_t *ctn_split_gather_scatter(const ctn_split_args_t *args)
{
    ctn_split_args_t one_section = *args;
    one_section.most = UINT32_MAX;
    return ctn_split_by_sort(&one_section, &sort_algorithm);
}
