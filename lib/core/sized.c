/* Copies between structs of the application and those of the library. */

#include "core/sized.h"

#include <string.h>

#include <catena/version.h>

#include "core/refuse.h"

/** Find the size that the caller has set. */
static catena_status_t read_size(const char *function, const ctn_log_t *log,
                                 const ctn_sized_t *sized, const void *given,
                                 size_t *size)
{
    memcpy(size, given, sizeof(*size));
    if (*size < sized->first_bytes) {
        return ctn_refuse(log, CATENA_ERR_ARG, function,
                          "the size of a %s is %zu; set .size = sizeof(%s)",
                          sized->name, *size, sized->name);
    }
    return CATENA_OK;
}

/** The index of the first byte that is not zero, from `from` up to `to`, which
 * is excluded; `to`: there is none. */
static size_t first_set(const unsigned char *bytes, size_t from, size_t to)
{
    while (from < to && bytes[from] == 0) {
        from++;
    }
    return from;
}

catena_status_t ctn_sized_check(const char *function, const ctn_log_t *log,
                                const ctn_sized_t *sized, const void *given)
{
    size_t size;
    return read_size(function, log, sized, given, &size);
}

catena_status_t ctn_sized_read(const char *function, const ctn_log_t *log,
                               const ctn_sized_t *sized, const void *given,
                               void *own)
{
    size_t size;
    memset(own, 0, sized->bytes);
    memcpy(own, &sized->bytes, sizeof(size));
    catena_status_t status = read_size(function, log, sized, given, &size);
    if (status != CATENA_OK) {
        return status;
    }
    size_t set = first_set(given, sized->bytes, size);
    if (set < size) {
        return ctn_refuse(
            log, CATENA_ERR_UNSUPPORTED, function,
            "byte %zu of a %s of %zu is set; catena %s knows %zu. Set the "
            "members beyond to zero, or use a newer library",
            set, sized->name, size, catena_version(), sized->bytes);
    }
    size = size < sized->bytes ? size : sized->bytes;
    memcpy((unsigned char *)own + sizeof(size),
           (const unsigned char *)given + sizeof(size), size - sizeof(size));
    return CATENA_OK;
}

catena_status_t ctn_sized_write(const char *function, const ctn_log_t *log,
                                const ctn_sized_t *sized, const void *own,
                                void *given)
{
    size_t size;
    catena_status_t status = read_size(function, log, sized, given, &size);
    if (status == CATENA_OK) {
        size = size < sized->bytes ? size : sized->bytes;
        memcpy((unsigned char *)given + sizeof(size),
               (const unsigned char *)own + sizeof(size), size - sizeof(size));
    }
    return status;
}
