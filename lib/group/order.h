#ifndef CTN_GROUP_ORDER_H
#define CTN_GROUP_ORDER_H

#include "group/split.h"

/** An operation that reorders `lane`'s chain by key, ties by old rank. Costs
 * one shift and one scan when the keys are in order already; else rank 0
 * sorts ([Moody], section 3.2, GatherScatter): O(members) memory there.
 * NULL: no memory. */
ctn_op_t *ctn_order_create(ctn_exec_t *exec, ctn_lane_t *lane, int64_t key);

#endif
