#ifndef ANYORDER_H
#define ANYORDER_H

#include "rank_test.h"

/* What ranks may do in orders of their own. */

/** Groups and neighborhoods, used and then freed in another order on each rank,
 * with collectives of the world between; some are first freed too early, which
 * the rank that does so is told, and no other. */
void freed_in_any_order(rank_test_t *test, uint64_t seed);

#endif
