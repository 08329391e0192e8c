#include "model/document.h"

#include <errno.h>
#include <string.h>

bool ctn_document_is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') != NULL ||
           (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

json_t *ctn_document_load(const ctn_log_t *log, const char *kind,
                          const char *path, catena_status_t *status)
{
    json_error_t error;
    errno = 0;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root != NULL) {
        return root;
    }
    if (json_error_code(&error) == json_error_cannot_open_file) {
        ctn_error(log, "%s %s: %s", kind, path, strerror(errno));
        *status = CATENA_ERR_SYSTEM;
    } else {
        ctn_error(log, "%s %s: line %d: %s", kind, path, error.line,
                  error.text);
        *status = CATENA_ERR_ARG;
    }
    return NULL;
}
