#ifndef CTN_CORE_COPY_H
#define CTN_CORE_COPY_H

#include <stdbool.h>
#include <stddef.h>

/** Copy memory that no cache would keep, past the caches: written lines are
 * not read first. Who reads the target soon waits longer for it than after
 * memcpy. What is stored afterwards is seen afterwards. */
void ctn_copy_past_caches(void *target, const void *source, size_t bytes);

/** Whether that is quicker for data of so many bytes, read and written: they
 * do not fit the largest cache. Below that the copy would be quicker, too, but
 * not together with reading the target: 2 cores with 260 MiB, copied and then
 * read by its receiver, of 128 MiB 5.6 ms, past the caches 6.3; of 256 MiB 18.3
 * and 13.4. */
bool ctn_copy_exceeds_caches(size_t bytes);

#endif
