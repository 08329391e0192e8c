#ifndef SPLIT_MIX_H
#define SPLIT_MIX_H

#include "oracle/split/split.h"
#include "ranks/helpers/rank_test.h"

/** Start splits on overlapping groups: on each group a split, an alltoall,
 * another split and a barrier. Complete them in any way. Each rank starts the
 * groups in an order of its own.
 * @param random seed, the same on all ranks
 * @param algorithm NULL: any */
void split_mix(rank_test_t *test, const char *algorithm, uint64_t random,
               size_t most_bytes);

#endif
