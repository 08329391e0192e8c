/* Fork and exec of one rank. prun has threads (of the PMIx library), so between
 * fork and exec the child makes only async-signal-safe calls. What needs
 * others, such as malloc, prun prepares before fork. */
#include "launch.h"

#include "bind.h"
#include "core/clock.h"
#include "guardian.h"
#include "job.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The environment of all ranks of one program. */
struct prun_variables {
    char **list;
    size_t count;
};

struct prun_launcher {
    struct prun_job *job;
    const struct prun_inherited *inherited;
    struct prun_variables *environments; /* [options->app_count] */
    int null_fd;   /* /dev/null, stdin of ranks that read no input */
    int fd_limit;  /* prun's own limit of descriptors */
    pid_t own_pid; /* of prun */
};

/* What the child of one rank needs. */
struct prun_plan {
    uint32_t rank;
    int fds[3]; /* the rank's stdin, stdout, stderr */
    char **environment;
    const cpu_set_t *cpus; /* to bind to; NULL: not bound */
    size_t cpus_bytes;
};

/* Set a variable in a list of NAME=VALUE, or replace it. */
static void prun_set_variable(char ***list, size_t *count, const char *entry)
{
    size_t name = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < *count; i++)
        if (strncmp((*list)[i], entry, name) == 0) {
            free((*list)[i]);
            (*list)[i] = prun_format("%s", entry);
            return;
        }
    *list = prun_grow(*list, (*count + 2) * sizeof **list);
    (*list)[(*count)++] = prun_format("%s", entry);
    (*list)[*count] = NULL;
}

/* Whether ranks inherit a variable. PMIX_ variables of a job that prun was
 * started in would mislead them; settings of the PMIx library (PMIX_MCA_) are
 * the user's.
 */
static bool prun_inherits(const char *entry)
{
    return strncmp(entry, "PMIX_", 5) != 0 ||
           strncmp(entry, "PMIX_MCA_", 9) == 0;
}

/* Set a variable in a list, or replace it. Frees the entry. */
static void prun_set_made(char ***list, size_t *count, char *entry)
{
    prun_set_variable(list, count, entry);
    free(entry);
}

/* Make the environment that all ranks of a program have. */
static struct prun_variables prun_app_environment(const struct prun_job *job,
                                                  const struct prun_app *app)
{
    struct prun_variables variables = {0};
    char ***list = &variables.list;
    size_t *count = &variables.count;
    prun_set_made(
        list, count,
        prun_format("CATENA_HOST_RANKS=%u", prun_bindings_host_ranks(job)));
    /* All ranks are on this host, so no other host needs to reach their ports.
     */
    char devices[] = "CATENA_NET_DEVICES=lo";
    prun_set_variable(list, count, devices);
    for (char **next = environ; *next; next++)
        if (prun_inherits(*next))
            prun_set_variable(list, count, *next);
    if (app->wdir)
        prun_set_made(list, count, prun_format("PWD=%s", app->wdir));
    for (size_t i = 0; i < app->export_count; i++)
        prun_set_variable(list, count, app->exports[i]);
    return variables;
}

struct prun_launcher *prun_launcher_make(struct prun_job *job,
                                         const struct prun_inherited *inherited)
{
    struct prun_launcher *launcher = prun_alloc(1, sizeof *launcher);
    const struct prun_options *options = job->options;
    launcher->job = job;
    launcher->inherited = inherited;
    launcher->own_pid = getpid();
    launcher->fd_limit = (int)sysconf(_SC_OPEN_MAX);
    launcher->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (launcher->null_fd < 0)
        prun_die(PRUN_EXIT_INTERNAL, "cannot open /dev/null: %m");
    launcher->environments =
        prun_alloc(options->app_count, sizeof *launcher->environments);
    for (uint32_t i = 0; i < options->app_count; i++)
        launcher->environments[i] =
            prun_app_environment(job, &options->apps[i]);
    return launcher;
}

static void prun_free_list(char **list)
{
    for (char **next = list; next && *next; next++)
        free(*next);
    free(list);
}

void prun_launcher_free(struct prun_launcher *launcher)
{
    for (uint32_t i = 0; i < launcher->job->options->app_count; i++)
        prun_free_list(launcher->environments[i].list);
    free(launcher->environments);
    close(launcher->null_fd);
    free(launcher);
}

/* The environment of one rank; NULL with errno: it cannot be made. */
static char **prun_rank_environment(const struct prun_launcher *launcher,
                                    uint32_t rank)
{
    const struct prun_layout *layout = launcher->job->layout;
    const struct prun_options *options = launcher->job->options;
    const struct prun_variables *common =
        &launcher->environments[prun_app_of(options, rank) - options->apps];
    size_t count = common->count;
    char **list = prun_alloc(count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = prun_format("%s", common->list[i]);
    if (!prun_server_environment(launcher->job, rank, &list)) {
        prun_free_list(list);
        errno = ENOMEM;
        return NULL;
    }
    for (count = 0; list[count];)
        count++;
    /* The PMIx library sets the name of this machine here, but the rank is on a
     * node of the layout. */
    char *host = prun_format("PMIX_HOSTNAME=%s",
                             layout->nodes[layout->node_of[rank]].name);
    prun_set_variable(&list, &count, host);
    free(host);
    return list;
}

static void prun_restore_signals(const struct prun_inherited *inherited)
{
    static const int handled[] = {SIGINT,  SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD,
                                  SIGPIPE, SIGTTIN, SIGQUIT, SIGHUP};
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        if (handled[i] != SIGHUP || !inherited->hangup_ignored)
            sigaction(handled[i], &action, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

/* Report errno to prun through the pipe, and end the child.
 * @param wdir 1: the working directory failed; 0: the program */
_Noreturn static void prun_child_fail(const struct prun_launcher *launcher,
                                      uint32_t rank, int wdir)
{
    struct prun_exec_error error = {.rank = rank, .error = errno, .wdir = wdir};
    ssize_t done = write(launcher->job->status_write_fd, &error, sizeof error);
    _exit(done < 0 ? PRUN_EXIT_INTERNAL : PRUN_EXIT_NOT_FOUND);
}

/* Mark all descriptors above stderr close-on-exec. The PMIx library does not do
 * so with its connections: a rank that inherited the connections of other ranks
 * would keep them open after prun's end, which the other ranks would not notice
 * then. */
static void prun_close_at_exec(const struct prun_launcher *launcher)
{
    const int first = STDERR_FILENO + 1;
    if (close_range((unsigned)first, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    for (int fd = first; fd < launcher->fd_limit; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The child between fork and exec. */
_Noreturn static void prun_child(const struct prun_launcher *launcher,
                                 const struct prun_plan *plan)
{
    const struct prun_job *job = launcher->job;
    const struct prun_app *app = prun_app_of(job->options, plan->rank);
    setpgid(0, 0);
    /* The system kills this process when prun ends, also if the guardian was
     * killed. If prun ended before this call, the child has another parent. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher->own_pid)
        _exit(PRUN_EXIT_INTERNAL);
    prun_guardian_enter(job->guardian_fd, getpid());

    for (int i = 0; i < 3; i++)
        if (dup2(plan->fds[i], i) < 0)
            prun_child_fail(launcher, plan->rank, 0);
    if (app->wdir && chdir(app->wdir) != 0)
        prun_child_fail(launcher, plan->rank, 1);
    /* A failure is ignored: a CPU may have gone offline meanwhile. */
    if (plan->cpus)
        sched_setaffinity(0, plan->cpus_bytes, plan->cpus);
    prun_close_at_exec(launcher);
    setrlimit(RLIMIT_NOFILE, &launcher->inherited->files);
    prun_restore_signals(launcher->inherited);
    execvpe(app->program, app->argv, plan->environment);
    prun_child_fail(launcher, plan->rank, 0);
}

/* Make the pipe of a rank's stdout (which = 0) or stderr (1). */
static bool prun_open_output(struct prun_job *job, uint32_t rank, int which,
                             struct prun_plan *plan)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    struct prun_rank *it = &job->ranks[rank];
    it->streams[which] = (struct prun_stream){.fd = ends[0],
                                              .rank = rank,
                                              .sink = job->options->output_dir
                                                          ? &it->files[which]
                                                          : &job->sinks[which]};
    plan->fds[1 + which] = ends[1];
    return true;
}

/* Make the pipe of a rank's stdin, if the rank reads prun's stdin. */
static bool prun_open_input(struct prun_launcher *launcher, uint32_t rank,
                            struct prun_plan *plan)
{
    int wanted = launcher->job->options->stdin_rank;
    int ends[2];
    if (wanted != PRUN_STDIN_ALL && wanted != (int)rank) {
        plan->fds[0] = launcher->null_fd;
        return true;
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    launcher->job->ranks[rank].stdin_fd = ends[1];
    plan->fds[0] = ends[0];
    return true;
}

/* Close prun's copies of the rank's descriptors, and free the environment. */
static void prun_close_plan(const struct prun_launcher *launcher,
                            struct prun_plan *plan)
{
    for (int i = 0; i < 3; i++)
        if (plan->fds[i] >= 0 && plan->fds[i] != launcher->null_fd)
            close(plan->fds[i]);
    prun_free_list(plan->environment);
}

bool prun_launch_next(struct prun_launcher *launcher)
{
    struct prun_job *job = launcher->job;
    uint32_t rank = job->started;
    struct prun_plan plan = {.rank = rank, .fds = {-1, -1, -1}};
    pid_t pid = -1;
    plan.cpus = prun_binding_of(job, rank, &plan.cpus_bytes);
    plan.environment = prun_rank_environment(launcher, rank);
    if (plan.environment && prun_open_output(job, rank, 0, &plan) &&
        prun_open_output(job, rank, 1, &plan) &&
        prun_open_input(launcher, rank, &plan))
        pid = fork();
    if (pid == 0)
        prun_child(launcher, &plan);
    int error = errno;
    prun_close_plan(launcher, &plan);
    errno = error;
    if (pid < 0)
        return false;
    /* As the child does: so the group exists, whichever of both runs first. */
    setpgid(pid, pid);
    job->ranks[rank].pid = pid;
    job->ranks[rank].started_ns = ctn_clock_now_ns();
    job->started++;
    if (job->options->verbose)
        prun_job_report(job, "rank %u (pid %d on %s) started: %s", rank,
                        (int)pid,
                        job->layout->nodes[job->layout->node_of[rank]].name,
                        prun_app_of(job->options, rank)->program);
    return true;
}
