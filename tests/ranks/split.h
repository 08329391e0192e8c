#ifndef SPLIT_H
#define SPLIT_H

#include "rank_test.h"

/* Parts of the program split. */

enum { LEVELS = CATENA_LEVEL_CORE + 1 };

/** A case: node, socket, NUMA domain, L3 and core. */
void split_levels(rank_test_t *test);

/** A case: what fits no algorithm, or makes no sense. */
void split_refused(rank_test_t *test);

/* Cases: comparators that are no order, err about other ranks' colors, or see
 * colors of several lengths. */

void split_lies(rank_test_t *test);
void split_errs_about_others(rank_test_t *test);
void split_mixed_lengths(rank_test_t *test);

#endif
