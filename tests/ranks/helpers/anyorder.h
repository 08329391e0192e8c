#ifndef ANYORDER_H
#define ANYORDER_H

#include "ranks/helpers/rank_test.h"

/* Operations that ranks may call in orders of their own. */

/** Groups and neighborhoods, used and then freed in a different order on each
 * rank, with collectives of the world in between. Some are first freed too
 * early: only the rank that does so gets an error. */
void freed_in_any_order(rank_test_t *test, uint64_t seed);

/** Persistent operations of all kinds, of the world, of parts of it and of
 * neighborhoods, initialized in one order. Each rank starts them and waits for
 * them in orders of its own, several times. */
void started_in_any_order(rank_test_t *test, uint64_t seed, int requests,
                          int turns);

/** Nonblocking sums of a few elements and of many chunks, on parts of at most
 * four members. Between two of them half of the ranks poll and the others do
 * not, so on some ranks an operation finds the earlier ones further on. */
void sums_of_any_length(rank_test_t *test, uint64_t seed);

#endif
