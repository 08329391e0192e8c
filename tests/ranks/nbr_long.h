#ifndef RANKS_NBR_LONG_H
#define RANKS_NBR_LONG_H

#include "rank_test.h"

/** Neighbors exchange blocks that whoever comes second copies, again and again:
 * all arrive, and who gets another length than it expects is told. */
void nbr_long(rank_test_t *test);

#endif
