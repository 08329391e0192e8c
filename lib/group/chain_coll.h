#ifndef CTN_GROUP_CHAIN_COLL_H
#define CTN_GROUP_CHAIN_COLL_H

#include "group/chain.h"
#include "group/stream.h"

/* Collectives on a chain ([Moody], section 2), in O(log N) rounds for N
 * members, with values of any length (exec/message.h). All members of `chain`
 * call them. They return an operation that the caller starts; NULL: no memory.
 * What the arguments point to must stay valid until the operation is complete.
 *
 * Scans, allreduce, allgather and barrier find members by forwarding addresses.
 * Reduce, bcast, gather and scatter run on a tree, which needs the members 2^d
 * away from the start: the first of these operations on a chain builds its
 * log-chain. The tree consists of two binomial trees with a common root, one on
 * either side of it, so it keeps the order of members for any root. */

/* ---- values of the same length on all members ---- */

/** Inclusive scan: the value of members 0 to this one. `result` may be
 * `own`. */
ctn_op_t *ctn_chain_inclusive_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                   ctn_operator_t by, const void *own,
                                   size_t bytes, void *result);
/** Exclusive scan: the value of the members before this one. The first member's
 * result is not written. `result` may be `own`. */
ctn_op_t *ctn_chain_exclusive_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                   ctn_operator_t by, const void *own,
                                   size_t bytes, void *result);
/** Both exclusive scans: the value of the members to the left, and that of the
 * members to the right. The first member's `left` and the last member's `right`
 * are not written. */
ctn_op_t *ctn_chain_double_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                ctn_operator_t by, const void *own,
                                size_t bytes, void *left, void *right);
/** Allreduce by a double scan. Members combine in different orders, so the last
 * bits of floating-point results may differ between them. `result` may be
 * `own`. */
ctn_op_t *ctn_chain_allreduce(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_operator_t by, const void *own, size_t bytes,
                              void *result);
/** Reduce to `root`; `result` is significant only there. */
ctn_op_t *ctn_chain_reduce(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                           ctn_operator_t by, const void *own, size_t bytes,
                           void *result);
/** Broadcast `data` of `root` to all members. */
ctn_op_t *ctn_chain_bcast(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                          void *data, size_t bytes);
/** Barrier. */
ctn_op_t *ctn_chain_barrier(ctn_exec_t *exec, ctn_chain_t *chain);

/* ---- values of different lengths ---- */

/** Gather the blocks of all members at `root`, where the memory of `result` is
 * allocated. `result` is significant only there. Memory: the result at the
 * root; at other members, the blocks of their subtrees. */
ctn_op_t *ctn_chain_gather(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                           ctn_rank_block_t own, ctn_rank_blocks_t *result);
/** Gather the blocks of all members at all members. */
ctn_op_t *ctn_chain_allgather(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_rank_block_t own, ctn_rank_blocks_t *result);
/** Gather the blocks of all members in `table` of each, one behind the other by
 * rank.
 * @param own may lie in the table, at its place */
ctn_op_t *ctn_chain_allgather_table(ctn_exec_t *exec, ctn_chain_t *chain,
                                    const void *own, size_t bytes, void *table);
/** For simulations of costs only: take the rounds and the time of an allgather
 * of blocks of `bytes`, without their content.
 * @param addresses a list that all members share, by rank */
ctn_op_t *ctn_chain_allgather_sizes(ctn_exec_t *exec, ctn_chain_t *chain,
                                    size_t bytes, ctn_address_t *addresses);

/** Scatter: member i gets block i of the N blocks at `root` as the only block
 * of `result`, whose memory is allocated.
 * @param blocks significant only at `root` */
ctn_op_t *ctn_chain_scatter(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                            const ctn_rank_block_t *blocks,
                            ctn_rank_blocks_t *result);

#endif
