#ifndef CTN_TYPE_DATATYPE_H
#define CTN_TYPE_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/type.h>

#include "type/predefined.h"

/* A type is a run of contiguous bytes, repeated by levels; level[0] repeats the
 * run. The body of a level is what is below it. The stream of a type is its
 * data in the order of MPI, one element after the other. */

/* Each level has two bodies or more, so there are fewer levels than `bytes` has
 * bits, and recursion over them fits any stack. */
enum { CTN_TYPE_LEVELS = 8 * sizeof(size_t) };

typedef enum ctn_level_kind {
    CTN_LEVEL_STRIDED,   /* body i at i * stride */
    CTN_LEVEL_SCATTERED, /* body i at displacement[i] */
    CTN_LEVEL_INDEXED,   /* body k of block i at displacement[i] + k * stride */
    CTN_LEVEL_MEMBERS /* level[0] only, instead of runs: elements of member[i],
                         the data of the first at displacement[i] */
} ctn_level_kind_t;

typedef struct ctn_level {
    ctn_level_kind_t kind;
    size_t bytes;                  /* of the stream, all bodies together */
    size_t count;                  /* bodies; or blocks, or members */
    ptrdiff_t stride;              /* bytes of memory */
    const ptrdiff_t *displacement; /* [count] bytes; displacement[0] is 0 */
    const size_t *start;           /* [count + 1] stream offset of each block */
    const struct ctn_type *const *member; /* [count] */
} ctn_level_t;

/* Invariants, while bytes > 0:
 *   level[i].bytes = (all bodies of i) * (i > 0 ? level[i - 1].bytes : run)
 *     (CTN_LEVEL_MEMBERS: of all members; run is 1 and has no meaning)
 *   bytes = depth > 0 ? level[depth - 1].bytes : run
 *   no level has 1 body, and no strided level can be merged with the one below
 *   two members or more, not all of one type; a member with members has two
 *     elements or more, or repeats them by levels: so members are nested less
 *     deep than `bytes` has bits
 * Types without data have depth, run, shift and the true bounds 0. */
typedef struct ctn_type {
    const char *name;
    size_t bytes; /* of the stream, one element */
    ptrdiff_t lower;
    ptrdiff_t extent;
    ptrdiff_t true_low;  /* the memory of one element: [true_low, true_high) */
    ptrdiff_t true_high; /* from its base */
    bool dense;          /* the stream of any count is the memory at the base */
    bool derived;        /* allocated and reference counted; else a constant */
    uint16_t handle;     /* of a fixed type */
    ctn_fixed_t element; /* all data is of this fixed type; or mixed */
    uint32_t depth;
    size_t run;      /* bytes */
    ptrdiff_t shift; /* from the base to the first byte of the stream */
    /* Consecutive elements are also consecutive bodies of `stream_depth`
     * levels, `stream_stride` apart: one loop instead of two. */
    uint32_t stream_depth;
    ptrdiff_t stream_stride;
    size_t references;
    const struct ctn_type *held; /* owns arrays that levels point to; or NULL */
    size_t members;              /* holds those of its own level[0] */
    ctn_level_t level[];
} ctn_type_t;

/** The fixed types by handle, from CTN_FIRST_TYPE on; NULL: no type. */
extern CTN_HIDDEN const ctn_type_t *const ctn_type_table[CTN_HANDLES];

/** Return the type of a handle; NULL: it is none. */
static inline const ctn_type_t *ctn_type_of(catena_type_t handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value - CTN_FIRST_TYPE < CTN_HANDLES) {
        return ctn_type_table[value - CTN_FIRST_TYPE];
    }
    return value < CTN_FIRST_POINTER ? NULL : (const ctn_type_t *)value;
}

/** Message for a handle that is no datatype: what it is the type of. */
#define CTN_NO_TYPE                                                            \
    "the type of %s is NULL or no datatype; pass a predefined one, such as "   \
    "CATENA_INT32, or one made by catena_type_*"

/** Return the handle of a type, as its user knows it. */
catena_type_t ctn_type_handle(const ctn_type_t *type);

/** The fixed types by number. */
extern CTN_HIDDEN const ctn_type_t *const ctn_type_fixed[CTN_FIXED_TYPES];

/** Take a reference while an operation uses the type. Any thread; does nothing
 * for fixed types.
 * @return type */
const ctn_type_t *ctn_type_hold(const ctn_type_t *type);

/** Release one reference of ctn_type_hold. */
void ctn_type_drop(const ctn_type_t *type);

/** Return whether a buffer of `count` elements is missing: it has data, and the
 * first of them would lie in the first page. So NULL is no buffer, except for
 * types with absolute addresses (CATENA_BOTTOM) and for calls without data. */
static inline bool ctn_type_is_missing(const ctn_type_t *type, const void *base,
                                       size_t count)
{
    uintptr_t first = (uintptr_t)base + (uintptr_t)type->true_low;
    return first < CTN_FIRST_POINTER && count > 0 && type->bytes > 0;
}

/** Pack a part of the stream. Allocates nothing.
 * @param[in]  base  element i is at base + i * extent
 * @param[in]  from  first byte of the stream; any offset, also within a
 *                   primitive
 * @param[in]  bytes of the stream
 * @param[out] out   [bytes], not overlapping the elements
 * @return bytes copied: `bytes`, or 0 for a type without data */
size_t ctn_type_pack(const ctn_type_t *type, const void *base, size_t from,
                     size_t bytes, void *out);

/** Unpack a part of the stream; see ctn_type_pack. Gaps between the data are
 * not written.
 * @param[in] in [bytes], not overlapping the elements */
size_t ctn_type_unpack(const ctn_type_t *type, void *base, size_t from,
                       size_t bytes, const void *in);

#endif
