#ifndef CATENA_TYPE_H
#define CATENA_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Handle of a datatype: the type of an element. The fixed types (MPI's basic
 * datatypes) are integer constants that never change; derived types are created
 * by catena_type_*. NULL is never a datatype. */
typedef struct catena_type *catena_type_t;

/** Elements of CATENA_MINLOC and CATENA_MAXLOC: a value and its index. */
typedef struct catena_float_int32 {
    float value;
    int32_t index;
} catena_float_int32_t;
typedef struct catena_double_int32 {
    double value;
    int32_t index;
} catena_double_int32_t;
typedef struct catena_int16_int32 {
    int16_t value;
    int32_t index;
} catena_int16_int32_t;
typedef struct catena_int32_int32 {
    int32_t value;
    int32_t index;
} catena_int32_int32_t;
typedef struct catena_int64_int32 {
    int64_t value;
    int32_t index;
} catena_int64_int32_t;
typedef struct catena_double_int64 {
    double value;
    int64_t index;
} catena_double_int64_t;
typedef struct catena_int64_int64 {
    int64_t value;
    int64_t index;
} catena_int64_int64_t;

/** The fixed types. They may stand in static initializers. 0x100 to 0x1ff are
 * reserved for them: 0x10x no arithmetic, 0x11x signed integers, 0x12x unsigned
 * integers, 0x13x floats, 0x14x complex (in the last four, the last digit is
 * the binary logarithm of the size), 0x15x pairs. */
#define CATENA_BYTE ((catena_type_t)0x101)
#define CATENA_INT8 ((catena_type_t)0x110)
#define CATENA_INT16 ((catena_type_t)0x111)
#define CATENA_INT32 ((catena_type_t)0x112)
#define CATENA_INT64 ((catena_type_t)0x113)
#define CATENA_UINT8 ((catena_type_t)0x120)
#define CATENA_UINT16 ((catena_type_t)0x121)
#define CATENA_UINT32 ((catena_type_t)0x122)
#define CATENA_UINT64 ((catena_type_t)0x123)
#define CATENA_FLOAT ((catena_type_t)0x132)
#define CATENA_DOUBLE ((catena_type_t)0x133)
#define CATENA_COMPLEX_FLOAT ((catena_type_t)0x143)
#define CATENA_COMPLEX_DOUBLE ((catena_type_t)0x144)
/** The fixed types of pairs. A pair is one element, padding included: its size
 * and its extent are those of the struct, while MPI_DOUBLE_INT and others have
 * a smaller size and a gap. Padding is copied with its pair. */
#define CATENA_FLOAT_INT32 ((catena_type_t)0x150)
#define CATENA_DOUBLE_INT32 ((catena_type_t)0x151)
#define CATENA_INT16_INT32 ((catena_type_t)0x152)
#define CATENA_INT32_INT32 ((catena_type_t)0x153)
#define CATENA_INT64_INT32 ((catena_type_t)0x154)
#define CATENA_DOUBLE_INT64 ((catena_type_t)0x155)
#define CATENA_INT64_INT64 ((catena_type_t)0x156)

/** @name Constructors
 * Derived types have MPI's meaning (MPI 4.1, chapter 5): a type is a list of
 * fixed types at byte displacements, and its extent is the distance between
 * consecutive elements of it. A constructor (a function that creates a derived
 * type) reads its arrays before it returns and keeps no pointer to them; the
 * new type is freed with catena_type_free. Counts of 0 are allowed and give
 * types without data, of extent 0 unless said otherwise. The elements of a
 * buffer may overlap in memory if the call only reads the buffer.
 * @param[in]  old type to build from; may be freed after the call
 * @param[out] out the new type; set only on CATENA_OK
 * @return CATENA_OK, ERR_ARG (NULL, no datatype, overflow), ERR_NO_MEMORY
 * @{ */

/** Create a type of `count` elements, one extent of `old` apart. */
CATENA_API catena_status_t catena_type_contiguous(size_t count,
                                                  catena_type_t old,
                                                  catena_type_t *out);

/** Create a type of `count` blocks of `blocklength` consecutive elements each.
 * @param[in] stride extents of `old` from block to block; may be negative */
CATENA_API catena_status_t catena_type_vector(size_t count, size_t blocklength,
                                              ptrdiff_t stride,
                                              catena_type_t old,
                                              catena_type_t *out);

/** As catena_type_vector, with the stride in bytes.
 * @param[in] stride_bytes bytes from block to block; may be negative */
CATENA_API catena_status_t catena_type_hvector(size_t count, size_t blocklength,
                                               ptrdiff_t stride_bytes,
                                               catena_type_t old,
                                               catena_type_t *out);

/** Create a type of `count` blocks of consecutive elements, in the order of the
 * arrays.
 * @param[in] blocklengths  [count] elements; blocks of 0 are skipped
 * @param[in] displacements [count] extents of `old` from the base; may be
 *                          negative */
CATENA_API catena_status_t catena_type_indexed(size_t count,
                                               const size_t blocklengths[],
                                               const ptrdiff_t displacements[],
                                               catena_type_t old,
                                               catena_type_t *out);

/** As catena_type_indexed, with displacements in bytes.
 * @param[in] displacements [count] bytes from the base; may be negative */
CATENA_API catena_status_t catena_type_hindexed(size_t count,
                                                const size_t blocklengths[],
                                                const ptrdiff_t displacements[],
                                                catena_type_t old,
                                                catena_type_t *out);

/** As catena_type_indexed, with blocks of one length. */
CATENA_API catena_status_t catena_type_indexed_block(
    size_t count, size_t blocklength, const ptrdiff_t displacements[],
    catena_type_t old, catena_type_t *out);

/** As catena_type_hindexed, with blocks of one length. */
CATENA_API catena_status_t catena_type_hindexed_block(
    size_t count, size_t blocklength, const ptrdiff_t displacements[],
    catena_type_t old, catena_type_t *out);

/** Create a type of `count` blocks, whose elements have a type for each block,
 * in the order of the arrays. The predefined reduction operations (op.h) do not
 * accept a type that is made of several fixed types. No padding is added at the
 * end: for an array of C structs resize the type to the size of the struct.
 * @param[in] blocklengths  [count] elements; blocks of 0 are skipped
 * @param[in] displacements [count] bytes from the base; may be negative
 * @param[in] types         [count] of the elements of each block; may be freed
 *                          after the call */
CATENA_API catena_status_t catena_type_struct(size_t count,
                                              const size_t blocklengths[],
                                              const ptrdiff_t displacements[],
                                              const catena_type_t types[],
                                              catena_type_t *out);

/** Create a copy of a type, derived or fixed. Each is freed on its own. */
CATENA_API catena_status_t catena_type_dup(catena_type_t old,
                                           catena_type_t *out);

/** Storage order of an array: which index numbers adjacent elements. */
typedef enum catena_order {
    CATENA_ORDER_C,      /**< the last index */
    CATENA_ORDER_FORTRAN /**< the first index */
} catena_order_t;

/** Create a type of a subarray: a box of an array. The base and the extent are
 * those of the whole array; the lower bound is 0. An empty box has this extent,
 * too.
 * @param[in] ndims    number of dimensions, 1 or more
 * @param[in] sizes    [ndims] elements of the array in each dimension
 * @param[in] subsizes [ndims] elements of the box in each dimension
 * @param[in] starts   [ndims] index at which the box begins, from 0 in both
 *                     orders
 * @param[in] order    storage order of the array
 * @return also ERR_ARG: the box is not within the array */
CATENA_API catena_status_t catena_type_subarray(
    size_t ndims, const size_t sizes[], const size_t subsizes[],
    const size_t starts[], catena_order_t order, catena_type_t old,
    catena_type_t *out);

/** Create a type of the same data with other bounds.
 * @param[in] lower_bound bytes from the base; may be negative
 * @param[in] extent      bytes; 0 and negative are allowed */
CATENA_API catena_status_t catena_type_resized(catena_type_t old,
                                               ptrdiff_t lower_bound,
                                               ptrdiff_t extent,
                                               catena_type_t *out);
/** @} */

/** Free a derived type. Types derived from it and operations that use it are
 * not affected.
 * @param[in,out] type NULL afterwards
 * @return CATENA_OK, ERR_ARG (`type` is NULL, or the address of a fixed type,
 *         which is unchanged) */
CATENA_API catena_status_t catena_type_free(catena_type_t *type);

/** Return the bytes of the data of one element, without gaps.
 * @param type predefined or made by the program
 * @return the bytes; 0 for NULL and for what is no datatype */
CATENA_API size_t catena_type_size(catena_type_t type);

/** Return the bounds of one element, gaps included. No padding is added for
 * alignment.
 * @param[out] lower_bound bytes from the element's base
 * @param[out] extent      bytes from one element to the next
 * @return CATENA_OK, ERR_ARG (NULL, no datatype) */
CATENA_API catena_status_t catena_type_extent(catena_type_t type,
                                              ptrdiff_t *lower_bound,
                                              ptrdiff_t *extent);

/** Return the bounds of the data of one element, without gaps at its ends.
 * @param[out] true_lower_bound bytes from the element's base; 0 without data
 * @param[out] true_extent      bytes; 0 without data
 * @return CATENA_OK, ERR_ARG (NULL, no datatype) */
CATENA_API catena_status_t catena_type_true_extent(catena_type_t type,
                                                   ptrdiff_t *true_lower_bound,
                                                   ptrdiff_t *true_extent);

/** The buffer to pass with a type whose displacements are addresses
 * (catena_get_address): one made by catena_type_hindexed, _hindexed_block or
 * _struct. All data of the type must lie above the first page (4096 bytes);
 * otherwise the call treats CATENA_BOTTOM as a missing buffer, NULL. */
#define CATENA_BOTTOM ((void *)0)

/** Return the address of a location, to be used as a displacement.
 * @param[in]  location any address, also NULL
 * @param[out] address  `location` as an integer
 * @return CATENA_OK, ERR_ARG (address is NULL) */
CATENA_API catena_status_t catena_get_address(const void *location,
                                              ptrdiff_t *address);

#ifdef __cplusplus
}
#endif
#endif
