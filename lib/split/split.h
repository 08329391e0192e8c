#ifndef CTN_SPLIT_SPLIT_H
#define CTN_SPLIT_SPLIT_H

#include "group/chain.h"
#include "split/bins.h"

/** Split `parent` by a color of arbitrary bytes, keeping its order, into
 * `chain` (initialized, without a place): ctn_split_hash for callers without a
 * record. The color is copied. NULL: no memory. */
ctn_op_t *ctn_split_create(ctn_exec_t *exec, ctn_chain_t *parent,
                           ctn_chain_t *chain, const void *color,
                           size_t color_bytes);

#endif
