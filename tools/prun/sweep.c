/* Finds processes of the job that left their rank's process group, as setsid,
 * timeout and shells with job control let them. Each process of the job has the
 * job's PMIx namespace in its environment. */
#include "guardian.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read a file of a /proc/PID directory. @return its bytes; 0: unreadable */
static size_t prun_read_file(int directory, const char *name,
                             struct prun_buffer *out)
{
    char chunk[4096];
    out->used = 0;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    for (ssize_t got; (got = read(fd, chunk, sizeof chunk)) > 0;)
        prun_buffer_append(out, chunk, (size_t)got);
    close(fd);
    return out->used;
}

/* Whether a process is a guardian. A rank may run a prun of its own, whose
 * guardian also has this job's namespace in its environment. It must not be
 * killed here: when its own prun is gone, it kills that prun's ranks and ends.
 */
static bool prun_is_guardian(int directory)
{
    struct prun_buffer name = {0};
    static const char guardian[] = "prun-guardian\n";
    size_t length = prun_read_file(directory, "comm", &name);
    bool same = length == sizeof guardian - 1 &&
                memcmp(name.data, guardian, length) == 0;
    prun_buffer_free(&name);
    return same;
}

/* Whether `mark`, NAME=VALUE, is in the environment of a process.
 * @param[in,out] environment memory to read it into */
static bool prun_belongs(int directory, const char *mark,
                         struct prun_buffer *environment)
{
    size_t length = strlen(mark) + 1; /* with the 0 that ends the entry */
    if (prun_read_file(directory, "environ", environment) < length)
        return false;
    char *found = memmem(environment->data, environment->used, mark, length);
    bool whole = found && (found == environment->data || found[-1] == 0);
    return whole && !prun_is_guardian(directory);
}

uint32_t prun_sweep(const char *name_space)
{
    uint32_t killed = 0;
    struct prun_buffer environment = {0};
    char *mark = prun_format("PMIX_NAMESPACE=%s", name_space);
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)atoi(entry->d_name);
        int directory = openat(dirfd(processes), entry->d_name,
                               O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (directory < 0 || pid == getpid()) {
            if (directory >= 0)
                close(directory);
            continue;
        }
        if (prun_belongs(directory, mark, &environment)) {
            /* The process lived a moment ago, since its environment was
             * readable. So the number is still its own, or not yet reused. */
            kill(pid, SIGKILL);
            killed++;
        }
        close(directory);
    }
    if (processes)
        closedir(processes);
    free(mark);
    prun_buffer_free(&environment);
    return killed;
}
