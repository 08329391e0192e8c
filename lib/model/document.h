#ifndef CTN_MODEL_DOCUMENT_H
#define CTN_MODEL_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>

#include <catena/status.h>

#include "core/log.h"

/* JSON files of machines and tunings. */

/** Whether a name is a path: it contains '/' or ends in ".json". */
bool ctn_document_is_path(const char *name);

/** Read a file; NULL: *status is ERR_SYSTEM (unreadable) or ERR_ARG, and the
 * error is logged for a `kind` such as "machine". */
json_t *ctn_document_load(const ctn_log_t *log, const char *kind,
                          const char *path, catena_status_t *status);

#endif
