#ifndef CTN_CORE_SUGGEST_H
#define CTN_CORE_SUGGEST_H

#include <stddef.h>

/* Names that people type: which known one they may have meant. */

#define CTN_NAME_BYTES 64u /* longer names resemble nothing */

/** How far a typed name is from a known one, without regard to case: edits, but
 * at most 1 where it is a part of it (a name of several words typed without one
 * of them). Of a longer one only CTN_NAME_BYTES count. */
size_t ctn_name_distance(const char *typed, size_t length, const char *known);

#endif
