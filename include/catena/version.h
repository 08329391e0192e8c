#ifndef CATENA_VERSION_H
#define CATENA_VERSION_H

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The release that these headers belong to. catena_version() returns the
 * release of the loaded library, which may differ. */
#define CATENA_VERSION_MAJOR 1
#define CATENA_VERSION_MINOR 0
#define CATENA_VERSION_PATCH 0
#define CATENA_VERSION_STRING "1.0.0-rc1"

/** One number, for comparison: `#if CATENA_VERSION >= CATENA_MAKE_VERSION(1, 1,
 * 0)`. Minor and patch are below 1000; a release candidate has the number of
 * its release. */
#define CATENA_MAKE_VERSION(major, minor, patch)                               \
    ((major)*1000000 + (minor)*1000 + (patch))
#define CATENA_VERSION                                                         \
    CATENA_MAKE_VERSION(CATENA_VERSION_MAJOR, CATENA_VERSION_MINOR,            \
                        CATENA_VERSION_PATCH)

/** Return the release of the loaded library.
 * @return "MAJOR.MINOR.PATCH", with "-rcN" for a release candidate; a constant
 * string */
CATENA_API const char *catena_version(void);

#ifdef __cplusplus
}
#endif

#endif
