#ifndef CTN_COLL_BLOCKS_H
#define CTN_COLL_BLOCKS_H

#include "exec/exec.h"
#include "type/datatype.h"

/* The contents of one buffer of an exchange: a block for each member of the
 * group. Sizes and positions within a block are those of its stream, the
 * concatenated bytes of its data; only these functions know the memory layout.
 */

/** A block, or other data of one rank. Its stream is the memory at `base`,
 * unless `type` describes the layout. */
typedef struct ctn_span {
    unsigned char *base;
    size_t bytes;
    const ctn_type_t *type; /* NULL: contiguous memory */
} ctn_span_t;

/** The blocks of a buffer. Read-only once set; arrays are the caller's. */
typedef struct ctn_blocks {
    unsigned char *base;
    const ctn_type_t *type; /* of all elements; NULL: see types */
    /* uniform blocks */
    size_t bytes;   /* of each */
    ptrdiff_t step; /* from one to the next */
    /* or individual blocks: counts is not NULL */
    const size_t *counts; /* elements */
    const ptrdiff_t *displacements;
    const catena_type_t *types; /* if set, displacements are in bytes */
} ctn_blocks_t;

/** The arguments of one side of a collective: one count, or arrays. Those that
 * it does not have are 0. */
typedef struct ctn_coll_side {
    const void *buffer;
    size_t count;
    const size_t *counts;
    const ptrdiff_t *displacements;
    const ctn_type_t *type;
    const catena_type_t *types;
} ctn_coll_side_t;

/** Return the type of the elements of block i; NULL: the caller's is none. */
static inline const ctn_type_t *ctn_side_type(const ctn_coll_side_t *side,
                                              uint32_t i)
{
    return side->types != NULL ? ctn_type_of(side->types[i]) : side->type;
}

/** n blocks of one length, of `count` elements of a type that is not NULL: sets
 * `bytes` and `step`.
 * @param[out] all total bytes
 * @return false: they do not fit the address space */
static inline bool ctn_blocks_read_uniform(const ctn_coll_side_t *side,
                                           uint32_t n, ctn_blocks_t *blocks,
                                           size_t *all)
{
    ptrdiff_t reach;
    return !(__builtin_mul_overflow(side->count, side->type->bytes,
                                    &blocks->bytes) ||
             __builtin_mul_overflow(blocks->bytes, n, all) ||
             __builtin_mul_overflow(side->count, side->type->extent,
                                    &blocks->step) ||
             __builtin_mul_overflow(blocks->step, (ptrdiff_t)n, &reach));
}

/** Check block i of those with individual lengths, of a type that is not NULL,
 * and add its bytes to *all. Without displacements the blocks are contiguous.
 * @return false: it does not fit the address space, or lies outside it */
bool ctn_block_fits(const ctn_coll_side_t *side, uint32_t i, size_t *all);

/** Return whether block i of those with individual lengths and displacements is
 * missing (ctn_type_is_missing). A buffer outside the first page is taken to be
 * there. */
static inline bool ctn_block_is_missing(const ctn_coll_side_t *side, uint32_t i)
{
    uintptr_t base = (uintptr_t)side->buffer;
    if (base >= CTN_FIRST_POINTER) {
        return false;
    }
    const ctn_type_t *type = ctn_side_type(side, i);
    ptrdiff_t unit = side->types != NULL ? 1 : type->extent;
    base += (uintptr_t)side->displacements[i] * (uintptr_t)unit;
    return ctn_type_is_missing(type, (const void *)base, side->counts[i]);
}

/** Only the length of an empty block may be used: its displacement and the
 * buffer are arbitrary. */
static inline ctn_span_t ctn_blocks_at(const ctn_blocks_t *blocks,
                                       uint32_t rank)
{
    const ctn_type_t *type = blocks->type;
    if (blocks->counts == NULL) {
        return (ctn_span_t){blocks->base + (ptrdiff_t)rank * blocks->step,
                            blocks->bytes, type->dense ? NULL : type};
    }
    ptrdiff_t unit = 1;
    if (blocks->types != NULL) {
        type = ctn_type_of(blocks->types[rank]);
    } else {
        unit = type->extent;
    }
    if (blocks->counts[rank] == 0 || type->bytes == 0) {
        return (ctn_span_t){NULL, 0, NULL};
    }
    return (ctn_span_t){blocks->base + blocks->displacements[rank] * unit,
                        blocks->counts[rank] * type->bytes,
                        type->dense ? NULL : type};
}

static inline size_t ctn_blocks_bytes(const ctn_blocks_t *blocks, uint32_t rank)
{
    if (blocks->counts == NULL) {
        return blocks->bytes;
    }
    const ctn_type_t *type =
        blocks->types != NULL ? ctn_type_of(blocks->types[rank]) : blocks->type;
    return blocks->counts[rank] * type->bytes;
}

/** Copy `bytes` of the block's stream from position `from`. */
void ctn_span_read(ctn_exec_t *exec, const ctn_span_t *block, size_t from,
                   size_t bytes, void *out);
void ctn_span_write(ctn_exec_t *exec, const ctn_span_t *block, size_t from,
                    size_t bytes, const void *in);
/** Copy a block to another of the same length; they do not overlap. */
void ctn_span_copy(ctn_exec_t *exec, const ctn_span_t *target,
                   const ctn_span_t *source);

/** Report that a block from one rank to another has `found` bytes where the
 * receiver expects `expected`. @return ERR_ARG */
catena_status_t ctn_blocks_report_mismatch(const ctn_exec_t *exec,
                                           uint32_t from, uint32_t to,
                                           uint64_t found, uint64_t expected);

/** Offset of a block in this process's heap, or CTN_STAGED: some of it lies
 * elsewhere, or it is not contiguous. */
uint64_t ctn_span_offset(const ctn_exec_t *exec, const ctn_span_t *block);

/** Base of the blocks of n members, as an offset in this process's heap: the
 * first block if they are uniform, else the start of the arena. CTN_STAGED: not
 * all blocks are contiguous memory in the heap. */
uint64_t ctn_blocks_base(const ctn_exec_t *exec, const ctn_blocks_t *blocks,
                         uint32_t n);

#endif
