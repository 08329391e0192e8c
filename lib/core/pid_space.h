#ifndef CTN_CORE_PID_SPACE_H
#define CTN_CORE_PID_SPACE_H

#include <stdint.h>
#include <sys/stat.h>

/** The PID namespace of this process. A process number of another namespace
 * means another process here, or none, so it must not be used. @return 0: not
 * known */
static inline uint64_t ctn_pid_space(void)
{
    struct stat found;
    return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

#endif
