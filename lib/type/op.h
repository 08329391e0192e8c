#ifndef CTN_TYPE_OP_H
#define CTN_TYPE_OP_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/op.h>

#include "type/datatype.h"

/** The mark of an operation of the application: core/handle.h. */
#define CTN_REDUCE_OP 0xc8

/** The operation of a reduction, such as a sum. (ctn_op_t is another thing: a
 * running collective.) A predefined one is a constant, one of the application
 * is allocated and reference counted. */
typedef struct ctn_reduce_op {
    const char *name;
    ctn_predefined_t number;       /* of a predefined operation */
    catena_op_function_t function; /* of the application; NULL: predefined */
    void *argument;                /* passed to `function` */
    bool commutes;
    size_t references;
#ifndef NDEBUG
    uint8_t mark; /* of one of the application */
#endif
} ctn_reduce_op_t;

/** The predefined operations by handle, from CTN_FIRST_OP on; NULL: none. */
extern CTN_HIDDEN const ctn_reduce_op_t *const ctn_reduce_op_table[CTN_HANDLES];

/** Return the operation of a handle; NULL: it is no handle of an operation, or
 * known to be freed. */
static inline const ctn_reduce_op_t *ctn_reduce_op_of(catena_op_t handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value - CTN_FIRST_OP < CTN_HANDLES) {
        return ctn_reduce_op_table[value - CTN_FIRST_OP];
    }
    const ctn_reduce_op_t *op = (const ctn_reduce_op_t *)value;
    return value < CTN_FIRST_POINTER || !CTN_MARK_IS(op, CTN_REDUCE_OP) ? NULL
                                                                        : op;
}

/** Message for a handle that is no operation. */
#define CTN_NO_REDUCE_OP                                                       \
    "the operation is NULL, freed, or none; pass a predefined one, such as "   \
    "CATENA_SUM, or one made by catena_op_create"

/** Memory for copies of operands: one piece for all reductions of a context. */
typedef struct ctn_copies {
    void *memory; /* malloc'd */
    size_t bytes;
} ctn_copies_t;

/** An operation with the type of its elements. */
typedef struct ctn_reducer {
    const ctn_reduce_op_t *op;
    const ctn_type_t *type;
    const ctn_copies_t *copies; /* see ctn_reducer_reserve */
} ctn_reducer_t;

/** Let there be enough memory for ctn_reduce, which then cannot fail: other
 * ranks may wait for its result. Not needed for elements that are dense and
 * have at most 4 KiB, nor for predefined operations.
 * @param[in,out] copies which other reducers may have, too
 * @return false: no memory */
bool ctn_reducer_reserve(ctn_reducer_t *by, ctn_copies_t *copies);

/** Whether the result depends on the order in which operands are combined,
 * since each step rounds: sums and products of floats and complex numbers. */
static inline bool ctn_reducer_rounds(const ctn_reducer_t *by)
{
    unsigned element = by->type->element;
    return by->op->function == NULL && element >= CTN_FIXED_float &&
           element <= CTN_FIXED_complex_double &&
           (by->op->number == CTN_PREDEFINED_sum ||
            by->op->number == CTN_PREDEFINED_prod);
}

/* Numbers of operations and types that mean the same on all ranks, for
 * messages and records: 0: none. */

/** Of the operation: 1 + that of a predefined one; 255: any function of the
 * application. */
static inline uint8_t ctn_reducer_op_code(const ctn_reducer_t *by)
{
    return (uint8_t)(by->op->function != NULL ? UINT8_MAX
                                              : 1 + (unsigned)by->op->number);
}
/** Of the fixed type that all data consist of; 255: several types. */
static inline uint8_t ctn_reducer_type_code(const ctn_reducer_t *by)
{
    return (uint8_t)(by->type->element < CTN_FIXED_TYPES
                         ? 1 + (unsigned)by->type->element
                         : UINT8_MAX);
}
/** Describe both, as "sum of int32". @return text, which has `bytes` */
const char *ctn_reducer_describe(uint8_t op, uint8_t type, char *text,
                                 size_t bytes);

/** out[i] = left[i] op right[i]; `left` is of lower ranks. Operands are streams
 * (see type/datatype.h) and need no alignment for predefined operations. If the
 * type is dense, functions of the application get the pointers passed here; the
 * library's own buffers are aligned to 16 bytes. If not, they get copies with
 * the type's layout, with zeros between the data.
 * @param[in]  by    ctn_reduce_op_valid and ctn_reducer_reserve have returned
 * true
 * @param[out] out   `left`, or `right`, or overlapping neither of them
 * @param[in]  bytes of each operand; a multiple of the type's size */
void ctn_reduce(const ctn_reducer_t *by, const void *left, const void *right,
                void *out, size_t bytes);

/** The same for a function of the application; `bytes` is not 0. */
void ctn_apply(const ctn_reducer_t *by, const char *left, const char *right,
               char *out, size_t bytes);

/** Return whether the operation is defined for this type. */
bool ctn_reduce_op_valid(const ctn_reduce_op_t *op, const ctn_type_t *type);

/** Return the smallest type of whole elements for the operation, given a valid
 * type: for a predefined operation the fixed type that it consists of, else the
 * type itself. */
const ctn_type_t *ctn_reduce_op_unit(const ctn_reduce_op_t *op,
                                     const ctn_type_t *type);

/** Describe why an operation is not defined for a type, in one line without a
 * newline: what was given, what is allowed.
 * @param[out] text [bytes], always terminated
 * @return text */
const char *ctn_reduce_op_mismatch(const ctn_reduce_op_t *op,
                                   const ctn_type_t *type, char *text,
                                   size_t bytes);

/** Return whether the operation is commutative. */
bool ctn_reduce_op_commutes(const ctn_reduce_op_t *op);

/** Take a reference while a reduction uses the operation. Any thread; does
 * nothing for predefined operations.
 * @return op */
const ctn_reduce_op_t *ctn_reduce_op_hold(const ctn_reduce_op_t *op);

/** Release one reference of ctn_reduce_op_hold. */
void ctn_reduce_op_drop(const ctn_reduce_op_t *op);

#endif
