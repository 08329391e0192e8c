#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"FATAL", "ERROR", "WARN",
                                          "INFO",  "DEBUG", "TRACE"};

/* Longer messages are truncated: a line is one write, so lines of many ranks on
 * one terminal do not mix. */
enum { LINE_BYTES = 2048 };

static size_t put_head(char *line, size_t bytes, const ctn_log_t *log,
                       ctn_log_level_t level)
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

void ctn_log_write(const ctn_log_t *log, ctn_log_level_t level,
                   const char *format, ...)
{
    char line[LINE_BYTES];
    size_t used;
    int length;
    va_list arguments;

    if (level > (log != NULL ? log->level : CTN_LOG_WARN))
        return;

    used = put_head(line, sizeof(line), log, level);
    va_start(arguments, format);
    length = vsnprintf(line + used, sizeof(line) - used, format, arguments);
    va_end(arguments);
    if (length > 0)
        used += (size_t)length;
    if (used > sizeof(line) - 2)
        used = sizeof(line) - 2;
    line[used] = '\n';
    line[used + 1] = '\0';
    fputs(line, stderr);
}
