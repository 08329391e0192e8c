#ifndef CTN_CORE_CACHE_LINE_H
#define CTN_CORE_CACHE_LINE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** Bytes of a cache line. */
#define CTN_LINE 64u

/** Allocate zeroed memory that begins and ends on cache line boundaries, for
 * structs whose first cache lines are used in every call. The caller frees it
 * with free(); NULL: no memory. */
static inline void *ctn_lines_alloc(size_t bytes)
{
    size_t whole = (bytes + CTN_LINE - 1) & ~(size_t)(CTN_LINE - 1);
    void *lines = aligned_alloc(CTN_LINE, whole);
    return lines != NULL ? memset(lines, 0, whole) : NULL;
}

#endif
