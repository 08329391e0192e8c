#ifndef CTN_TYPE_DATATYPE_H
#define CTN_TYPE_DATATYPE_H

#include <catena/datatype.h>

struct catena_datatype {
    const char *name;
    size_t bytes;
};

#endif
