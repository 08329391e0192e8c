/* The guardian: a process that kills the ranks' process groups when prun is
 * gone. The signal that a rank gets by PR_SET_PDEATHSIG does not suffice: it
 * reaches the rank's first process only, which may be a shell that runs the
 * program.
 *
 * The guardian reads process groups from a pipe until the pipe ends. prun
 * writes to it, and so does each child: it inherits the pipe, writes its own
 * process group, and closes the pipe by exec. Hence
 *   - a group is in the pipe before any program of the rank runs, and
 *   - the pipe ends only after prun has ended and each child has either called
 *     exec (and its group is in the pipe) or died.
 * So the guardian misses no rank, whenever prun is killed. */
#include "guardian.h"
#include "core/vector.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum prun_record_kind { PRUN_GROUP_ENTER, PRUN_GROUP_LEAVE, PRUN_JOB_DONE };

/* A message in the pipe. Shorter than PIPE_BUF, so a write and a read are
 * atomic. */
struct prun_record {
    int32_t kind;  /* enum prun_record_kind */
    int32_t group; /* a process group; unused in PRUN_JOB_DONE */
};

/* The process groups to kill: `count` of `capacity`. */
struct prun_groups {
    pid_t *list;
    size_t count, capacity;
};

static void prun_groups_add(struct prun_groups *groups, pid_t group)
{
    if (groups->count == groups->capacity) {
        pid_t *list =
            ctn_vector_grow(groups->list, &groups->capacity, 0, sizeof *list);
        if (!list)
            return; /* prun_sweep finds its processes */
        groups->list = list;
    }
    groups->list[groups->count++] = group;
}

static void prun_groups_remove(struct prun_groups *groups, pid_t group)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->list[i] == group) {
            groups->list[i] = groups->list[--groups->count];
            return;
        }
}

/* Read from the pipe, and keep `groups` up to date.
 * @return true: prun has reported the end of the job; false: the pipe has ended
 */
static bool prun_guardian_listen(int fd, struct prun_groups *groups)
{
    for (;;) {
        struct prun_record record;
        ssize_t got = read(fd, &record, sizeof record);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof record)
            return false;
        if (record.kind == PRUN_JOB_DONE)
            return true;
        if (record.kind == PRUN_GROUP_ENTER)
            prun_groups_add(groups, record.group);
        else
            prun_groups_remove(groups, record.group);
    }
}

static void prun_close_all_but(int keep)
{
    if (keep > 0)
        close_range(0, (unsigned)keep - 1, 0);
    close_range((unsigned)keep + 1, ~0u, 0);
}

/* The guardian's process. */
_Noreturn static void prun_guardian_run(int fd, const char *name_space,
                                        const char *directory)
{
    struct prun_groups groups = {0};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "prun-guardian");
    prun_close_all_but(fd);

    if (!prun_guardian_listen(fd, &groups)) {
        for (size_t i = 0; i < groups.count; i++)
            kill(-groups.list[i], SIGKILL);
        /* Kill processes that left their group, again while there are new
         * ones. */
        for (int round = 0; round < 50 && prun_sweep(name_space) > 0; round++)
            usleep(10000);
        prun_remove_tree(directory);
    }
    _exit(0);
}

void prun_guardian_start(struct prun_job *job)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        prun_die(PRUN_EXIT_INTERNAL, "cannot create a pipe: %m");
    pid_t pid = fork();
    if (pid < 0)
        prun_die(PRUN_EXIT_INTERNAL,
                 "cannot start a process: %m; see ulimit -u");
    if (pid == 0) {
        close(ends[1]);
        prun_guardian_run(ends[0], job->name_space, job->directory);
    }
    close(ends[0]);
    job->guardian_fd = ends[1];
    job->guardian_pid = pid;
}

static void prun_guardian_tell(int fd, enum prun_record_kind kind, pid_t group)
{
    struct prun_record record = {.kind = kind, .group = group};
    /* An error means that the guardian was killed. The job goes on. */
    while (write(fd, &record, sizeof record) < 0 && errno == EINTR)
        continue;
}

void prun_guardian_enter(int guardian_fd, pid_t group)
{
    prun_guardian_tell(guardian_fd, PRUN_GROUP_ENTER, group);
}

void prun_guardian_leave(int guardian_fd, pid_t group)
{
    prun_guardian_tell(guardian_fd, PRUN_GROUP_LEAVE, group);
}

void prun_guardian_stop(struct prun_job *job)
{
    if (job->guardian_fd < 0)
        return;
    prun_guardian_tell(job->guardian_fd, PRUN_JOB_DONE, 0);
    close(job->guardian_fd);
    job->guardian_fd = -1;
    while (job->guardian_pid > 0 && waitpid(job->guardian_pid, NULL, 0) < 0 &&
           errno == EINTR)
        continue;
}
