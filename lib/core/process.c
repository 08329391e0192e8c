#include <stdio.h>
#include <string.h>

#include "core/process.h"

char ctn_process_state(uint64_t pid)
{
    char path[64];
    char line[256];
    char state = 0;
    snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        const char *end =
            fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
        state = end != NULL ? end[2] : 0;
        (void)fclose(file);
    }
    return state == 'Z' || state == 'X' ? 0 : state;
}
