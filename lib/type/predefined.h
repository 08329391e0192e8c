#ifndef CTN_TYPE_PREDEFINED_H
#define CTN_TYPE_PREDEFINED_H

#include <stdint.h>

#include <catena/op.h>

/* The fixed types and the predefined operations: what is known when the library
 * is compiled. */

/** For data of the library that programs do not use: compiled code reads them
 * without the global offset table. */
#define CTN_HIDDEN __attribute__((visibility("hidden")))

/* Lists. CTN_EACH_..._TYPE(X) expands X(name, C type) for each type. */
#define CTN_EACH_INTEGER_TYPE(X)                                               \
    X(int8, int8_t)                                                            \
    X(int16, int16_t)                                                          \
    X(int32, int32_t)                                                          \
    X(int64, int64_t)                                                          \
    X(uint8, uint8_t)                                                          \
    X(uint16, uint16_t)                                                        \
    X(uint32, uint32_t)                                                        \
    X(uint64, uint64_t)
#define CTN_EACH_FLOAT_TYPE(X)                                                 \
    X(float, float)                                                            \
    X(double, double)
#define CTN_EACH_COMPLEX_TYPE(X)                                               \
    X(complex_float, float _Complex)                                           \
    X(complex_double, double _Complex)
#define CTN_EACH_PAIR_TYPE(X)                                                  \
    X(float_int32, catena_float_int32_t)                                       \
    X(double_int32, catena_double_int32_t)                                     \
    X(int16_int32, catena_int16_int32_t)                                       \
    X(int32_int32, catena_int32_int32_t)                                       \
    X(int64_int32, catena_int64_int32_t)                                       \
    X(double_int64, catena_double_int64_t)                                     \
    X(int64_int64, catena_int64_int64_t)
#define CTN_EACH_FIXED_TYPE(X)                                                 \
    X(byte, unsigned char)                                                     \
    CTN_EACH_INTEGER_TYPE(X)                                                   \
    CTN_EACH_FLOAT_TYPE(X)                                                     \
    CTN_EACH_COMPLEX_TYPE(X)                                                   \
    CTN_EACH_PAIR_TYPE(X)

/* Expands X(name) for each operation. */
#define CTN_EACH_PREDEFINED_OP(X)                                              \
    X(max)                                                                     \
    X(min)                                                                     \
    X(sum)                                                                     \
    X(prod)                                                                    \
    X(land)                                                                    \
    X(band)                                                                    \
    X(lor)                                                                     \
    X(bor)                                                                     \
    X(lxor)                                                                    \
    X(bxor)                                                                    \
    X(minloc)                                                                  \
    X(maxloc)

/** Numbers of the fixed types, in rows of kernels. */
typedef enum ctn_fixed {
#define CTN_FIXED_NUMBER(name, ctype) CTN_FIXED_##name,
    CTN_EACH_FIXED_TYPE(CTN_FIXED_NUMBER)
#undef CTN_FIXED_NUMBER
        CTN_FIXED_mixed, /* a type of several fixed types; no predefined
                            operation takes it */
    CTN_FIXED_TYPES
} ctn_fixed_t;

/** Numbers of the predefined operations, in tables of kernels. */
typedef enum ctn_predefined {
#define CTN_PREDEFINED_NUMBER(name) CTN_PREDEFINED_##name,
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

/** The predefined handles of <catena/type.h>. */
enum {
    CTN_HANDLE_byte = 0x101,
    CTN_HANDLE_int8 = 0x110,
    CTN_HANDLE_int16 = 0x111,
    CTN_HANDLE_int32 = 0x112,
    CTN_HANDLE_int64 = 0x113,
    CTN_HANDLE_uint8 = 0x120,
    CTN_HANDLE_uint16 = 0x121,
    CTN_HANDLE_uint32 = 0x122,
    CTN_HANDLE_uint64 = 0x123,
    CTN_HANDLE_float = 0x132,
    CTN_HANDLE_double = 0x133,
    CTN_HANDLE_complex_float = 0x143,
    CTN_HANDLE_complex_double = 0x144,
    CTN_HANDLE_float_int32 = 0x150,
    CTN_HANDLE_double_int32 = 0x151,
    CTN_HANDLE_int16_int32 = 0x152,
    CTN_HANDLE_int32_int32 = 0x153,
    CTN_HANDLE_int64_int32 = 0x154,
    CTN_HANDLE_double_int64 = 0x155,
    CTN_HANDLE_int64_int64 = 0x156
};

/** The predefined handles of <catena/op.h>. */
enum {
    CTN_HANDLE_max = 0x201,
    CTN_HANDLE_min = 0x202,
    CTN_HANDLE_sum = 0x203,
    CTN_HANDLE_prod = 0x204,
    CTN_HANDLE_land = 0x210,
    CTN_HANDLE_lor = 0x211,
    CTN_HANDLE_lxor = 0x212,
    CTN_HANDLE_band = 0x220,
    CTN_HANDLE_bor = 0x221,
    CTN_HANDLE_bxor = 0x222,
    CTN_HANDLE_minloc = 0x230,
    CTN_HANDLE_maxloc = 0x231
};

#endif
