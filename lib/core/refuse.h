#ifndef CTN_CORE_REFUSE_H
#define CTN_CORE_REFUSE_H

/* How a public function refuses a call: one message for the log and for
 * catena_last_error. It begins with the name of the function, and says what was
 * expected, what was found, and what to change. These functions are cold: a
 * check costs nothing until it fails. */

#include "core/log.h"

#define CTN_REFUSES __attribute__((cold, noinline))

/** Log "FUNCTION: text".
 * @param log      NULL: there is no context
 * @param function __func__ of the public function, or the name of the
 *                 collective
 * @return `status` */
CTN_REFUSES catena_status_t ctn_refuse(const ctn_log_t *log,
                                       catena_status_t status,
                                       const char *function, const char *format,
                                       ...)
    __attribute__((format(printf, 4, 5)));

/** Text for an argument that is NULL, after its name. */
#define CTN_IS_NULL "is NULL; pass a valid pointer"

/** Text for a handle that was freed (core/handle.h), after its name. */
#define CTN_WAS_FREED "was freed; pass one that is in use"

/** Log that an argument is NULL. @return ERR_ARG */
CTN_REFUSES catena_status_t ctn_refuse_null(const ctn_log_t *log,
                                            const char *function,
                                            const char *argument);

/** The same for the first NULL of `pointers`. If none is NULL, log that the
 * first one, a handle, was freed.
 * @param arguments their names, separated by ", " */
CTN_REFUSES catena_status_t ctn_refuse_first_null(const ctn_log_t *log,
                                                  const char *function,
                                                  const char *arguments,
                                                  const void *const pointers[]);

/** In a public function: log which of these arguments is NULL, or that the
 * first one is a handle that was freed.
 * Arguments that may be NULL in some calls are the last ones. */
#define CTN_REFUSE_NULL(log, ...)                                              \
    ctn_refuse_first_null(log, __func__, #__VA_ARGS__,                         \
                          (const void *const[]){__VA_ARGS__})

/** Text for a buffer of no bytes. */
#define CTN_NO_BYTES "bytes is 0; expected the length of the text buffer"

#endif
