#include "type/datatype.h"
#include "core/entry.h"

#include <stdlib.h>

#include "core/refuse.h"

#define DEFINE_TYPE(type_name, ctype, number)                                  \
    static const ctn_type_t type_##type_name = {                               \
        .name = #type_name,                                                    \
        .handle = number,                                                      \
        .bytes = sizeof(ctype),                                                \
        .extent = sizeof(ctype),                                               \
        .true_high = sizeof(ctype),                                            \
        .dense = true,                                                         \
        .element = CTN_FIXED_##type_name,                                      \
        .run = sizeof(ctype),                                                  \
        .stream_stride = sizeof(ctype)};
CTN_EACH_FIXED_TYPE(DEFINE_TYPE)

const ctn_type_t *const ctn_type_table[CTN_HANDLES] = {
#define ENTRY(name, ctype, handle) [handle - CTN_FIRST_TYPE] = &type_##name,
    CTN_EACH_FIXED_TYPE(ENTRY)
#undef ENTRY
};

const ctn_type_t *const ctn_type_fixed[CTN_FIXED_TYPES] = {
#define ENTRY(name, ctype, handle) [CTN_FIXED_##name] = &type_##name,
    CTN_EACH_FIXED_TYPE(ENTRY)
#undef ENTRY
};

catena_type_t ctn_type_handle(const ctn_type_t *type)
{
    return (catena_type_t)(type->derived ? (uintptr_t)type : type->handle);
}

size_t catena_type_size(catena_type_t handle)
{
    const ctn_type_t *type = ctn_type_of(handle);
    return type != NULL ? type->bytes : 0;
}

catena_status_t catena_type_extent(catena_type_t handle, ptrdiff_t *lower_bound,
                                   ptrdiff_t *extent)
{
    const ctn_type_t *type = ctn_type_of(handle);
    if (ctn_type_is_gone(type)) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, __func__, "type " CTN_NO_TYPE);
    }
    if (lower_bound == NULL || extent == NULL) {
        return CTN_REFUSE_NULL(NULL, lower_bound, extent);
    }
    *lower_bound = type->lower;
    *extent = type->extent;
    return CATENA_OK;
}

catena_status_t catena_type_true_extent(catena_type_t handle,
                                        ptrdiff_t *true_lower_bound,
                                        ptrdiff_t *true_extent)
{
    const ctn_type_t *type = ctn_type_of(handle);
    if (ctn_type_is_gone(type)) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, __func__, "type " CTN_NO_TYPE);
    }
    if (true_lower_bound == NULL || true_extent == NULL) {
        return CTN_REFUSE_NULL(NULL, true_lower_bound, true_extent);
    }
    *true_lower_bound = type->true_low;
    *true_extent = type->true_high - type->true_low;
    return CATENA_OK;
}

catena_status_t catena_get_address(const void *location, ptrdiff_t *address)
{
    if (address == NULL) {
        return CTN_REFUSE_NULL(NULL, address);
    }
    *address = (ptrdiff_t)location;
    return CATENA_OK;
}

/** A derived type is allocated memory, so const can be cast away. */
static ctn_type_t *writable(const ctn_type_t *type)
{
    return (ctn_type_t *)type;
}

const ctn_type_t *ctn_type_hold(const ctn_type_t *type)
{
    if (type->derived) {
        /* Relaxed: the caller's own reference keeps the type alive. */
        __atomic_fetch_add(&writable(type)->references, 1, __ATOMIC_RELAXED);
    }
    return type;
}

void ctn_type_drop(const ctn_type_t *type)
{
    /* Release and acquire: all reads of the type, by this thread and by others,
     * must come before free. */
    while (type != NULL && type->derived &&
           __atomic_sub_fetch(&writable(type)->references, 1,
                              __ATOMIC_ACQ_REL) == 0) {
        const ctn_type_t *held = type->held;
        for (size_t i = 0; i < type->members; i++) {
            ctn_type_drop(type->level[0].member[i]);
        }
        ctn_handle_free(writable(type));
        type = held;
    }
}

catena_status_t catena_type_free(catena_type_t *handle)
{
    CTN_ENTRY;
    if (handle == NULL) {
        return ctn_refuse_null(NULL, __func__, "type");
    }
    const ctn_type_t *type = ctn_type_of(*handle);
    if (*handle != NULL && (ctn_type_is_unusable(type) || !type->derived)) {
        return ctn_refuse(NULL, CATENA_ERR_ARG, __func__,
                          "found %s; expected a derived type; predefined ones "
                          "are not freed",
                          type != NULL ? type->name : "no datatype");
    }
    if (type != NULL) {
        CTN_MARK_SET(writable(type), CTN_FREED);
        ctn_type_drop(type);
    }
    *handle = NULL;
    return CATENA_OK;
}
