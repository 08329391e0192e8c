#ifndef CTN_SPLIT_SORT_EXACT_H
#define CTN_SPLIT_SORT_EXACT_H

#include "split/sort/sort.h"

/** Create an operation that sorts the tables of the members of `chain`, at
 * least two, as one sequence: each ends with as many records as it had, the
 * first ones at rank 0. Synchronizing on the chain; no put to this member is
 * under way when it completes. NULL: no memory.
 * @param[in]     by    must stay valid until it completes
 * @param[in,out] table in order; without records on all members if the
 *                      comparator contradicts itself */
ctn_op_t *ctn_exact_create(const ctn_order_by_t *by, ctn_chain_t *chain,
                           ctn_record_table_t *table);

#endif
