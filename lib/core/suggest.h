#ifndef CTN_CORE_SUGGEST_H
#define CTN_CORE_SUGGEST_H

#include <stddef.h>

/* Suggestions for mistyped names. */

#define CTN_NAME_BYTES 64u /* longer names match nothing */

/** The distance of a typed name from a known one, ignoring case: the edit
 * distance, but at most 1 if it is part of the known name (a name of several
 * words typed without one of them). Only the first CTN_NAME_BYTES of longer
 * names count. */
size_t ctn_name_distance(const char *typed, size_t length, const char *known);

#endif
