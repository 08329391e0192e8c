#ifndef CATENA_STATUS_H
#define CATENA_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CATENA_API __attribute__((visibility("default")))
#define CATENA_NORETURN __attribute__((noreturn))
#else
#define CATENA_API
#define CATENA_NORETURN
#endif

/** In front of a declaration that a later release removes: its use is a
 * warning. @param message what to use instead, a string */
#if defined(__GNUC__)
#define CATENA_DEPRECATED(message) __attribute__((deprecated(message)))
#elif defined(__cplusplus) && __cplusplus >= 201402L
#define CATENA_DEPRECATED(message) [[deprecated(message)]]
#else
#define CATENA_DEPRECATED(message)
#endif

/* Structs that a caller passes by pointer, and that may grow, begin with their
 * size, which the caller sets:
 *
 *     catena_split_t split = {.size = sizeof(split), .flags = ...};
 *
 * so a program and a library of different releases work together. A struct
 * grows at its end only. Of a struct that the library reads, members that an
 * older program does not know have their default, which is zero. A newer
 * program may pass a longer struct, if the members that the library does not
 * know are zero: otherwise the call returns CATENA_ERR_UNSUPPORTED. A struct
 * that the library fills is filled up to the shorter of both sizes; the rest,
 * and `size`, are not changed. A size below that of the first release, such as
 * 0, is CATENA_ERR_ARG. */

/** The result of a catena function. Outputs are set only on CATENA_OK.
 *
 * Errors are grouped by the largest thing that is broken afterwards, so that a
 * caller knows what to rebuild:
 *   - the call, codes above -40: it did nothing, or failed alone; the context
 *     still works;
 *   - the context, codes from -40 down: all operations have ended, all later
 *     calls that communicate return the same code, and only catena_finalize and
 *     catena_abort remain. The other ranks of the job get such a code, too. */
typedef enum catena_status {
    CATENA_OK = 0,

    /* the call */
    CATENA_ERR_ARG = -1,         /**< NULL, overflow, bad value */
    CATENA_ERR_UNSUPPORTED = -2, /**< valid, but not available here */
    CATENA_ERR_NO_MEMORY = -3,   /**< process memory or shared heap is full */
    CATENA_ERR_STATE = -4,       /**< not allowed now (request active, ...) */

    /* the context */
    CATENA_ERR_PEER = -40,      /**< a rank of the job is gone */
    CATENA_ERR_ENDED = -41,     /**< a rank could not do its part of a call that
                                   others wait for: it had no memory, or lengths
                                   that differ between ranks; it logged which */
    CATENA_ERR_LAUNCHER = -60,  /**< the PMIx server is gone or refused */
    CATENA_ERR_TRANSPORT = -61, /**< the network failed */
    CATENA_ERR_SYSTEM = -62     /**< the operating system refused */
} catena_status_t;

/* Handles. An object ends by the verb that matches the one it began with:
 * catena_init and catena_finalize, _open and _close; every other object ends by
 * _free. These functions take the address of the handle and set it to NULL; if
 * they did nothing, they leave it. Where the handle is NULL they do nothing and
 * return CATENA_OK, as free(3) does. */

/** Return a description of a status in one line; never NULL. The string is
 * constant. */
CATENA_API const char *catena_status_string(catena_status_t status);

#ifdef __cplusplus
}
#endif
#endif
