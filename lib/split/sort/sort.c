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
        *(ctn_sort_t *)ctn_op_state(child) =
            (ctn_sort_t){&split->args, &split->item};
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
