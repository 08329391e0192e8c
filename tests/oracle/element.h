#ifndef ORACLE_ELEMENT_H
#define ORACLE_ELEMENT_H

#include "oracle/type.h"

/* Elements of reductions: several units, each an element of a type of
 * content.h, in any layout. */

/** The layouts. */
typedef enum oracle_element {
    ORACLE_PLAIN,  /* the type itself */
    ORACLE_GAPPED, /* few units, with gaps, in any order */
    ORACLE_LARGE,  /* contiguous, longer than a chunk of the library */
    ORACLE_LARGE_GAPPED,
    ORACLE_ELEMENT_VALUES
} oracle_element_t;

const char *oracle_element_name(unsigned element);

/** A random number of units of an element. */
size_t oracle_element_units(uint64_t random, unsigned element, unsigned type);

/** Draw a type of `units` units of a type of content.h below ORACLE_VECTOR. */
void oracle_element_draw(const oracle_t *oracle, oracle_type_t *t,
                         uint64_t *random, const oracle_table_t *table,
                         unsigned type, size_t units, unsigned element);

/** The argument of a user-defined operation on such elements. */
typedef struct oracle_function {
    unsigned op;   /* of content.h */
    unsigned type; /* of a unit */
    const oracle_type_t *t;
} oracle_function_t;

/** Create an operation that accesses the data of its operands, at the positions
 * that the type defines, and nothing else.
 * @param[in] function stays valid until no operation uses it */
catena_op_t oracle_function_create(const oracle_t *oracle,
                                   oracle_function_t *function);

#endif
