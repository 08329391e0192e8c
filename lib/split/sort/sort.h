#ifndef CTN_SPLIT_SORT_SORT_H
#define CTN_SPLIT_SORT_SORT_H

#include "exec/message.h"
#include "split/algorithms.h"

/* Shared by the parallel sorts of a split: the record that a member holds for
 * another one, tables of records, the trees on which tables travel, and the
 * place of a record's owner (the member that brought the record). */

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

/** State of the operation of a sort: its first member. */
typedef struct ctn_sort {
    const ctn_split_args_t *args;
    ctn_record_buffer_t *item; /* the result: the record whose position in the
                                  order is this member's rank in the parent */
} ctn_sort_t;

/** Create the operation of a split by a sort: it builds the log-chain of the
 * parent, then runs the operation of `sort` on the parent's sequence. NULL: no
 * memory.
 * @param sort     its state begins with a ctn_sort_t
 * @param finalize set the places that follow from the items
 *                 (ctn_split_finalize_create); false: the sort has set them */
ctn_op_t *ctn_split_by_sort(const ctn_split_args_t *args,
                            const ctn_algorithm_t *sort, bool finalize);

/** The place of a record's owner in its new chain. */
typedef struct ctn_owner_place {
    uint32_t size;
    uint32_t rank;
    ctn_address_t left;
    ctn_address_t right;
} ctn_owner_place_t;

/** Set the place of `chain`; its log-chain is dropped. */
void ctn_owner_place_apply(ctn_chain_t *chain, const ctn_owner_place_t *place);

/** Sorted records, one behind the other; zeroed before the first use. */
typedef struct ctn_record_table {
    unsigned char *records;
    size_t bytes;
} ctn_record_table_t;

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

/** Binomial trees over a chain with a log-chain: one tree for each 2^levels
 * consecutive members (a section), whose first member is the root. The
 * subtree of a member at level l has the 2^l members from itself on, as far as
 * they exist. Uses slots 0 to CTN_SPLIT_TREE_SLOTS - 1. */
typedef struct ctn_split_tree {
    /* arguments */
    const ctn_chain_t *chain;
    unsigned levels; /* at most the log-chain's rounds */
    /* working */
    unsigned level; /* from 0 up to that of the member's subtree, which is
                       `levels` at the root */
    ctn_receive_handle_t receive_handle;
    ctn_send_handle_t up;       /* the message to the tree parent */
    ctn_send_handle_t down[32]; /* the messages to the children, by level */
} ctn_split_tree_t;

#define CTN_SPLIT_TREE_SLOTS 64u

static inline bool ctn_split_tree_is_root(const ctn_split_tree_t *tree)
{
    return (tree->chain->place.rank & ((UINT64_C(1) << tree->levels) - 1)) == 0;
}

/* Three steps for phases of an operation, which run in this order and return
 * what phases return. */

/** Merge tables on the way up. `table` is the member's own at first. In the end
 * it is that of the whole section at the root, and empty at other members. */
ctn_step_t ctn_split_tree_gather(ctn_op_t *op, ctn_split_tree_t *tree,
                                 const ctn_order_by_t *by,
                                 ctn_record_table_t *table);

/** Return how many bytes of `data`, which are those of a subtree, are for its
 * first `members` members. */
typedef size_t (*ctn_split_tree_share_t)(const unsigned char *data,
                                         uint32_t members);

/** Send data down. At the root *data, of *bytes bytes, is for all members of
 * the section, in their order. In the end *data and *bytes are this member's
 * part. If *bytes is 0 at the root, it becomes 0 at all members. */
ctn_step_t ctn_split_tree_scatter(ctn_op_t *op, ctn_split_tree_t *tree,
                                  ctn_split_tree_share_t share,
                                  const unsigned char **data, size_t *bytes);

/** Wait until the receivers have read all messages of this member. */
ctn_step_t ctn_split_tree_end(ctn_op_t *op, ctn_split_tree_t *tree);
/** Release the tree; the algorithm's `finish` calls it. The *data of a scatter
 * become invalid. */
void ctn_split_tree_release(ctn_op_t *op, ctn_split_tree_t *tree);

#endif
