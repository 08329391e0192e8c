#ifndef CTN_CORE_SIZED_H
#define CTN_CORE_SIZED_H

#include <stddef.h>

#include <catena/status.h>

#include "core/log.h"

/* Public structs that begin with `size_t size`, which the caller sets; the
 * rules are in catena/status.h. The application's struct may be shorter or
 * longer than the library's. So a function works on a struct of the library's
 * size: a copy of what the caller passes, or one that is filled and then copied
 * to the caller's. `function` is the public function, for messages. */

/** The description of a public struct. */
typedef struct ctn_sized {
    const char *name;   /* of the type */
    size_t first_bytes; /* its size in the first release: the least that a
                           caller sets */
    size_t bytes;       /* its size in this library */
} ctn_sized_t;

/** The initializer of a description.
 * @param last the member that was the last one in the first release */
#define CTN_SIZED(type, last)                                                  \
    {                                                                          \
#type, offsetof(type, last) + sizeof(((type *)0)->last), sizeof(type)  \
    }

/** Check that the caller has set the size of `given`; for structs that are
 * filled after long work. @return ERR_ARG: no size; logged */
catena_status_t ctn_sized_check(const char *function, const ctn_log_t *log,
                                const ctn_sized_t *sized, const void *given);

/** Copy the caller's struct `given` to the library's struct `own`. On an error
 * `own` is zero except for its size.
 * @return ERR_ARG: no size; ERR_UNSUPPORTED: members are set that this library
 *         does not know; logged */
catena_status_t ctn_sized_read(const char *function, const ctn_log_t *log,
                               const ctn_sized_t *sized, const void *given,
                               void *own);

/** Copy the library's struct `own` to the caller's struct `given`, except the
 * size.
 * @return ERR_ARG: no size; logged */
catena_status_t ctn_sized_write(const char *function, const ctn_log_t *log,
                                const ctn_sized_t *sized, const void *own,
                                void *given);

#endif
