#ifndef CTN_CORE_LOG_H
#define CTN_CORE_LOG_H

/* Messages to stderr, "[catena HOST:RANK] LEVEL text", or to a function of the
 * application, without the part in brackets and the level. The first function
 * that detects an error logs it: what was expected, what was found, what to
 * change. Levels as in UCX.
 *
 * Of warnings and errors with the same text the ranks of a host write one
 * (docs/decisions/0039-one-line-a-job.md). */

#include <stdbool.h>
#include <stdint.h>

#include <catena/context.h>

/** Where messages go, and which; each context has its own. A NULL pointer
 * stands for stderr, level WARN and no rank: for errors outside a context. */
typedef struct ctn_log {
    catena_log_level_t level; /* messages beyond it are not written */
    int rank;                 /* -1: unknown */
    bool each;     /* each message is written, also if another rank has */
    char host[64]; /* "": that of gethostname */
    catena_log_function_t sink; /* NULL: stderr */
    void *argument;             /* of `sink` */
    uint64_t *last; /* hash of the last warning or error of a simulated job,
                       whose ranks are one process; NULL: of no such job */
} ctn_log_t;

/** In a text: what follows concerns this rank alone. Texts that differ there
 * only count as the same. It is not written. */
#define CTN_OF_RANK "\x1f"

/** A level for attempts whose failure is no error: nothing is written, or kept
 * for catena_last_error. */
#define CTN_LOG_NOTHING ((catena_log_level_t)-1)

/** A log that writes nothing and keeps errors for catena_last_error: of an
 * error that another rank logs. */
static inline const ctn_log_t *ctn_log_kept(void)
{
    static const ctn_log_t kept = {.level = CATENA_LOG_FATAL, .rank = -1};
    return &kept;
}

/** Write a message, if the level of `log` includes it. Exported for
 * libcatena-sim and libcatena-mpi (lib/catena.map), so that catena_last_error
 * has one text for all libraries. */
void ctn_log_write(const ctn_log_t *log, catena_log_level_t level,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4), visibility("default")));

/** A collective, or a wait for one, returns an error. If nothing was logged or
 * kept in this thread since another one has done so, keep a text that refers to
 * other ranks. */
void ctn_log_returns_error(const char *call, catena_status_t status);

/** The size of the text of catena_last_error. */
enum { CTN_LAST_ERROR_BYTES = 512 };
/** The calling thread is one of the library: keep its last error in `text`,
 * until a thread of the application takes it. */
void ctn_log_keep_last_error_in(char *text);
/** If an error is kept in `text`, it is the last one of the calling thread from
 * now on, unless that is one of the library. */
void ctn_log_take_last_error(char *text);

/** Whether the ranks of a host write a message once. If not, rank 0 should
 * write for all what all can be expected to find. */
bool ctn_log_folds(void);

#define ctn_error(log, ...) ctn_log_write(log, CATENA_LOG_ERROR, __VA_ARGS__)
#define ctn_warn(log, ...) ctn_log_write(log, CATENA_LOG_WARN, __VA_ARGS__)
#define ctn_info(log, ...) ctn_log_write(log, CATENA_LOG_INFO, __VA_ARGS__)
#define ctn_debug(log, ...) ctn_log_write(log, CATENA_LOG_DEBUG, __VA_ARGS__)

#endif
