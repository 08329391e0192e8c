#ifndef ORACLE_ELEMENTS_H
#define ORACLE_ELEMENTS_H

#include <catena/op.h>
#include <catena/type.h>

/* The fixed types: X(name, handle, C type). */
#define ORACLE_EACH_INTEGER(X)                                                 \
    X(int8, CATENA_INT8, int8_t)                                               \
    X(int16, CATENA_INT16, int16_t)                                            \
    X(int32, CATENA_INT32, int32_t)                                            \
    X(int64, CATENA_INT64, int64_t)                                            \
    X(uint8, CATENA_UINT8, uint8_t)                                            \
    X(uint16, CATENA_UINT16, uint16_t)                                         \
    X(uint32, CATENA_UINT32, uint32_t)                                         \
    X(uint64, CATENA_UINT64, uint64_t)
#define ORACLE_EACH_FLOAT(X)                                                   \
    X(float, CATENA_FLOAT, float)                                              \
    X(double, CATENA_DOUBLE, double)
#define ORACLE_EACH_COMPLEX(X)                                                 \
    X(complex_float, CATENA_COMPLEX_FLOAT, float _Complex)                     \
    X(complex_double, CATENA_COMPLEX_DOUBLE, double _Complex)
#define ORACLE_EACH_PAIR(X)                                                    \
    X(float_int32, CATENA_FLOAT_INT32, catena_float_int32_t)                   \
    X(double_int32, CATENA_DOUBLE_INT32, catena_double_int32_t)                \
    X(int16_int32, CATENA_INT16_INT32, catena_int16_int32_t)                   \
    X(int32_int32, CATENA_INT32_INT32, catena_int32_int32_t)                   \
    X(int64_int32, CATENA_INT64_INT32, catena_int64_int32_t)                   \
    X(double_int64, CATENA_DOUBLE_INT64, catena_double_int64_t)                \
    X(int64_int64, CATENA_INT64_INT64, catena_int64_int64_t)
#define ORACLE_EACH_TYPE(X)                                                    \
    X(byte, CATENA_BYTE, unsigned char)                                        \
    ORACLE_EACH_INTEGER(X)                                                     \
    ORACLE_EACH_FLOAT(X)                                                       \
    ORACLE_EACH_COMPLEX(X)                                                     \
    ORACLE_EACH_PAIR(X)

/* The predefined operations: X(name, handle). */
#define ORACLE_EACH_OP(X)                                                      \
    X(max, CATENA_MAX)                                                         \
    X(min, CATENA_MIN)                                                         \
    X(sum, CATENA_SUM)                                                         \
    X(prod, CATENA_PROD)                                                       \
    X(land, CATENA_LAND)                                                       \
    X(band, CATENA_BAND)                                                       \
    X(lor, CATENA_LOR)                                                         \
    X(bor, CATENA_BOR)                                                         \
    X(lxor, CATENA_LXOR)                                                       \
    X(bxor, CATENA_BXOR)                                                       \
    X(minloc, CATENA_MINLOC)                                                   \
    X(maxloc, CATENA_MAXLOC)

#endif
