#ifndef CTN_CORE_COPY_H
#define CTN_CORE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** Copy CTN_SHARED_LEAST to CTN_SHARED_MOST bytes; see ctn_copy_shared. */
#define CTN_SHARED_LEAST 129u
#define CTN_SHARED_MOST 2048u
void ctn_copy_vectors(void *target, const void *source, size_t bytes);

/** Copy data from or to memory that another core writes or reads. In this range
 * of lengths a loop over vectors of 16 bytes is faster than memcpy of glibc:
 * decision 0045. With 0 bytes the pointers may be invalid. */
static inline void ctn_copy_shared(void *target, const void *source,
                                   size_t bytes)
{
    if (bytes - CTN_SHARED_LEAST <= CTN_SHARED_MOST - CTN_SHARED_LEAST) {
        ctn_copy_vectors(target, source, bytes);
    } else if (bytes > 0) {
        memcpy(target, source, bytes);
    }
}

/** Copy memory with non-temporal stores. These bypass the caches and do not
 * read the target's cache lines first, so the copy of much memory is faster
 * than memcpy. Reading the target afterwards takes longer. Stores after the
 * copy become visible after it. */
void ctn_copy_past_caches(void *target, const void *source, size_t bytes);

/** Whether ctn_copy_past_caches saves time for `bytes`, counting what is read
 * and what is written: whether they exceed the largest cache. For less memory
 * the copy alone is faster, too, but the copy and the reading of the target
 * together are not. 2 cores with 260 MiB of cache, copy and reading: 128 MiB
 * take 5.6 ms with memcpy and 6.3 past the caches, 256 MiB 18.3 and 13.4. */
bool ctn_copy_exceeds_caches(size_t bytes);

#endif
