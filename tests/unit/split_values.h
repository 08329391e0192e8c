#ifndef UNIT_SPLIT_VALUES_H
#define UNIT_SPLIT_VALUES_H

#include "split_case.h"

/* Colors and keys, and some that are made to collide. */

/** @param place keeps it */
value_t value_of_number(int64_t *place, int64_t value);
value_t value_of_text(const char *bytes);

/** What is much the same at its start: 3 of them. */
value_t value_that_is_long(unsigned which);

/** Colors of one repeated byte, whose hashes are the same however they are
 * rotated: no pass can tell them apart. */
value_t value_of_same_hash(unsigned which);

/** Short colors that fall into the same bins in the first eight passes. */
value_t value_in_same_bins(unsigned which);

#endif
