#ifndef CTN_CORE_LOG_H
#define CTN_CORE_LOG_H

/* Messages to stderr, "[catena HOST:RANK] LEVEL text", or to a function of the
 * application, without that head. The first function that
 * detects an error logs it: what was expected, what was found, what to change.
 * Levels as in UCX. */

#include <catena/context.h>

/** A sink; each context has its own. NULL is the default sink (stderr, level
 * WARN, no rank), for errors outside a context. */
typedef struct ctn_log {
    catena_log_level_t level;
    int rank; /* -1: unknown */
    char host[64];
    catena_log_function_t sink; /* NULL: stderr */
    void *argument;             /* of `sink` */
} ctn_log_t;

/** A level for trials whose failure is no error: nothing is written or kept for
 * catena_last_error. */
#define CTN_LOG_NOTHING ((catena_log_level_t)-1)

/** Exported for libcatena-sim (lib/catena.map): catena_last_error has one text
 * for both libraries. */
void ctn_log_write(const ctn_log_t *log, catena_log_level_t level,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4), visibility("default")));

#define ctn_error(log, ...) ctn_log_write(log, CATENA_LOG_ERROR, __VA_ARGS__)
#define ctn_warn(log, ...) ctn_log_write(log, CATENA_LOG_WARN, __VA_ARGS__)
#define ctn_info(log, ...) ctn_log_write(log, CATENA_LOG_INFO, __VA_ARGS__)
#define ctn_debug(log, ...) ctn_log_write(log, CATENA_LOG_DEBUG, __VA_ARGS__)

#endif
