#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/process.h"

enum { EXITING = 4 }; /* among the flags in /proc/PID/stat (PF_EXITING) */

char ctn_process_state(uint64_t pid)
{
    char path[64];
    char line[512];
    char state = 0;
    unsigned flags = 0;
    snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        const char *end =
            fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
        if (end == NULL ||
            sscanf(end + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) < 1) {
            state = 0;
        }
        (void)fclose(file);
    }
    bool ended = state == 'Z' || state == 'X' || (flags & EXITING) != 0;
    return ended ? 0 : state;
}
