/* The memory that the system leaves to this process. */

#include "core/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cgroup.h"

/** Called for each control group that this process is in: lower *argument, a
 * number of bytes, to the group's limit. */
static void visit_limit(const char *directory, int version, void *argument)
{
    size_t *least = argument;
    char *line = ctn_cgroup_line(
        directory, version == 2 ? "memory.max" : "memory.limit_in_bytes");
    /* "max": no limit. */
    if (line != NULL && isdigit((unsigned char)line[0])) {
        unsigned long long bytes = strtoull(line, NULL, 10);
        *least = bytes < *least ? (size_t)bytes : *least;
    }
    free(line);
}

size_t ctn_memory_usable(const char *root)
{
    size_t least =
        (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    ctn_cgroup_each(root, "memory", visit_limit, &least);
    return least;
}
