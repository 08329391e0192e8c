#ifndef COLL_MIX_H
#define COLL_MIX_H

#include "rank_test.h"

/** Start `operations` nonblocking and persistent operations of all kinds on
 * four groups that overlap (all; halves; odd and even ranks; some), in an order
 * of each rank's own, but the same within a group; complete them in any order;
 * check all of them; start the persistent ones again. All follow from `seed`,
 * the same on all ranks. */
void coll_mix(rank_test_t *test, uint64_t seed, size_t operations);

#endif
