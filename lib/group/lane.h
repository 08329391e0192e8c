#ifndef CTN_GROUP_LANE_H
#define CTN_GROUP_LANE_H

#include "group/chain.h"

/** A chain with the channel its operations run on. A group has one, and its
 * topology two more over parts of the same control blocks. */
typedef struct ctn_lane {
    ctn_chain_t chain;
    ctn_channel_t channel;
} ctn_lane_t;

/** A lane over one of the service channels of a block; its chain is set by a
 * split.
 * @param base offset of the channel in the block */
void ctn_lane_init(ctn_lane_t *lane, ctn_block_t *block, ctn_address_t address,
                   size_t base);

/** A double scan of `own` over `lane`; results as in ctn_scan_t. Sets the
 * results to zero first. NULL: no memory. */
ctn_op_t *ctn_scan_create(ctn_exec_t *exec, ctn_lane_t *lane, ctn_fold_t fold,
                          void *own, void *left, void *right, size_t bytes);

#endif
