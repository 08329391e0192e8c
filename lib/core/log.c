/* Log messages, and the text of catena_last_error. */

#include "core/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
static _Thread_local char last_error[512];

const char *catena_last_error(void)
{
    return last_error;
}

static void write_line(const ctn_log_t *log, catena_log_level_t level,
                       const char *message)
{
    char line[LINE_BYTES];
    size_t used = put_head(line, sizeof(line), log, level);
    int length = snprintf(line + used, sizeof(line) - used, "%s", message);
    used += length > 0 ? (size_t)length : 0;
    if (used > sizeof(line) - 2)
        used = sizeof(line) - 2;
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
    if (kept)
        (void)snprintf(last_error, sizeof(last_error), "%.511s", message);
    if (!written)
        return;
    if (log != NULL && log->sink != NULL)
        log->sink(log->argument, level, message);
    else
        write_line(log, level, message);
}
