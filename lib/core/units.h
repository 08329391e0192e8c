#ifndef CTN_CORE_UNITS_H
#define CTN_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers in settings, options and files. The whole text must be the number:
 * no sign, no space, nothing behind it. Nothing is written on failure. */

/** Parse a whole number from 0 to `most`. */
bool ctn_units_count(const char *text, uint64_t most, uint64_t *count);

/** Parse a size: bytes, or with unit k, m, g or t (powers of 1024), in either
 * case, with or without a b behind it: "65536", "64k", "2MB".
 * @return false: invalid or beyond size_t */
bool ctn_units_bytes(const char *text, size_t *bytes);

/** Parse a real number from 0 to `most`, such as seconds. */
bool ctn_units_real(const char *text, double most, double *value);

#endif
