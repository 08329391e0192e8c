/* The texts of status codes, and the version. */

#include <catena/status.h>
#include <catena/version.h>

#include <stddef.h>

/* The text of each code of catena/status.h. The compiler warns (-Wswitch) if a
 * code is missing here. */
#define STATUS_LIST(X)                                                         \
    X(CATENA_OK, "success")                                                    \
    X(CATENA_ERR_ARG, "invalid argument")                                      \
    X(CATENA_ERR_UNSUPPORTED, "not available here")                            \
    X(CATENA_ERR_NO_MEMORY, "out of memory (process or shared heap)")          \
    X(CATENA_ERR_STATE, "not allowed in the present state")                    \
    X(CATENA_ERR_PROC_FAILED, "a rank of the group has died")                  \
    X(CATENA_ERR_REVOKED,                                                      \
      "the group was revoked, or a rank could not do its part")                \
    X(CATENA_ERR_PEER, "a rank of the job is gone")                            \
    X(CATENA_ERR_ENDED, "a rank could not do its part; the job has ended")     \
    X(CATENA_ERR_LAUNCHER,                                                     \
      "the job cannot be joined, or its launcher is gone")                     \
    X(CATENA_ERR_TRANSPORT, "the network failed")                              \
    X(CATENA_ERR_SYSTEM, "the operating system refused")

const char *catena_status_string(catena_status_t status)
{
#define STATUS_CASE(code, text)                                                \
    case code:                                                                 \
        return text;
    switch (status) {
        STATUS_LIST(STATUS_CASE)
    }
#undef STATUS_CASE
    return "unknown status";
}

const char *catena_version(void)
{
    return CATENA_VERSION_STRING;
}
