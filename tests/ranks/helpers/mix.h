#ifndef RANK_MIX_H
#define RANK_MIX_H

#include "ranks/helpers/rank_test.h"

/** So many operations, drawn by `seed`, in flight on overlapping groups,
 * including restarts of the persistent ones. Each rank interleaves the groups
 * in its own order, and completes operations in any order. */
void rank_mix(rank_test_t *test, uint64_t seed, size_t operations);

#endif
