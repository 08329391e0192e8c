#include "core/refuse.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

catena_status_t ctn_refuse(const ctn_log_t *log, catena_status_t status,
                           const char *function, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    ctn_error(log, "%s: %s", function, text);
    return status;
}

catena_status_t ctn_refuse_null(const ctn_log_t *log, const char *function,
                                const char *argument)
{
    return ctn_refuse(log, CATENA_ERR_ARG, function, "%s " CTN_IS_NULL,
                      argument);
}

catena_status_t ctn_refuse_first_null(const ctn_log_t *log,
                                      const char *function,
                                      const char *arguments,
                                      const void *const pointers[])
{
    const char *name = arguments;
    size_t i = 0;
    while (pointers[i] != NULL && strchr(name, ',') != NULL) {
        name = strchr(name, ',') + strlen(", ");
        i++;
    }
    bool freed = pointers[i] != NULL;
    name = freed ? arguments : name;
    return ctn_refuse(log, CATENA_ERR_ARG, function, "%.*s %s",
                      (int)strcspn(name, ","), name,
                      freed ? CTN_WAS_FREED : CTN_IS_NULL);
}
