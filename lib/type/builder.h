#ifndef CTN_TYPE_BUILDER_H
#define CTN_TYPE_BUILDER_H

#include "core/region.h"
#include "type/datatype.h"

/* A derived type is built in steps: begin, add levels from the lowest up,
 * finish. The data and bounds are those of one element of the new type. */

/** A type under construction. After the first error the other steps do nothing,
 * and ctn_type_builder_finish returns that error. */
typedef struct ctn_type_builder {
    ctn_type_t *type;       /* NULL: no memory */
    catena_status_t status; /* the first error */
} ctn_type_builder_t;

/** Bytes of memory from `low` to `high` - 1, relative to a buffer's address. */
typedef struct ctn_bounds {
    ptrdiff_t low;
    ptrdiff_t high;
} ctn_bounds_t;

/** Check the common arguments of a constructor.
 * @return the type to derive from; NULL: invalid arguments (logged) */
const ctn_type_t *ctn_type_to_derive(const char *name, catena_type_t old,
                                     const catena_type_t *out);

/** Begin with a copy of `old`.
 * @param[in] name   of the constructor, for messages
 * @param[in] levels number of levels that will be added, at most
 * @param[in] bytes  of memory for arrays, see ctn_type_builder_arrays */
ctn_type_builder_t ctn_type_builder_begin(const char *name,
                                          const ctn_type_t *old, size_t levels,
                                          size_t bytes);

/** Return the memory for the arrays that levels point to.
 * @param[in] levels as in ctn_type_builder_begin */
void *ctn_type_builder_arrays(ctn_type_builder_t *builder,
                              const ctn_type_t *old, size_t levels);

/** Remove all data and set the bounds to 0. */
void ctn_type_builder_clear(ctn_type_builder_t *builder);

/** Move the data and the bounds by `offset` bytes. */
void ctn_type_builder_shift(ctn_type_builder_t *builder, ptrdiff_t offset);

/** Repeat the data, and extend the bounds to the repetitions: add a strided
 * level, or merge it with what is there.
 * @param[in] count  of repetitions; 1 or more
 * @param[in] stride bytes of memory from one repetition to the next */
void ctn_type_builder_repeat(ctn_type_builder_t *builder, size_t count,
                             ptrdiff_t stride);

/** Check the type and set *out to its handle; after an error log that, free the
 * type and return the error. */
catena_status_t ctn_type_builder_finish(ctn_type_builder_t *builder,
                                        catena_type_t *out);

/** Take elements that consist of the lowest *depth levels of a type and are
 * *stride apart. If the top one of these levels is strided, and its stride goes
 * on from one element to the next, the elements are one row of that level's
 * bodies. Then decrement *depth, and set *stride to that of the bodies. */
void ctn_type_flatten(const ctn_type_t *type, uint32_t *depth,
                      ptrdiff_t *stride);

/** Extend the bounds to `count` (1 or more) repetitions, `stride` apart.
 * @return false on overflow */
bool ctn_bounds_repeat(ctn_bounds_t *bounds, size_t count, ptrdiff_t stride);

/** Extend *all to a block at `displacement` of `length` (1 or more) elements,
 * `extent` apart, each of which has `bounds`.
 * @param first *all is not set yet
 * @return false on overflow */
bool ctn_bounds_add(ctn_bounds_t *all, bool first, ctn_bounds_t bounds,
                    ptrdiff_t displacement, size_t length, ptrdiff_t extent);

/** Blocks of consecutive elements at displacements, from which a type is built.
 * Empty blocks are left out, and a block that continues the one before it is
 * merged with that. */
typedef struct ctn_type_blocks {
    const ctn_type_t *old;   /* that the type derives from if it has no data */
    bool flatten;            /* replace contiguous elements by bytes, and an
                                element of a struct type by its members */
    size_t count;            /* number of blocks */
    const ctn_type_t **type; /* [count], likewise the next two */
    size_t *length;          /* elements */
    ptrdiff_t *displacement; /* bytes from the base */
    bool mixed;              /* blocks have several types */
    bool overflow;        /* a length or displacement does not fit its type */
    ctn_fixed_t element;  /* fixed type of all data; or mixed */
    size_t bytes;         /* of the stream */
    bool bounded;         /* `markers` are set */
    ctn_bounds_t markers; /* MPI's lower and upper bound of the type */
    ctn_bounds_t data;    /* its true bounds; set if bytes > 0 */
    ctn_region_t memory;  /* of the arrays */
} ctn_type_blocks_t;

/** Begin a list of at most `most` blocks. If there is no memory,
 * blocks->memory.failed is set, and no block may be added. */
void ctn_type_blocks_open(ctn_type_blocks_t *blocks, const ctn_type_t *old,
                          size_t most, bool flatten);

/** Add a block. @param displacement in units of `unit` bytes */
void ctn_type_blocks_add(ctn_type_blocks_t *blocks, const ctn_type_t *type,
                         size_t length, ptrdiff_t displacement, ptrdiff_t unit);

/** Build the type, and release the list. */
catena_status_t ctn_type_blocks_build(const char *name,
                                      ctn_type_blocks_t *blocks,
                                      catena_type_t *out);

/** Whether a type is a struct that one level of members describes, so that
 * these can replace an element of it. */
bool ctn_type_is_struct(const ctn_type_t *type);

#endif
