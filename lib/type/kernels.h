#ifndef CTN_TYPE_KERNELS_H
#define CTN_TYPE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/op.h>

#include "type/datatype.h"

/* Kernels: the loops of the predefined operations, in tables. kernels.c is
 * compiled into one table for any processor of the architecture and one for
 * each useful extension of x86-64 (lib/meson.build). All tables give the same
 * bits, so ranks may use different ones. (The one exception: the sum or product
 * of two NaN may be either of them.) */

/** As ctn_reduce, for `count` elements of a fixed type. */
typedef void (*ctn_kernel_t)(const void *left, const void *right, void *out,
                             size_t count);

/** A table of kernels. NULL: the operation is not defined for the type. */
typedef ctn_kernel_t ctn_kernels_t[CTN_PREDEFINED_OPS][CTN_FIXED_TYPES];

extern const ctn_kernels_t ctn_kernels_any;
#ifdef __x86_64__
extern const ctn_kernels_t ctn_kernels_avx2;
extern const ctn_kernels_t ctn_kernels_avx512;
#endif

/** Return the nth best table that this processor can run; NULL: no more. */
const ctn_kernels_t *ctn_kernels(size_t nth);

#endif
