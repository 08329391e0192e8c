#ifndef CTN_CORE_SUGGEST_H
#define CTN_CORE_SUGGEST_H

#include <stddef.h>

/* Suggestions for mistyped names. */

#define CTN_NAME_BYTES 64u /* no known name is longer */

/** The known name that is nearest to a typed one, of those tried so far. */
typedef struct ctn_nearest {
    const char *typed;
    size_t length;    /* of `typed` */
    size_t distance;  /* only nearer names are taken; SIZE_MAX at first: any */
    const char *name; /* NULL: none */
} ctn_nearest_t;

/** Try a known name. The distance ignores case. It is the edit distance; but at
 * most 1 if the typed name has 4 characters or more and is a part of the known
 * one (words are missing). Of a longer typed name only the first CTN_NAME_BYTES
 * count. */
void ctn_nearest_try(ctn_nearest_t *nearest, const char *known);

#endif
