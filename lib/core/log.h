#ifndef CTN_CORE_LOG_H
#define CTN_CORE_LOG_H

/* Messages to stderr, "[catena HOST:RANK] LEVEL text". The first function that
 * detects an error logs it: what was expected, what was found, what to change.
 * Levels as in UCX. */

typedef enum ctn_log_level {
    CTN_LOG_FATAL,
    CTN_LOG_ERROR,
    CTN_LOG_WARN,
    CTN_LOG_INFO,
    CTN_LOG_DEBUG,
    CTN_LOG_TRACE
} ctn_log_level_t;

/** A sink; each context has its own. NULL is the default sink (stderr, level
 * WARN, no rank), for errors outside a context. */
typedef struct ctn_log {
    ctn_log_level_t level;
    int rank; /* -1: unknown */
    char host[64];
} ctn_log_t;

void ctn_log_write(const ctn_log_t *log, ctn_log_level_t level,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define ctn_error(log, ...) ctn_log_write(log, CTN_LOG_ERROR, __VA_ARGS__)
#define ctn_warn(log, ...) ctn_log_write(log, CTN_LOG_WARN, __VA_ARGS__)
#define ctn_info(log, ...) ctn_log_write(log, CTN_LOG_INFO, __VA_ARGS__)
#define ctn_debug(log, ...) ctn_log_write(log, CTN_LOG_DEBUG, __VA_ARGS__)

#endif
