#ifndef CTN_CORE_SIZED_H
#define CTN_CORE_SIZED_H

#include <stddef.h>

#include <catena/status.h>

#include "core/log.h"

/* Public structs that begin with `size_t size`, which the caller sets; the
 * rules are in catena/status.h. A function works on a struct of the library's
 * own size: it copies what the caller passes, or fills a copy and hands it out.
 */

/** A public struct. */
typedef struct ctn_sized {
    const char *name;
    size_t first_bytes; /* in the first release: no caller has fewer */
    size_t bytes;       /* that this library knows */
} ctn_sized_t;

/** @param last the last member in the first release */
#define CTN_SIZED(type, last)                                                  \
    {                                                                          \
#type, offsetof(type, last) + sizeof(((type *)0)->last), sizeof(type)  \
    }

/** Check that the caller has set the size, before long work for a struct that
 * is filled. @return ERR_ARG: no size; logged */
catena_status_t ctn_sized_check(const ctn_log_t *log, const ctn_sized_t *sized,
                                const void *given);

/** Copy a caller's struct to `own`. On an error `own` is zero but for its size.
 * @return ERR_ARG: no size; ERR_UNSUPPORTED: members are set that this library
 *         does not know; logged */
catena_status_t ctn_sized_read(const ctn_log_t *log, const ctn_sized_t *sized,
                               const void *given, void *own);

/** Copy `own` to a caller's struct, except the size.
 * @return ERR_ARG: no size; logged */
catena_status_t ctn_sized_write(const ctn_log_t *log, const ctn_sized_t *sized,
                                const void *own, void *given);

#endif
