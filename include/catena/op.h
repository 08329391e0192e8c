#ifndef CATENA_OP_H
#define CATENA_OP_H

#include <stddef.h>

#include <catena/status.h>
#include <catena/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Handle of a reduction operation (MPI_Op). The predefined operations are
 * integer constants that never change; others are created by catena_op_create.
 * NULL is never an operation. */
typedef struct catena_op *catena_op_t;

/** The predefined operations; all commute. As in MPI, except that logical
 * operations take integers only.
 *
 *     max min               integers, floats
 *     sum prod              integers, floats, complex
 *     land lor lxor         integers; nonzero is true, results are 0 or 1
 *     band bor bxor         integers, byte
 *     minloc maxloc         pairs; of equal values the one with the lower index
 *
 * They also take derived types (type.h) of these, element by element; gaps are
 * not written. Sums and products of integers wrap, also signed ones. For floats
 * max(a, b) is a > b ? a : b, where a is of lower ranks, and min(a, b) is
 * a < b ? a : b. So the result is NaN if b is NaN, but b if only a is NaN; of
 * -0 and 0 it is b. Complex products use the textbook formula: infinities may
 * become NaN.
 *
 * How a sum or product of floats rounds depends on the order of additions, and
 * so on algorithm and layout; not with the setting "reproducible"
 * (catena_group_set). Exact sums: accumulator.h.
 *
 * They may stand in static initializers. 0x200 to 0x2ff are reserved for them:
 * 0x20x arithmetic, 0x21x logical, 0x22x bitwise, 0x23x location. */
#define CATENA_MAX ((catena_op_t)0x201)
#define CATENA_MIN ((catena_op_t)0x202)
#define CATENA_SUM ((catena_op_t)0x203)
#define CATENA_PROD ((catena_op_t)0x204)
#define CATENA_LAND ((catena_op_t)0x210)
#define CATENA_LOR ((catena_op_t)0x211)
#define CATENA_LXOR ((catena_op_t)0x212)
#define CATENA_BAND ((catena_op_t)0x220)
#define CATENA_BOR ((catena_op_t)0x221)
#define CATENA_BXOR ((catena_op_t)0x222)
#define CATENA_MINLOC ((catena_op_t)0x230)
#define CATENA_MAXLOC ((catena_op_t)0x231)

/** The function of a user-defined operation: inout[i] = in[i] op inout[i],
 * where `in` is of lower ranks. It is called for any part of a rank's elements,
 * in any order of the parts, by the thread that makes progress. It must not
 * call catena, except catena_type_size and catena_type_extent. Element i is at
 * base + i * extent, as in a buffer of a call; gaps have any contents, and what
 * is written there has no effect. Elements of types with gaps are passed as
 * copies: the library copies one or more at a time to memory of its own, which
 * takes at least twice the true extent of an element, and is kept until
 * catena_finalize, as memory for elements of more than 4 KiB is. So an element
 * must not span unrelated memory.
 * @param[in]     in       [count] elements, not overlapping inout
 * @param[in,out] inout    [count] elements
 * @param[in]     count    1 or more
 * @param[in]     type     as passed to the reduction
 * @param[in]     argument as passed to catena_op_create */
typedef void (*catena_op_function_t)(const void *in, void *inout, size_t count,
                                     catena_type_t type, void *argument);

/** Create an operation for any type. It must be associative.
 * @param[in]  function the same meaning on all ranks
 * @param[in]  argument passed to `function`; must stay valid until all
 *                      operations that use it have ended
 * @param[in]  commute  nonzero: it is commutative, so elements may be reduced
 *                      in any order; 0: they are reduced in rank order. The
 *                      same on all ranks
 * @param[out] out      set only on CATENA_OK; free with catena_op_free
 * @return CATENA_OK, ERR_ARG (NULL), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_op_create(catena_op_function_t function,
                                            void *argument, int commute,
                                            catena_op_t *out);

/** Free an operation. Reductions under way are not affected.
 * @param[in,out] op NULL afterwards
 * @return CATENA_OK, ERR_ARG (`op` is NULL, or the address of a predefined
 *         operation, which is unchanged) */
CATENA_API catena_status_t catena_op_free(catena_op_t *op);

#ifdef __cplusplus
}
#endif
#endif
