#ifndef ORACLE_SIDE_H
#define ORACLE_SIDE_H

#include "oracle/type.h"

/* A buffer of a call, with guards around it, and an image of what has to be in
 * it: every byte is compared. */

enum { ORACLE_OWN_TYPES = 12 };

typedef struct oracle_side {
    oracle_memory_t memory;
    unsigned char *block; /* what was taken: guard, data, guard */
    unsigned char *image; /* what has to be in it */
    size_t bytes;
    unsigned char *base; /* what catena gets */
    ptrdiff_t origin;    /* of the base in the block */
    oracle_type_t drawn[ORACLE_OWN_TYPES];
    unsigned drawings;
    /* [blocks]; as catena gets them, but for `type` and `place`: */
    size_t blocks;
    const oracle_type_t **type;
    ptrdiff_t *place; /* in bytes from the base */
    size_t *counts;
    ptrdiff_t *displacements;
    catena_datatype_t *types;
} oracle_side_t;

/** Arrays for so many blocks, of which there are fewer at first. */
void oracle_side_open(oracle_side_t *side, size_t most);
/** Draw a type of the side's own. */
const oracle_type_t *oracle_side_draw(const oracle_t *oracle,
                                      oracle_side_t *side, uint64_t *random,
                                      oracle_elements_t elements, size_t bytes);
bool oracle_side_has_data(const oracle_side_t *side, size_t block);
/** Put blocks one after the other. */
void oracle_side_place_in_order(oracle_side_t *side);
/** Put blocks, whose displacements count `step` bytes, in any order with gaps
 * of `gap` steps and some more between them, and the base anywhere; or in
 * order. */
void oracle_side_place_anywhere(oracle_side_t *side, ptrdiff_t step, size_t gap,
                                bool in_order, uint64_t *random);
/** Take the memory: the first byte is that far from an even address. @return
 * whether there are any data */
bool oracle_side_take(const oracle_t *oracle, oracle_side_t *side, size_t odd);
/** Give types up, as a caller may before an operation ends. */
void oracle_side_release(const oracle_t *oracle, oracle_side_t *side);
void oracle_side_close(const oracle_t *oracle, oracle_side_t *side);

/** Write data into a block of the image, as many as there are, or fewer. */
void oracle_side_put(oracle_side_t *side, size_t block, size_t bytes,
                     const unsigned char *data);
/** Whatever is in the blocks now is as it has to be. */
void oracle_side_accept_blocks(oracle_side_t *side);
/** Hold it against the image. @param what of which call this is, and when */
void oracle_side_compare(const oracle_t *oracle, const oracle_side_t *side,
                         const char *name, const char *what);

#endif
