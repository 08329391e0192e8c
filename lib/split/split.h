#ifndef CTN_SPLIT_SPLIT_H
#define CTN_SPLIT_SPLIT_H

#include "group/lane.h"
#include "split/bins.h"

/** Split `parent` by arbitrary bytes, in its order, into `lane` (created, chain
 * not yet set): ctn_split_hash where there is no record yet. The color is
 * copied. NULL: no memory. */
ctn_op_t *ctn_split_create(ctn_exec_t *exec, ctn_chain_t *parent,
                           ctn_chain_t *chain, const void *color,
                           size_t color_bytes);

#endif
