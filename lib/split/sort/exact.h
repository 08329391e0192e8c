#ifndef CTN_SPLIT_SORT_EXACT_H
#define CTN_SPLIT_SORT_EXACT_H

#include "split/sort/sort.h"

/** An operation that sorts the tables of `lane`'s members, at least two, as one
 * sequence: each ends with as many records as it had, the first ones at rank 0.
 * Synchronizing on the lane; nothing aimed at this member is under way when it
 * is complete. NULL: no memory.
 * @param[in]     by    stays until it is complete
 * @param[in,out] table in order; without records on all members when the
 *                      comparator contradicts itself */
ctn_op_t *ctn_exact_create(const ctn_order_by_t *by, ctn_chain_t *chain,
                           ctn_record_table_t *table);

#endif
