#ifndef CATENA_NEIGHBOR_H
#define CATENA_NEIGHBOR_H

#include <stddef.h>
#include <stdint.h>

#include <catena/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Neighborhood collectives ([Hoefler]): each rank of a neighborhood sends to
 * its targets and receives from its sources, and communicates with no other
 * rank. Creating one is collective over the group; operations involve neighbors
 * only: ranks that are not connected by a path of edges never wait for each
 * other, and a rank without neighbors returns immediately. [Hoefler]: T.
 * Hoefler, J. L. Traeff, Sparse Collective Operations for MPI, HIPS 2009, and
 * slides for the MPI Forum, June 2009.
 * @see docs/algorithms.md NBR-1 to NBR-8, ORD-1 to ORD-4 */

/** A graph on a group: lists of sources and of targets at every rank. */
typedef struct catena_neighborhood catena_neighborhood_t;

/** As weights: all edges have the same weight, at all ranks. */
#define CATENA_UNWEIGHTED ((const int *)0)

/** Operations that a neighborhood is created for, as a mask. */
enum {
    CATENA_NEIGHBOR_ALLGATHER = 1u << 0, /**< allgather, allgatherv */
    CATENA_NEIGHBOR_ALLTOALL = 1u << 1,  /**< alltoall, alltoallv, alltoallw */
    CATENA_NEIGHBOR_REDUCE = 1u << 2,    /**< reduce, reducev */
    CATENA_NEIGHBOR_ALL = 7u
};

/** Hints for a creation; the same on all ranks. NULL, or zero but for the size:
 * none. */
typedef struct catena_neighborhood_info {
    size_t size; /**< sizeof this struct, set by the caller */
    /** "direct", "colored", "combining", "aggregated"; "auto", or an algorithm
     * that is not possible for the graph: selected by the graph, the machine
     * and the lengths of blocks. NULL: as CATENA_NEIGHBOR_ALGORITHM. */
    const char *algorithm;
    /** Ranks may be reordered, so that neighbors with heavy edges share a node:
     * see catena_neighborhood_group. */
    int reorder;
    /** Operations to create it for, CATENA_NEIGHBOR_...; 0: all. No schedules
     * are built for the others, which fail with ERR_ARG. */
    unsigned operations;
    /** Usual bytes along an edge of weight 1, for selection if an operation
     * does not say how many bytes all edges carry; 0: unknown. */
    size_t bytes;
} catena_neighborhood_info_t;

/** Create a neighborhood from both lists of every rank (as
 * MPI_Dist_graph_create_adjacent). Collective; blocks. Costs two sparse
 * exchanges of edges, of ceil(log2 p) rounds each, and some scans; O(degree)
 * memory and what is forwarded; at rank 0, O(edges) for reordering, or if not
 * all ranks are connected.
 *
 * If i names j as target, j must name i as source, as often as i names it: the
 * k-th edge from i to j in the list of i is the k-th in the list of j.
 * Otherwise the creation fails on all ranks with ERR_ARG, and the ranks
 * concerned log both lists (the first few entries). Edges to oneself, multiple
 * edges between two ranks, CATENA_PROC_NULL and empty lists are allowed.
 *
 * @param[in]  group          p ranks; may be freed afterwards
 * @param[in]  sources        [source_count] ranks of the group
 * @param[in]  source_weights [source_count] 0 or more, or CATENA_UNWEIGHTED:
 *                            how much an edge usually carries. If both ends
 *                            differ, the larger one is used. All ranks with
 *                            edges give weights, or none does
 * @param[in]  targets        [target_count]
 * @param[in]  target_weights [target_count]
 * @param[in]  info           or NULL
 * @param[out] out            set only on CATENA_OK; free with
 *                            catena_neighborhood_free
 * @return CATENA_OK, ERR_ARG (NULL, rank outside the group, negative weight,
 *         weights on some ranks only, lists that do not match, different info
 *         or CATENA_CHECK; logged), ERR_NO_MEMORY (on all ranks),
 *         ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_neighborhood_create(
    catena_group_t *group, int source_count, const int sources[],
    const int source_weights[], int target_count, const int targets[],
    const int target_weights[], const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/** Create a neighborhood from edges that any rank may contribute (as
 * MPI_Dist_graph_create). Sources and targets of a rank are ordered by the rank
 * that contributed the edge, then by that rank's order.
 * @param[in] count   nodes whose edges this rank contributes
 * @param[in] nodes   [count] ranks: where edges begin
 * @param[in] degrees [count] edges of each
 * @param[in] targets [sum of degrees] where they end; no CATENA_PROC_NULL
 * @param[in] weights [sum of degrees] or CATENA_UNWEIGHTED
 * @return as catena_neighborhood_create */
CATENA_API catena_status_t catena_dist_graph_create(
    catena_group_t *group, int count, const int nodes[], const int degrees[],
    const int targets[], const int weights[],
    const catena_neighborhood_info_t *info, catena_neighborhood_t **out);

/** Free it and its group, as catena_group_free; persistent requests are not
 * affected.
 * @param[in,out] neighborhood NULL afterwards, except with ERR_ARG and
 *                             ERR_STATE
 * @return CATENA_OK, ERR_ARG (NULL), ERR_STATE (this rank has operations of the
 *         neighborhood or of its group under way; logged; nothing was freed
 *         here, and both can still be used), ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t
catena_neighborhood_free(catena_neighborhood_t **neighborhood);

/** Return the group whose ranks the neighborhood's lists name: a separate group
 * of all its ranks, reordered if it was created with reorder. It belongs to the
 * neighborhood; any collective may be called on it. NULL for NULL. */
CATENA_API catena_group_t *
catena_neighborhood_group(const catena_neighborhood_t *neighborhood);

/** Return the numbers of neighbors of this rank, CATENA_PROC_NULL included. */
CATENA_API catena_status_t
catena_neighborhood_counts(const catena_neighborhood_t *neighborhood,
                           int *source_count, int *target_count);

/** Return the lists of this rank, in the order in which operations count
 * blocks.
 * @param[in]  most_sources capacity of sources and source_weights
 * @param[out] source_weights, target_weights may be NULL; all 1 if
 * unweighted */
CATENA_API catena_status_t catena_neighborhood_neighbors(
    const catena_neighborhood_t *neighborhood, int most_sources, int sources[],
    int source_weights[], int most_targets, int targets[],
    int target_weights[]);

/** Change a setting. Collective: all ranks make the same calls at the same
 * point among the neighborhood's operations, none of which may be under way.
 * Persistent requests keep their algorithm. "algorithm": as in
 * catena_neighborhood_info_t.
 * @return CATENA_OK, ERR_ARG (unknown, not the same on all ranks, or not
 *         possible for this graph; logged with the alternatives), ERR_STATE (on
 *         all ranks: one has operations under way), ERR_NO_MEMORY,
 *         ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_neighborhood_set(
    catena_neighborhood_t *neighborhood, const char *name, const char *value);

/** Describe how `collective` last ran since the setting changed, and why:
 * "key=value" pairs separated by blanks, the reason last, as
 * catena_group_explain. If it has not run: what would be selected for blocks of
 * the usual length. The keys are algorithm, rounds, messages and aggregates.
 * Local.
 * @param[in]  collective by its own name: "neighbor_alltoallv"
 * @param[out] text       truncated to `bytes`, always terminated
 * @return CATENA_OK, ERR_ARG (NULL, no such collective, or one that the
 *         neighborhood is not created for; logged) */
CATENA_API catena_status_t
catena_neighborhood_explain(const catena_neighborhood_t *neighborhood,
                            const char *collective, char *text, size_t bytes);

/** Describe what would be selected for blocks of one length: a line as of
 * catena_neighborhood_explain, then one for each algorithm, with its estimated
 * time or why it is not possible. Arguments and return value as there, and:
 * @param[in] block_bytes 0: the usual length; not significant for collectives
 *                        on blocks of different lengths */
CATENA_API catena_status_t catena_neighborhood_estimate(
    const catena_neighborhood_t *neighborhood, const char *collective,
    size_t block_bytes, char *text, size_t bytes);

/** The cost of one alltoall, or of an allgather if the neighborhood is created
 * only for it, with the algorithm that ran last, else with that for blocks of
 * the usual length. */
typedef struct catena_neighborhood_stats {
    size_t size;           /**< sizeof this struct, set by the caller */
    const char *algorithm; /**< of the last operation; NULL: none yet */
    uint32_t messages; /**< sent by this rank; an aggregate of ranks of a node
                          is counted at one of them */
    uint32_t rounds;   /**< sequential; the same on all ranks */
    uint32_t heavy_rounds;   /**< that carry an edge of the largest weight; the
                                same on all ranks */
    uint64_t weight_between; /**< of all edges between nodes, all ranks */
    uint64_t weight_before;  /**< the same in the order of the parent group */
    uint64_t weight_all;     /**< of all edges */
} catena_neighborhood_stats_t;

/** Return the cost of an operation of a neighborhood.
 * @param[out] stats filled; the caller sets its size
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t
catena_neighborhood_get_stats(const catena_neighborhood_t *neighborhood,
                              catena_neighborhood_stats_t *stats);

/* ---- Cartesian grids ---- */

/** Balance the dimensions of a grid of `ranks` (as MPI_Dims_create): they do
 * not increase, and the largest and smallest of those that are set differ as
 * little as possible.
 * @param[in,out] dims [ndims] > 0: kept; 0: set
 * @return CATENA_OK, ERR_ARG (the product cannot be `ranks`) */
CATENA_API catena_status_t catena_dims_create(int ranks, int ndims, int dims[]);

/** Create a neighborhood that is a Cartesian grid (as MPI_Cart_create):
 * row-major, the last dimension varies fastest. Neighbors come in pairs per
 * dimension, the one at the lower coordinate first; CATENA_PROC_NULL beyond
 * borders that are not periodic. Data sent towards higher coordinates is
 * received from lower ones, also if both are the same rank (periodic dimensions
 * of 1 and 2). Collective; blocks.
 * @param[in]  dims    [ndims] product at most p; ndims 0: a grid of one rank
 * @param[in]  periods [ndims] whether a dimension is periodic
 * @param[in]  reorder whether ranks may be reordered: blocks of the grid to
 *                     each node
 * @param[in]  info    or NULL; its reorder is not significant
 * @param[out] out     NULL at ranks beyond the grid
 * @return as catena_neighborhood_create */
CATENA_API catena_status_t catena_cart_create(
    catena_group_t *group, int ndims, const int dims[], const int periods[],
    int reorder, const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/** Return the number of dimensions of a grid. ERR_ARG, here and below: it is
 * not a grid. */
CATENA_API catena_status_t catena_cart_ndims(const catena_neighborhood_t *cart,
                                             int *ndims);
/** @param[in] most capacity of the arrays; at most so many dimensions are
 * set */
CATENA_API catena_status_t catena_cart_get(const catena_neighborhood_t *cart,
                                           int most, int dims[], int periods[],
                                           int coords[]);
/** Return the coordinates of a rank of a grid.
 * @param[in]  rank   rank in the neighborhood's group
 * @param[in]  most   capacity of coords; at most so many are set
 * @param[out] coords from 0, by dimension
 * @return CATENA_OK, ERR_ARG (NULL, not a grid, no such rank) */
CATENA_API catena_status_t catena_cart_coords(const catena_neighborhood_t *cart,
                                              int rank, int most, int coords[]);
/** Return the rank at given coordinates. Coordinates outside the grid wrap
 * around in periodic dimensions, else ERR_ARG. */
CATENA_API catena_status_t catena_cart_rank(const catena_neighborhood_t *cart,
                                            const int coords[], int *rank);
/** Return the ranks `displacement` away along a dimension, or
 * CATENA_PROC_NULL. */
CATENA_API catena_status_t catena_cart_shift(const catena_neighborhood_t *cart,
                                             int dimension, int displacement,
                                             int *source, int *target);
/** Create grids of the remaining dimensions, one for each coordinate in the
 * others. Collective. */
CATENA_API catena_status_t catena_cart_sub(catena_neighborhood_t *cart,
                                           const int remain[],
                                           catena_neighborhood_t **out);

/** Derive a graph from a grid ([Hoefler], MPI_CART_DERIVE_GRAPH): this rank's
 * targets are the ranks at its coordinates plus each of the vectors, its
 * sources those at its coordinates minus each, in this order; CATENA_PROC_NULL
 * beyond the grid. Vectors may have any length, be zero, and occur several
 * times. Collective; blocks. The result has the grid: catena_cart_... work.
 * @param[in] displacements [ndirs][dimensions of the grid]; the same on all
 *                          ranks
 * @param[in] weights       [ndirs] or CATENA_UNWEIGHTED; the same on all ranks
 * @param[in] reorder       reorder the grid by these edges */
CATENA_API catena_status_t catena_cart_derive_graph(
    catena_neighborhood_t *cart, int ndirs, const int displacements[],
    const int weights[], int reorder, const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/* ---- operations ----
 *
 * All neighbors start operations in the same order. All share:
 * @param[in] neighborhood s sources and t targets at this rank Types may differ
 *                         between sender and receiver if the data has as many
 *                         bytes. Buffers and arrays belong to catena until the
 *                         call, the request, or the persistent request has
 *                         ended; types and operations may be freed immediately.
 *                         Blocks of CATENA_PROC_NULL are neither read nor
 *                         written. If the ends of an edge do not agree on a
 *                         length, the receiver fails with ERR_ARG after the
 *                         operation, and logs the sender and both lengths. With
 *                         CATENA_CHECK=on every mismatch is found. Without it
 *                         blocks that share a message are checked together, and
 *                         ranks may deadlock if one end has no data and the
 *                         other expects some, or if different lengths lead to
 *                         different algorithms. If a rank has no memory for its
 *                         part, it and all ranks that wait for it return
 *                         ERR_ENDED from then on (catena/coll.h). If it has
 *                         no memory for a request, nothing is started: only
 *                         that rank gets the error, and it may call again. The
 *                         same holds for invalid arguments: the neighbors wait
 *                         until the rank calls again.
 * @return CATENA_OK, ERR_ARG (NULL, overflow, created for other operations;
 *         logged), ERR_NO_MEMORY, ERR_ENDED, ERR_PEER
 * @see docs/algorithms.md NBR-1 to NBR-4 and NBR-8 */

/** Send the same block to all targets (MPI_Neighbor_allgather). The same length
 * for all ranks connected by edges.
 * @param[in]  send [send_count] elements
 * @param[out] recv [s][recv_count] elements, in the order of the sources */
CATENA_API catena_status_t catena_neighbor_allgather(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type,
    catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_allgather(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_allgather_init(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);

/** As catena_neighbor_allgather, with blocks of different lengths.
 * @param[in] recv_counts        [s] elements
 * @param[in] recv_displacements [s] in extents of recv_type */
CATENA_API catena_status_t catena_neighbor_allgatherv(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_allgatherv(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_neighborhood_t *neighborhood,
    catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_allgatherv_init(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_neighborhood_t *neighborhood,
    catena_request_t **request);

/** Send a separate block to each target (MPI_Neighbor_alltoall). The same
 * length for all ranks connected by edges.
 * @param[in]  send [t][send_count] elements, or CATENA_IN_PLACE if s is t: the
 *                  block received from source i replaces that sent to target i;
 *                  send_count and send_type are not significant then
 * @param[out] recv [s][recv_count] elements */
CATENA_API catena_status_t catena_neighbor_alltoall(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type,
    catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_alltoall(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_alltoall_init(
    const void *send, size_t send_count, catena_type_t send_type, void *recv,
    size_t recv_count, catena_type_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);

/** As catena_neighbor_alltoall, with blocks of different lengths. In place,
 * block i has the same length as source and as target.
 * @param[in] send_counts        [t] elements
 * @param[in] send_displacements [t] in extents of send_type
 * @param[in] recv_counts, recv_displacements [s] likewise */
CATENA_API catena_status_t catena_neighbor_alltoallv(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_alltoallv(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_neighborhood_t *neighborhood,
    catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_alltoallv_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_type_t send_type, void *recv,
    const size_t recv_counts[], const ptrdiff_t recv_displacements[],
    catena_type_t recv_type, catena_neighborhood_t *neighborhood,
    catena_request_t **request);

/** As catena_neighbor_alltoallv, with a type for each block; displacements are
 * in bytes. The borders of a field can be sent and received in place. */
CATENA_API catena_status_t catena_neighbor_alltoallw(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_type_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_type_t recv_types[],
    catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_alltoallw(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_type_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_type_t recv_types[],
    catena_neighborhood_t *neighborhood, catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_alltoallw_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_type_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_type_t recv_types[],
    catena_neighborhood_t *neighborhood, catena_request_t **request);

/** Send the same block to all targets, and reduce the blocks of all sources, in
 * the order of the sources ([Hoefler]; not in MPI). The same length for all
 * ranks connected by edges.
 * @param[in]  send [count] elements, or CATENA_IN_PLACE: they are in recv
 * @param[out] recv [count] elements; unchanged at a rank without sources
 * @param[in]  type any layout; the same on all ranks
 * @param[in]  op   the same on all ranks */
CATENA_API catena_status_t catena_neighbor_reduce(
    const void *send, void *recv, size_t count, catena_type_t type,
    catena_op_t op, catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_reduce(
    const void *send, void *recv, size_t count, catena_type_t type,
    catena_op_t op, catena_neighborhood_t *neighborhood,
    catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_reduce_init(
    const void *send, void *recv, size_t count, catena_type_t type,
    catena_op_t op, catena_neighborhood_t *neighborhood,
    catena_request_t **request);

/** Send a separate block to each target, and reduce the blocks of all sources,
 * in the order of the sources ([Hoefler]). The length may differ between ranks:
 * all blocks sent to a rank have the length that it receives.
 * @param[in]  send               not overlapping recv
 * @param[in]  send_counts        [t] elements
 * @param[in]  send_displacements [t] in extents of type
 * @param[out] recv               [recv_count] elements */
CATENA_API catena_status_t catena_neighbor_reducev(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], void *recv, size_t recv_count,
    catena_type_t type, catena_op_t op, catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_reducev(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], void *recv, size_t recv_count,
    catena_type_t type, catena_op_t op, catena_neighborhood_t *neighborhood,
    catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_reducev_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], void *recv, size_t recv_count,
    catena_type_t type, catena_op_t op, catena_neighborhood_t *neighborhood,
    catena_request_t **request);

#ifdef __cplusplus
}
#endif
#endif
