/* Forwards prun's stdin to the ranks that read it, up to 64 KiB at a time
 * (job->input). prun reads again only when every rank has taken all of that: so
 * the slowest rank holds the others back, and memory stays bounded. */
#include "input.h"

#include <errno.h>
#include <unistd.h>

/* Whether a rank reads prun's stdin. */
static bool prun_input_has_target(const struct prun_job *job)
{
    for (uint32_t i = 0; i < job->started; i++)
        if (job->ranks[i].stdin_fd >= 0)
            return true;
    return false;
}

bool prun_input_wanted(const struct prun_job *job)
{
    /* Ranks not yet started must not miss the beginning. */
    if (!job->input_open || job->input.used > 0 ||
        job->started < job->options->np || !prun_input_has_target(job))
        return false;
    return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void prun_input_read(struct prun_job *job)
{
    char chunk[65536];
    ssize_t got = read(STDIN_FILENO, chunk, sizeof chunk);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got < 0 && errno == EIO && isatty(STDIN_FILENO))
        return; /* the terminal has moved prun to the background */
    if (got <= 0)
        job->input_open = false;
    else
        prun_buffer_append(&job->input, chunk, (size_t)got);
}

bool prun_input_pending(const struct prun_job *job,
                        const struct prun_rank *rank)
{
    return rank->stdin_fd >= 0 && rank->stdin_sent < job->input.used;
}

void prun_input_close(struct prun_rank *rank)
{
    if (rank->stdin_fd >= 0)
        close(rank->stdin_fd);
    rank->stdin_fd = -1;
}

void prun_input_give(struct prun_job *job, struct prun_rank *rank)
{
    if (!prun_input_pending(job, rank))
        return;
    ssize_t done = write(rank->stdin_fd, job->input.data + rank->stdin_sent,
                         job->input.used - rank->stdin_sent);
    if (done >= 0)
        rank->stdin_sent += (size_t)done;
    else if (errno != EAGAIN && errno != EINTR)
        prun_input_close(rank);
}

void prun_input_drop(struct prun_job *job)
{
    for (uint32_t i = 0; i < job->started; i++)
        if (prun_input_pending(job, &job->ranks[i]))
            return;
    for (uint32_t i = 0; i < job->started; i++) {
        job->ranks[i].stdin_sent = 0;
        if (!job->input_open && job->started == job->options->np)
            prun_input_close(&job->ranks[i]);
    }
    job->input.used = 0;
}
