#ifndef CTN_COLL_BLOCKS_H
#define CTN_COLL_BLOCKS_H

#include "exec/span.h"

/* The blocks of a send or receive buffer: one for each member of the group.
 * A block is a span (exec/span.h). */

/** The blocks of a buffer. Read-only once set; the arrays belong to the caller
 * of the collective. */
typedef struct ctn_blocks {
    unsigned char *base;
    const ctn_type_t *type; /* of all elements; NULL: see types */
    /* uniform blocks */
    size_t bytes;   /* of the data of each block */
    ptrdiff_t step; /* in bytes, from one block to the next */
    /* or blocks of individual lengths, if counts is not NULL */
    const size_t *counts;           /* of each block, in elements */
    const ptrdiff_t *displacements; /* in extents of `type`, or in bytes */
    const catena_type_t *types;     /* of each block; then displacements are in
                                       bytes */
} ctn_blocks_t;

/** The arguments of one side of a collective, send or receive: one count, or
 * arrays. Arguments that the collective does not have are 0. */
typedef struct ctn_coll_side {
    const void *buffer;
    size_t count;
    const size_t *counts;
    const ptrdiff_t *displacements;
    const ctn_type_t *type;
    const catena_type_t *types;
} ctn_coll_side_t;

/** Return the type of the elements of block i; NULL: the argument is not a
 * type. */
static inline const ctn_type_t *ctn_side_type(const ctn_coll_side_t *side,
                                              uint32_t i)
{
    return side->types != NULL ? ctn_type_of(side->types[i]) : side->type;
}

/** Set `bytes` and `step` of n uniform blocks, of side->count elements each.
 * side->type is not NULL.
 * @param[out] all bytes of all blocks
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

/** Return the block of a rank. Of an empty block only the length may be used,
 * since its displacement and the buffer are arbitrary. */
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

/** Return the length of a rank's block. */
static inline size_t ctn_blocks_bytes(const ctn_blocks_t *blocks, uint32_t rank)
{
    if (blocks->counts == NULL) {
        return blocks->bytes;
    }
    const ctn_type_t *type =
        blocks->types != NULL ? ctn_type_of(blocks->types[rank]) : blocks->type;
    return blocks->counts[rank] * type->bytes;
}

/** Return the offset in this rank's arena that the places of n blocks count
 * from: that of the first block if they are uniform, else 0. CTN_STAGED: some
 * block is not contiguous, or not in the arena. */
uint64_t ctn_blocks_base(const ctn_exec_t *exec, const ctn_blocks_t *blocks,
                         uint32_t n);

#endif
