#ifndef INFO_PROBE_H
#define INFO_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/catena.h>

/* Jobs of catena that child processes run, so that an error, a crash or a hang
 * leaves this process alone. The ranks exchange through a socket pair while
 * they start: no launcher and no port is needed. */

enum {
    PROBE_LINES = 128,
    PROBE_SECONDS = 10, /* then the ranks are killed */
};

/** A job. */
typedef struct probe {
    int ranks;                   /* 1, a singleton; or 2 */
    bool nodes;                  /* each rank counts as a node of its own */
    bool as_is;                  /* join as the environment says */
    const char *const *settings; /* "NAME=VALUE", NULL-terminated; or NULL */
    /** What each rank does; NULL: nothing. It reports through probe_say.
     * @return the status of the rank */
    catena_status_t (*work)(catena_context_t *context, int to);
} probe_t;

/** What came of it. */
typedef struct probe_result {
    catena_status_t status; /* CATENA_OK: all ranks have succeeded */
    char error[1024];       /* why not */
    double seconds;         /* until the last rank has ended */
    char *text;             /* memory of `line` */
    size_t lines;
    char *line[PROBE_LINES]; /* the first character is the kind, see below */
} probe_result_t;

/* Kinds of lines. */
enum {
    PROBE_WARNING = 'W', /* messages of the library */
    PROBE_INFO = 'I',
    PROBE_NETWORK = 'N',   /* probe_say_network */
    PROBE_ALGORITHM = 'A', /* of work: "COLLECTIVE NAMES" */
    PROBE_HIERARCHY = 'H', /* of work: the default hierarchy */
    PROBE_COMPONENTS = 'C',
    PROBE_BAD = 'B', /* of work: what is wrong */
};

/** Run a job. The result is set always; free it with probe_free. */
void probe_run(const probe_t *probe, probe_result_t *result);
void probe_free(probe_result_t *result);
/** The next line of a kind, from *at on, without its first character; NULL:
 * there are no more. @param at an index, 0 at first */
const char *probe_next(const probe_result_t *result, int kind, size_t *at);

/** Report a line from a rank. @param to as given to work */
__attribute__((format(printf, 3, 4))) void probe_say(int to, int kind,
                                                     const char *format, ...);
/** Report the description of the network. */
catena_status_t probe_say_network(catena_context_t *context, int to);
/** Report the algorithms of each collective, the default hierarchy, and the
 * network. */
catena_status_t probe_describe(catena_context_t *context, int to);
/** An alltoall of some KiB, whose result is checked. */
catena_status_t probe_alltoall(catena_context_t *context, int to);

#endif
