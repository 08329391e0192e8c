#ifndef CTN_SPLIT_SORT_EXACT_H
#define CTN_SPLIT_SORT_EXACT_H

#include "split/sort/sort.h"

/** Create an operation that sorts all records in the tables of the members of
 * `chain`, at least two. Each member ends with as many records as it had, the
 * lowest ones at rank 0. If the comparator is found to be inconsistent, all
 * tables stay unchanged. Synchronizing on the chain; no access to this member's
 * memory is under way when it completes. NULL: no memory.
 * @param[in]     by    must stay valid until it completes
 * @param[in,out] table of records (sort.h), sorted before and after */
ctn_op_t *ctn_exact_create(const ctn_order_by_t *by, ctn_chain_t *chain,
                           ctn_stream_t *table);

#endif
