/* prun: starts ranks on this machine and is their PMIx server.
 *
 *   options.c, parse.c  the command line launch.c    starts a rank
 *   layout.c    the node of each rank    job.c       how the job ends
 *   bind.c      the core of each rank    loop.c      waits for events
 *   deal.c      ranks to nodes, cores    display.c   prints the map
 *   server.c    the PMIx server          output.c, input.c  the ranks' stdio
 *   register.c  the server's keys        guardian.c, sweep.c  end all processes
 *                                                    if prun is killed
 */
#include "bind.h"
#include "core/clock.h"
#include "display.h"
#include "guardian.h"
#include "input.h"
#include "job.h"
#include "launch.h"
#include "layout.h"
#include "loop.h"
#include "options.h"
#include "output.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors that prun needs for each rank: two outputs, an input, a PMIx
 * connection. */
#define PRUN_FDS_PER_RANK 4
/* Besides these, with --output DIR. */
#define PRUN_FDS_FILES 2
/* Descriptors that prun and the PMIx library need besides. */
#define PRUN_FDS_OWN 64

/* For the exit handler only. */
static struct prun_job *prun_exit_job;

/* Open descriptors 0 to 2 if prun was started without them: prun's pipes must
 * not get these numbers. */
static void prun_open_standard_fds(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Raise the limit of descriptors as far as np ranks need. */
static void prun_raise_limit(struct prun_inherited *inherited,
                             const struct prun_options *options)
{
    uint32_t np = options->np;
    rlim_t per_rank =
        PRUN_FDS_PER_RANK + (options->output_dir ? PRUN_FDS_FILES : 0);
    rlim_t need = (rlim_t)np * per_rank + PRUN_FDS_OWN;
    getrlimit(RLIMIT_NOFILE, &inherited->files);
    struct rlimit limit = inherited->files;
    if (limit.rlim_max != RLIM_INFINITY && need > limit.rlim_max)
        prun_die(PRUN_EXIT_USAGE,
                 "-n %u needs %llu file descriptors and the limit is %llu; "
                 "raise it (ulimit -Hn) or start fewer ranks",
                 np, (unsigned long long)need,
                 (unsigned long long)limit.rlim_max);
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < need)
        limit.rlim_cur = need;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Open job->signal_fd, from which prun reads its signals. They are blocked
 * before any thread exists, so that no thread of the PMIx library receives one.
 */
static void prun_take_over_signals(struct prun_job *job,
                                   struct prun_inherited *inherited)
{
    struct sigaction action;
    sigset_t set;
    sigaction(SIGHUP, NULL, &action);
    inherited->hangup_ignored = action.sa_handler == SIG_IGN;
    action = (struct sigaction){.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGTTIN, &action, NULL);

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    if (!inherited->hangup_ignored)
        sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &inherited->mask);
    /* The ranks get these signals unblocked, even if prun's parent (such as a
     * test runner) blocks them: otherwise requests to end would not reach them.
     */
    for (int signal = 1; signal < NSIG; signal++)
        if (sigismember(&set, signal) == 1)
            sigdelset(&inherited->mask, signal);
    job->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (job->signal_fd < 0)
        prun_die(PRUN_EXIT_INTERNAL, "cannot create a signal descriptor: %m");
}

/* Remove what would make prun a part of a job that it was started in. Select
 * the PMIx data store "hash": the others leave files behind, which ranks map.
 */
static void prun_clean_environment(void)
{
    static const char *const names[] = {
        "PMIX_NAMESPACE",         "PMIX_RANK",          "PMIX_SERVER_URI",
        "PMIX_SERVER_URI2",       "PMIX_SERVER_URI21",  "PMIX_SERVER_URI3",
        "PMIX_SERVER_URI4",       "PMIX_SERVER_URI41",  "PMIX_SERVER_URI42",
        "PMIX_HOSTNAME",          "PMIX_GDS_MODULE",    "PMIX_SERVER_TMPDIR",
        "PMIX_SYSTEM_TMPDIR",     "PMIX_SERVER_RANK",   "PMIX_SERVER_NSPACE",
        "PMIX_LAUNCHER_RNDZ_URI", "PMIX_KEEPALIVE_PIPE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("PMIX_MCA_gds", "hash", 1);
}

/* Set host, name_space and directory of the job. A process that knows the
 * namespace can claim to be a rank: PMIx believes what a client says of its
 * user. So the namespace has 128 random bits, and no name that other users can
 * read contains it. */
static void prun_name_job(struct prun_job *job)
{
    uint64_t random[3];
    const char *parent = getenv("TMPDIR");
    char *resolved = realpath(parent && *parent ? parent : "/tmp", NULL);
    if (!resolved)
        prun_die(
            PRUN_EXIT_USAGE,
            "TMPDIR wants a directory, got '%s' (%m); set it to a writable one",
            parent ? parent : "/tmp");
    if (getrandom(random, sizeof random, 0) != sizeof random)
        prun_die(PRUN_EXIT_INTERNAL, "the system gives no random numbers: %m");
    if (gethostname(job->host, sizeof job->host - 1) != 0 || !job->host[0])
        snprintf(job->host, sizeof job->host, "localhost");
    snprintf(job->name_space, sizeof job->name_space,
             "prun-%d-%016" PRIx64 "%016" PRIx64, (int)getpid(), random[0],
             random[1]);
    job->directory = prun_format("%s/prun-%d-%08x", resolved, (int)getpid(),
                                 (unsigned)random[2]);
    free(resolved);
}

/* Clean up, also when prun_die exits. */
static void prun_at_exit(void)
{
    struct prun_job *job = prun_exit_job;
    if (!job)
        return;
    prun_exit_job = NULL;
    prun_remove_tree(job->directory);
    /* If ranks are left, the guardian kills them when prun is gone. */
    if (job->ended == job->started)
        prun_guardian_stop(job);
}

static void prun_prepare(struct prun_job *job, struct prun_inherited *inherited)
{
    int ends[2];
    prun_take_over_signals(job, inherited);
    prun_clean_environment();
    prun_name_job(job);
    /* The guardian starts before the directory is made, since it removes the
     * directory if prun is killed. */
    prun_guardian_start(job);
    prun_exit_job = job;
    atexit(prun_at_exit);
    if (mkdir(job->directory, 0700) != 0)
        prun_die(
            PRUN_EXIT_USAGE,
            "cannot make the directory %s (%m); set TMPDIR to a writable one",
            job->directory);
    /* Orphans of the ranks become children of prun, which reaps them. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        prun_die(PRUN_EXIT_INTERNAL, "cannot create a pipe: %m");
    job->status_read_fd = ends[0];
    job->status_write_fd = ends[1];
}

/* Fix the number of ranks, and place them on nodes and CPUs. */
static void prun_place(struct prun_job *job, struct prun_options *options,
                       struct prun_layout *layout,
                       struct prun_inherited *inherited)
{
    prun_machine_open(job, options);
    prun_options_check_ranks(options);
    prun_raise_limit(inherited, options);
    job->ranks = prun_alloc(options->np, sizeof *job->ranks);
    for (uint32_t i = 0; i < options->np; i++) {
        job->ranks[i].stdin_fd = -1;
        job->ranks[i].streams[0].fd = job->ranks[i].streams[1].fd = -1;
        job->ranks[i].files[0].fd = job->ranks[i].files[1].fd = -1;
    }
    prun_layout_make(layout, options, job->host);
    prun_bindings_make(job);
    prun_files_open(job);
    prun_display(job);
}

static void prun_launch_all(struct prun_job *job,
                            const struct prun_inherited *inherited)
{
    struct prun_launcher *launcher = prun_launcher_make(job, inherited);
    while (job->started < job->options->np && job->phase == PRUN_RUNNING) {
        if (!prun_launch_next(launcher))
            prun_job_fail(job, PRUN_EXIT_INTERNAL,
                          "rank %u of %u cannot be started (%m); see ulimit "
                          "-u and -n, or start fewer ranks",
                          job->started, job->options->np);
        /* Handle events meanwhile: output, ranks that end, signals. */
        if (job->started % 8 == 0)
            prun_loop_once(job, 0);
    }
    prun_launcher_free(launcher);
}

static void prun_run(struct prun_job *job,
                     const struct prun_inherited *inherited)
{
    if (job->options->timeout_ns)
        job->timeout_at_ns = ctn_clock_now_ns() + job->options->timeout_ns;
    prun_server_start(job, prun_bindings_topology(job));
    prun_sink_open(&job->sinks[0], STDOUT_FILENO);
    prun_sink_open(&job->sinks[1], STDERR_FILENO);
    prun_launch_all(job, inherited);
    while (!prun_job_done(job))
        prun_loop_once(job, UINT64_MAX);
    /* Kill processes of a failed job that left their rank's process group: 20
     * times, since they may fork meanwhile. */
    for (int i = 0; job->failed && i < 20 && prun_sweep(job->name_space); i++)
        usleep(5000);
    prun_loop_drain(job);
}

static void prun_finish(struct prun_job *job, struct prun_layout *layout)
{
    /* After a failure the PMIx library may wait for answers that never come: so
     * do not stop the server, and do not free what its threads use. */
    if (!job->failed)
        prun_server_stop(job);
    for (int i = 0; i < 2; i++)
        prun_sink_close(&job->sinks[i]);
    prun_files_close(job);
    prun_buffer_free(&job->input);
    prun_loop_free();
    if (!job->failed)
        prun_bindings_free(job);
    prun_layout_free(layout);
    free(job->ranks);
    job->ranks = NULL;
}

int main(int argc, char **argv)
{
    struct prun_options options;
    struct prun_inherited inherited;
    struct prun_layout layout;
    struct prun_job job = {
        .options = &options,
        .layout = &layout,
        .suspect = -1,
        .input_open = true,
        .guardian_fd = -1,
    };
    prun_open_standard_fds();
    prun_options_parse(&options, argc, argv);
    prun_prepare(&job, &inherited);
    prun_place(&job, &options, &layout, &inherited);
    prun_run(&job, &inherited);
    prun_finish(&job, &layout);
    int code = job.exit_code;
    prun_at_exit();
    fflush(NULL);
    /* Without exit handlers: after a failure, threads of the PMIx library still
     * run. */
    _exit(code);
}
