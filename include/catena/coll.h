#ifndef CATENA_COLL_H
#define CATENA_COLL_H

#include <stddef.h>

#include <catena/group.h>
#include <catena/op.h>
#include <catena/request.h>
#include <catena/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * Each collective has three forms with the same parameters: blocking
 * (catena_X), nonblocking (catena_iX), and persistent (catena_X_init, started
 * with catena_request_start and freed with catena_request_free). Buffers belong
 * to catena until the blocking call returns, or while the request is active.
 *
 * A rank that gets ERR_ARG for its own arguments has not taken part: the others
 * wait for it, so it calls catena_abort, unless all ranks get the same.
 *
 * With the setting CATENA_CHECK=on the ranks of a group compare what they call.
 * If that differs, the call has done nothing and fails with ERR_ARG on all of
 * them: a blocking one returns it, a nonblocking one when its request
 * completes. An _init has returned before that is known, so it ends all
 * operations.
 * @param[out] request of the nonblocking and the persistent form; set only on
 *                     CATENA_OK */

/** As send buffer: take the data from the receive buffer, and replace them by
 * the received data; all ranks of the group must do so, or none. In rooted
 * collectives it is allowed at the root only: in gathers and reductions as send
 * buffer, in scatters as receive buffer. */
#define CATENA_IN_PLACE ((void *)-1)

/** Return when all ranks of the group have called it (MPI_Barrier).
 * @param[in]  group   all its ranks call, in the same order
 * @return CATENA_OK, ERR_ARG (NULL), ERR_NO_MEMORY, ERR_ENDED, ERR_PEER
 * @see docs/algorithms.md BAR-1, HIER-1 */
CATENA_API catena_status_t catena_barrier(catena_group_t *group);
CATENA_API catena_status_t catena_ibarrier(catena_group_t *group,
                                           catena_request_t **request);
CATENA_API catena_status_t catena_barrier_init(catena_group_t *group,
                                               catena_request_t **request);

/** Send block d to rank d; receive block s from rank s (MPI_Alltoall). All
 * blocks, sent and received, have the same number of bytes on all ranks; the
 * types of send and receive buffer may differ, also between ranks.
 * @param[in]  send       [p][send_count] elements, or CATENA_IN_PLACE: the
 *                        block received from a rank replaces the block sent to
 *                        it, and send_count and send_type are not significant
 * @param[in]  send_count elements per block; 0 is allowed
 * @param[out] recv       [p][recv_count] elements, not overlapping send
 * @param[in]  recv_count elements per block
 * @param[in]  recv_type  type of a received element; send_type likewise
 * @param[in]  group      p ranks; all call, in the same order
 *
 * Within a node, blocks over 512 bytes (2 KiB with more ranks than cores) are
 * copied only once if the receive buffer is in the shared heap (heap.h).
 * Buffers elsewhere are allowed; each rank is free to use the heap or not.
 * @return CATENA_OK, ERR_ARG (NULL, overflow, send_count x send_type and
 *         recv_count x recv_type differ in bytes; logged), ERR_NO_MEMORY,
 *         ERR_ENDED, ERR_PEER
 * @see docs/algorithms.md A2A-1 to A2A-11; Peng, Liu, Xie, Algorithms 1 to 5 */
CATENA_API catena_status_t catena_alltoall(const void *send, size_t send_count,
                                           catena_type_t send_type, void *recv,
                                           size_t recv_count,
                                           catena_type_t recv_type,
                                           catena_group_t *group);
CATENA_API catena_status_t catena_ialltoall(const void *send, size_t send_count,
                                            catena_type_t send_type, void *recv,
                                            size_t recv_count,
                                            catena_type_t recv_type,
                                            catena_group_t *group,
                                            catena_request_t **request);
CATENA_API catena_status_t catena_alltoall_init(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type, catena_group_t *group,
    catena_request_t **request);

/** As catena_alltoall, with separate counts for every pair of ranks
 * (MPI_Alltoallv). The block that rank s sends to rank d must have as many
 * bytes as d expects from s. Otherwise d does not write the block and returns
 * ERR_ARG (logged); s also returns ERR_ARG if it had to wait for d. No message
 * is sent for an empty block, so a block that is empty at one end only is not
 * always detected: if only d expects data, d waits forever; if only s has data,
 * the data are lost or, if the block is long, s waits forever. No later call
 * receives the data.
 * @param[in]  send   a block for each rank, or CATENA_IN_PLACE: the block
 *                    received from a rank replaces the block sent to it, and
 *                    the send counts, displacements and type are not
 *                    significant
 * @param[in]  send_counts        [p] elements of each block; recv_counts
 *                                likewise
 * @param[in]  send_displacements [p] of each block from send, in extents of
 *                                send_type; recv_displacements from recv, in
 *                                extents of recv_type
 * @param[out] recv   a block from each rank; the blocks overlap neither each
 *                    other nor send
 *
 * The arrays of counts and displacements belong to catena until the blocking
 * call returns, the nonblocking request is complete, or the persistent request
 * is freed; types may be freed as soon as the function returns.
 * @return CATENA_OK, ERR_ARG (NULL, overflow), ERR_NO_MEMORY, ERR_ENDED,
 *         ERR_PEER
 * @see docs/algorithms.md A2A-1 to A2A-5 and A2A-7 */
CATENA_API catena_status_t catena_alltoallv(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_group_t *group);
CATENA_API catena_status_t catena_ialltoallv(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_group_t *group, catena_request_t **request);
CATENA_API catena_status_t catena_alltoallv_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_group_t *group, catena_request_t **request);

/** As catena_alltoallv, with a separate type for every block (MPI_Alltoallw).
 * @param[in] send_displacements [p] of the blocks, in bytes; recv_displacements
 *                               likewise
 * @param[in] send_types, recv_types [p] types of the elements of each block */
CATENA_API catena_status_t catena_alltoallw(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_type_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_type_t recv_types[],
    catena_group_t *group);
CATENA_API catena_status_t catena_ialltoallw(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_type_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_type_t recv_types[],
    catena_group_t *group, catena_request_t **request);
CATENA_API catena_status_t catena_alltoallw_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_type_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_type_t recv_types[],
    catena_group_t *group, catena_request_t **request);

/** @name Hierarchical collectives
 * Hierarchical collectives use the group's hierarchy (catena_group_set,
 * CATENA_HIERARCHY): each level divides ranks into subgroups of those that
 * share a resource; the leaders of the subgroups are the ranks of the next
 * level. A component moves the data within each subgroup. Parameters have MPI's
 * order and meaning; counts are size_t.
 *
 * @param[in] type  type of an element
 * @param[in] op    reduction operation
 * @param[in] root  rank in the group, the same on all ranks
 * @param[in] group p ranks; all call, in the same order
 *
 * Types may differ between ranks if each block has as many bytes at its sender
 * as at its receiver. Reductions need the same type on all ranks, and an
 * operation that is defined for it. In a reduction of a type with gaps, or
 * whose data are not in the order of memory, each rank allocates memory for a
 * packed copy of its data. If the elements of a user-defined operation are
 * larger than 32 KiB, a rank allocates memory for the data of all ranks that
 * its result depends on.
 *
 * Buffers of a call do not overlap, except for CATENA_IN_PLACE. Arrays of
 * counts and displacements belong to catena as buffers do; those of a
 * persistent request until it is freed. Types and operations may be freed as
 * soon as the function returns. With counts of 0 no data move, and no rank
 * waits for another. If counts must be equal and are 0 on some ranks only, the
 * other ranks deadlock. A collective is no barrier: it returns when this rank's
 * part is done.
 *
 * @return CATENA_OK, ERR_ARG (NULL, overflow, root, type, operation, or levels
 *         that do not fit the group; logged), ERR_UNSUPPORTED (gatherv and
 *         scatterv of several levels in a simulation that moves no data;
 *         logged), ERR_NO_MEMORY (a rank has no memory for the data of this
 *         call; only this call fails, on the ranks that depend on these data),
 *         ERR_ENDED (a rank has no memory to begin its part, so it cannot
 *         notify the others within the call; or lengths differ such that ranks
 *         would wait for each other; all ranks return ERR_ENDED from then on),
 *         ERR_PEER
 * @see docs/algorithms.md HIER-1 to HIER-12; Graham, Ladd, Gorentla Venkata,
 *      section 3
 * @{ */

/** Broadcast `count` elements of the root's buffer (MPI_Bcast).
 * @param[in,out] buffer [count] elements: read at the root, else written */
CATENA_API catena_status_t catena_bcast(void *buffer, size_t count,
                                        catena_type_t type, int root,
                                        catena_group_t *group);
CATENA_API catena_status_t catena_ibcast(void *buffer, size_t count,
                                         catena_type_t type, int root,
                                         catena_group_t *group,
                                         catena_request_t **request);
CATENA_API catena_status_t catena_bcast_init(void *buffer, size_t count,
                                             catena_type_t type, int root,
                                             catena_group_t *group,
                                             catena_request_t **request);

/** Reduce all ranks' elements, in rank order, at the root (MPI_Reduce). The
 * result for floats may depend on count, settings, and the placement of ranks
 * on nodes, but not on timing.
 * @param[in]  send [count] elements; at the root also CATENA_IN_PLACE: its
 *                  elements are in recv
 * @param[out] recv [count] elements; significant only at the root
 * @param[in]  op   the same on all ranks */
CATENA_API catena_status_t catena_reduce(const void *send, void *recv,
                                         size_t count, catena_type_t type,
                                         catena_op_t op, int root,
                                         catena_group_t *group);
CATENA_API catena_status_t catena_ireduce(const void *send, void *recv,
                                          size_t count, catena_type_t type,
                                          catena_op_t op, int root,
                                          catena_group_t *group,
                                          catena_request_t **request);
CATENA_API catena_status_t catena_reduce_init(const void *send, void *recv,
                                              size_t count, catena_type_t type,
                                              catena_op_t op, int root,
                                              catena_group_t *group,
                                              catena_request_t **request);

/** As catena_reduce, with the result on all ranks, bitwise identical
 * (MPI_Allreduce).
 * @param[in]  send [count] elements, or on all ranks CATENA_IN_PLACE: the
 *                  elements are in recv
 * @param[out] recv [count] elements */
CATENA_API catena_status_t catena_allreduce(const void *send, void *recv,
                                            size_t count, catena_type_t type,
                                            catena_op_t op,
                                            catena_group_t *group);
CATENA_API catena_status_t catena_iallreduce(const void *send, void *recv,
                                             size_t count, catena_type_t type,
                                             catena_op_t op,
                                             catena_group_t *group,
                                             catena_request_t **request);
CATENA_API catena_status_t catena_allreduce_init(
    const void *send, void *recv, size_t count, catena_type_t type,
    catena_op_t op, catena_group_t *group, catena_request_t **request);

/** Gather a block of each rank, in rank order, at the root (MPI_Gather).
 * @param[in]  send [send_count] elements; at the root also CATENA_IN_PLACE: its
 *                  block is already at its place in recv
 * @param[out] recv [p][recv_count] elements; recv, recv_count and recv_type are
 *                  significant only at the root */
CATENA_API catena_status_t catena_gather(const void *send, size_t send_count,
                                         catena_type_t send_type, void *recv,
                                         size_t recv_count,
                                         catena_type_t recv_type, int root,
                                         catena_group_t *group);
CATENA_API catena_status_t catena_igather(const void *send, size_t send_count,
                                          catena_type_t send_type, void *recv,
                                          size_t recv_count,
                                          catena_type_t recv_type, int root,
                                          catena_group_t *group,
                                          catena_request_t **request);
CATENA_API catena_status_t
catena_gather_init(const void *send, size_t send_count, catena_type_t send_type,
                   void *recv, size_t recv_count, catena_type_t recv_type,
                   int root, catena_group_t *group, catena_request_t **request);

/** As catena_gather, with blocks of different lengths (MPI_Gatherv).
 * @param[in] recv_counts        [p] elements; significant only at the root
 * @param[in] recv_displacements [p] of a block from recv, in extents of
 *                               recv_type; significant only at the root */
CATENA_API catena_status_t catena_gatherv(const void *send, size_t send_count,
                                          catena_type_t send_type, void *recv,
                                          const size_t recv_counts[],
                                          const ptrdiff_t recv_displacements[],
                                          catena_type_t recv_type, int root,
                                          catena_group_t *group);
CATENA_API catena_status_t catena_igatherv(const void *send, size_t send_count,
                                           catena_type_t send_type, void *recv,
                                           const size_t recv_counts[],
                                           const ptrdiff_t recv_displacements[],
                                           catena_type_t recv_type, int root,
                                           catena_group_t *group,
                                           catena_request_t **request);
CATENA_API catena_status_t catena_gatherv_init(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, int root, catena_group_t *group,
    catena_request_t **request);

/** Scatter blocks of the root, one to each rank (MPI_Scatter).
 * @param[in]  send [p][send_count] elements; send, send_count and send_type are
 *                  significant only at the root
 * @param[out] recv [recv_count] elements; at the root also CATENA_IN_PLACE: its
 *                  block is not moved */
CATENA_API catena_status_t catena_scatter(const void *send, size_t send_count,
                                          catena_type_t send_type, void *recv,
                                          size_t recv_count,
                                          catena_type_t recv_type, int root,
                                          catena_group_t *group);
CATENA_API catena_status_t catena_iscatter(const void *send, size_t send_count,
                                           catena_type_t send_type, void *recv,
                                           size_t recv_count,
                                           catena_type_t recv_type, int root,
                                           catena_group_t *group,
                                           catena_request_t **request);
CATENA_API catena_status_t catena_scatter_init(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type, int root, catena_group_t *group,
    catena_request_t **request);

/** As catena_scatter, with blocks of different lengths (MPI_Scatterv).
 * @param[in] send_counts        [p] elements; significant only at the root
 * @param[in] send_displacements [p] of a block from send, in extents of
 *                               send_type; significant only at the root */
CATENA_API catena_status_t catena_scatterv(const void *send,
                                           const size_t send_counts[],
                                           const ptrdiff_t send_displacements[],
                                           catena_type_t send_type, void *recv,
                                           size_t recv_count,
                                           catena_type_t recv_type, int root,
                                           catena_group_t *group);
CATENA_API catena_status_t
catena_iscatterv(const void *send, const size_t send_counts[],
                 const ptrdiff_t send_displacements[], catena_type_t send_type,
                 void *recv, size_t recv_count, catena_type_t recv_type,
                 int root, catena_group_t *group, catena_request_t **request);
CATENA_API catena_status_t catena_scatterv_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type, int root, catena_group_t *group,
    catena_request_t **request);

/** As catena_gather, with the result on all ranks (MPI_Allgather).
 * @param[in]  send [send_count] elements, or on all ranks CATENA_IN_PLACE: each
 *                  rank's block is already at its place in recv
 * @param[out] recv [p][recv_count] elements */
CATENA_API catena_status_t catena_allgather(const void *send, size_t send_count,
                                            catena_type_t send_type, void *recv,
                                            size_t recv_count,
                                            catena_type_t recv_type,
                                            catena_group_t *group);
CATENA_API catena_status_t
catena_iallgather(const void *send, size_t send_count, catena_type_t send_type,
                  void *recv, size_t recv_count, catena_type_t recv_type,
                  catena_group_t *group, catena_request_t **request);
CATENA_API catena_status_t catena_allgather_init(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type, catena_group_t *group,
    catena_request_t **request);

/** As catena_allgather, with blocks of different lengths (MPI_Allgatherv). The
 * length in bytes of the block from rank i is the same on all ranks.
 * @param[in] recv_counts        [p] elements
 * @param[in] recv_displacements [p] of a block from recv, in extents of
 *                               recv_type */
CATENA_API catena_status_t catena_allgatherv(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_group_t *group);
CATENA_API catena_status_t catena_iallgatherv(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_group_t *group, catena_request_t **request);
CATENA_API catena_status_t catena_allgatherv_init(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_group_t *group, catena_request_t **request);

/** As catena_reduce, with block i of the result at rank i (MPI_Reduce_scatter).
 * @param[in]  send        all blocks, one after the other, or on all ranks
 *                         CATENA_IN_PLACE: all blocks are in recv; after the
 *                         call recv is undefined beyond the result
 * @param[out] recv        [recv_counts[rank]] elements
 * @param[in]  recv_counts [p] elements, the same on all ranks */
CATENA_API catena_status_t catena_reduce_scatter(const void *send, void *recv,
                                                 const size_t recv_counts[],
                                                 catena_type_t type,
                                                 catena_op_t op,
                                                 catena_group_t *group);
CATENA_API catena_status_t catena_ireduce_scatter(const void *send, void *recv,
                                                  const size_t recv_counts[],
                                                  catena_type_t type,
                                                  catena_op_t op,
                                                  catena_group_t *group,
                                                  catena_request_t **request);
CATENA_API catena_status_t catena_reduce_scatter_init(
    const void *send, void *recv, const size_t recv_counts[],
    catena_type_t type, catena_op_t op, catena_group_t *group,
    catena_request_t **request);

/** As catena_reduce_scatter, with blocks of one length
 * (MPI_Reduce_scatter_block).
 * @param[in]  send  [p][count] elements, or on all ranks CATENA_IN_PLACE
 * @param[out] recv  [count] elements */
CATENA_API catena_status_t catena_reduce_scatter_block(const void *send,
                                                       void *recv, size_t count,
                                                       catena_type_t type,
                                                       catena_op_t op,
                                                       catena_group_t *group);
CATENA_API catena_status_t catena_ireduce_scatter_block(
    const void *send, void *recv, size_t count, catena_type_t type,
    catena_op_t op, catena_group_t *group, catena_request_t **request);
CATENA_API catena_status_t catena_reduce_scatter_block_init(
    const void *send, void *recv, size_t count, catena_type_t type,
    catena_op_t op, catena_group_t *group, catena_request_t **request);

/** Inclusive scan: reduce the elements of ranks 0 to this one, in rank order
 * (MPI_Scan).
 * @param[in]  send [count] elements, or on all ranks CATENA_IN_PLACE: the
 *                  elements are in recv
 * @param[out] recv [count] elements */
CATENA_API catena_status_t catena_scan(const void *send, void *recv,
                                       size_t count, catena_type_t type,
                                       catena_op_t op, catena_group_t *group);
CATENA_API catena_status_t catena_iscan(const void *send, void *recv,
                                        size_t count, catena_type_t type,
                                        catena_op_t op, catena_group_t *group,
                                        catena_request_t **request);
CATENA_API catena_status_t catena_scan_init(const void *send, void *recv,
                                            size_t count, catena_type_t type,
                                            catena_op_t op,
                                            catena_group_t *group,
                                            catena_request_t **request);

/** Exclusive scan: as catena_scan, without this rank's elements (MPI_Exscan).
 * @param[out] recv [count] elements; not written on rank 0 */
CATENA_API catena_status_t catena_exscan(const void *send, void *recv,
                                         size_t count, catena_type_t type,
                                         catena_op_t op, catena_group_t *group);
CATENA_API catena_status_t catena_iexscan(const void *send, void *recv,
                                          size_t count, catena_type_t type,
                                          catena_op_t op, catena_group_t *group,
                                          catena_request_t **request);
CATENA_API catena_status_t catena_exscan_init(const void *send, void *recv,
                                              size_t count, catena_type_t type,
                                              catena_op_t op,
                                              catena_group_t *group,
                                              catena_request_t **request);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
