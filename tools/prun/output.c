/* Forwards output from the ranks' pipes to prun's stdout and stderr. With tags
 * or times only whole lines are forwarded. Otherwise an unfinished line is held
 * back for PRUN_HOLD_NS only, so that a prompt appears. After that, the output
 * of other ranks waits until the line ends, or for PRUN_OPEN_NS without further
 * output of this rank. */
#include "output.h"
#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PRUN_HOLD_NS 30000000u
#define PRUN_OPEN_NS 1000000000u
/* Queued output above which prun stops reading from ranks. */
#define PRUN_SINK_LIMIT_BYTES (1u << 20)
/* An unfinished line of this length is forwarded: with tags, and without. */
#define PRUN_LINE_LIMIT_BYTES (64u << 20)
#define PRUN_PLAIN_LIMIT_BYTES (64u << 10)

void prun_sink_open(struct prun_sink *sink, int fd)
{
    struct stat info;
    *sink = (struct prun_sink){.fd = fd};
    if (fstat(fd, &info) != 0) {
        sink->broken = true;
        return;
    }
    /* O_NONBLOCK is a flag of the open file, which prun shares with its parent.
     * So prun opens the pipe or terminal once more, for itself. */
    if (S_ISFIFO(info.st_mode) || (S_ISCHR(info.st_mode) && isatty(fd))) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (own >= 0)
            sink->fd = own;
    }
}

void prun_sink_close(struct prun_sink *sink)
{
    if (sink->fd > STDERR_FILENO)
        close(sink->fd);
    sink->fd = -1;
    free(sink->path);
    sink->path = NULL;
    prun_buffer_free(&sink->queue);
}

/* Make a directory, and the missing ones above it. */
static void prun_make_directory(const char *path)
{
    char *part = prun_format("%s", path);
    for (char *end = part + 1; *end; end++)
        if (*end == '/') {
            *end = 0;
            mkdir(part, 0777);
            *end = '/';
        }
    free(part);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        prun_die(PRUN_EXIT_USAGE,
                 "--output wants a directory that can be written, got '%s' "
                 "(%m); name another",
                 path);
}

/* Whether a file is one that can be written without a reader. */
static bool prun_is_plain(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 &&
           (S_ISREG(info.st_mode) || S_ISCHR(info.st_mode));
}

void prun_files_open(struct prun_job *job)
{
    static const char *const names[] = {"stdout", "stderr"};
    const char *directory = job->options->output_dir;
    if (!directory)
        return;
    prun_make_directory(directory);
    for (uint32_t rank = 0; rank < job->options->np; rank++)
        for (int i = 0; i < 2; i++) {
            struct prun_sink *file = &job->ranks[rank].files[i];
            file->path =
                prun_format("%s/rank.%u.%s", directory, rank, names[i]);
            /* Not blocking: a FIFO without a reader is refused. */
            file->fd = open(file->path,
                            O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
            file->kept = true;
            if (file->fd >= 0 && !prun_is_plain(file->fd))
                prun_die(PRUN_EXIT_USAGE,
                         "--output wants files, and %s is something else; "
                         "remove it, or name another directory",
                         file->path);
            if (file->fd < 0)
                prun_die(PRUN_EXIT_USAGE,
                         "--output wants a directory that can be written, and "
                         "%s cannot (%m); name another",
                         file->path);
        }
}

/* Remove what an earlier job has left. Not when the file is opened: if the
 * program cannot be started, that output stays. */
static void prun_file_empty(struct prun_sink *file)
{
    struct stat info;
    if (file->kept && fstat(file->fd, &info) == 0 && S_ISREG(info.st_mode) &&
        ftruncate(file->fd, 0) != 0)
        prun_error("cannot empty %s: %m", file->path);
    file->kept = false;
}

void prun_files_close(struct prun_job *job)
{
    bool lost = false;
    for (uint32_t i = 0; i < job->options->np; i++)
        for (int j = 0; j < 2; j++) {
            struct prun_sink *file = &job->ranks[i].files[j];
            if (i < job->started && !job->unstarted)
                prun_file_empty(file);
            lost |= file->path && file->broken;
            prun_sink_close(file);
        }
    if (lost && job->exit_code == 0)
        job->exit_code = PRUN_EXIT_INTERNAL;
}

void prun_sink_append(struct prun_sink *sink, const void *data, size_t bytes)
{
    if (!sink->broken)
        prun_buffer_append(&sink->queue, data, bytes);
}

bool prun_sink_pending(const struct prun_sink *sink)
{
    return !sink->broken && sink->queue.used > sink->sent;
}

bool prun_sink_full(const struct prun_sink *sink)
{
    return sink->queue.used - sink->sent > PRUN_SINK_LIMIT_BYTES;
}

/* Write once. send does not block on a socket, for which open fails; for other
 * files it returns ENOTSOCK. */
static ssize_t prun_sink_write(const struct prun_sink *sink)
{
    const char *data = sink->queue.data + sink->sent;
    size_t bytes = sink->queue.used - sink->sent;
    ssize_t done = send(sink->fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done >= 0 || errno != ENOTSOCK)
        return done;
    return write(sink->fd, data, bytes);
}

void prun_sink_flush(struct prun_sink *sink)
{
    if (prun_sink_pending(sink))
        prun_file_empty(sink);
    while (prun_sink_pending(sink)) {
        ssize_t done = prun_sink_write(sink);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (done < 0) {
            /* prun_stream_read closes the streams of a broken sink, so ranks
             * get SIGPIPE, as they would without prun. */
            if (sink->path)
                prun_error("cannot write %s: %m; output is lost, and a rank "
                           "that goes on writing gets SIGPIPE; free space, or "
                           "name another directory",
                           sink->path);
            sink->broken = true;
            sink->sent = sink->queue.used;
            break;
        }
        sink->sent += (size_t)done;
    }
    /* Move the rest to the front only if it is no longer than what was written:
     * so all moves together copy no more bytes than were written. */
    if (sink->sent > 0 && sink->sent * 2 >= sink->queue.used) {
        prun_buffer_consume(&sink->queue, sink->sent);
        sink->sent = 0;
    }
}

/* Write what precedes a line: "2026-01-31T12:00:00.123456 [3] ".
 * @return its length */
static size_t prun_prefix_text(const struct prun_stream *stream,
                               unsigned prefix, char text[64])
{
    size_t length = 0;
    if (prefix & PRUN_PREFIX_TIME) {
        struct timespec now;
        struct tm parts;
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &parts);
        length = strftime(text, 40, "%Y-%m-%dT%H:%M:%S", &parts);
        length +=
            (size_t)snprintf(text + length, 16, ".%06ld ", now.tv_nsec / 1000);
    }
    if (prefix & PRUN_PREFIX_RANK)
        length += (size_t)snprintf(text + length, 16, "[%u] ", stream->rank);
    return length;
}

/* Queue bytes of a rank: whole lines, or with a prefix also an unfinished one,
 * which is then ended. */
static void prun_emit(const struct prun_stream *stream, unsigned prefix,
                      const char *data, size_t bytes)
{
    char text[64];
    if (!prefix) {
        prun_sink_append(stream->sink, data, bytes);
        return;
    }
    size_t length = prun_prefix_text(stream, prefix, text);
    while (bytes > 0) {
        const char *end = memchr(data, '\n', bytes);
        size_t line = end ? (size_t)(end - data) + 1 : bytes;
        prun_sink_append(stream->sink, text, length);
        prun_sink_append(stream->sink, data, line);
        if (!end)
            prun_sink_append(stream->sink, "\n", 1);
        data += line;
        bytes -= line;
    }
}

/* Queue the first bytes that the stream holds. */
static void prun_emit_front(struct prun_stream *stream, unsigned prefix,
                            size_t bytes)
{
    if (bytes == 0)
        return;
    prun_emit(stream, prefix, stream->line.data, bytes);
    stream->sink->open =
        prefix || stream->line.data[bytes - 1] == '\n' ? NULL : stream;
    prun_buffer_consume(&stream->line, bytes);
}

/* Whether output of the stream may follow what its sink has. */
static bool prun_may_emit(const struct prun_stream *stream, uint64_t now_ns)
{
    const struct prun_stream *open = stream->sink->open;
    return !open || open == stream ||
           now_ns - open->held_since_ns >= PRUN_OPEN_NS;
}

static size_t prun_whole_lines(const struct prun_buffer *line)
{
    const char *last =
        line->used > 0 ? memrchr(line->data, '\n', line->used) : NULL;
    return last ? (size_t)(last - line->data) + 1 : 0;
}

/* Queue all of a stream that is closed. */
static void prun_stream_end(struct prun_stream *stream, unsigned prefix)
{
    prun_emit_front(stream, prefix, stream->line.used);
    if (stream->sink->open == stream)
        stream->sink->open = NULL;
    prun_buffer_free(&stream->line);
}

static void prun_stream_close(struct prun_stream *stream, unsigned prefix)
{
    close(stream->fd);
    stream->fd = -1;
    if (prun_may_emit(stream, ctn_clock_now_ns()))
        prun_stream_end(stream, prefix);
}

bool prun_stream_read(struct prun_stream *stream, unsigned prefix)
{
    static char chunk[65536]; /* as large as a pipe */
    if (stream->sink->broken) {
        prun_stream_close(stream, prefix);
        return false;
    }
    ssize_t got = read(stream->fd, chunk, sizeof chunk);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        prun_stream_close(stream, prefix);
        return false;
    }
    struct prun_buffer *line = &stream->line;
    prun_buffer_append(line, chunk, (size_t)got);
    stream->held_since_ns = ctn_clock_now_ns();
    size_t limit = prefix ? PRUN_LINE_LIMIT_BYTES : PRUN_PLAIN_LIMIT_BYTES;
    if (prun_may_emit(stream, stream->held_since_ns))
        prun_emit_front(stream, prefix, prun_whole_lines(line));
    else
        limit = PRUN_SINK_LIMIT_BYTES;
    if (line->used >= limit)
        prun_emit_front(stream, prefix, line->used);
    return true;
}

void prun_stream_age(struct prun_stream *stream, unsigned prefix,
                     uint64_t now_ns)
{
    if (prefix || stream->line.used == 0 || !prun_may_emit(stream, now_ns))
        return;
    if (stream->fd < 0) {
        prun_stream_end(stream, prefix);
        return;
    }
    prun_emit_front(stream, prefix, prun_whole_lines(&stream->line));
    if (now_ns - stream->held_since_ns >= PRUN_HOLD_NS)
        prun_emit_front(stream, prefix, stream->line.used);
}

void prun_stream_drain(struct prun_stream *stream, unsigned prefix)
{
    while (stream->fd >= 0 && prun_stream_read(stream, prefix))
        continue;
    if (stream->fd >= 0)
        prun_stream_close(stream, prefix);
    prun_stream_end(stream, prefix);
}
