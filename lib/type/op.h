#ifndef CTN_TYPE_OP_H
#define CTN_TYPE_OP_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/op.h>

#include "type/datatype.h"

/** An operation with the type of its elements. */
typedef struct ctn_reducer {
    catena_op_t op;
    catena_type_t type;
} ctn_reducer_t;

/** out[i] = left[i] op right[i]; `left` is of lower ranks. Operands need no
 * alignment for predefined operations. Functions of the application get the
 * pointers passed here; the library's own buffers are aligned to 16 bytes.
 * @param[in]  by    ctn_op_valid must be true
 * @param[out] out   `left`, or `right`, or overlapping neither of them
 * @param[in]  bytes of each operand; a multiple of the type's size
 * @return false: no memory; `out` is undefined. Never for predefined
 *         operations, or if `out` is not `left`, or elements have at most 4
 *         KiB. */
bool ctn_reduce(const ctn_reducer_t *by, const void *left, const void *right,
                void *out, size_t bytes);

/** Return whether the operation is defined for this type. */
bool ctn_op_valid(catena_op_t op, catena_type_t type);

/** Return the smallest type that may replace a valid one: its fixed type for
 * predefined operations, else the type itself. */
catena_type_t ctn_op_unit(catena_op_t op, catena_type_t type);

/** Describe why it is not defined, in one line without a newline: what was
 * given, what is allowed.
 * @param[out] text [bytes], always terminated
 * @return text */
const char *ctn_op_mismatch(catena_op_t op, catena_type_t type, char *text,
                            size_t bytes);

/** Return whether the operation is commutative. */
bool ctn_op_commutes(catena_op_t op);

/** Take a reference while a reduction uses the operation. Any thread; does
 * nothing for predefined operations.
 * @return op */
catena_op_t ctn_op_hold(catena_op_t op);

/** Release one reference of ctn_op_hold. */
void ctn_op_drop(catena_op_t op);

#endif
