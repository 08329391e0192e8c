#ifndef RANK_TYPE_H
#define RANK_TYPE_H

#include "rank_test.h"

/* Types drawn at random, each with a list of where its data are, written down
 * from MPI's definitions beside it. */

/** Data bytes that lie together, from the base of an element. */
typedef struct rank_run {
    ptrdiff_t at;
    size_t bytes;
} rank_run_t;

typedef struct rank_type {
    catena_datatype_t type;
    bool derived;
    size_t bytes; /* of data, one element */
    ptrdiff_t lower;
    ptrdiff_t extent;
    size_t runs;
    rank_run_t *run; /* [runs] in the order of the data */
} rank_type_t;

/** What the elements of a buffer are. */
typedef enum rank_elements {
    RANK_BYTES,
    RANK_FIXED,  /* any fixed type of a fitting size */
    RANK_DERIVED /* vectors, lists of blocks, boxes of arrays, resized ones */
} rank_elements_t;

/** Make a type of an element of so many bytes of data. */
void rank_type_make(rank_test_t *test, rank_type_t *t, uint64_t *random,
                    rank_elements_t elements, size_t bytes);

/** How large an element may be, that a unit is some of them. */
size_t rank_type_bytes(uint64_t *random, rank_elements_t elements, size_t unit);

/** The next of a sequence, below `limit`. */
size_t rank_below(uint64_t *random, size_t limit);

/** @return memory, without which nothing goes on */
void *rank_need(rank_test_t *test, void *memory);
/** Zeros, and one more than asked for. */
void *rank_array(rank_test_t *test, size_t count, size_t bytes);

#endif
