#ifndef CTN_SPLIT_SORT_SORT_H
#define CTN_SPLIT_SORT_SORT_H

#include "group/rooted_tree.h"
#include "split/algorithms.h"

/* Shared by the parallel sorts of a split. A table of records is a ctn_stream_t
 * that has records, one behind the other, without further lengths. */

/** State of the operation of a sort: its first member. */
typedef struct ctn_sort {
    ctn_rooted_t tree; /* first; over the parent */
    /* arguments */
    const ctn_split_args_t *args;
    ctn_stream_t *item; /* the result: the record whose position in the order
                           is this member's rank in the parent */
} ctn_sort_t;

/** Create the operation of a split by a sort: it builds the log-chain of the
 * parent, runs the operation of `sort` on the parent's sequence, and sets the
 * places that follow from the items (ctn_split_finalize_create). NULL: no
 * memory.
 * @param sort its state begins with a ctn_sort_t */
ctn_op_t *ctn_split_by_sort(const ctn_split_args_t *args,
                            const ctn_algorithm_t *sort);

/** Return the record in an item. */
static inline const ctn_record_t *ctn_item_record(const ctn_stream_t *item)
{
    return (const void *)item->memory;
}

/** Set an item to a copy of `record`, which does not lie in the item itself. */
catena_status_t ctn_item_set(ctn_exec_t *exec, ctn_stream_t *item,
                             const ctn_record_t *record);

/** List the records of a table in their order.
 * @param list NULL: only count them
 * @return their number */
uint32_t ctn_record_table_list(const ctn_stream_t *table,
                               const ctn_record_t **list);
/** Sort the records of a table. With any comparator, also an inconsistent one,
 * every record is kept. */
catena_status_t ctn_record_table_sort(const ctn_order_by_t *by,
                                      ctn_stream_t *table);

#endif
