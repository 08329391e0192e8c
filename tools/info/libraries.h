#ifndef INFO_LIBRARIES_H
#define INFO_LIBRARIES_H

#include <stddef.h>

/* The libraries below catena, as they are at run time. */

enum { LIBRARY_TEXT_BYTES = 128, TRANSPORTS = 32 };

const char *library_ucx_version(void);
const char *library_pmix_version(void);
/** The version of PMIx that catena was built with: its first number. */
int library_pmix_built(void);
/** @return NULL: catena was built without SCOTCH */
const char *library_scotch_version(char text[LIBRARY_TEXT_BYTES]);
const char *library_jansson_version(void);

/** Find the PMIx server that the environment names, and leave it again. For a
 * child process: it may wait for long. @return 0, or an exit code @param why
 * set if it failed */
int library_pmix_join(const char **why);

/** A transport of UCX. */
typedef struct library_transport {
    char name[32];
    char devices[256]; /* separated by ", " */
} library_transport_t;

/** List the transports that UCX offers with the UCX_ settings of the
 * environment.
 * @param[out] transports [TRANSPORTS]
 * @param[out] why        set if there are none
 * @return their number */
size_t library_ucx_transports(library_transport_t *transports,
                              const char **why);

#endif
