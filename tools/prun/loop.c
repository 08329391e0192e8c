/* The event loop of prun: poll on all descriptors, then handle what has come.
 */
#include "loop.h"
#include "core/clock.h"

#include "input.h"
#include "job.h"
#include "output.h"
#include "server.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Interval of poll where no descriptor reports an event: for lines held back,
 * and for processes left behind in a rank's group. */
#define PRUN_POLL_NS 20000000u
/* The same for a terminal that may move prun to its foreground. */
#define PRUN_LOOK_SLOWLY_NS 500000000u
/* Time limit for writing the output of a failed job. */
#define PRUN_DRAIN_NS 800000000u

/* The arguments of poll, made anew for each call in the same memory. */
static struct pollfd *prun_fds;
/* The stream of each entry of prun_fds; NULL: it is no stream. */
static struct prun_stream **prun_streams;
static nfds_t prun_capacity; /* of both */

/* Add a descriptor to prun_fds. */
static void prun_watch(nfds_t *count, int fd, short events,
                       struct prun_stream *stream)
{
    if (*count == prun_capacity) {
        prun_capacity = prun_capacity ? 2 * prun_capacity : 64;
        prun_fds = prun_grow(prun_fds, prun_capacity * sizeof *prun_fds);
        prun_streams =
            prun_grow(prun_streams, prun_capacity * sizeof *prun_streams);
    }
    prun_fds[*count] = (struct pollfd){.fd = fd, .events = events};
    prun_streams[(*count)++] = stream;
}

/* Add the pipes of a rank. @return whether output is held back */
static bool prun_watch_rank(struct prun_job *job, struct prun_rank *rank,
                            nfds_t *count)
{
    bool held = false;
    for (int i = 0; i < 2; i++) {
        struct prun_stream *stream = &rank->streams[i];
        held |= stream->line.used > 0;
        if (stream->fd >= 0 && !prun_sink_full(stream->sink))
            prun_watch(count, stream->fd, POLLIN, stream);
    }
    if (prun_input_pending(job, rank))
        prun_watch(count, rank->stdin_fd, POLLOUT, NULL);
    return held;
}

/* The timeout for poll: the earliest of limit_ns, poll_ns, the job's next due
 * time and an hour. */
static int prun_wait_ms(const struct prun_job *job, uint64_t limit_ns,
                        uint64_t poll_ns)
{
    uint64_t now = ctn_clock_now_ns();
    uint64_t next = prun_job_next_ns(job);
    uint64_t wait_ns = limit_ns;
    if (next != UINT64_MAX && (next < now ? 0 : next - now) < wait_ns)
        wait_ns = next < now ? 0 : next - now;
    if (poll_ns < wait_ns)
        wait_ns = poll_ns;
    if (wait_ns > 3600000000000u)
        return 3600000;
    return (int)((wait_ns + 999999) / 1000000);
}

static void prun_take_signals(struct prun_job *job)
{
    struct signalfd_siginfo info;
    while (read(job->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        prun_job_signal(job, (int)info.ssi_signo);
}

static void prun_take_server_events(struct prun_job *job, int fd)
{
    uint64_t count;
    if (read(fd, &count, sizeof count) < 0)
        return;
    prun_job_check_events(job);
}

static void prun_move_input(struct prun_job *job)
{
    for (uint32_t i = 0; i < job->started; i++)
        prun_input_give(job, &job->ranks[i]);
    prun_input_drop(job);
}

static void prun_move_output(struct prun_job *job)
{
    uint64_t now = ctn_clock_now_ns();
    for (uint32_t i = 0; i < job->started; i++)
        for (int j = 0; j < 2; j++)
            prun_stream_age(&job->ranks[i].streams[j], job->options->prefix,
                            now);
    for (int j = 0; j < 2; j++)
        prun_sink_flush(&job->sinks[j]);
    for (uint32_t i = 0; job->options->output_dir && i < job->started; i++)
        for (int j = 0; j < 2; j++)
            prun_sink_flush(&job->ranks[i].files[j]);
}

/* Fill prun_fds. @return after how many ns to poll again without an event */
static uint64_t prun_watch_all(struct prun_job *job, nfds_t *count)
{
    uint64_t poll_ns = UINT64_MAX;
    prun_watch(count, job->signal_fd, POLLIN, NULL);
    prun_watch(count, prun_server_event_fd(job->server), POLLIN, NULL);
    prun_watch(count, job->status_read_fd, POLLIN, NULL);
    /* Always index 3; poll ignores a negative descriptor. */
    bool input = prun_input_wanted(job);
    prun_watch(count, input ? STDIN_FILENO : -1, POLLIN, NULL);
    if (!input && job->input_open && isatty(STDIN_FILENO))
        poll_ns = PRUN_LOOK_SLOWLY_NS;
    for (int i = 0; i < 2; i++)
        if (prun_sink_pending(&job->sinks[i]))
            prun_watch(count, job->sinks[i].fd, POLLOUT, NULL);
    for (uint32_t i = 0; i < job->started; i++)
        if (prun_watch_rank(job, &job->ranks[i], count))
            poll_ns = PRUN_POLL_NS;
    if (job->phase != PRUN_RUNNING)
        poll_ns = PRUN_POLL_NS;
    return poll_ns;
}

void prun_loop_once(struct prun_job *job, uint64_t limit_ns)
{
    nfds_t count = 0;
    uint64_t poll_ns = prun_watch_all(job, &count);
    if (poll(prun_fds, count, prun_wait_ms(job, limit_ns, poll_ns)) > 0) {
        if (prun_fds[0].revents)
            prun_take_signals(job);
        if (prun_fds[1].revents)
            prun_take_server_events(job, prun_fds[1].fd);
        if (prun_fds[2].revents)
            prun_job_check_events(job);
        if (prun_fds[3].revents)
            prun_input_read(job);
        for (nfds_t i = 4; i < count; i++)
            if (prun_streams[i] && prun_fds[i].revents &&
                prun_streams[i]->fd >= 0)
                prun_stream_read(prun_streams[i], job->options->prefix);
    }
    prun_move_input(job);
    prun_move_output(job);
    prun_job_tick(job, ctn_clock_now_ns());
}

static bool prun_sinks_pending(const struct prun_job *job)
{
    return prun_sink_pending(&job->sinks[0]) ||
           prun_sink_pending(&job->sinks[1]);
}

void prun_loop_drain(struct prun_job *job)
{
    for (uint32_t i = 0; i < job->started; i++)
        for (int j = 0; j < 2; j++)
            prun_stream_drain(&job->ranks[i].streams[j], job->options->prefix);
    uint64_t start = ctn_clock_now_ns();
    prun_move_output(job);
    /* Wait for a slow reader of prun's output without limit; after a failure,
     * or a signal to prun, only for PRUN_DRAIN_NS. */
    while (prun_sinks_pending(job) &&
           !(job->failed && ctn_clock_now_ns() - start > PRUN_DRAIN_NS)) {
        bool failed = job->failed;
        prun_loop_once(job, PRUN_POLL_NS);
        if (job->failed && !failed)
            start = ctn_clock_now_ns();
    }
}

void prun_loop_free(void)
{
    free(prun_fds);
    free(prun_streams);
    prun_fds = NULL;
    prun_streams = NULL;
    prun_capacity = 0;
}
