#ifndef CTN_GROUP_LANE_H
#define CTN_GROUP_LANE_H

#include "group/chain.h"

/** A chain with the channel its operations run on. A group has one, and its
 * topology two more over parts of the same control blocks. */
typedef struct ctn_chain {
    ctn_chain_place_t place;
    ctn_sequence_t sequence;
    struct ctn_log_chain *log; /* NULL: not built; the same on all members */
} ctn_chain_t;

/** The members 2^d away on both sides, for each round d ([Moody], section 2:
 * what forwarding addresses finds): built when an algorithm asks, and kept
 * until it is dropped. O(log N) memory. */
typedef struct ctn_log_chain {
    ctn_exec_t *exec; /* whose memory it is */
    unsigned rounds;  /* ceil(log2 of the chain's size) */
    struct {
        ctn_address_t side[2]; /* left, right; CTN_NO_ADDRESS beyond the ends */
    } round[];
} ctn_log_chain_t;

/** An operation that builds lane->log: ceil(log2 N) rounds; synchronizing. Of a
 * lane that has one already, an operation of no channel that has nothing to do.
 * Collective. NULL: no memory. */
ctn_op_t *ctn_log_chain_create(ctn_exec_t *exec, ctn_chain_t *chain);
/** Drop it; to be done by all members at the same point. */
void ctn_log_chain_drop(ctn_chain_t *chain);

/** A lane over one of the service channels of a block; its chain is set by a
 * split.
 * @param base offset of the channel in the block */
void ctn_chain_init(ctn_chain_t *chain, ctn_control_block_t *block,
                    ctn_address_t address, uint32_t base);

/** Give back what it holds: its log-chain; its slots are zeroed. */
void ctn_chain_release(const ctn_exec_t *exec, ctn_chain_t *chain);

/** Make it another chain, whose log-chain is not built. */
void ctn_chain_set_place(ctn_chain_t *chain, ctn_chain_place_t place);

/** A double scan of `own` over `lane`; results as in ctn_scan_t. Sets the
 * results to zero first. NULL: no memory. */
ctn_op_t *ctn_scan_create(ctn_exec_t *exec, ctn_chain_t *chain, ctn_fold_t fold,
                          void *own, void *left, void *right, size_t bytes);

#endif
