#include "type/datatype.h"

#include <stdlib.h>

#define DEFINE_TYPE(type_name, ctype)                                          \
    const struct catena_type catena_type_##type_name = {                       \
        .name = #type_name,                                                    \
        .bytes = sizeof(ctype),                                                \
        .extent = sizeof(ctype),                                               \
        .true_high = sizeof(ctype),                                            \
        .dense = true,                                                         \
        .element = CTN_FIXED_##type_name,                                      \
        .run = sizeof(ctype),                                                  \
        .stream_stride = sizeof(ctype)};
CATENA_FIXED_TYPES(DEFINE_TYPE)

size_t catena_type_size(catena_type_t type)
{
    return type != NULL ? type->bytes : 0;
}

catena_status_t catena_type_extent(catena_type_t type, ptrdiff_t *lower_bound,
                                   ptrdiff_t *extent)
{
    if (type == NULL || lower_bound == NULL || extent == NULL) {
        return CATENA_ERR_ARG;
    }
    *lower_bound = type->lower;
    *extent = type->extent;
    return CATENA_OK;
}

/** A derived type is allocated memory, so const can be cast away. */
static struct catena_type *writable(catena_type_t type)
{
    return (struct catena_type *)type;
}

catena_type_t ctn_type_hold(catena_type_t type)
{
    if (type->derived) {
        /* Relaxed: the caller's own reference keeps the type alive. */
        __atomic_fetch_add(&writable(type)->references, 1, __ATOMIC_RELAXED);
    }
    return type;
}

void ctn_type_drop(catena_type_t type)
{
    /* Release what this thread has read of the type, acquire what others have
     * read: free must come after all of it. */
    while (type != NULL && type->derived &&
           __atomic_sub_fetch(&writable(type)->references, 1,
                              __ATOMIC_ACQ_REL) == 0) {
        catena_type_t held = type->held;
        free(writable(type));
        type = held;
    }
}

catena_status_t catena_type_free(catena_type_t *type)
{
    if (type == NULL || (*type != NULL && !(*type)->derived)) {
        return CATENA_ERR_ARG;
    }
    if (*type != NULL) {
        ctn_type_drop(*type);
    }
    *type = NULL;
    return CATENA_OK;
}
