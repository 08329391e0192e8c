#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/segment.h"

/* The memory that this process may use. */

static size_t read_bytes(const char *path)
{
    unsigned long long value;
    size_t bytes = SIZE_MAX; /* no file, or "max" */
    FILE *file = fopen(path, "re");

    if (file != NULL) {
        if (fscanf(file, "%llu", &value) == 1 && value < SIZE_MAX) {
            bytes = (size_t)value;
        }
        fclose(file);
    }
    return bytes;
}

size_t ctn_cgroup_limit(const char *root, const char *group, const char *file)
{
    char path[4096];
    size_t length = strlen(group);
    size_t least = SIZE_MAX;

    /* The limit of every ancestor group applies, too. In a container the path
     * may be that of the host and not exist; the limit is then that of the
     * root. */
    for (;;) {
        while (length > 0 && group[length - 1] == '/') {
            length--;
        }
        int n = snprintf(path, sizeof(path), "%s%.*s/%s", root, (int)length,
                         group, file);
        if (n > 0 && (size_t)n < sizeof(path)) {
            size_t bytes = read_bytes(path);
            least = bytes < least ? bytes : least;
        }
        if (length == 0) {
            return least;
        }
        while (length > 0 && group[length - 1] != '/') {
            length--;
        }
    }
}

/* Whether a comma-separated list of controllers contains "memory". */
static bool has_memory(const char *list)
{
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, "memory", 6) == 0 && (at[6] == ',' || at[6] == '\0')) {
            return true;
        }
    }
    return false;
}

/* One line of /proc/self/cgroup: "ID:CONTROLLERS:PATH". */
static size_t line_limit(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *list = strchr(line, ':');
    char *path = list != NULL ? strchr(list + 1, ':') : NULL;
    if (path == NULL) {
        return SIZE_MAX;
    }
    *list++ = '\0';
    *path++ = '\0';
    if (*list == '\0') {
        return ctn_cgroup_limit("/sys/fs/cgroup", path, "memory.max");
    }
    if (has_memory(list)) {
        return ctn_cgroup_limit("/sys/fs/cgroup/memory", path,
                                "memory.limit_in_bytes");
    }
    return SIZE_MAX;
}

size_t ctn_memory_usable(void)
{
    size_t least =
        (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file != NULL && getline(&line, &room, file) > 0) {
        size_t bytes = line_limit(line);
        least = bytes < least ? bytes : least;
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
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
    return strchr(line, '[') != NULL && strstr(line, "[never]") == NULL &&
           strstr(line, "[deny]") == NULL;
}
