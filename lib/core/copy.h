#ifndef CTN_CORE_COPY_H
#define CTN_CORE_COPY_H

#include <stdbool.h>
#include <stddef.h>

/** Copy memory that exceeds the caches with non-temporal stores, which do not
 * read the written lines first. A later reader of the target waits longer for
 * it than after memcpy. Later stores become visible after the copy. */
void ctn_copy_past_caches(void *target, const void *source, size_t bytes);

/** Whether that is faster for so many bytes, read and written: they exceed the
 * largest cache. Below that the copy alone is faster, too, but not together
 * with reading the target. 2 cores with 260 MiB, copied and then read by the
 * receiver: 128 MiB take 5.6 ms with memcpy and 6.3 past the caches, 256 MiB
 * 18.3 and 13.4. */
bool ctn_copy_exceeds_caches(size_t bytes);

#endif
