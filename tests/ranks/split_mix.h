#ifndef SPLIT_MIX_H
#define SPLIT_MIX_H

#include "oracle/split.h"
#include "rank_test.h"

/** Splits in flight on groups that overlap, which each rank starts in an order
 * of its own: on each a split, an exchange, a split and a barrier, completed in
 * any way. All follows from `random`, the same on all ranks.
 * @param algorithm NULL: any */
void split_mix(rank_test_t *test, const char *algorithm, uint64_t random,
               size_t most_bytes);

#endif
