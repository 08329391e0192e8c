#include "group/splitting.h"
#define T(n)                                                                   \
    ctn_op_t *n(const ctn_splitting_t *s)                                      \
    {                                                                          \
        (void)s;                                                               \
        return NULL;                                                           \
    }
T(ctn_split_radix)
