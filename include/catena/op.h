#ifndef CATENA_OP_H
#define CATENA_OP_H

#include <stddef.h>

#include <catena/status.h>
#include <catena/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The operation of a reduction. The predefined operations are constants of the
 * library; others are created by catena_op_create. */
typedef const struct catena_op *catena_op_t;

/** The predefined operations; all commute. As in MPI, except that logical
 * operations take integers only.
 *
 *   max min               integers, floats
 *   sum prod              integers, floats, complex
 *   land lor lxor         integers; nonzero is true, results are 0 or 1
 *   band bor bxor         integers, byte
 *   minloc maxloc         pairs; of equal values the one with the lower index
 *
 * They also take dense types built from these (catena_type_contiguous), element
 * by element. Sums and products of integers wrap, also signed ones. For floats
 * max(a, b) is a > b ? a : b, where a is of lower ranks, and min likewise: a
 * NaN is the result if it is b and not if it is a, and of -0 and 0 the result
 * is b. Complex products use the textbook formula: infinities may become
 * NaN. */
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
 * part of a rank's elements, in any order of the parts, by the thread that
 * makes progress. It must not call catena.
 * @param[in]     in       [count] elements, not overlapping inout
 * @param[in,out] inout    [count] elements
 * @param[in]     count    1 or more
 * @param[in]     type     as passed to the reduction
 * @param[in]     argument as passed to catena_op_create */
typedef void (*catena_op_function_t)(const void *in, void *inout, size_t count,
                                     catena_type_t type, void *argument);

/** Create an operation for any dense type. It must be associative.
 * @param[in]  function the same meaning on all ranks
 * @param[in]  argument passed to `function`; must stay valid until all
 *                      operations that use it have ended
 * @param[in]  commute  0: the order of ranks is kept; the same on all ranks
 * @param[out] out      set only on CATENA_OK; free with catena_op_free
 * @return CATENA_OK, ERR_ARG (NULL), ERR_NO_MEMORY */
CATENA_API catena_status_t catena_op_create(catena_op_function_t function,
                                            void *argument, int commute,
                                            catena_op_t *out);

/** Free an operation. Reductions under way are not affected.
 * @param[in,out] op NULL afterwards
 * @return CATENA_OK, ERR_ARG (`op` is NULL, or a predefined one; nothing is
 *         done) */
CATENA_API catena_status_t catena_op_free(catena_op_t *op);

#ifdef __cplusplus
}
#endif
#endif
