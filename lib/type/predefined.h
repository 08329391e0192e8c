#ifndef CTN_TYPE_PREDEFINED_H
#define CTN_TYPE_PREDEFINED_H

#include <stdint.h>

#include <catena/op.h>

/* The fixed types and the predefined operations: what is known when the library
 * is compiled. */

/** For data of the library that programs do not use: compiled code reads them
 * without the global offset table. */
#define CTN_HIDDEN __attribute__((visibility("hidden")))

/* Lists. CTN_EACH_..._TYPE(X) expands X(name, C type, handle of
 * <catena/type.h>) for each type. */
#define CTN_EACH_INTEGER_TYPE(X)                                               \
    X(int8, int8_t, 0x110)                                                     \
    X(int16, int16_t, 0x111)                                                   \
    X(int32, int32_t, 0x112)                                                   \
    X(int64, int64_t, 0x113)                                                   \
    X(uint8, uint8_t, 0x120)                                                   \
    X(uint16, uint16_t, 0x121)                                                 \
    X(uint32, uint32_t, 0x122)                                                 \
    X(uint64, uint64_t, 0x123)
#define CTN_EACH_FLOAT_TYPE(X)                                                 \
    X(float, float, 0x132)                                                     \
    X(double, double, 0x133)
#define CTN_EACH_COMPLEX_TYPE(X)                                               \
    X(complex_float, float _Complex, 0x143)                                    \
    X(complex_double, double _Complex, 0x144)
#define CTN_EACH_PAIR_TYPE(X)                                                  \
    X(float_int32, catena_float_int32_t, 0x150)                                \
    X(double_int32, catena_double_int32_t, 0x151)                              \
    X(int16_int32, catena_int16_int32_t, 0x152)                                \
    X(int32_int32, catena_int32_int32_t, 0x153)                                \
    X(int64_int32, catena_int64_int32_t, 0x154)                                \
    X(double_int64, catena_double_int64_t, 0x155)                              \
    X(int64_int64, catena_int64_int64_t, 0x156)
#define CTN_EACH_FIXED_TYPE(X)                                                 \
    X(byte, unsigned char, 0x101)                                              \
    CTN_EACH_INTEGER_TYPE(X)                                                   \
    CTN_EACH_FLOAT_TYPE(X)                                                     \
    CTN_EACH_COMPLEX_TYPE(X)                                                   \
    CTN_EACH_PAIR_TYPE(X)

/* Expands X(name, handle of <catena/op.h>) for each operation. */
#define CTN_EACH_PREDEFINED_OP(X)                                              \
    X(max, 0x201)                                                              \
    X(min, 0x202)                                                              \
    X(sum, 0x203)                                                              \
    X(prod, 0x204)                                                             \
    X(land, 0x210)                                                             \
    X(band, 0x220)                                                             \
    X(lor, 0x211)                                                              \
    X(bor, 0x221)                                                              \
    X(lxor, 0x212)                                                             \
    X(bxor, 0x222)                                                             \
    X(minloc, 0x230)                                                           \
    X(maxloc, 0x231)

/** Numbers of the fixed types, in rows of kernels. */
typedef enum ctn_fixed {
#define CTN_FIXED_NUMBER(name, ctype, handle) CTN_FIXED_##name,
    CTN_EACH_FIXED_TYPE(CTN_FIXED_NUMBER)
#undef CTN_FIXED_NUMBER
        CTN_FIXED_mixed, /* a type of several fixed types; no predefined
                            operation takes it */
    CTN_FIXED_TYPES
} ctn_fixed_t;

/** Numbers of the predefined operations, in tables of kernels. */
typedef enum ctn_predefined {
#define CTN_PREDEFINED_NUMBER(name, handle) CTN_PREDEFINED_##name,
    CTN_EACH_PREDEFINED_OP(CTN_PREDEFINED_NUMBER)
#undef CTN_PREDEFINED_NUMBER
        CTN_PREDEFINED_OPS
} ctn_predefined_t;

/* Handles of fixed types are integers from CTN_FIRST_TYPE on, those of
 * predefined operations from CTN_FIRST_OP on, CTN_HANDLES of each. Other values
 * below CTN_FIRST_POINTER are no handles. Values from there on are addresses of
 * derived types and of user-defined operations: no object lies in the first
 * page. */
enum {
    CTN_FIRST_TYPE = 0x100,
    CTN_FIRST_OP = 0x200,
    CTN_HANDLES = 0x100, /* of each */
    CTN_FIRST_POINTER = 0x1000
};

#endif
