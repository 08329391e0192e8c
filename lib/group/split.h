#ifndef CTN_GROUP_SPLIT_H
#define CTN_GROUP_SPLIT_H

#include "group/lane.h"

/* Splitting a chain by arbitrary bytes ([Moody], section 3.3, Hash): members
 * with the same color end in the same new chain, in their old order. Every
 * member brings a zeroed block for the new chain, whose address travels in
 * the tables; nobody else's memory and no group number is ever agreed on. */

/** An operation that splits `parent` by `color` into `lane` (created, chain
 * not yet set). Until it is done the color must stay. Runs on the parent's
 * channel and then on the lane's; NULL: no memory. */
ctn_op_t *ctn_split_create(ctn_exec_t *exec, ctn_lane_t *parent,
                           ctn_lane_t *lane, const void *color,
                           size_t color_bytes);

/* Bins: what one round of a split scans. */

#define CTN_BINS 4u

/** For each bin: how many members lie in a direction, and the nearest. And of
 * all of them, how many have another color than their left neighbour. */
typedef struct ctn_bins {
    ctn_address_t nearest[CTN_BINS];
    uint32_t count[CTN_BINS];
    uint32_t differ;
    uint32_t unused;
} ctn_bins_t;

_Static_assert(sizeof(ctn_bins_t) <= CTN_SCAN_BYTES, "bins fit a scan");

void ctn_fold_bins(void *near, const void *far, int leftwards);
/** A table with one member, in `bin`. */
void ctn_bins_set(ctn_bins_t *bins, unsigned bin, ctn_address_t member);
/** The chain of the members of `bin` that `member` is one of. */
ctn_chain_t ctn_bins_chain(const ctn_bins_t *left, const ctn_bins_t *right,
                           unsigned bin, ctn_address_t member);

#endif
