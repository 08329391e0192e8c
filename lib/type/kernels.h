#ifndef CTN_TYPE_KERNELS_H
#define CTN_TYPE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/op.h>

#include "type/datatype.h"

/* The loops of the predefined operations. kernels.c is compiled once for any
 * processor of the architecture and once for each useful extension
 * (lib/meson.build). All give the same bits, so ranks may use different ones
 * (except for which of two NaN is the sum or product of both). */

/** As ctn_reduce, for `count` elements of a fixed type. */
typedef void (*ctn_kernel_t)(const void *left, const void *right, void *out,
                             size_t count);

/** NULL: not defined for this type. */
typedef ctn_kernel_t ctn_kernels_t[CTN_PREDEFINED_OPS][CTN_FIXED_TYPES];

extern const ctn_kernels_t ctn_kernels_any;
#ifdef __x86_64__
extern const ctn_kernels_t ctn_kernels_avx2;
extern const ctn_kernels_t ctn_kernels_avx512;
#endif

/** Return the nth best table that this processor can run; NULL: no more. */
const ctn_kernels_t *ctn_kernels(size_t nth);

#endif
