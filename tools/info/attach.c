/* Cross-memory attach: whether ranks may read each other's memory. */

#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system.h"

/* In a child: read a word of process `pid`, which has it at the same address.
 * The exit status is 0 or an errno. */
static void read_word(pid_t pid, const uint64_t *word)
{
    uint64_t found = 0;
    struct iovec here = {&found, sizeof(found)};
    struct iovec there = {(void *)(uintptr_t)word, sizeof(found)};
    ssize_t bytes = process_vm_readv(pid, &here, 1, &there, 1, 0);
    _exit(bytes == (ssize_t)sizeof(found) ? 0 : bytes < 0 ? errno : EFAULT);
}

enum { MOST_MS = 10000, STEP_US = 500 };

/* Wait for a child, and kill it after 10 s. Returns its exit status, or -1 if
 * there is none. */
static int status_of(pid_t pid)
{
    int status;
    pid_t ended = 0;
    for (int i = 0; ended == 0 && i < MOST_MS * 1000 / STEP_US; i++) {
        ended = waitpid(pid, &status, WNOHANG);
        if (ended == 0) {
            usleep(STEP_US);
        }
    }
    if (ended == 0) {
        kill(pid, SIGKILL);
        ended = waitpid(pid, &status, 0);
    }
    return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Wait for a byte, for 10 s at most. */
static bool hears(int fd)
{
    char byte;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, MOST_MS) == 1 && read(fd, &byte, 1) == 1;
}

int attach_try(void)
{
    static uint64_t word;
    int ready[2]; /* a byte from the first child, when it may be read */
    int stop[2];  /* closed: it ends */
    char byte;
    int result = -1;
    if (pipe(ready) != 0) {
        return -1;
    }
    if (pipe(stop) != 0) {
        close(ready[0]);
        close(ready[1]);
        return -1;
    }
    pid_t first = fork();
    if (first == 0) {
        (void)prctl(PR_SET_PTRACER, (unsigned long)getppid(), 0, 0, 0);
        close(stop[1]);
        _exit(write(ready[1], "r", 1) == 1 && read(stop[0], &byte, 1) == 0 ? 0
                                                                           : 1);
    }
    close(ready[1]);
    if (first > 0 && hears(ready[0])) {
        pid_t second = fork();
        if (second == 0) {
            read_word(first, &word);
        }
        result = second > 0 ? status_of(second) : -1;
    }
    close(ready[0]);
    close(stop[0]);
    close(stop[1]);
    if (first > 0) {
        (void)status_of(first);
    }
    return result;
}

void attach_reason(int wrong, char text[ATTACH_REASON_BYTES])
{
    char line[32];
    const char *yama = "/proc/sys/kernel/yama/ptrace_scope";
    if (wrong < 0) {
        snprintf(text, ATTACH_REASON_BYTES,
                 "no process to try it; check the "
                 "limit of processes (ulimit -u)");
    } else if (system_line(yama, line, sizeof(line)) && atoi(line) >= 2) {
        snprintf(text, ATTACH_REASON_BYTES,
                 "kernel.yama.ptrace_scope is %s; set it to 0 or 1 (sysctl)",
                 line);
    } else if (system_status("Seccomp", line, sizeof(line)) &&
               atoi(line) != 0) {
        snprintf(text, ATTACH_REASON_BYTES,
                 "process_vm_readv: %s, a seccomp filter is active; allow "
                 "process_vm_readv and process_vm_writev in the profile of the "
                 "container (docker run --cap-add=SYS_PTRACE)",
                 strerror(wrong));
    } else if (wrong == ENOSYS) {
        snprintf(text, ATTACH_REASON_BYTES,
                 "the kernel has no process_vm_readv; use one with "
                 "CONFIG_CROSS_MEMORY_ATTACH");
    } else {
        snprintf(text, ATTACH_REASON_BYTES,
                 "process_vm_readv: %s; give the ranks one user and one user "
                 "namespace, or CAP_SYS_PTRACE",
                 strerror(wrong));
    }
}
