/* Splits by a sort; copies and tables of records. See split/sort/sort.h. */

#include "split/sort/sort.h"

#include <string.h>

catena_status_t ctn_record_buffer_set(ctn_exec_t *exec,
                                      ctn_record_buffer_t *item,
                                      const ctn_record_t *record)
{
    size_t bytes = ctn_record_bytes(record);
    bool grows = item->memory != NULL ? bytes > item->capacity
                                      : bytes > sizeof(item->inline_data);
    if (grows) {
        void *memory = ctn_scratch_alloc(exec, bytes);
        if (memory == NULL) {
            return CATENA_ERR_NO_MEMORY;
        }
        ctn_record_buffer_release(exec, item);
        item->memory = memory;
        item->capacity = bytes;
    }
    memcpy(item->memory != NULL ? item->memory : item->inline_data, record,
           bytes);
    ctn_exec_charge(exec, CTN_WORK_COPY, bytes);
    return CATENA_OK;
}

void ctn_record_buffer_release(ctn_exec_t *exec, ctn_record_buffer_t *item)
{
    ctn_scratch_free(exec, item->memory, item->capacity);
    item->memory = NULL;
    item->capacity = 0;
}

void ctn_owner_place_apply(ctn_chain_t *chain, const ctn_owner_place_t *place)
{
    ctn_log_chain_drop(chain);
    chain->place.size = place->size;
    chain->place.rank = place->rank;
    chain->place.left = place->left;
    chain->place.right = place->right;
}

/** The records of a table that are not merged yet. */
typedef struct rest {
    const unsigned char *at; /* the first of them */
    size_t bytes;
} rest_t;

/** Return whether the next record to take is that of `a`. */
static bool is_lower(const ctn_order_by_t *by, const rest_t *a, const rest_t *b)
{
    return b->bytes == 0 ||
           (a->bytes > 0 && ctn_record_compare(by, (const void *)a->at,
                                               (const void *)b->at) <= 0);
}

void ctn_records_merge(const ctn_order_by_t *by, const void *a, size_t a_bytes,
                       const void *b, size_t b_bytes, void *to)
{
    rest_t rest[2] = {{a, a_bytes}, {b, b_bytes}};
    unsigned char *at = to;
    while (rest[0].bytes + rest[1].bytes > 0) {
        rest_t *from = &rest[!is_lower(by, &rest[0], &rest[1])];
        size_t bytes = ctn_record_bytes((const void *)from->at);
        memcpy(at, from->at, bytes);
        at += bytes;
        from->at += bytes;
        from->bytes -= bytes;
    }
    ctn_exec_charge(by->exec, CTN_WORK_COPY, a_bytes + b_bytes);
}

catena_status_t ctn_record_table_merge(const ctn_order_by_t *by,
                                       ctn_record_table_t *table,
                                       const void *records, size_t bytes)
{
    ctn_record_table_t merged = {.bytes = table->bytes + bytes};
    merged.records = ctn_scratch_alloc(by->exec, merged.bytes);
    if (merged.records == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    ctn_records_merge(by, table->records, table->bytes, records, bytes,
                      merged.records);
    ctn_record_table_release(by->exec, table);
    *table = merged;
    return CATENA_OK;
}

void ctn_record_table_release(ctn_exec_t *exec, ctn_record_table_t *table)
{
    ctn_scratch_free(exec, table->records, table->bytes);
    *table = (ctn_record_table_t){NULL, 0};
}

/* ---- records up a tree, data down ---- */

/** Merge a child's table (ctn_rooted_incoming_t). */
static catena_status_t merge(ctn_op_t *op, unsigned side,
                             const ctn_receive_handle_t *receive_handle)
{
    (void)side;
    ctn_sort_t *sort = ctn_op_state(op);
    return ctn_record_table_merge(&sort->args->by, &sort->table,
                                  receive_handle->data, receive_handle->bytes);
}

ctn_step_t ctn_sort_begin(ctn_op_t *op, unsigned levels)
{
    ctn_sort_t *sort = ctn_op_state(op);
    const ctn_record_t *record = sort->args->record;
    sort->tree.incoming = merge;
    ctn_rooted_begin_section(&sort->tree, levels);
    catena_status_t status = ctn_record_table_merge(
        &sort->args->by, &sort->table, record, ctn_record_bytes(record));
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

ctn_step_t ctn_sort_hand_up(ctn_op_t *op)
{
    const ctn_sort_t *sort = ctn_op_state(op);
    catena_status_t status =
        sort->tree.is_root
            ? CATENA_OK
            : ctn_rooted_send_up(op, sort->table.records, sort->table.bytes);
    return status == CATENA_OK ? CTN_STEP_NEXT : ctn_op_fail(op, status);
}

/** Set what the children get: all data but this member's own. */
static void divide(ctn_sort_t *sort)
{
    size_t at = 0;
    if (sort->bytes > 0) {
        sort->skip(sort->data, &at);
    }
    ctn_rooted_divide(&sort->tree, CTN_RIGHT, sort->data, at, sort->bytes,
                      sort->skip);
}

/** Take the data of this member's subtree (ctn_rooted_incoming_t). */
static catena_status_t take(ctn_op_t *op, unsigned side,
                            const ctn_receive_handle_t *receive_handle)
{
    (void)side;
    ctn_sort_t *sort = ctn_op_state(op);
    sort->data = receive_handle->data;
    sort->bytes = receive_handle->bytes;
    divide(sort);
    return CATENA_OK;
}

ctn_step_t ctn_sort_receive(ctn_op_t *op)
{
    ctn_sort_t *sort = ctn_op_state(op);
    sort->tree.incoming = take;
    if (sort->tree.is_root) {
        divide(sort);
    }
    return ctn_rooted_receive(op);
}

ctn_step_t ctn_sort_end(ctn_op_t *op)
{
    ctn_step_t step = ctn_rooted_await_parent(op);
    return step == CTN_STEP_NEXT ? ctn_rooted_await_children(op) : step;
}

void ctn_sort_release(ctn_op_t *op)
{
    ctn_sort_t *sort = ctn_op_state(op);
    /* After an error that this member may have alone, other members may still
     * read its memory, which is kept until the heap is destroyed. */
    if (op->status == CATENA_OK || op->status == CATENA_ERR_ARG) {
        ctn_rooted_drop(op);
        ctn_record_table_release(op->exec, &sort->table);
    }
}

/* ---- the operation of a split by a sort ---- */

typedef struct split_by_sort {
    /* arguments */
    ctn_split_args_t args;
    const ctn_algorithm_t *sort;
    bool finalize;
    /* working */
    ctn_record_buffer_t item; /* see ctn_sort_t */
} split_by_sort_t;

static ctn_step_t log_chain(ctn_op_t *op)
{
    const split_by_sort_t *split = ctn_op_state(op);
    return ctn_op_call(op, ctn_log_chain_create(op->exec, split->args.parent));
}

static ctn_step_t sort_records(ctn_op_t *op)
{
    split_by_sort_t *split = ctn_op_state(op);
    ctn_op_t *child =
        ctn_op_create(op->exec, split->sort, &split->args.parent->sequence);
    if (child != NULL) {
        ctn_sort_t *sort = ctn_op_state(child);
        sort->tree.chain = split->args.parent;
        sort->args = &split->args;
        sort->item = &split->item;
    }
    return ctn_op_call(op, child);
}

static ctn_step_t finalize(ctn_op_t *op)
{
    const split_by_sort_t *split = ctn_op_state(op);
    return split->finalize
               ? ctn_op_call(op, ctn_split_finalize_create(
                                     &split->args,
                                     ctn_record_buffer_record(&split->item)))
               : CTN_STEP_NEXT;
}

static void finish(ctn_op_t *op)
{
    split_by_sort_t *split = ctn_op_state(op);
    ctn_record_buffer_release(op->exec, &split->item);
}

static const ctn_phase_t phases[] = {{"log-chain", log_chain},
                                     {"sort", sort_records},
                                     {"finalize", finalize},
                                     {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "split/by a sort",
    .state_bytes = sizeof(split_by_sort_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_split_by_sort(const ctn_split_args_t *args,
                            const ctn_algorithm_t *sort, bool finalize)
{
    ctn_op_t *op = ctn_op_create(args->by.exec, &algorithm, NULL);
    if (op != NULL) {
        split_by_sort_t *split = ctn_op_state(op);
        split->args = *args;
        split->sort = sort;
        split->finalize = finalize;
    }
    return op;
}
