#ifndef CATENA_STATUS_H
#define CATENA_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* CATENA_API: the library exports this function. CATENA_NORETURN: the function
 * does not return. */
#if defined(__GNUC__)
#define CATENA_API __attribute__((visibility("default")))
#define CATENA_NORETURN __attribute__((noreturn))
#else
#define CATENA_API
#define CATENA_NORETURN
#endif

/** Marks a declaration that a later release will remove: a program that uses
 * it gets a compiler warning.
 * @param message string that says what to use instead */
#if defined(__GNUC__)
#define CATENA_DEPRECATED(message) __attribute__((deprecated(message)))
#elif defined(__cplusplus) && __cplusplus >= 201402L
#define CATENA_DEPRECATED(message) [[deprecated(message)]]
#else
#define CATENA_DEPRECATED(message)
#endif

/** @file
 * Structs that a caller passes by pointer, and that may grow, begin with their
 * size, which the caller sets:
 *
 *     catena_split_t split = {.size = sizeof(split), .flags = ...};
 *
 * The size lets a program and a library of different releases work together. A
 * struct grows at its end only. Where a function reads a struct, the library
 * takes zero, the default, for members that an older program does not have. A
 * newer program may pass a longer struct if the members that the library does
 * not have are zero; otherwise the call returns CATENA_ERR_UNSUPPORTED. Where a
 * function fills a struct, it writes the members that program and library both
 * have, and never `size`. A size below that of the first release, such as 0, is
 * CATENA_ERR_ARG. */

/* The comments of functions leave out the prefix CATENA_ of errors. */

/** The result of a catena function. Outputs are set only on CATENA_OK, unless
 * the function says otherwise. "Logged" means that the log has the details. The
 * errors of the group are not listed with the functions: with
 * CATENA_FAILURES=return every call that communicates in a group may return
 * them.
 *
 * Errors are grouped by the largest thing that is broken afterwards, so that a
 * caller knows what to rebuild:
 *   - the call, codes above -20: the call did nothing, or failed without
 *     affecting other calls; the context still works;
 *   - the group, codes from -20 to -39: its operations have ended, and later
 *     ones that communicate return the code, except catena_group_agree and
 *     _shrink; other groups still work;
 *   - the context, codes from -40 down: all operations have ended, all later
 *     calls that communicate return the same code, and the program can only
 *     call catena_finalize or catena_abort. The other ranks of the job get a
 *     code of the context, too. */
typedef enum catena_status {
    CATENA_OK = 0,

    /* the call */
    CATENA_ERR_ARG = -1,         /**< NULL, overflow, bad value */
    CATENA_ERR_UNSUPPORTED = -2, /**< valid, but not available here */
    CATENA_ERR_NO_MEMORY = -3,   /**< process memory or shared heap is full */
    CATENA_ERR_STATE = -4,       /**< not allowed now, as starting an
                                      active request */

    /* the group, where failures are returned (CATENA_FAILURES=return) */
    CATENA_ERR_PROC_FAILED = -20, /**< a rank of the group has died */
    CATENA_ERR_REVOKED = -21,     /**< a rank has revoked the group, or could
                                       not do its part of a call */

    /* the context */
    CATENA_ERR_PEER = -40,     /**< a rank of the job is gone */
    CATENA_ERR_ENDED = -41,    /**< a rank could not do its part of a call that
                                  other ranks wait for: it had no memory, or
                                  lengths differed between ranks; that rank
                                  logged the reason. Where failures are
                                  returned, only the group fails */
    CATENA_ERR_LAUNCHER = -60, /**< the ranks of the job do not find each other,
                                  or the launcher is gone or has refused a
                                  request */
    CATENA_ERR_TRANSPORT = -61, /**< the network failed */
    CATENA_ERR_SYSTEM = -62     /**< a call of the operating system failed */
} catena_status_t;

/* Handles. catena_finalize ends what catena_init began, and _close what _open
 * began; every other object ends by _free. These functions take the address of
 * the handle and set the handle to NULL; if they fail before they free
 * anything, the handle is unchanged. If the handle is NULL already, they do
 * nothing and return CATENA_OK, as free(3) accepts NULL. An ERR_ARG (NULL) of
 * these functions means that the address is NULL.
 *
 * A library built with assertions (any --buildtype of meson but release and
 * plain) detects the use of a recently freed handle through a copy that the
 * program has kept: the call logs the error and returns ERR_ARG. */

/** Return a description of a status in one line.
 * @param status any number
 * @return a constant string; never NULL */
CATENA_API const char *catena_status_string(catena_status_t status);

#ifdef __cplusplus
}
#endif
#endif
