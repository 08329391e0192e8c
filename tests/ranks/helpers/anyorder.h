#ifndef ANYORDER_H
#define ANYORDER_H

#include "ranks/helpers/rank_test.h"

/* What ranks may do in orders of their own. */

/** Groups and neighborhoods, used and then freed in another order on each rank,
 * with collectives of the world between; some are first freed too early, which
 * the rank that does so is told, and no other. */
void freed_in_any_order(rank_test_t *test, uint64_t seed);

/** Persistent operations of all kinds, of the world, of parts of it and of
 * neighborhoods, initialized in one order, and started and waited for in
 * another one on each rank, several times each. */
void started_in_any_order(rank_test_t *test, uint64_t seed, int requests,
                          int turns);

#endif
