#ifndef CTN_SPLIT_SPLIT_H
#define CTN_SPLIT_SPLIT_H

#include "group/chain.h"
#include "split/bins.h"

/** Create an operation that splits `parent` by a color of arbitrary bytes:
 * `chain` (initialized, without a place) becomes that of the members with the
 * same color, in their order in `parent`. It is ctn_split_hash for callers
 * without a record. The color is copied. NULL: no memory. */
ctn_op_t *ctn_split_create(ctn_exec_t *exec, ctn_chain_t *parent,
                           ctn_chain_t *chain, const void *color,
                           size_t color_bytes);

#endif
