#ifndef ORACLE_SIDE_H
#define ORACLE_SIDE_H

#include "oracle/type.h"

/* A buffer of a call, with guards around it, and an image of its expected
 * contents: every byte is compared. */

enum { ORACLE_OWN_TYPES = 12 };

typedef struct oracle_side {
    oracle_memory_t memory;
    unsigned char *block; /* the allocation: guard, data, guard */
    unsigned char *image; /* its expected contents */
    size_t bytes;
    unsigned char *base; /* the argument of the call */
    ptrdiff_t origin;    /* offset of the base in the block */
    oracle_type_t drawn[ORACLE_OWN_TYPES];
    unsigned drawings;
    /* [blocks]; the last three are arguments of calls: */
    size_t blocks;
    const oracle_type_t **type;
    ptrdiff_t *place; /* in bytes from the base */
    size_t *counts;
    ptrdiff_t *displacements;
    catena_type_t *types;
} oracle_side_t;

/** Allocate the arrays, for at most so many blocks. The caller sets `memory`
 * and `blocks`. */
void oracle_side_open(oracle_side_t *side, size_t most);
/** Draw a datatype for this side. */
const oracle_type_t *oracle_side_draw(const oracle_t *oracle,
                                      oracle_side_t *side, uint64_t *random,
                                      oracle_elements_t elements, size_t bytes);
bool oracle_side_has_data(const oracle_side_t *side, size_t block);
/** Place the blocks consecutively. */
void oracle_side_place_in_order(oracle_side_t *side);
/** Place the blocks in any order, with random gaps between them and the base
 * anywhere; or in order.
 * @param step unit of displacements in bytes; may be negative
 * @param gap smallest gap, in steps */
void oracle_side_place_anywhere(oracle_side_t *side, ptrdiff_t step, size_t gap,
                                bool in_order, uint64_t *random);
/** Allocate the memory.
 * @param odd bytes from an aligned address to the first data
 * @return whether there are any data */
bool oracle_side_take(const oracle_t *oracle, oracle_side_t *side, size_t odd);
/** Free the datatypes, as a caller may before an operation completes. */
void oracle_side_release(const oracle_t *oracle, oracle_side_t *side);
void oracle_side_close(const oracle_t *oracle, oracle_side_t *side);

/** Write data to a block of the image: the whole block, or less. */
void oracle_side_put(oracle_side_t *side, size_t block, size_t bytes,
                     const unsigned char *data);
/** Accept any contents of the blocks: copy them to the image. */
void oracle_side_accept_blocks(oracle_side_t *side);
/** Give all zeros of a reduction's only block the same sign, in the buffer and
 * in the image.
 * @param type  of content.h
 * @param units of all elements */
void oracle_side_normalize(const oracle_side_t *side, unsigned type,
                           size_t units);
/** Compare the buffer with the image.
 * @param name of the buffer
 * @param what the call, and when: for the message */
void oracle_side_compare(const oracle_t *oracle, const oracle_side_t *side,
                         const char *name, const char *what);

#endif
