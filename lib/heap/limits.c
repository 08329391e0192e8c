#include <stdio.h>
#include <string.h>

#include "heap/segment.h"

/* Whether the system allows huge pages. */

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
