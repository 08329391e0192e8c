#ifndef RANK_MIX_H
#define RANK_MIX_H

#include "ranks/helpers/rank_test.h"

/** So many operations, drawn by `seed`, at once on groups that overlap, and the
 * persistent ones among them again; started on each rank in an order of its
 * own among groups, completed in any. */
void rank_mix(rank_test_t *test, uint64_t seed, size_t operations);

#endif
