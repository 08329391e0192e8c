#ifndef CATENA_DATATYPE_H
#define CATENA_DATATYPE_H

#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What an element is. The fixed types are constants of the library. */
typedef const struct catena_datatype *catena_datatype_t;

/** The fixed types, and the C type of each. */
#define CATENA_FIXED_TYPES(X)                                                  \
    X(byte, unsigned char)                                                     \
    X(int8, int8_t)                                                            \
    X(int16, int16_t)                                                          \
    X(int32, int32_t)                                                          \
    X(int64, int64_t)                                                          \
    X(uint8, uint8_t)                                                          \
    X(uint16, uint16_t)                                                        \
    X(uint32, uint32_t)                                                        \
    X(uint64, uint64_t)                                                        \
    X(float, float)                                                            \
    X(double, double)                                                          \
    X(complex_float, float _Complex)                                           \
    X(complex_double, double _Complex)

#define CATENA_DECLARE_TYPE(name, ctype)                                       \
    extern CATENA_API const struct catena_datatype catena_type_##name;
CATENA_FIXED_TYPES(CATENA_DECLARE_TYPE)
#undef CATENA_DECLARE_TYPE

#define CATENA_BYTE (&catena_type_byte)
#define CATENA_INT8 (&catena_type_int8)
#define CATENA_INT16 (&catena_type_int16)
#define CATENA_INT32 (&catena_type_int32)
#define CATENA_INT64 (&catena_type_int64)
#define CATENA_UINT8 (&catena_type_uint8)
#define CATENA_UINT16 (&catena_type_uint16)
#define CATENA_UINT32 (&catena_type_uint32)
#define CATENA_UINT64 (&catena_type_uint64)
#define CATENA_FLOAT (&catena_type_float)
#define CATENA_DOUBLE (&catena_type_double)
#define CATENA_COMPLEX_FLOAT (&catena_type_complex_float)
#define CATENA_COMPLEX_DOUBLE (&catena_type_complex_double)

/** Bytes of one element. */
CATENA_API size_t catena_datatype_size(catena_datatype_t type);

#ifdef __cplusplus
}
#endif
#endif
