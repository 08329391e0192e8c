#ifndef RANKS_NBR_SMALL_H
#define RANKS_NBR_SMALL_H

#include "rank_test.h"

/** Neighbors exchange small blocks, the same call again and again and others in
 * between, in any form; who gets another length than it expects is told, and
 * the next call is right. */
void nbr_small(rank_test_t *test);
/** Requests for small blocks on two neighborhoods, started and waited for in
 * any order or tested, with blocking calls while they are under way, or in the
 * place of one of them with another length. */
void nbr_small_requests(rank_test_t *test);
/** The same for blocks that neighbors copy where they lie. */
void nbr_long_requests(rank_test_t *test);

#endif
