/* Gathers all records at one member and scatters the places. Moody, Ahn, de
 * Supinski: Exascale Algorithms for Generalized MPI_Comm_split, EuroMPI 2011,
 * section 3.2 (GatherScatter). Rounds: with l = ceil(log2 p), l for the
 * log-chain unless it exists, and l each up and down a binomial tree. Messages:
 * two per member. Memory: O(p) at the root, O(2^d) at a member with a subtree
 * of 2^d; time O(p) at the root. Differs from the paper: the root, which has
 * all records in order, finds all places in one pass and scatters them by rank
 * in the parent. The paper scatters the records; with a double scan and three
 * messages each, members then find the ends of their chain and their neighbors,
 * and tell each record's owner. */

#include "split/sort/sort.h"

typedef struct gather_scatter_sort {
    ctn_sort_t sort; /* first; its data are the places */
    /* Root only: the places of all members, by rank in the parent. */
    ctn_owner_place_t *places;
    size_t places_bytes;
} gather_scatter_sort_t;

/** Move past the place of a member (ctn_rooted_skip_t). */
static void skip_place(const unsigned char *data, size_t *at)
{
    (void)data;
    *at += sizeof(ctn_owner_place_t);
}

static ctn_step_t begin(ctn_op_t *op)
{
    gather_scatter_sort_t *sort = ctn_op_state(op);
    sort->sort.skip = skip_place;
    return ctn_sort_begin(op, sort->sort.args->parent->log->rounds);
}

/* ---- the root ---- */

/* A part is the records of one color: they are consecutive in the table. */

/** Set the size of a complete part in the places of the owners of its `count`
 * records, of which `record` is the first. */
static void close_part(ctn_owner_place_t *places, const ctn_record_t *record,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        places[record->rank].size = count;
        record = ctn_record_next(record);
    }
}

/** Set the places of the owners of all records.
 * @return false: the comparator contradicts the order that it has produced */
static bool link_parts(const ctn_order_by_t *by,
                       const ctn_record_table_t *table,
                       ctn_owner_place_t *places)
{
    const void *end = table->records + table->bytes;
    const ctn_record_t *first = (const void *)table->records;
    const ctn_record_t *before = NULL;
    uint32_t count = 0;
    for (const ctn_record_t *record = first; record != end;
         before = record, record = ctn_record_next(record)) {
        ctn_owner_place_t *place = &places[record->rank];
        int order =
            count > 0 ? ctn_record_compare_colors(by, before, record) : 0;
        if (order > 0) {
            return false;
        }
        if (order != 0) {
            close_part(places, first, count);
            first = record;
            count = 0;
        }
        place->left = CTN_NO_ADDRESS;
        place->right = CTN_NO_ADDRESS;
        if (count > 0) {
            place->left = ctn_record_address(before);
            places[before->rank].right = ctn_record_address(record);
        }
        place->rank = count++;
    }
    close_part(places, first, count);
    ctn_exec_charge(by->exec, CTN_WORK_COPY, table->bytes);
    return true;
}

/** At the root: make the places of all members. */
static ctn_step_t find_parts(ctn_op_t *op)
{
    gather_scatter_sort_t *sort = ctn_op_state(op);
    if (!sort->sort.tree.is_root) {
        return CTN_STEP_NEXT;
    }
    sort->places_bytes =
        sort->sort.args->parent->place.size * sizeof(ctn_owner_place_t);
    sort->places = ctn_scratch_alloc(op->exec, sort->places_bytes);
    if (sort->places == NULL) {
        return ctn_op_fail(op, CATENA_ERR_NO_MEMORY);
    }
    sort->sort.data = (const void *)sort->places;
    if (link_parts(&sort->sort.args->by, &sort->sort.table, sort->places)) {
        sort->sort.bytes = sort->places_bytes;
    }
    ctn_record_table_release(op->exec, &sort->sort.table);
    return CTN_STEP_NEXT;
}

/* ---- all members ---- */

static ctn_step_t end(ctn_op_t *op)
{
    const ctn_sort_t *sort = ctn_op_state(op);
    ctn_step_t step = ctn_sort_end(op);
    if (step != CTN_STEP_NEXT) {
        return step;
    }
    if (sort->bytes == 0) { /* the comparator is inconsistent */
        return ctn_op_fail(op, CATENA_ERR_ARG); /* on all members */
    }
    ctn_owner_place_apply(sort->args->chain, (const void *)sort->data);
    return CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    gather_scatter_sort_t *sort = ctn_op_state(op);
    ctn_sort_release(op);
    if (op->status == CATENA_OK || op->status == CATENA_ERR_ARG) {
        ctn_scratch_free(op->exec, sort->places, sort->places_bytes);
    }
}

static const ctn_phase_t sort_phases[] = {{"begin", begin},
                                          {"gather", ctn_rooted_collect},
                                          {"hand up", ctn_sort_hand_up},
                                          {"find parts", find_parts},
                                          {"receive", ctn_sort_receive},
                                          {"scatter", ctn_rooted_send_down},
                                          {"end", end},
                                          {NULL, NULL}};

static const ctn_algorithm_t sort_algorithm = {
    .name = "split/gather-scatter tree",
    .state_bytes = sizeof(gather_scatter_sort_t),
    .phases = sort_phases,
    .synchronizing =
        true, /* the root receives from all, and all receive from the root */
    .finish = finish,
};

ctn_op_t *ctn_split_gather_scatter(const ctn_split_args_t *args)
{
    return ctn_split_by_sort(args, &sort_algorithm, false);
}
