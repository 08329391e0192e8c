#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

const ctn_log_t fuzz_log = {.level = CTN_LOG_NOTHING, .rank = -1};

const char *fuzz_file(const uint8_t *data, size_t bytes)
{
    static int file = -1;
    static char path[64];
    if (file >= 0) {
        close(file);
    }
    file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || write(file, data, bytes) != (ssize_t)bytes) {
        perror("fuzz: memfd");
        exit(1);
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    return path;
}
