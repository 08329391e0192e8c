#ifndef RANK_VECTOR_H
#define RANK_VECTOR_H

#include "rank_type.h"

/* Exchanges with counts and types of their own for every pair. What has to be
 * where afterwards is worked out byte by byte from lists of byte offsets that
 * are written down from MPI's definitions beside each type that is made; the
 * library's own view of a type is not asked. Both buffers are compared as a
 * whole, so gaps, guards and what was sent are covered too. */

typedef enum rank_call {
    RANK_ALLTOALLV,
    RANK_ALLTOALLW,
    RANK_ALLTOALL /* all blocks as large as the amount of (0, 0) */
} rank_call_t;

enum { RANK_TYPES = 12 };

/** One buffer and where its blocks are. */
typedef struct rank_side {
    rank_memory_t memory;
    rank_elements_t elements;
    /* Filled by rank_vector_open. */
    unsigned char *block; /* what was taken */
    unsigned char *image; /* what has to be in it */
    size_t bytes;
    unsigned char *base; /* what catena gets; NULL: no data */
    ptrdiff_t origin;    /* of the base in the block */
    rank_type_t type[RANK_TYPES];
    int types;
    size_t *counts;                  /* [p] of elements */
    ptrdiff_t *displacements;        /* [p] */
    catena_datatype_t *catena_types; /* [p]; alltoallw */
    unsigned char *used;             /* [p] which of `type` */
} rank_side_t;

typedef struct rank_vector rank_vector_t;

/** How many units of x->unit bytes `from` sends to `to`. A function of the
 * arguments and of what is the same on all ranks. */
typedef size_t (*rank_amount_t)(const rank_vector_t *x, size_t from, size_t to);

struct rank_vector {
    /* The same on all ranks. */
    catena_group_t *group;
    rank_call_t call;
    rank_amount_t amount;
    uint64_t shape; /* seed of amounts, types and places */
    size_t unit;    /* bytes; 0: 1 */
    size_t limit;   /* for amounts that want one */
    bool in_place;  /* amounts of (lower, higher) then hold both ways */
    /* As each rank likes, but for the elements of an alltoall. */
    rank_side_t send; /* memory, elements */
    rank_side_t receive;
    bool ordered; /* blocks in order of rank without gaps between them */
    /* Filled here. */
    uint64_t seed; /* the contents; the same on all ranks */
    catena_request_t *request;
};

/** Make types, lay out blocks, take buffers. */
void rank_vector_open(rank_test_t *test, rank_vector_t *x);
/** Contents for `seed` into the buffers. */
void rank_vector_fill(rank_test_t *test, rank_vector_t *x, uint64_t seed);
/** catena_alltoallv, or what x->call says. */
catena_status_t rank_vector_run(rank_vector_t *x);
/** catena_ialltoallv: x->request. */
catena_status_t rank_vector_start(rank_vector_t *x);
/** catena_alltoallv_init: x->request. */
catena_status_t rank_vector_init(rank_vector_t *x);
/** Free the types and leave their handles to catena; before the end of an
 * operation, or not at all. */
void rank_vector_free_types(rank_test_t *test, rank_vector_t *x);
/** Hold both buffers against the definition. */
void rank_vector_check(rank_test_t *test, const rank_vector_t *x,
                       const char *what);
void rank_vector_close(rank_test_t *test, rank_vector_t *x);

/** Bytes that `from` sends to `to`. */
size_t rank_vector_bytes(const rank_vector_t *x, size_t from, size_t to);

/** A value that all ranks find for this pair, or triple. */
uint64_t rank_hash(uint64_t a, uint64_t b, uint64_t c);

/** Amounts up to x->limit units, small ones more often, a quarter 0. */
size_t rank_amount_random(const rank_vector_t *x, size_t from, size_t to);

#endif
