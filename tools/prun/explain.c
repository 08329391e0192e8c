/* What the ranks do, by catena-info. */

#include "explain.h"
#include "core/clock.h"
#include "output.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A node has so much time to answer. */
static const uint64_t PRUN_ANSWER_NS = UINT64_C(2000000000);

/* Start catena-info, with stdout to `to`, for a process. Its errors are
 * dropped: processes that do not use catena are not worth a line. */
static pid_t prun_start_info(char *path, pid_t process, int to)
{
    char text[32];
    char *arguments[] = {path, "--job", text, NULL};
    sigset_t none;
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    snprintf(text, sizeof(text), "%ld", (long)process);
    sigemptyset(&none);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (posix_spawnattr_init(&attributes) == 0) {
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                         O_WRONLY, 0);
        if (posix_spawn(&pid, path, &actions, &attributes, arguments,
                        environ) != 0)
            pid = -1;
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Queue what comes from a pipe. @return whether its end came in time */
static bool prun_read_answer(struct prun_job *job, int fd)
{
    uint64_t until = ctn_clock_now_ns() + PRUN_ANSWER_NS;
    char text[4096];
    for (;;) {
        struct pollfd watched = {.fd = fd, .events = POLLIN};
        uint64_t now = ctn_clock_now_ns();
        if (now >= until ||
            poll(&watched, 1, (int)((until - now) / 1000000) + 1) < 1)
            return false;
        ssize_t got = read(fd, text, sizeof(text));
        if (got <= 0)
            return got == 0;
        prun_sink_append(&job->sinks[1], text, (size_t)got);
    }
}

/* Ask for the node of a process. @return whether it is a rank */
static bool prun_ask(struct prun_job *job, char *path, pid_t process)
{
    int ends[2];
    int status;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t pid = prun_start_info(path, process, ends[1]);
    close(ends[1]);
    bool whole = pid > 0 && prun_read_answer(job, ends[0]);
    close(ends[0]);
    if (pid <= 0)
        return false;
    if (!whole)
        kill(pid, SIGKILL);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

bool prun_explain(struct prun_job *job)
{
    char path[PATH_MAX];
    bool any = false;
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *end = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
    if (end == NULL || (size_t)(end - path) + sizeof("/catena-info") > PATH_MAX)
        return false;
    memcpy(end, "/catena-info", sizeof("/catena-info"));
    for (uint32_t n = 0; n < job->layout->node_count; n++) {
        const struct prun_node *node = &job->layout->nodes[n];
        bool asked = false;
        for (uint32_t i = 0; i < node->size && !asked; i++) {
            uint32_t rank = node->ranks[i];
            asked = rank < job->started && !job->ranks[rank].ended &&
                    prun_ask(job, path, job->ranks[rank].pid);
        }
        any |= asked;
    }
    prun_sink_flush(&job->sinks[1]);
    return any;
}
