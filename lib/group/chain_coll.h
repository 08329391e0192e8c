#ifndef CTN_GROUP_CHAIN_COLL_H
#define CTN_GROUP_CHAIN_COLL_H

#include "group/lane.h"
#include "group/stream.h"

/* Collectives on a chain ([Moody], section 2): all of O(log N) rounds, with
 * values of any length (exec/message.h). Collective over the members of `lane`;
 * what they are given stays until they end. NULL: no memory.
 *
 * Scans find members by forwarding addresses. Trees need those 2^d away at
 * once: the first of a lane builds its log-chain. A tree is two binomial trees
 * that meet in the root, one on either side of it, so it keeps the order of
 * members for any root. */

/** Associative; the order of members is kept, so it need not be commutative.
 * `near` becomes the value of the members of `near` and of `far`, which is that
 * of the members right beside them: to their left or to their right. */
typedef void (*ctn_combine_t)(void *inout, const void *in, size_t bytes,
                              bool in_is_left, void *argument);

typedef struct ctn_operator {
    ctn_combine_t combine;
    void *argument;
} ctn_operator_t;

/* ---- values of as many bytes on all members ---- */

/** The value of members 0 to this one. `result` may be `own`. */
ctn_op_t *ctn_chain_inclusive_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                   ctn_operator_t by, const void *own,
                                   size_t bytes, void *result);
/** The value of the members before this one; the first one's result stays as it
 * is. `result` may be `own`. */
ctn_op_t *ctn_chain_exclusive_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                   ctn_operator_t by, const void *own,
                                   size_t bytes, void *result);
/** The value of the members to the left and that of those to the right of this
 * one; at the ends what there is nothing for stays as it is. */
ctn_op_t *ctn_chain_double_scan(ctn_exec_t *exec, ctn_chain_t *chain,
                                ctn_operator_t by, const void *own,
                                size_t bytes, void *left, void *right);
/** The value of all members, by a double scan: where operations round, members
 * may differ in the last bits. `result` may be `own`. */
ctn_op_t *ctn_chain_allreduce(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_operator_t by, const void *own, size_t bytes,
                              void *result);
/** The value of all members at `root`; `result` counts there only. */
ctn_op_t *ctn_chain_reduce(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                           ctn_operator_t by, const void *own, size_t bytes,
                           void *result);
/** What `root` has in `data` gets into everybody's. */
ctn_op_t *ctn_chain_bcast(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                          void *data, size_t bytes);
/** Nobody is through before all have come. */
ctn_op_t *ctn_chain_barrier(ctn_exec_t *exec, ctn_chain_t *chain);

/* ---- values of different lengths ---- */

/** A result of pieces, one for each member and in their order. */
typedef struct ctn_rank_blocks {
    ctn_rank_block_t *block; /* [count] */
    uint32_t count;
    ctn_stream_t stream[2]; /* what they lie in */
} ctn_rank_blocks_t;

/** Pieces of all members at `root`; `result` counts there only and is made.
 * Memory: at the root that of the result, at others that of the members who
 * send through them. */
ctn_op_t *ctn_chain_gather(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                           ctn_rank_block_t own, ctn_rank_blocks_t *result);
/** The same at all members. */
ctn_op_t *ctn_chain_allgather(ctn_exec_t *exec, ctn_chain_t *chain,
                              ctn_rank_block_t own, ctn_rank_blocks_t *result);
void ctn_rank_blocks_release(ctn_exec_t *exec, ctn_rank_blocks_t *blocks);

/** Piece i of `pieces`, [N] at `root` and nothing elsewhere, gets to member i:
 * the one piece of its result, which is made. */
ctn_op_t *ctn_chain_scatter(ctn_exec_t *exec, ctn_chain_t *chain, uint32_t root,
                            const ctn_rank_block_t *blocks,
                            ctn_rank_blocks_t *result);

#endif
