#ifndef CTN_CORE_UNITS_H
#define CTN_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parsing of numbers in settings, options and files. The whole text must be the
 * number: no sign, no space, nothing behind it. On failure these functions
 * return false and do not set the output. */

/** Parse a whole number from 0 to `most`. */
bool ctn_units_count(const char *text, uint64_t most, uint64_t *count);

/** Parse a size in bytes, or with a unit: k, m, g or t (powers of 1024), in
 * upper or lower case, which a b may follow: "65536", "64k", "2MB".
 * @return false: invalid, or more than a size_t holds */
bool ctn_units_bytes(const char *text, size_t *bytes);

/** Parse a real number from 0 to `most`, such as seconds. */
bool ctn_units_real(const char *text, double most, double *value);

#endif
