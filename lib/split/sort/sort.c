/* Splits by a sort; items and tables of records. See split/sort/sort.h. */

#include "split/sort/sort.h"

catena_status_t ctn_item_set(ctn_exec_t *exec, ctn_stream_t *item,
                             const ctn_record_t *record)
{
    item->bytes = 0;
    return ctn_stream_append(exec, item, record, ctn_record_bytes(record));
}

uint32_t ctn_record_table_list(const ctn_stream_t *table,
                               const ctn_record_t **list)
{
    uint32_t count = 0;
    for (size_t at = 0; at < table->bytes; count++) {
        const ctn_record_t *record = (const void *)(table->memory + at);
        if (list != NULL) {
            list[count] = record;
        }
        at += ctn_record_bytes(record);
    }
    return count;
}

catena_status_t ctn_record_table_sort(const ctn_order_by_t *by,
                                      ctn_stream_t *table)
{
    uint32_t count = ctn_record_table_list(table, NULL);
    size_t list_bytes = 2 * (size_t)count * sizeof(const ctn_record_t *);
    const ctn_record_t **list = ctn_scratch_alloc(by->exec, list_bytes);
    ctn_stream_t sorted = {NULL, 0, 0};
    catena_status_t status =
        list != NULL ? ctn_stream_reserve(by->exec, &sorted, table->bytes)
                     : CATENA_ERR_NO_MEMORY;
    if (status == CATENA_OK) {
        (void)ctn_record_table_list(table, list);
        ctn_records_sort(by, list, count);
        for (uint32_t i = 0; i < count; i++) { /* the capacity is reserved */
            (void)ctn_stream_append(by->exec, &sorted, list[i],
                                    ctn_record_bytes(list[i]));
        }
        ctn_stream_release(by->exec, table);
        *table = sorted;
    }
    ctn_scratch_free(by->exec, list, list_bytes);
    return status;
}

/* ---- the operation of a split by a sort ---- */

typedef struct split_by_sort {
    /* arguments */
    ctn_split_args_t args;
    const ctn_algorithm_t *sort;
    /* working */
    ctn_stream_t item; /* see ctn_sort_t */
} split_by_sort_t;

static ctn_step_t sort_records(ctn_op_t *op)
{
    split_by_sort_t *split = ctn_op_state(op);
    void *state;
    ctn_op_t *child =
        ctn_rooted_create(op->exec, split->args.parent, 0, split->sort, &state);
    if (child != NULL) {
        ctn_sort_t *sort = state;
        sort->args = &split->args;
        sort->item = &split->item;
    }
    return ctn_op_call(op, child);
}

static ctn_step_t finalize(ctn_op_t *op)
{
    const split_by_sort_t *split = ctn_op_state(op);
    return ctn_op_call(op, ctn_split_finalize_create(
                               &split->args, ctn_item_record(&split->item)));
}

static void finish(ctn_op_t *op)
{
    split_by_sort_t *split = ctn_op_state(op);
    ctn_stream_release(op->exec, &split->item);
}

static const ctn_phase_t phases[] = {
    {"sort", sort_records}, {"finalize", finalize}, {NULL, NULL}};

static const ctn_algorithm_t algorithm = {
    .name = "split/by a sort",
    .state_bytes = sizeof(split_by_sort_t),
    .phases = phases,
    .finish = finish,
};

ctn_op_t *ctn_split_by_sort(const ctn_split_args_t *args,
                            const ctn_algorithm_t *sort)
{
    ctn_op_t *op = ctn_op_create(args->by.exec, &algorithm, NULL);
    if (op != NULL) {
        split_by_sort_t *split = ctn_op_state(op);
        split->args = *args;
        split->sort = sort;
    }
    return op;
}
