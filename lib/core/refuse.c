#include "core/refuse.h"

#include <stdarg.h>
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
    const char *end = strchr(arguments, ',');
    for (size_t i = 0; pointers[i] != NULL && end != NULL; i++) {
        arguments = end + strlen(", ");
        end = strchr(arguments, ',');
    }
    return ctn_refuse(log, CATENA_ERR_ARG, function, "%.*s " CTN_IS_NULL,
                      (int)strcspn(arguments, ","), arguments);
}
