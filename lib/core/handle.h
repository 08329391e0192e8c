#ifndef CTN_CORE_HANDLE_H
#define CTN_CORE_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/refuse.h"

/* Handles that the application has freed are recognized in builds with
 * assertions. The struct of a handle bears a mark, which changes when the
 * handle is freed, and the memory of freed ones is kept for a while, so that
 * the mark can be read. It changes when the application frees the handle, also
 * if operations still use the type or the operator. In builds without
 * assertions only NULL is recognized.
 */

/** The mark of a handle that was freed. Each kind of handles has another. */
#define CTN_FREED 0xdd

#ifdef NDEBUG
#define CTN_MARK_SET(handle, value) ((void)0)
#define CTN_MARK_IS(handle, value) 1
#else
#define CTN_MARK_SET(handle, value) ((void)((handle)->mark = (value)))
#define CTN_MARK_IS(handle, value) ((handle)->mark == (value))
#endif

/** Whether a handle may not be used: it is NULL, or known to be freed. */
#define CTN_UNUSABLE(handle, value)                                            \
    ((handle) == NULL || !CTN_MARK_IS(handle, value))

/** Free the memory of a handle. In builds with assertions it is freed only
 * after 256 more handles. */
void ctn_handle_free(void *memory);

/** Log that a handle is NULL or was freed. @return ERR_ARG */
CTN_REFUSES catena_status_t ctn_refuse_handle(const char *function,
                                              const char *name,
                                              const void *handle);

#endif
