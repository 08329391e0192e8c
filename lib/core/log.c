/* Log messages, and the text of catena_last_error. */

#include "core/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/process.h"

static const char *const level_names[] = {"FATAL", "ERROR", "WARN",
                                          "INFO",  "DEBUG", "TRACE"};

/* Longer messages are truncated: a line is one write, so lines of many ranks on
 * one terminal do not mix. */
enum { LINE_BYTES = 2048 };

/** Write "[catena HOST:RANK] LEVEL " to a line. @return its length */
static size_t put_head(char *line, size_t bytes, const ctn_log_t *log,
                       catena_log_level_t level)
{
    char host[sizeof(log->host)] = "";
    int length;

    if (log != NULL && log->host[0] != '\0')
        snprintf(host, sizeof(host), "%s", log->host);
    else if (gethostname(host, sizeof(host)) != 0)
        snprintf(host, sizeof(host), "?");
    host[sizeof(host) - 1] = '\0'; /* gethostname may not terminate it */

    if (log != NULL && log->rank >= 0)
        length = snprintf(line, bytes, "[catena %s:%d] %s ", host, log->rank,
                          level_names[level]);
    else
        length =
            snprintf(line, bytes, "[catena %s] %s ", host, level_names[level]);
    return length < 0 ? 0 : (size_t)length;
}

/* The text of catena_last_error. Each thread has its own. It does not belong to
 * a context, since callers ask for it after a catena_init that has failed. */
static _Thread_local char last_error[CTN_LAST_ERROR_BYTES];
static _Thread_local char *last_error_elsewhere;
static _Thread_local bool last_error_returned; /* a call has failed with it */

const char *catena_last_error(void)
{
    return last_error;
}

void ctn_log_keep_last_error_in(char *text)
{
    last_error_elsewhere = text;
}

void ctn_log_take_last_error(char *text)
{
    if (last_error_elsewhere == NULL && text[0] != '\0') {
        memcpy(last_error, text, sizeof(last_error));
        text[0] = '\0';
        last_error_returned = false;
    }
}

void ctn_log_returns_error(const char *call, catena_status_t status)
{
    if (last_error[0] == '\0' || last_error_returned) {
        ctn_error(ctn_log_kept(),
                  "%s: %s; the message of another rank says why", call,
                  catena_status_string(status));
    }
    last_error_returned = true;
}

/* ---- one line a job ---- */

/** The launcher's directory for this job, which it removes at the end; NULL:
 * there is none that only this user can access. */
static const char *job_directory(void)
{
    const char *directory = secure_getenv("PMIX_SERVER_TMPDIR");
    struct stat info;
    return directory != NULL && stat(directory, &info) == 0 &&
                   info.st_uid == geteuid() && (info.st_mode & 077) == 0
               ? directory
               : NULL;
}

/** Whether all ranks write to the same place, as far as that can be told: their
 * launcher reads what they write. */
static bool shares_stderr(void)
{
    struct stat info;
    return fstat(STDERR_FILENO, &info) == 0 &&
           (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) ||
            isatty(STDERR_FILENO));
}

bool ctn_log_folds(void)
{
    return secure_getenv("PMIX_NAMESPACE") != NULL && job_directory() != NULL &&
           shares_stderr();
}

/** Claim a message for this process, by a file that only one process can make,
 * and that has its number. @return whether another process has claimed it */
static bool claimed_by_other(uint64_t hash)
{
    char path[512];
    struct {
        uint64_t pid, space;
    } own = {(uint64_t)getpid(), ctn_pid_space()}, holder = {0, 0};
    const char *job = secure_getenv("PMIX_NAMESPACE");
    const char *directory = job_directory();
    if (job == NULL || directory == NULL || !shares_stderr() ||
        snprintf(path, sizeof(path), "%s/catena-log-%016" PRIx64, directory,
                 ctn_hash_add_text(hash, job)) >= (int)sizeof(path)) {
        return false;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) {
        ssize_t written = write(file, &own, sizeof(own));
        (void)written; /* without it this process writes the message once */
        close(file);
        return false;
    }
    file = errno == EEXIST ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, &holder, sizeof(holder));
    close(file);
    return got >= 0 && (holder.pid != own.pid || holder.space != own.space);
}

/** The same for a simulated job: whether its last message was this one, of
 * another rank. */
static bool logged_by_other(const ctn_log_t *log, uint64_t hash)
{
    enum { RANK_BITS = 20 };
    uint64_t own = hash << RANK_BITS |
                   ((uint64_t)log->rank & ((UINT64_C(1) << RANK_BITS) - 1));
    uint64_t last = __atomic_load_n(log->last, __ATOMIC_RELAXED);
    bool same_rank = log->rank >= 0 && last == own;
    if (!same_rank && last >> RANK_BITS == own >> RANK_BITS) {
        return true;
    }
    __atomic_store_n(log->last, own, __ATOMIC_RELAXED);
    return false;
}

/** Whether another rank has written this message, which then stands for all.
 * In doubt it is written.
 * @param hash of the message */
static bool is_folded(const ctn_log_t *log, catena_log_level_t level,
                      uint64_t hash)
{
    if (level > CATENA_LOG_WARN ||
        (log != NULL && (log->each || log->level > CATENA_LOG_WARN))) {
        return false;
    }
    int error = errno;
    bool folded = log != NULL && log->last != NULL ? logged_by_other(log, hash)
                                                   : claimed_by_other(hash);
    errno = error;
    return folded;
}

/** Write a line, with '?' for control characters such as newlines of a setting
 * that the text quotes. */
static void write_line(const ctn_log_t *log, catena_log_level_t level,
                       const char *message)
{
    char line[LINE_BYTES];
    size_t used = put_head(line, sizeof(line), log, level);
    int length = snprintf(line + used, sizeof(line) - used, "%s", message);
    used += length > 0 ? (size_t)length : 0;
    if (used > sizeof(line) - 2)
        used = sizeof(line) - 2;
    for (size_t i = 0; i < used; i++)
        if (iscntrl((unsigned char)line[i]))
            line[i] = '?';
    line[used] = '\n';
    line[used + 1] = '\0';
    fputs(line, stderr);
}

void ctn_log_write(const ctn_log_t *log, catena_log_level_t level,
                   const char *format, ...)
{
    catena_log_level_t most = log != NULL ? log->level : CATENA_LOG_WARN;
    bool written = level <= most && most != CTN_LOG_NOTHING;
    bool kept = level <= CATENA_LOG_ERROR && most != CTN_LOG_NOTHING;
    char message[LINE_BYTES] = "";
    va_list arguments;

    if (!written && !kept)
        return;

    va_start(arguments, format);
    (void)vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    char *of_rank = strstr(message, CTN_OF_RANK);
    if (of_rank != NULL)
        *of_rank = '\0';
    uint64_t hash = ctn_hash_add_text((uint64_t)level, message);
    if (of_rank != NULL)
        memmove(of_rank, of_rank + 1, strlen(of_rank + 1) + 1);
    if (kept && last_error_elsewhere == NULL)
        last_error_returned = false;
    if (kept)
        (void)snprintf(last_error_elsewhere != NULL ? last_error_elsewhere
                                                    : last_error,
                       CTN_LAST_ERROR_BYTES, "%.511s", message);
    if (!written)
        return;
    if (log != NULL && log->sink != NULL)
        log->sink(log->argument, level, message);
    else if (!is_folded(log, level, hash))
        write_line(log, level, message);
}
