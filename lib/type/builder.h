#ifndef CTN_TYPE_BUILDER_H
#define CTN_TYPE_BUILDER_H

#include "type/datatype.h"

/* A type under construction. After the first error later steps do nothing, and
 * ctn_type_builder_finish returns it. */
typedef struct ctn_type_builder {
    ctn_type_t *type;
    catena_status_t status;
} ctn_type_builder_t;

/** Bounds of repeated data; high is the end. */
typedef struct ctn_bounds {
    ptrdiff_t low;
    ptrdiff_t high;
} ctn_bounds_t;

/** Check the common arguments of a constructor.
 * @return the type to derive from; NULL: invalid arguments (logged) */
const ctn_type_t *ctn_type_to_derive(const char *name, catena_type_t old,
                                     const catena_type_t *out);

/** Start with a copy of `old`.
 * @param[in] levels that will be added at most
 * @param[in] bytes  for arrays, see ctn_type_builder_arrays */
ctn_type_builder_t ctn_type_builder_begin(const char *name,
                                          const ctn_type_t *old, size_t levels,
                                          size_t bytes);

/** Return the memory for arrays, aligned for any level's array.
 * @param[in] levels as in ctn_type_builder_begin */
void *ctn_type_builder_arrays(ctn_type_builder_t *builder,
                              const ctn_type_t *old, size_t levels);

/** Remove all data and bounds. */
void ctn_type_builder_clear(ctn_type_builder_t *builder);

/** Shift the data and the bounds. */
void ctn_type_builder_shift(ctn_type_builder_t *builder, ptrdiff_t offset);

/** Repeat the data and the bounds.
 * @param[in] count  1 or more
 * @param[in] stride bytes of memory from one to the next */
void ctn_type_builder_repeat(ctn_type_builder_t *builder, size_t count,
                             ptrdiff_t stride);

/** Check the type and return it, or free it. */
catena_status_t ctn_type_builder_finish(ctn_type_builder_t *builder,
                                        catena_type_t *out);

/** Flatten elements of the lowest *depth levels, *stride apart: if the bodies
 * of the upper level are evenly spaced across elements as well, the elements
 * are rows of those bodies. Replaces both by one level less, and by the bodies'
 * stride. */
void ctn_type_flatten(const ctn_type_t *type, uint32_t *depth,
                      ptrdiff_t *stride);

/** Extend the bounds to `count` (1 or more) repetitions, `stride` apart.
 * @return false on overflow */
bool ctn_bounds_repeat(ctn_bounds_t *bounds, size_t count, ptrdiff_t stride);

/** Extend *all by a block of `length` (1 or more) elements that have `bounds`.
 * @return false on overflow */
bool ctn_bounds_add(ctn_bounds_t *all, bool first, ctn_bounds_t bounds,
                    ptrdiff_t displacement, size_t length, ptrdiff_t extent);

/** Blocks of consecutive elements. */
typedef struct ctn_type_blocks {
    size_t count;
    const size_t *lengths; /* [count] elements; NULL: all have `length` */
    size_t length;
    const ptrdiff_t *displacements; /* [count] */
    ptrdiff_t unit;                 /* bytes of one unit of displacement */
} ctn_type_blocks_t;

/** Build blocks of elements of `old`, in this order. */
ctn_type_builder_t ctn_type_builder_indexed(const char *name,
                                            const ctn_type_blocks_t *blocks,
                                            const ctn_type_t *old);

#endif
