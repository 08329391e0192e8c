#ifndef CTN_CORE_MEMORY_H
#define CTN_CORE_MEMORY_H

#include <stddef.h>

/** Bytes of memory that this process may use: physical memory, or less if a
 * control group (cgroup) has a lower limit.
 * @param root prefix of /proc and /sys: "", or the folder of a test */
size_t ctn_memory_usable(const char *root);

#endif
