#ifndef CTN_CORE_PROCESS_H
#define CTN_CORE_PROCESS_H

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

/** The letter of the state of a process of this namespace, as in /proc; 0: it
 * ends, has ended, or is not to be seen. */
char ctn_process_state(uint64_t pid);

#endif
