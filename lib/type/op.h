#ifndef CTN_TYPE_OP_H
#define CTN_TYPE_OP_H

#include <stdbool.h>
#include <stddef.h>

#include <catena/op.h>

#include "type/datatype.h"

/** How elements are combined. */
typedef struct ctn_reducer {
    catena_op_t op;
    catena_datatype_t type;
} ctn_reducer_t;

/** out[i] = left[i] op right[i]; `left` is of lower ranks. Operands need no
 * alignment for predefined operations. Functions of users get the pointers that
 * are given here: what the library keeps in between is aligned to 16 bytes.
 * @param[in]  by    such that ctn_op_valid
 * @param[out] out   `left`, or `right`, or overlapping neither of them
 * @param[in]  bytes of each operand; a multiple of the type's size
 * @return false: no memory; `out` is undefined. Never for predefined operations
 *         or if `out` is not `left` or elements have 4 KiB or less. */
bool ctn_reduce(const ctn_reducer_t *by, const void *left, const void *right,
                void *out, size_t bytes);

/** Can elements of this type be combined so? */
bool ctn_op_valid(catena_op_t op, catena_datatype_t type);

/** The smallest type that may take the place of one that is valid: what it
 * consists of, if the operation goes by that, else the type itself. */
catena_datatype_t ctn_op_unit(catena_op_t op, catena_datatype_t type);

/** Why not, in one line without an end: what was given, what is allowed.
 * @param[out] text [bytes], always terminated
 * @return text */
const char *ctn_op_mismatch(catena_op_t op, catena_datatype_t type, char *text,
                            size_t bytes);

/** May operands change places? */
bool ctn_op_commutes(catena_op_t op);

/** Keep an operation while a reduction uses it. Any thread; predefined ones:
 * nothing.
 * @return op */
catena_op_t ctn_op_hold(catena_op_t op);

/** Undo one ctn_op_hold. */
void ctn_op_drop(catena_op_t op);

#endif
