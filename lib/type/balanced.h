#ifndef CTN_TYPE_BALANCED_H
#define CTN_TYPE_BALANCED_H

#include <stdint.h>

#include "type/op.h"

/* The balanced tree of m operands, in their order. The first m - 2^k pairs of
 * operands, k = floor(log2 m), and each operand that remains, are 2^k units; a
 * perfect binary tree combines the units. Recursive doubling and halving
 * (coll/bcol/p2p/rounds.h) evaluate it, and reproducible reductions combine the
 * data of m ranks by it (HIER-13). If m blocks of 2^c operands are each
 * combined by their balanced tree, and then the results by that of m operands,
 * this is the balanced tree of all m * 2^c operands. */

/** k, the levels of the tree above its units. */
static inline unsigned ctn_balanced_levels(uint32_t operands)
{
    return 31 - (unsigned)__builtin_clz(operands);
}

/** The number of units that are pairs. */
static inline uint32_t ctn_balanced_pairs(uint32_t operands)
{
    return operands - (UINT32_C(1) << ctn_balanced_levels(operands));
}

/** The first operand of a unit. @param pairs number of them */
static inline uint32_t ctn_balanced_first(uint32_t pairs, uint32_t unit)
{
    return unit < pairs ? 2 * unit : unit + pairs;
}

/** Return where operand i lies. Called several times for each i. */
typedef const unsigned char *(*ctn_operand_t)(void *from, uint32_t i);

/** out = the operands, combined by their balanced tree.
 * @param[in]  by       a predefined operation
 * @param[in]  operands at least 2
 * @param[in]  from     passed to `operand`
 * @param[in]  bytes    of each operand
 * @param[out] out      operand 0, or operand 1, or overlapping none */
void ctn_balanced_reduce(const ctn_reducer_t *by, uint32_t operands,
                         ctn_operand_t operand, void *from, size_t bytes,
                         unsigned char *out);

#endif
