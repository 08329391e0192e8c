#ifndef CATENA_CHAIN_H
#define CATENA_CHAIN_H

#include <stddef.h>

#include <catena/group.h>
#include <catena/op.h>
#include <catena/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * Collectives on chains ([Moody], section 2), and groups made from neighbors.
 * A group is a chain: a rank knows its place and its two neighbors. These
 * functions need nothing else. They find neither nodes nor leaders, build no
 * hierarchy, and take ceil(log2 p) rounds of messages on p ranks. So they suit
 * groups that are used a few times, and code that finds such structures itself.
 * Those of coll.h are faster on groups that are used often.
 *
 * A scan keeps no memory. The first reduce, bcast or gather of a group takes
 * as many rounds before to find the ranks 2^d away, which are kept: 48 bytes
 * for each d.
 *
 * All ranks of the group make the same calls in the same order as its other
 * operations, which may be under way. The calls block. Buffers may lie anywhere
 * and do not overlap, except that the buffers of a scan, and those of a reduce
 * at the root, may be the same. Blocks have the same number of bytes on all
 * ranks: if it differs, the operations of the context end with ERR_ENDED, but a
 * gather fails with ERR_ARG at the root only (logged). A function of the
 * application gets data that are aligned to 8 bytes, or `left` and `right`.
 *
 * A rank that gets ERR_ARG for its own arguments has done nothing, and the
 * others wait for it, unless CATENA_CHECK=on tells them. ERR_ENDED means that
 * lengths differ, or that a rank has no memory. */

/** Make a group from neighbors (as lwgrp_chain_build_from_vals of LWGRP, the
 * library of [Moody]). Collective over the ranks of the new group only, each of
 * which knows its two neighbors and no others; blocks. Ranks that are neighbors
 * in several calls make these in the same order. The order of this call and
 * the operations of the parent is free. Memory: O(1), with
 * CATENA_FAILURES=return that of a table of all ranks. One round, and
 * ceil(log2 size) of a barrier.
 * @param[in]  parent its world ranks must be known: see
 *                    catena_group_translate_ranks
 * @param[in]  left   rank in `parent` of the rank before this one in the new
 *                    group; CATENA_PROC_NULL exactly if `rank` is 0
 * @param[in]  right  of the one after it; CATENA_PROC_NULL exactly if `rank` is
 *                    size - 1
 * @param[in]  rank   of this rank in the new group
 * @param[in]  size   of the new group
 * @param[out] out    set only on CATENA_OK; free with catena_group_free
 * @return CATENA_OK, ERR_ARG (NULL; a number that is out of range, as above;
 *         logged: this rank has done nothing), ERR_STATE (the world ranks of
 *         the parent are not known; logged), ERR_ENDED (a rank has no memory,
 *         or two ranks are not neighbors of each other, at adjacent ranks of a
 *         group of one size, which is logged where it is found, or with
 *         CATENA_FAILURES=return they wait; ranks whose neighbor does not call
 *         at all wait), ERR_PEER */
CATENA_API catena_status_t catena_chain_create(catena_group_t *parent, int left,
                                               int right, int rank, int size,
                                               catena_group_t **out);

/** Inclusive scan: recv is the reduction of the ranks 0 to this one.
 * @param[in]  send  [count] elements
 * @param[out] recv  [count] elements; may be `send`
 * @param[in]  count 0 is allowed
 * @param[in]  op    need not be commutative: it combines in the order of ranks
 * @param[in]  group all its ranks call
 * @return CATENA_OK, ERR_ARG (NULL, overflow, an operation that is not defined
 *         for the type; logged), ERR_ENDED, ERR_PEER
 * @see docs/algorithms.md CH-2 */
CATENA_API catena_status_t catena_chain_scan(const void *send, void *recv,
                                             size_t count, catena_type_t type,
                                             catena_op_t op,
                                             catena_group_t *group);

/** Double scan: two exclusive scans at once, in the messages of one.
 * @param[in]  send  [count] elements
 * @param[out] left  [count] elements: the reduction of the ranks before this
 *                   one, in their order; not written at rank 0
 * @param[out] right [count] elements: the reduction of the ranks after it, in
 *                   the order of ranks; not written at the last rank
 * @param[in]  count 0 is allowed
 * @param[in]  op    need not be commutative
 * @param[in]  group all its ranks call
 * @return CATENA_OK, ERR_ARG (NULL, overflow, an operation that is not defined
 *         for the type; logged), ERR_ENDED, ERR_PEER
 * @see docs/algorithms.md CH-2 */
CATENA_API catena_status_t catena_chain_double_scan(
    const void *send, void *left, void *right, size_t count, catena_type_t type,
    catena_op_t op, catena_group_t *group);

/** Reduce to one rank.
 * @param[in]  send  [count] elements
 * @param[out] recv  [count] elements, significant only at the root; may be
 *                   `send`
 * @param[in]  count 0 is allowed
 * @param[in]  op    need not be commutative: it combines in the order of ranks
 * @param[in]  root  0 to p - 1
 * @param[in]  group all its ranks call
 * @return CATENA_OK, ERR_ARG (NULL, overflow, an operation that is not defined
 *         for the type, no such root; logged), ERR_ENDED, ERR_PEER
 * @see docs/algorithms.md CH-5 */
CATENA_API catena_status_t catena_chain_reduce(const void *send, void *recv,
                                               size_t count, catena_type_t type,
                                               catena_op_t op, int root,
                                               catena_group_t *group);

/** Broadcast from one rank.
 * @param[in,out] buffer [count] elements: read at the root, written elsewhere
 * @param[in]     count  0 is allowed
 * @param[in]     root   0 to p - 1
 * @param[in]     group  all its ranks call
 * @return CATENA_OK, ERR_ARG (NULL, overflow, no such root; logged),
 *         ERR_ENDED, ERR_PEER
 * @see docs/algorithms.md CH-6 */
CATENA_API catena_status_t catena_chain_bcast(void *buffer, size_t count,
                                              catena_type_t type, int root,
                                              catena_group_t *group);

/** Gather blocks at one rank. Memory: a rank keeps the blocks of its subtree
 * during the call, the root all.
 * @param[in]  send  [count] elements
 * @param[out] recv  [p][count] elements by rank, significant only at the root
 * @param[in]  count elements of a block; 0 is allowed
 * @param[in]  root  0 to p - 1
 * @param[in]  group p ranks; all call
 * @return CATENA_OK, ERR_ARG (NULL, overflow, no such root; at the root:
 *         blocks of other lengths; logged), ERR_ENDED, ERR_PEER
 * @see docs/algorithms.md CH-7 */
CATENA_API catena_status_t catena_chain_gather(const void *send, void *recv,
                                               size_t count, catena_type_t type,
                                               int root, catena_group_t *group);

#ifdef __cplusplus
}
#endif
#endif
