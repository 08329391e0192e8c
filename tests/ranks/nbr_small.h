#ifndef RANKS_NBR_SMALL_H
#define RANKS_NBR_SMALL_H

#include "rank_test.h"

/** Neighbors exchange small blocks, the same call again and again and others in
 * between, in any form; who gets another length than it expects is told, and
 * the next call is right. */
void nbr_small(rank_test_t *test);
/** Requests for small blocks on two neighborhoods, started and waited for in
 * any order, with blocking calls while they are under way. */
void nbr_small_requests(rank_test_t *test);

#endif
