#ifndef CTN_TYPE_DATATYPE_H
#define CTN_TYPE_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <catena/type.h>

#include "core/handle.h"
#include "type/predefined.h"

/* A type is a run of contiguous bytes, repeated by levels; level[0] repeats the
 * run. The body of a level is what the level repeats: the run, or the level
 * below. Bodies at a constant stride are a row. The stream of a type is its
 * data in the order of MPI, one element after the other. A fixed type is a
 * predefined one that is no derived type, such as int32. The base of an element
 * is the address to which displacements are relative. */

/* Each level has two bodies or more, so there are fewer levels than `bytes` has
 * bits, and recursion over them fits any stack. */
enum { CTN_TYPE_LEVELS = 8 * sizeof(size_t) };

/** How a level repeats its body. */
typedef enum ctn_level_kind {
    CTN_LEVEL_STRIDED,   /* body i at i * stride */
    CTN_LEVEL_SCATTERED, /* body i at displacement[i] */
    CTN_LEVEL_INDEXED,   /* body k of block i at displacement[i] + k * stride */
    CTN_LEVEL_MEMBERS    /* of a struct; level[0] only, has no body: elements of
                            type member[i], data from displacement[i] on */
} ctn_level_kind_t;

/** A level of a type. */
typedef struct ctn_level {
    ctn_level_kind_t kind;
    size_t bytes;     /* of the stream, all bodies together */
    size_t count;     /* number of bodies (indexed: of blocks; of members) */
    ptrdiff_t stride; /* bytes of memory from one body to the next */
    const ptrdiff_t *displacement; /* [count] bytes; displacement[0] is 0 */
    const size_t *start; /* [count + 1] offsets in the stream, of blocks or
                            members */
    const struct ctn_type *const *member; /* [count] types of the members */
} ctn_level_t;

/** The mark of a derived type: core/handle.h. */
#define CTN_TYPE 0xc7

/** A type. Invariants, while bytes > 0:
 *   level[i].bytes = (bodies of level i) * (i > 0 ? level[i - 1].bytes : run)
 *     (CTN_LEVEL_MEMBERS: sum over all members; run is 1 and has no meaning)
 *   bytes = depth > 0 ? level[depth - 1].bytes : run
 *   no level has a single body, and no strided level can be merged with the
 *     one below
 *   a level of members has two or more, not all of one type; a member that
 *     has members itself has two elements or more, or repeats its members by
 *     levels: so members are nested less deep than `bytes` has bits
 *
 * Types without data have depth, run, shift and the true bounds 0. */
typedef struct ctn_type {
    const char *name;    /* of the type or its constructor, for messages */
    size_t bytes;        /* of the stream, one element */
    ptrdiff_t lower;     /* MPI's lower bound */
    ptrdiff_t extent;    /* MPI's extent */
    ptrdiff_t true_low;  /* the data of one element lie from base + true_low */
    ptrdiff_t true_high; /* to base + true_high - 1 */
    bool dense;          /* the stream of any count is the memory at the base */
    bool derived;        /* allocated and reference counted; else a constant */
    uint16_t handle;     /* of a fixed type */
    ctn_fixed_t element; /* all data are of this fixed type; or mixed */
    uint32_t depth;      /* number of levels */
    size_t run;          /* bytes of the run */
    ptrdiff_t shift;     /* from the base to the first byte of the stream */
    /* Consecutive elements are a row of bodies that consist of the lowest
     * `stream_depth` levels, `stream_stride` apart: so copying several elements
     * takes one loop, not two. */
    uint32_t stream_depth;
    ptrdiff_t stream_stride;
    size_t references;
    const struct ctn_type *held; /* a type that owns arrays to which levels of
                                    this one point; or NULL */
    size_t members; /* this type holds so many types: members of level[0] */
#ifndef NDEBUG
    uint8_t mark; /* of a derived type */
#endif
    ctn_level_t level[]; /* [depth], the lowest first */
} ctn_type_t;

/** The fixed types by handle, from CTN_FIRST_TYPE on; NULL: no type. */
extern CTN_HIDDEN const ctn_type_t *const ctn_type_table[CTN_HANDLES];

/** Return the type of a handle; NULL: it is no handle of a type. A handle that
 * is not significant may have any value, so nothing is read here. */
static inline const ctn_type_t *ctn_type_of(catena_type_t handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value - CTN_FIRST_TYPE < CTN_HANDLES) {
        return ctn_type_table[value - CTN_FIRST_TYPE];
    }
    return value < CTN_FIRST_POINTER ? NULL : (const ctn_type_t *)value;
}

/** Whether a call may not use a type: it is NULL, or known to be freed. */
static inline bool ctn_type_is_unusable(const ctn_type_t *type)
{
    return type == NULL || (type->derived && !CTN_MARK_IS(type, CTN_TYPE));
}

/** Whether nothing may be asked about a type. The operator of the application
 * may ask about one that was freed, while an operation uses it. */
static inline bool ctn_type_is_gone(const ctn_type_t *type)
{
    return ctn_type_is_unusable(type) &&
           (type == NULL || type->references == 0);
}

/** Text for a handle that is no datatype, after its name. */
#define CTN_NO_TYPE                                                            \
    "is NULL, freed, or no datatype; pass a predefined one, such as "          \
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

/** Return whether a buffer of `count` elements is missing: it must have data,
 * but their lowest address would be in the first page, where no object lies. So
 * NULL is no buffer, except for types with absolute addresses (CATENA_BOTTOM)
 * and for calls without data. */
static inline bool ctn_type_is_missing(const ctn_type_t *type, const void *base,
                                       size_t count)
{
    uintptr_t first = (uintptr_t)base + (uintptr_t)type->true_low;
    return first < CTN_FIRST_POINTER && count > 0 && type->bytes > 0;
}

/** Pack a part of the stream. Allocates nothing.
 * @param[in]  base  element i is at base + i * extent
 * @param[in]  from  first byte of the stream to pack; any offset, also within
 *                   the data of a fixed type
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
