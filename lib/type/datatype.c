#include "type/datatype.h"

#include <stdint.h>

#define DEFINE_TYPE(type_name, ctype)                                          \
    const struct catena_datatype catena_type_##type_name = {                   \
        .name = #type_name, .bytes = sizeof(ctype)};
CATENA_FIXED_TYPES(DEFINE_TYPE)

size_t catena_datatype_size(catena_datatype_t type)
{
    return type != NULL ? type->bytes : 0;
}
