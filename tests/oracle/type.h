#ifndef ORACLE_TYPE_H
#define ORACLE_TYPE_H

#include "oracle/content.h"
#include "oracle/oracle.h"

/* Datatypes, each with a list of its data positions by MPI's definitions,
 * independent of the library's type functions. And operations. */

/** Contiguous data bytes, from the base of an element. */
typedef struct oracle_run {
    ptrdiff_t at;
    size_t bytes;
} oracle_run_t;

typedef struct oracle_type {
    catena_type_t type;
    bool derived; /* to be freed */
    size_t bytes; /* of data, one element */
    ptrdiff_t lower;
    ptrdiff_t extent;
    size_t runs;
    oracle_run_t *run; /* [runs] in the order of the data */
} oracle_type_t;

/** The types of content.h, except the drawn ones, and the operations of a rank.
 * The receive type may differ from the send type. */
typedef struct oracle_table {
    oracle_type_t send[ORACLE_DRAWN];
    oracle_type_t receive[ORACLE_DRAWN];
    catena_op_t op[ORACLE_OPS];
} oracle_table_t;

void oracle_table_open(const oracle_t *oracle, oracle_table_t *table);
void oracle_table_close(const oracle_t *oracle, oracle_table_t *table);

/** The elements of a drawn type. */
typedef enum oracle_elements {
    ORACLE_BYTES,
    ORACLE_ANY_FIXED, /* of a fitting size */
    ORACLE_DERIVED    /* vectors, lists of blocks, structs, boxes, resized */
} oracle_elements_t;

/** Draw a type with so many bytes of data per element; 0: without data. */
void oracle_type_draw(const oracle_t *oracle, oracle_type_t *t,
                      uint64_t *random, oracle_elements_t elements,
                      size_t bytes);
/** A random element size of which a unit is a multiple. */
size_t oracle_type_bytes(uint64_t *random, oracle_elements_t elements,
                         size_t unit);
/** Release the handle, as a caller may before an operation completes. */
void oracle_type_release(const oracle_t *oracle, oracle_type_t *t);
void oracle_type_drop(const oracle_t *oracle, oracle_type_t *t);

/** The memory of `count` elements, at least one, relative to the base of the
 * first. */
void oracle_type_span(const oracle_type_t *t, size_t count, ptrdiff_t *low,
                      ptrdiff_t *high);
/** Read the data of `count` elements. */
void oracle_type_get(const oracle_type_t *t, const unsigned char *base,
                     size_t count, unsigned char *data);
/** Write data to the positions of `count` elements. */
void oracle_type_put(const oracle_type_t *t, unsigned char *base, size_t count,
                     const unsigned char *data);

#endif
