#ifndef CATENA_OP_H
#define CATENA_OP_H

#include <stddef.h>

#include <catena/datatype.h>
#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a reduction combines two elements. The predefined operations are
 * constants of the library; others are made by catena_op_create. */
typedef const struct catena_op *catena_op_t;

/** The predefined operations; all commute. As in MPI, but for logical ones,
 * which take integers only.
 *
 *   max min               integers, floats
 *   sum prod              integers, floats, complex
 *   land lor lxor         integers; what is not 0 is true, results are 0 or 1
 *   band bor bxor         integers, byte
 *   minloc maxloc         pairs; of equal values the one with the lower index
 *
 * They take dense types made of these too (catena_type_contiguous), element by
 * element. Sums and products of integers wrap, signed ones too. For floats
 * max(a, b) is a > b ? a : b, where a is of lower ranks, and min likewise: a
 * NaN wins if it is b and loses if it is a, and of -0 and 0 it is b. Complex
 * products are the plain formula: infinities may become NaN. */
#define CATENA_PREDEFINED_OPS(X)                                               \
    X(max)                                                                     \
    X(min)                                                                     \
    X(sum)                                                                     \
    X(prod)                                                                    \
    X(land)                                                                    \
    X(band)                                                                    \
    X(lor)                                                                     \
    X(bor)                                                                     \
    X(lxor)                                                                    \
    X(bxor)                                                                    \
    X(minloc)                                                                  \
    X(maxloc)

#define CATENA_DECLARE_OP(name)                                                \
    extern CATENA_API const struct catena_op catena_op_##name;
CATENA_PREDEFINED_OPS(CATENA_DECLARE_OP)
#undef CATENA_DECLARE_OP

#define CATENA_MAX (&catena_op_max)
#define CATENA_MIN (&catena_op_min)
#define CATENA_SUM (&catena_op_sum)
#define CATENA_PROD (&catena_op_prod)
#define CATENA_LAND (&catena_op_land)
#define CATENA_BAND (&catena_op_band)
#define CATENA_LOR (&catena_op_lor)
#define CATENA_BOR (&catena_op_bor)
#define CATENA_LXOR (&catena_op_lxor)
#define CATENA_BXOR (&catena_op_bxor)
#define CATENA_MINLOC (&catena_op_minloc)
#define CATENA_MAXLOC (&catena_op_maxloc)

/** inout[i] = in[i] op inout[i], where `in` is of lower ranks. Called for any
 * part of the elements that a rank gave, in any order of the parts, by the
 * thread that makes progress. Calls nothing of catena.
 * @param[in]     in       [count] elements, not overlapping inout
 * @param[in,out] inout    [count] elements
 * @param[in]     count    1 or more
 * @param[in]     type     as given to the reduction
 * @param[in]     argument as given to catena_op_create */
typedef void (*catena_op_function_t)(const void *in, void *inout, size_t count,
                                     catena_datatype_t type, void *argument);

/** An operation of one's own, for any dense type. It must be associative.
 * @param[in]  function same meaning on all ranks
 * @param[in]  argument handed to `function`; stays the caller's, and stays
 *                      until all that uses the operation has ended
 * @param[in]  commute  0: the order of ranks is kept; same on all ranks
 * @param[out] out      set only on CATENA_OK; free with catena_op_free
 * @return CATENA_OK, ERR_ARG (NULL), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_op_create(catena_op_function_t function,
                                            void *argument, int commute,
                                            catena_op_t *out);

/** Give an operation back. Reductions under way keep what they need of it.
 * @param[in,out] op NULL afterwards
 * @return CATENA_OK, ERR_ARG (NULL, a predefined one; nothing happened) */
CATENA_API catena_status_t catena_op_free(catena_op_t *op);

#ifdef __cplusplus
}
#endif
#endif
