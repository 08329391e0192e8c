#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cgroup.h"
#include "heap/segment.h"

/* What the system allows: the memory that this process may use, and huge pages.
 */

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

bool ctn_huge_pages_allowed(void)
{
    char line[128] = "";
    FILE *file =
        fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");

    if (file == NULL) {
        return false;
    }
    if (fgets(line, sizeof(line), file) == NULL) {
        line[0] = '\0';
    }
    fclose(file);
    /* The value in brackets is the one in use. */
    return strchr(line, '[') != NULL && strstr(line, "[never]") == NULL &&
           strstr(line, "[deny]") == NULL;
}
