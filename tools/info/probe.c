/* Runs jobs in child processes. */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"

enum {
    LINE_BYTES = 2048, /* less than PIPE_BUF: lines do not mix */
    TEXT_BYTES = 256 << 10,
    RANKS = 2,
};
/* A line "E": the status, a blank, and why. */
enum { KIND_ERROR = 'E' };

/* ---- in a rank ---- */

void probe_say(int to, int kind, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    line[0] = (char)kind;
    va_start(arguments, format);
    int length = vsnprintf(line + 1, sizeof(line) - 2, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return;
    }
    if ((size_t)length > sizeof(line) - 3) {
        length = (int)sizeof(line) - 3;
    }
    line[length + 1] = '\n';
    ssize_t written = write(to, line, (size_t)length + 2);
    (void)written;
}

/** Of catena_config_t. Errors are reported at the end. */
static void on_log(void *argument, int level, const char *message)
{
    const int *to = argument;
    if (level == CATENA_LOG_WARN || level == CATENA_LOG_INFO) {
        probe_say(*to, level == CATENA_LOG_WARN ? PROBE_WARNING : PROBE_INFO,
                  "%s", message);
    }
}

/** One end of the socket pair. */
typedef struct rank_link {
    int rank;
    int socket;
} rank_link_t;

static bool move_all(int socket, bool to, void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t done = to ? send(socket, at, bytes, MSG_NOSIGNAL)
                          : recv(socket, at, bytes, 0);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        at += done;
        bytes -= (size_t)done;
    }
    return true;
}

/** Of catena_oob_t, for two ranks. */
static int allgather(void *argument, const void *send_data, void *receive,
                     size_t bytes)
{
    const rank_link_t *link = argument;
    char *all = receive;
    char *own = all + (size_t)link->rank * bytes;
    char *other = all + (size_t)(1 - link->rank) * bytes;
    memcpy(own, send_data, bytes);
    /* One after the other: blocks may be longer than the socket's buffer. */
    bool fine = link->rank == 0
                    ? move_all(link->socket, true, own, bytes) &&
                          move_all(link->socket, false, other, bytes)
                    : move_all(link->socket, false, other, bytes) &&
                          move_all(link->socket, true, own, bytes);
    return fine ? 0 : 1;
}

/** Collect the settings of a rank. */
static void settings_of(const probe_t *probe, int rank, const char *list[16])
{
    static const char *const node[RANKS] = {"BOOT_NODE=doctor-0",
                                            "BOOT_NODE=doctor-1"};
    size_t count = 0;
    for (size_t i = 0;
         probe->settings != NULL && probe->settings[i] != NULL && count < 12;
         i++) {
        list[count++] = probe->settings[i];
    }
    if (probe->nodes) {
        list[count++] = node[rank];
    }
    if (probe->ranks == 1 && !probe->as_is) {
        list[count++] = "BOOT=singleton";
    }
    list[count] = NULL;
}

/** Run a rank. */
static _Noreturn void run_rank(const probe_t *probe, int rank, int socket,
                               int to)
{
    rank_link_t link = {rank, socket};
    const char *settings[16];
    catena_oob_t oob = {.size = sizeof(oob),
                        .rank = rank,
                        .ranks = probe->ranks,
                        .allgather = allgather,
                        .argument = &link};
    catena_config_t config = {.size = sizeof(config),
                              .settings = settings,
                              .log = on_log,
                              .log_argument = &to,
                              .oob = probe->ranks > 1 ? &oob : NULL};
    catena_context_t *context = NULL;
    settings_of(probe, rank, settings);
    catena_status_t status = catena_init(&config, &context);
    if (status == CATENA_OK && probe->work != NULL) {
        status = probe->work(context, to);
    }
    if (status == CATENA_OK) {
        status = catena_finalize(&context);
    }
    if (status != CATENA_OK) {
        const char *why = catena_last_error();
        probe_say(to, KIND_ERROR, "%d %s", (int)status,
                  *why != '\0' ? why : catena_status_string(status));
    }
    /* The other rank may wait for this one: it ends without its part. */
    _exit(status == CATENA_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/** Prepare a child, and run its rank. Standard error becomes the pipe: UCX
 * writes there, too. */
static _Noreturn void start_rank(const probe_t *probe, int rank,
                                 const int sockets[RANKS], const int out[2],
                                 pid_t parent)
{
    int none = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    if (none >= 0) {
        (void)dup2(none, STDIN_FILENO);
        (void)dup2(none, STDOUT_FILENO);
        close(none);
    }
    (void)dup2(out[1], STDERR_FILENO);
    close(out[0]);
    if (sockets[1 - rank] >= 0) {
        close(sockets[1 - rank]);
    }
    run_rank(probe, rank, sockets[rank], out[1]);
}

/* ---- in this process ---- */

/** Read what the ranks write until all have ended, or it takes too long.
 * @return false: it took too long */
static bool read_lines(int from, uint64_t deadline_ns, char *text)
{
    size_t used = 0;
    for (;;) {
        uint64_t now = ctn_clock_now_ns();
        struct pollfd event = {.fd = from, .events = POLLIN};
        if (now >= deadline_ns) {
            return false;
        }
        int left_ms = (int)((deadline_ns - now) / 1000000) + 1;
        if (poll(&event, 1, left_ms) <= 0) {
            continue;
        }
        char discarded[LINE_BYTES];
        size_t space = TEXT_BYTES - 1 - used;
        ssize_t bytes = space > 0 ? read(from, text + used, space)
                                  : read(from, discarded, sizeof(discarded));
        if (bytes == 0) {
            return true;
        }
        if (bytes > 0 && space > 0) {
            used += (size_t)bytes;
            text[used] = '\0';
        }
    }
}

/** Keep why a job failed; the first reason counts. */
__attribute__((format(printf, 3, 4))) static void
fail(probe_result_t *result, catena_status_t status, const char *format, ...)
{
    va_list arguments;
    if (result->status != CATENA_OK) {
        return;
    }
    result->status = status;
    va_start(arguments, format);
    (void)vsnprintf(result->error, sizeof(result->error), format, arguments);
    va_end(arguments);
}

/** Split the text into lines, and find the first error. */
static void split_lines(probe_result_t *result)
{
    char *rest = NULL;
    for (char *line = strtok_r(result->text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *why;
        long status =
            line[0] == KIND_ERROR ? strtol(line + 1, &why, 10) : CATENA_OK;
        if (status != CATENA_OK && *why == ' ') {
            /* The message of the rank that has failed first is better. */
            if (strstr(result->error, "see its message") != NULL) {
                result->status = CATENA_OK;
            }
            fail(result, (catena_status_t)status, "%s", why + 1);
        }
        if (result->lines < PROBE_LINES) {
            result->line[result->lines++] = line;
        }
    }
}

/** Wait for a rank, which has ended or was killed. */
static void reap(probe_result_t *result, int rank, pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        fail(result, CATENA_ERR_SYSTEM, "rank %d was ended by signal %d (%s)",
             rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) != EXIT_SUCCESS) {
        fail(result, CATENA_ERR_SYSTEM, "rank %d ended with exit code %d", rank,
             WEXITSTATUS(status));
    }
}

/** Start the ranks, read what they write, and wait for them. */
static void run_ranks(const probe_t *probe, probe_result_t *result,
                      int sockets[RANKS], const int out[2])
{
    pid_t pid[RANKS] = {-1, -1};
    pid_t parent = getpid();
    uint64_t since = ctn_clock_now_ns();
    for (int i = 0; i < probe->ranks; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            start_rank(probe, i, sockets, out, parent);
        }
        if (pid[i] < 0) {
            fail(result, CATENA_ERR_SYSTEM, "cannot start a process: %s",
                 strerror(errno));
        }
    }
    close(out[1]);
    for (int i = 0; i < RANKS; i++) {
        if (sockets[i] >= 0) {
            close(sockets[i]);
        }
    }
    bool in_time = read_lines(
        out[0], since + PROBE_SECONDS * UINT64_C(1000000000), result->text);
    split_lines(result);
    if (!in_time) {
        fail(result, CATENA_ERR_SYSTEM, "the ranks did not end within %d s",
             PROBE_SECONDS);
    }
    for (int i = 0; i < probe->ranks; i++) {
        if (pid[i] > 0) {
            if (!in_time) {
                kill(pid[i], SIGKILL);
            }
            reap(result, i, pid[i]);
        }
    }
    result->seconds = (double)(ctn_clock_now_ns() - since) / 1e9;
}

void probe_run(const probe_t *probe, probe_result_t *result)
{
    int sockets[RANKS] = {-1, -1};
    int out[2] = {-1, -1};
    *result = (probe_result_t){.status = CATENA_OK};
    result->text = calloc(1, TEXT_BYTES);
    if (result->text == NULL) {
        fail(result, CATENA_ERR_NO_MEMORY, "out of memory");
        return;
    }
    if (pipe2(out, O_CLOEXEC) != 0) {
        fail(result, CATENA_ERR_SYSTEM, "cannot make a pipe: %s",
             strerror(errno));
        return;
    }
    if (probe->ranks > 1 &&
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        fail(result, CATENA_ERR_SYSTEM, "cannot make a socket pair: %s",
             strerror(errno));
        close(out[1]);
    } else {
        fflush(NULL);
        run_ranks(probe, result, sockets, out);
    }
    close(out[0]);
}

void probe_free(probe_result_t *result)
{
    free(result->text);
    result->text = NULL;
    result->lines = 0;
}

const char *probe_next(const probe_result_t *result, int kind, size_t *at)
{
    while (*at < result->lines) {
        const char *line = result->line[(*at)++];
        if (line[0] == kind) {
            return line + 1;
        }
    }
    return NULL;
}
