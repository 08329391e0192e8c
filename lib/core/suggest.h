#ifndef CTN_CORE_SUGGEST_H
#define CTN_CORE_SUGGEST_H

#include <stddef.h>

/* Suggestions for mistyped names. */

#define CTN_NAME_BYTES 64u /* no known name is longer */

/** The distance of a typed name from a known one, ignoring case: the edit
 * distance; but at most 1 if the typed name has 4 characters or more and is a
 * part of the known one (words are missing). Of a longer typed name only the
 * first CTN_NAME_BYTES count. */
size_t ctn_name_distance(const char *typed, size_t length, const char *known);

#endif
