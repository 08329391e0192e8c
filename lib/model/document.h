#ifndef CTN_MODEL_DOCUMENT_H
#define CTN_MODEL_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>

#include <catena/status.h>

#include "core/log.h"

/* JSON files: machines (machine.h) and tunings (tuning.h). */

/** Whether a name is a path: it contains '/' or ends in ".json". */
bool ctn_document_is_path(const char *name);

/** Read a file.
 * @param[in]  kind   what it describes, for messages: "machine" or "tuning"
 * @param[out] status set only on failure: ERR_SYSTEM (unreadable) or ERR_ARG
 * (no JSON), which is logged
 * @return the document, to be released with json_decref; NULL on failure */
json_t *ctn_document_load(const ctn_log_t *log, const char *kind,
                          const char *path, catena_status_t *status);

#endif
