#ifndef CTN_SPLIT_SORT_SORT_H
#define CTN_SPLIT_SORT_SORT_H

#include "group/rooted_tree.h"
#include "split/algorithms.h"

/* Shared by the parallel sorts of a split: the record that a member holds for
 * another one, tables of records, which travel on trees, and the place of a
 * record's owner (the member that brought the record). */

/** A copy of a record of any length; zeroed before the first use. */
typedef struct ctn_record_buffer {
    void *memory;    /* the copy, if inline_data is too short; else NULL */
    size_t capacity; /* bytes of `memory` */
    _Alignas(8) unsigned char inline_data[CTN_INLINE_BYTES];
} ctn_record_buffer_t;

static inline const ctn_record_t *
ctn_record_buffer_record(const ctn_record_buffer_t *item)
{
    return item->memory != NULL ? item->memory
                                : (const void *)item->inline_data;
}

/** Copy `record`, which does not lie in the buffer itself, into the buffer. */
catena_status_t ctn_record_buffer_set(ctn_exec_t *exec,
                                      ctn_record_buffer_t *item,
                                      const ctn_record_t *record);
void ctn_record_buffer_release(ctn_exec_t *exec, ctn_record_buffer_t *item);

/** Sorted records, one behind the other; zeroed before the first use. */
typedef struct ctn_record_table {
    unsigned char *records;
    size_t bytes;
} ctn_record_table_t;

/** State of the operation of a sort: its first member. */
typedef struct ctn_sort {
    ctn_rooted_t tree; /* first; over the parent */
    /* arguments */
    const ctn_split_args_t *args;
    ctn_record_buffer_t *item; /* the result: the record whose position in the
                                  order is this member's rank in the parent */
    /* working */
    ctn_record_table_t table;  /* records gathered up the tree, in order */
    const unsigned char *data; /* sent down the tree; the root sets them */
    size_t bytes;
    /* Moves past the data of one member; set by the algorithm. */
    ctn_rooted_skip_t skip;
} ctn_sort_t;

/** Create the operation of a split by a sort: it builds the log-chain of the
 * parent, then runs the operation of `sort` on the parent's sequence. NULL: no
 * memory.
 * @param sort     its state begins with a ctn_sort_t
 * @param finalize set the places that follow from the items
 *                 (ctn_split_finalize_create); false: the sort has set them */
ctn_op_t *ctn_split_by_sort(const ctn_split_args_t *args,
                            const ctn_algorithm_t *sort, bool finalize);

/* Phases of a sort that gathers records up the tree, in this order, and then
 * sends data down. ctn_rooted_collect is the second one. */

/** Called by the first phase: begin the trees of sections of 2^levels members
 * (ctn_rooted_begin_section); make a table of this member's record. */
ctn_step_t ctn_sort_begin(ctn_op_t *op, unsigned levels);
/** Send the table to the parent in the tree. The root has that of the whole
 * section. */
ctn_step_t ctn_sort_hand_up(ctn_op_t *op);
/** At the root, `data` are for all members of the section, in their order.
 * Get them from the parent at others. With no bytes at the root there are none
 * at all members. */
ctn_step_t ctn_sort_receive(ctn_op_t *op);
/** After ctn_rooted_send_down: wait until parent and children have read the
 * messages of this member. `data` begins with what is for it. */
ctn_step_t ctn_sort_end(ctn_op_t *op);
/** Release what the phases hold; the algorithm's `finish` calls it. */
void ctn_sort_release(ctn_op_t *op);

/** The place of a record's owner in its new chain. */
typedef struct ctn_owner_place {
    uint32_t size;
    uint32_t rank;
    ctn_address_t left;
    ctn_address_t right;
} ctn_owner_place_t;

/** Set the place of `chain`; its log-chain is dropped. */
void ctn_owner_place_apply(ctn_chain_t *chain, const ctn_owner_place_t *place);

/** Return the record after `record` in the same table. */
static inline const ctn_record_t *ctn_record_next(const ctn_record_t *record)
{
    return (const void *)((const unsigned char *)record +
                          ctn_record_bytes(record));
}

/** Merge two sorted tables of records into `to`, which has room for both. With
 * any comparator, also an inconsistent one, every record is kept. */
void ctn_records_merge(const ctn_order_by_t *by, const void *a, size_t a_bytes,
                       const void *b, size_t b_bytes, void *to);
/** Merge further records, which are sorted, into the table. */
catena_status_t ctn_record_table_merge(const ctn_order_by_t *by,
                                       ctn_record_table_t *table,
                                       const void *records, size_t bytes);
void ctn_record_table_release(ctn_exec_t *exec, ctn_record_table_t *table);

#endif
