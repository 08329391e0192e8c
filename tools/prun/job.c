/* How the job ends: which failure is the first, its report, TERM and then KILL
 * to the ranks. */
#include "job.h"
#include "core/clock.h"

#include "explain.h"
#include "guardian.h"
#include "input.h"
#include "launch.h"
#include "output.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time from TERM to KILL, after a failure and after a signal from the user. */
#define PRUN_GRACE_NS 500000000u
#define PRUN_USER_GRACE_NS 3000000000u
/* Time from KILL to the next KILL: processes may have forked meanwhile. */
#define PRUN_KILL_AGAIN_NS 200000000u
/* Interval and number of the polls of prun_await_killed, 90 ms together. A
 * process that is killed closes its sockets, on which its peers fail, before
 * its parent is notified: on busy cores tens of milliseconds before. */
#define PRUN_SETTLE_US 3000
#define PRUN_SETTLE_POLLS 30

static void prun_report_list(struct prun_job *job, const char *format,
                             va_list list)
{
    char line[PRUN_LINE_BYTES];
    prun_sink_append(&job->sinks[1], line, prun_line(line, format, list));
}

void prun_job_report(struct prun_job *job, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    prun_report_list(job, format, list);
    va_end(list);
}

/* Send a signal to the process groups of all ranks. */
static void prun_kill_groups(const struct prun_job *job, int signal)
{
    for (uint32_t i = 0; i < job->started; i++)
        if (!job->ranks[i].group_gone)
            kill(-job->ranks[i].pid, signal);
}

static void prun_end_ranks(struct prun_job *job, int signal, uint64_t grace_ns)
{
    job->phase = PRUN_ENDING;
    job->kill_at_ns = ctn_clock_now_ns() + grace_ns;
    /* First all ranks stop, so that none finds that another one has ended, and
     * reports it. A stopped process reacts to KILL only: then all go on. */
    prun_kill_groups(job, SIGSTOP);
    prun_kill_groups(job, signal);
    prun_kill_groups(job, SIGCONT);
}

static void prun_kill_ranks(struct prun_job *job)
{
    job->phase = PRUN_KILLED;
    job->kill_at_ns = ctn_clock_now_ns() + PRUN_KILL_AGAIN_NS;
    prun_kill_groups(job, SIGKILL);
}

void prun_job_fail(struct prun_job *job, int code, const char *format, ...)
{
    if (job->phase != PRUN_RUNNING)
        return;
    va_list list;
    va_start(list, format);
    prun_report_list(job, format, list);
    va_end(list);
    job->failed = true;
    job->exit_code = code;
    prun_end_ranks(job, SIGTERM, PRUN_GRACE_NS);
}

/* Write "; the other 3 ranks were ended", for the end of a report. */
static const char *prun_others(const struct prun_job *job, char text[64])
{
    uint32_t others = job->started - job->ended;
    if (others == 0)
        text[0] = 0;
    else
        snprintf(text, 64, "; the other %u rank%s ended", others,
                 others == 1 ? " was" : "s were");
    return text;
}

static const char *prun_host_of(const struct prun_job *job, uint32_t rank)
{
    return job->layout->nodes[job->layout->node_of[rank]].name;
}

/* Let the job fail, for how this rank has ended. */
static void prun_blame(struct prun_job *job, uint32_t rank)
{
    const struct prun_rank *it = &job->ranks[rank];
    int status = it->status;
    char others[64];
    prun_others(job, others);
    if (WIFSIGNALED(status)) {
        int signal = WTERMSIG(status);
        prun_job_fail(job, 128 + signal,
                      "rank %u (pid %d on %s) was killed by signal %d (%s)%s",
                      rank, (int)it->pid, prun_host_of(job, rank), signal,
                      strsignal(signal), others);
    } else if (WEXITSTATUS(status) != 0) {
        prun_job_fail(job, WEXITSTATUS(status),
                      "rank %u (pid %d on %s) exited with code %d%s", rank,
                      (int)it->pid, prun_host_of(job, rank),
                      WEXITSTATUS(status), others);
    } else {
        prun_job_fail(job, PRUN_EXIT_INTERNAL,
                      "rank %u (pid %d on %s) exited with code 0 without "
                      "catena_finalize (PMIx_Finalize)%s",
                      rank, (int)it->pid, prun_host_of(job, rank), others);
    }
}

/* The job goes on without this rank. The job's exit code is the first
 * code other than 0 of a rank that has exited by itself. */
static void prun_lose(struct prun_job *job, uint32_t rank)
{
    const struct prun_rank *it = &job->ranks[rank];
    int status = it->status;
    bool killed = WIFSIGNALED(status);
    job->lost++;
    prun_job_report(
        job, "rank %u (pid %d on %s) %s %d%s%s%s; %u ranks are left", rank,
        (int)it->pid, prun_host_of(job, rank),
        killed ? "was killed by signal" : "exited with code",
        killed ? WTERMSIG(status) : WEXITSTATUS(status), killed ? " (" : "",
        killed ? strsignal(WTERMSIG(status)) : "", killed ? ")" : "",
        job->started - job->ended);
    if (job->exit_code == 0 && !killed)
        job->exit_code = WEXITSTATUS(status);
    if (job->lost == job->options->np && job->exit_code == 0)
        job->exit_code = killed ? 128 + WTERMSIG(status) : PRUN_EXIT_INTERNAL;
}

/* The first process of a rank was reaped. The first failure makes its rank the
 * suspect; a rank killed by a signal replaces one that exited. */
static void prun_rank_ended(struct prun_job *job, uint32_t rank, int status)
{
    struct prun_rank *it = &job->ranks[rank];
    it->ended = true;
    it->status = status;
    job->ended++;
    prun_input_close(it);
    if (job->options->verbose)
        prun_job_report(job, "rank %u (pid %d on %s) ended after %.3f s, %s %d",
                        rank, (int)it->pid, prun_host_of(job, rank),
                        (double)(ctn_clock_now_ns() - it->started_ns) / 1e9,
                        WIFSIGNALED(status) ? "by signal" : "with code",
                        WIFSIGNALED(status) ? WTERMSIG(status)
                                            : WEXITSTATUS(status));
    bool failed = status != 0 || (job->suspect < 0 && job->server &&
                                  prun_server_forgotten(job->server, rank));
    if (failed && job->options->continuous && job->phase == PRUN_RUNNING &&
        job->server && prun_server_joined(job->server)) {
        prun_lose(job, rank);
        return;
    }
    if (failed &&
        (job->suspect < 0 || (WIFSIGNALED(status) &&
                              !WIFSIGNALED(job->ranks[job->suspect].status))))
        job->suspect = rank;
}

/* Find the process groups that have become empty. Orphans become children of
 * prun (PR_SET_CHILD_SUBREAPER), so a group's number stays in use until prun
 * has reaped its last process. */
static void prun_check_groups(struct prun_job *job)
{
    for (uint32_t i = 0; i < job->started; i++) {
        struct prun_rank *rank = &job->ranks[i];
        if (!rank->ended || rank->group_gone)
            continue;
        if (kill(-rank->pid, 0) != 0 && errno == ESRCH) {
            rank->group_gone = true;
            prun_guardian_leave(job->guardian_fd, rank->pid);
        }
    }
}

/* Reap the processes that have ended. */
static void prun_collect(struct prun_job *job)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == job->guardian_pid) {
            job->guardian_pid = 0; /* PR_SET_PDEATHSIG still ends ranks */
            continue;
        }
        uint32_t rank = 0;
        while (rank < job->started &&
               (job->ranks[rank].pid != pid || job->ranks[rank].ended))
            rank++;
        if (rank < job->started)
            prun_rank_ended(job, rank, status);
    }
}

/* When a rank is killed, the other ranks lose a peer. They may exit or abort
 * before the system reports the killed rank. The killed rank is the cause, so
 * prun waits a moment for the report. */
static void prun_await_killed(struct prun_job *job)
{
    for (int look = 0; look < PRUN_SETTLE_POLLS; look++) {
        if (job->suspect >= 0 && WIFSIGNALED(job->ranks[job->suspect].status))
            return;
        usleep(PRUN_SETTLE_US);
        prun_collect(job);
    }
}

static void prun_check_abort(struct prun_job *job)
{
    struct prun_abort abort;
    char others[64];
    if (job->phase != PRUN_RUNNING || !job->server ||
        !prun_server_aborted(job->server, &abort) || abort.rank >= job->started)
        return;
    prun_await_killed(job);
    if (job->suspect >= 0 && WIFSIGNALED(job->ranks[job->suspect].status)) {
        prun_blame(job, (uint32_t)job->suspect);
        return;
    }
    /* The rank that aborts usually still runs; "the other ranks" in the report
     * are those without it. */
    bool itself = !job->ranks[abort.rank].ended;
    job->ended += itself;
    prun_others(job, others);
    job->ended -= itself;
    int code = abort.code & 0xff;
    prun_job_fail(job, code ? code : 1,
                  "rank %u (pid %d on %s) called PMIx_Abort with code %d%s%s%s",
                  abort.rank, (int)job->ranks[abort.rank].pid,
                  prun_host_of(job, abort.rank), abort.code,
                  abort.message[0] ? ": " : "", abort.message, others);
}

/* Read the children's reports that exec failed. */
static void prun_check_exec(struct prun_job *job)
{
    struct prun_exec_error error;
    while (read(job->status_read_fd, &error, sizeof error) ==
           (ssize_t)sizeof error) {
        const struct prun_app *app = prun_app_of(job->options, error.rank);
        job->unstarted = true;
        bool missing = error.error == ENOENT || error.error == ENOTDIR;
        int code = missing ? PRUN_EXIT_NOT_FOUND : PRUN_EXIT_NOT_EXECUTABLE;
        if (error.wdir)
            prun_job_fail(job, PRUN_EXIT_USAGE,
                          "--wdir wants a directory that ranks may enter, got "
                          "'%s' (%s); name another",
                          app->wdir, strerror(error.error));
        else if (missing)
            prun_job_fail(job, code,
                          "program '%s' was not found (%s); give its path, or "
                          "put its directory into PATH",
                          app->program, strerror(error.error));
        else
            prun_job_fail(job, code,
                          "program '%s' cannot be executed (%s); see its "
                          "permissions and format",
                          app->program, strerror(error.error));
    }
}

void prun_job_check_events(struct prun_job *job)
{
    prun_check_exec(job);
    prun_check_abort(job);
}

void prun_job_reap(struct prun_job *job)
{
    prun_collect(job);
    /* A rank's exec error or PMIx_Abort explains its end better than its exit
     * code does. */
    prun_job_check_events(job);
    if (job->suspect >= 0 && job->phase == PRUN_RUNNING) {
        prun_await_killed(job);
        prun_job_check_events(job);
        if (job->phase == PRUN_RUNNING)
            prun_blame(job, (uint32_t)job->suspect);
    }
    prun_check_groups(job);
}

/* INT, TERM or HUP: end the job with this signal. */
static void prun_interrupt(struct prun_job *job, int signal)
{
    job->interrupts++;
    if (job->phase != PRUN_RUNNING) {
        prun_kill_ranks(job); /* a second signal: KILL at once */
        return;
    }
    job->failed = true;
    job->exit_code = 128 + signal;
    prun_job_report(job, "got signal %d (%s) and forwarded it to %u ranks",
                    signal, strsignal(signal), job->started - job->ended);
    prun_end_ranks(job, signal, PRUN_USER_GRACE_NS);
}

void prun_job_signal(struct prun_job *job, int signal)
{
    if (signal == SIGCHLD)
        prun_job_reap(job);
    else if (signal == SIGUSR1)
        prun_kill_groups(job, signal);
    else if (signal == SIGUSR2) {
        if (!prun_explain(job))
            prun_job_report(job,
                            "got signal %d (%s), but no rank can say what "
                            "it does: none is in catena",
                            signal, strsignal(signal));
    } else
        prun_interrupt(job, signal);
}

void prun_job_tick(struct prun_job *job, uint64_t now_ns)
{
    if (job->timeout_at_ns && now_ns >= job->timeout_at_ns) {
        job->timeout_at_ns = 0;
        (void)prun_explain(job);
        prun_job_fail(job, PRUN_EXIT_TIMEOUT,
                      "the job ran longer than --timeout %s seconds; its %u "
                      "ranks were ended",
                      job->options->timeout_text, job->started - job->ended);
    }
    if (job->phase != PRUN_RUNNING && now_ns >= job->kill_at_ns)
        prun_kill_ranks(job);
}

uint64_t prun_job_next_ns(const struct prun_job *job)
{
    uint64_t next = job->timeout_at_ns ? job->timeout_at_ns : UINT64_MAX;
    if (job->phase != PRUN_RUNNING && job->kill_at_ns < next)
        next = job->kill_at_ns;
    return next;
}

bool prun_job_done(struct prun_job *job)
{
    bool complete =
        job->started == job->options->np || job->phase != PRUN_RUNNING;
    if (!complete || job->ended < job->started)
        return false;
    prun_check_groups(job);
    for (uint32_t i = 0; i < job->started; i++) {
        if (job->ranks[i].group_gone)
            continue;
        /* All ranks have ended, but this one left processes in its group. */
        if (job->phase == PRUN_RUNNING)
            prun_end_ranks(job, SIGTERM, PRUN_GRACE_NS);
        return false;
    }
    return true;
}
