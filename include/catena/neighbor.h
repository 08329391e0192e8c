#ifndef CATENA_NEIGHBOR_H
#define CATENA_NEIGHBOR_H

#include <stddef.h>
#include <stdint.h>

#include <catena/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @file
 * Neighborhood collectives ([Hoefler]): each rank of a neighborhood has
 * neighbors: it receives from its sources, sends to its targets, and
 * communicates with no other rank. Creating a neighborhood is collective over
 * the group. The
 * operations of a neighborhood are collective over neighbors only: ranks that
 * no path of edges connects never wait for each other, and an operation of a
 * rank without neighbors completes immediately.
 *
 * [Hoefler]: T. Hoefler, J. L. Traeff, Sparse Collective Operations for MPI,
 * HIPS 2009, and slides for the MPI Forum, June 2009.
 * @see docs/algorithms.md NBR-1 to NBR-9, ORD-1 to ORD-4 */

/** A directed graph whose vertices are the ranks of a group. Each rank has
 * lists of its sources (edges to this rank) and of its targets (edges from it).
 */
typedef struct catena_neighborhood catena_neighborhood_t;

/** As weights: all edges have the weight 1, at all ranks. */
#define CATENA_UNWEIGHTED ((const int *)0)

/** Operations that a neighborhood is created for, as a mask. */
enum {
    CATENA_NEIGHBOR_ALLGATHER = 1u << 0, /**< allgather, allgatherv */
    CATENA_NEIGHBOR_ALLTOALL = 1u << 1,  /**< alltoall, alltoallv, alltoallw */
    CATENA_NEIGHBOR_REDUCE = 1u << 2,    /**< reduce, reducev */
    CATENA_NEIGHBOR_ALL = 7u
};

/** Hints for the creation of a neighborhood; the same on all ranks, but for
 * `weights`. NULL, and a struct whose members other than `size` are zero, give
 * no hints. */
typedef struct catena_neighborhood_info {
    size_t size; /**< sizeof this struct, set by the caller */
    /** "direct", "colored", "combining" or "aggregated". "auto", and an
     * algorithm that is not possible for the graph: the library selects by the
     * graph, the machine and the lengths of blocks. NULL: as the setting
     * CATENA_NEIGHBOR_ALGORITHM says. */
    const char *algorithm;
    /** Ranks may be reordered, so that neighbors with heavy edges share a node:
     * see catena_neighborhood_group. */
    int reorder;
    /** Operations to create it for, CATENA_NEIGHBOR_...; 0: all. No schedules
     * are built for the others, which fail with ERR_ARG. */
    unsigned operations;
    /** Usual bytes along an edge of weight 1, for the selection of an algorithm
     * where the arguments of a rank do not tell how many bytes all edges carry
     * (alltoallv); 0: unknown. */
    size_t bytes;
    /** Of catena_cart_create only: [2 * ndims] this rank's weights, in the
     * order of its neighbors, as catena_neighborhood_create takes them: how
     * much data the edges to and from this neighbor carry. Not significant for
     * CATENA_PROC_NULL. With `reorder` they are those of the place that this
     * rank has in the grid before ranks are reordered, and move with it.
     * CATENA_UNWEIGHTED: all edges have the weight 1. */
    const int *weights;
} catena_neighborhood_info_t;

/** Create a neighborhood from both lists of every rank (as
 * MPI_Dist_graph_create_adjacent). Collective; blocks. The cost is two
 * sparse exchanges of edges (docs/algorithms.md, NBR-5), of ceil(log2 p) rounds
 * each, and some scans. Each rank takes memory for its own edges and for those
 * that it forwards; rank 0 takes memory for all edges if ranks may be
 * reordered, or if the graph is not connected.
 *
 * If i names j as target, j must name i as source, as often as i names it: the
 * k-th edge from i to j in the list of i is the k-th in the list of j.
 * Otherwise the creation fails on all ranks with ERR_ARG, and the ranks
 * concerned log both lists (the first few entries). Edges from a rank to
 * itself, multiple edges between two ranks, CATENA_PROC_NULL and empty lists
 * are allowed.
 *
 * @param[in]  group          p ranks; may be freed afterwards
 * @param[in]  sources        [source_count] ranks of the group
 * @param[in]  source_weights [source_count] 0 or more, or CATENA_UNWEIGHTED:
 *                            how much data each edge usually carries, relative
 *                            to other edges. If the ends of an edge give
 *                            different weights, the larger one is used. All
 *                            ranks with edges give weights, or none does
 * @param[in]  targets        [target_count] ranks of the group
 * @param[in]  target_weights [target_count] as source_weights
 * @param[in]  info           hints, or NULL
 * @param[out] out            set only on CATENA_OK; free with
 *                            catena_neighborhood_free
 * @return CATENA_OK, ERR_ARG (NULL, rank outside the group, negative weight,
 *         weights on some ranks only, lists that do not match, `info` not the
 *         same on all ranks, or with weights; logged),
 *         ERR_NO_MEMORY (on all ranks), ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_neighborhood_create(
    catena_group_t *group, int source_count, const int sources[],
    const int source_weights[], int target_count, const int targets[],
    const int target_weights[], const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/** Create a neighborhood from edges that any rank may contribute (as
 * MPI_Dist_graph_create). Collective; blocks. Sources and targets of a rank are
 * ordered by the rank that contributed the edge, then by that rank's order.
 * @param[in]  count   length of `sources`; 0: this rank contributes no edges
 * @param[in]  sources [count] ranks of the group from which edges go out
 * @param[in]  degrees [count] number of edges from each of these
 * @param[in]  targets [sum of degrees] ranks to which the edges go, those of
 *                     sources[0] first; no CATENA_PROC_NULL
 * @param[in]  weights [sum of degrees] of the edges, or CATENA_UNWEIGHTED
 * @param[in]  info    hints, or NULL
 * @param[out] out     set only on CATENA_OK; free with catena_neighborhood_free
 * @return as catena_neighborhood_create */
CATENA_API catena_status_t catena_dist_graph_create(
    catena_group_t *group, int count, const int sources[], const int degrees[],
    const int targets[], const int weights[],
    const catena_neighborhood_info_t *info, catena_neighborhood_t **out);

/** Free a neighborhood and its group, as catena_group_free: collective, does
 * not block, and persistent requests are not affected.
 * @param[in,out] neighborhood NULL afterwards, except with ERR_ARG and
 *                             ERR_STATE
 * @return CATENA_OK, ERR_ARG (NULL), ERR_STATE (this rank has operations of the
 *         neighborhood or of its group under way; logged; this rank freed
 *         nothing, and both can still be used), ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t
catena_neighborhood_free(catena_neighborhood_t **neighborhood);

/** Return the group of a neighborhood; lists of neighbors have ranks of this
 * group. It has the ranks of the group that the neighborhood was created from
 * (of a grid: those in the grid), in another order if they were reordered, but
 * its operations are separate. It belongs to the neighborhood; any collective
 * may be called on it.
 * @param neighborhood whose group it is
 * @return the group; NULL for NULL */
CATENA_API catena_group_t *
catena_neighborhood_group(const catena_neighborhood_t *neighborhood);

/** Return the number of sources and of targets of this rank, CATENA_PROC_NULL
 * included.
 * @param      neighborhood of this rank
 * @param[out] source_count number of sources
 * @param[out] target_count number of targets
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t
catena_neighborhood_counts(const catena_neighborhood_t *neighborhood,
                           int *source_count, int *target_count);

/** Return the lists of this rank, in the order in which operations count
 * blocks.
 * @param[in]  most_sources   capacity of `sources` and `source_weights`; longer
 *                            lists are cut off; most_targets likewise
 * @param[out] sources        ranks of the neighborhood's group; `targets`
 *                            likewise
 * @param[out] source_weights may be NULL; all 1 if the edges have no weights;
 *                            `target_weights` likewise
 * @return CATENA_OK, ERR_ARG (NULL, or a negative capacity) */
CATENA_API catena_status_t catena_neighborhood_neighbors(
    const catena_neighborhood_t *neighborhood, int most_sources, int sources[],
    int source_weights[], int most_targets, int targets[],
    int target_weights[]);

/** Change a setting of a neighborhood. Collective; blocks: all ranks of its
 * group make the same calls at the same point among the neighborhood's
 * operations, none of which may be under way. Persistent requests keep their
 * algorithm.
 * @param[in] name  "algorithm"
 * @param[in] value as catena_neighborhood_info_t.algorithm
 * @return CATENA_OK, ERR_ARG (unknown, not the same on all ranks, or not
 *         possible for this graph; logged with the alternatives), ERR_STATE (on
 *         all ranks: one has operations under way), ERR_NO_MEMORY,
 *         ERR_ENDED, ERR_PEER */
CATENA_API catena_status_t catena_neighborhood_set(
    catena_neighborhood_t *neighborhood, const char *name, const char *value);

/** Describe how a collective of a neighborhood last ran, and why it ran so:
 * "key=value" pairs separated by blanks, as catena_group_explain. The keys are
 * algorithm, rounds, messages, aggregates and, last, reason. If the collective
 * has not run, or the algorithm was set after it ran: what would be selected
 * for blocks of the usual length (catena_neighborhood_info_t.bytes). Local.
 * @param[in]  collective its name: "neighbor_alltoallv"
 * @param[out] text       at most `bytes` bytes, truncated if longer, terminated
 * @return CATENA_OK, ERR_ARG (NULL, no such collective, or one that the
 *         neighborhood is not created for; logged) */
CATENA_API catena_status_t
catena_neighborhood_explain(const catena_neighborhood_t *neighborhood,
                            const char *collective, char *text, size_t bytes);

/** As catena_neighborhood_explain, but describe which algorithm would be
 * selected for blocks of one length. Lines for the algorithms follow, each with
 * the estimated time or the reason why the algorithm is not possible.
 * @param[in] block_bytes 0: the usual length; not significant for collectives
 *                        on blocks of different lengths */
CATENA_API catena_status_t catena_neighborhood_estimate(
    const catena_neighborhood_t *neighborhood, const char *collective,
    size_t block_bytes, char *text, size_t bytes);

/** The cost of one neighborhood alltoall (of an allgather if the neighborhood
 * is created for allgathers only), with the algorithm that ran last. If none
 * has run: with the algorithm that would be selected for blocks of the usual
 * length. */
typedef struct catena_neighborhood_stats {
    size_t size;           /**< sizeof this struct, set by the caller */
    const char *algorithm; /**< of the last operation; NULL: none yet */
    uint32_t messages; /**< sent by this rank; a message that several ranks of a
                          node send together is counted at one of them */
    uint32_t rounds;   /**< one after the other; the same on all ranks */
    uint32_t heavy_rounds;   /**< rounds with an edge of the largest weight; the
                                same on all ranks */
    uint64_t weight_between; /**< sum over all edges between nodes */
    uint64_t weight_before;  /**< the same if ranks had not been reordered */
    uint64_t weight_all;     /**< sum over all edges of the graph */
} catena_neighborhood_stats_t;

/** Return the cost of an operation of a neighborhood. Local.
 * @param[out] stats filled; the caller sets its size
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t
catena_neighborhood_get_stats(const catena_neighborhood_t *neighborhood,
                              catena_neighborhood_stats_t *stats);

/** @name Cartesian grids
 * For a neighborhood that is not a grid, and was not derived from one, the
 * functions catena_cart_... return ERR_ARG.
 * @{ */

/** Choose the dimensions of a grid of `ranks` ranks (as MPI_Dims_create). Those
 * that are chosen do not increase, and the largest and the smallest of them
 * differ as little as possible. Local.
 * @param[in,out] dims [ndims] above 0: kept; 0: chosen
 * @return CATENA_OK, ERR_ARG (NULL, ranks below 1, a negative number, or the
 *         product of the dimensions cannot be `ranks`) */
CATENA_API catena_status_t catena_dims_create(int ranks, int ndims, int dims[]);

/** Create a neighborhood that is a Cartesian grid (as MPI_Cart_create). Ranks
 * are numbered in row-major order: the last coordinate varies fastest. In
 * each dimension a rank has two neighbors, both source and target: first the
 * one at the lower coordinate, then the one at the higher; CATENA_PROC_NULL
 * stands beyond borders that are not periodic. Data sent towards higher
 * coordinates are received from lower ones, also if both neighbors are the same
 * rank (periodic dimensions of size 1 and 2). Collective; blocks.
 * @param[in]  group   p ranks; may be freed afterwards
 * @param[in]  ndims   number of dimensions; 0: a grid of one rank
 * @param[in]  dims    [ndims] sizes; their product is at most p
 * @param[in]  periods [ndims] nonzero: the dimension is periodic
 * @param[in]  reorder nonzero: ranks may be reordered, so that each node gets a
 *                     compact part of the grid
 * @param[in]  info    hints, or NULL: weights are given here; its reorder is
 *                     not significant
 * @param[out] out     set only on CATENA_OK: NULL at ranks beyond the grid,
 *                     else free with catena_neighborhood_free
 * @return as catena_neighborhood_create */
CATENA_API catena_status_t catena_cart_create(
    catena_group_t *group, int ndims, const int dims[], const int periods[],
    int reorder, const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/** Return the number of dimensions of a grid.
 * @param      cart  grid
 * @param[out] ndims number of dimensions
 * @return CATENA_OK, ERR_ARG (NULL, not a grid) */
CATENA_API catena_status_t catena_cart_ndims(const catena_neighborhood_t *cart,
                                             int *ndims);
/** Return the shape of a grid, and this rank's place in it.
 * @param[in]  most    capacity of the arrays, which get no more dimensions
 * @param[out] dims    size of each dimension
 * @param[out] periods nonzero: the dimension is periodic
 * @param[out] coords  of this rank, from 0, by dimension
 * @return CATENA_OK, ERR_ARG (NULL, not a grid, negative `most`) */
CATENA_API catena_status_t catena_cart_get(const catena_neighborhood_t *cart,
                                           int most, int dims[], int periods[],
                                           int coords[]);
/** Return the coordinates of a rank of a grid.
 * @param[in]  rank   rank in the neighborhood's group
 * @param[in]  most   capacity of `coords`, which gets no more dimensions
 * @param[out] coords from 0, by dimension
 * @return CATENA_OK, ERR_ARG (NULL, not a grid, no such rank) */
CATENA_API catena_status_t catena_cart_coords(const catena_neighborhood_t *cart,
                                              int rank, int most, int coords[]);
/** Return the rank at given coordinates.
 * @param[in]  coords by dimension; in periodic dimensions they wrap around
 * @param[out] rank   rank in the neighborhood's group
 * @return CATENA_OK, ERR_ARG (NULL, not a grid, or outside the grid in a
 *         dimension that is not periodic) */
CATENA_API catena_status_t catena_cart_rank(const catena_neighborhood_t *cart,
                                            const int coords[], int *rank);
/** Return the ranks at a distance along one dimension (as MPI_Cart_shift).
 * @param[in]  dimension    from 0
 * @param[in]  displacement in coordinates; may be negative
 * @param[out] source       the rank at this rank's coordinate minus
 *                          `displacement`, or CATENA_PROC_NULL
 * @param[out] target       the rank at this rank's coordinate plus
 *                          `displacement`, or CATENA_PROC_NULL
 * @return CATENA_OK, ERR_ARG (NULL, not a grid, no such dimension) */
CATENA_API catena_status_t catena_cart_shift(const catena_neighborhood_t *cart,
                                             int dimension, int displacement,
                                             int *source, int *target);
/** Divide a grid into grids of fewer dimensions (as MPI_Cart_sub): ranks that
 * have the same coordinates in the dimensions left out form one. The new grid
 * has the operations and the usual bytes of `cart`, and if that is a grid with
 * weights, the weights. Collective; blocks.
 * @param[in]  remain [dimensions of the grid] nonzero: kept; 0: left out
 * @param[out] out    this rank's grid; set only on CATENA_OK; free with
 *                    catena_neighborhood_free
 * @return as catena_neighborhood_create */
CATENA_API catena_status_t catena_cart_sub(catena_neighborhood_t *cart,
                                           const int remain[],
                                           catena_neighborhood_t **out);

/** Create a neighborhood on the ranks of a grid whose edges are displacement
 * vectors (stencil; [Hoefler], MPI_CART_DERIVE_GRAPH): target i of a rank is
 * the rank at its coordinates plus vector i, source i the rank at its
 * coordinates minus vector i; CATENA_PROC_NULL beyond the grid. Vectors may
 * have any length, be zero, and occur several times. Collective; blocks. The
 * new neighborhood keeps the grid: catena_cart_... functions accept it.
 * @param[in]  ndirs         number of vectors
 * @param[in]  displacements [ndirs][dimensions of the grid] the vectors, the
 *                           same on all ranks
 * @param[in]  weights       [ndirs] of the edges, or CATENA_UNWEIGHTED, the
 *                           same on all ranks
 * @param[in]  reorder       nonzero: ranks may be reordered, by these edges
 * @param[in]  info          hints, or NULL; its reorder is not significant
 * @param[out] out           set only on CATENA_OK; free with
 *                           catena_neighborhood_free
 * @return as catena_neighborhood_create */
CATENA_API catena_status_t catena_cart_derive_graph(
    catena_neighborhood_t *cart, int ndirs, const int displacements[],
    const int weights[], int reorder, const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/** @} */

/** @name Operations
 * There are three forms: blocking, nonblocking (catena_i...) and persistent
 * (..._init), as in coll.h. All neighbors start operations in the same order.
 *
 * @param[in]  neighborhood with s sources and t targets at this rank
 * @param[out] request      set only on CATENA_OK
 *
 * Types may differ between sender and receiver if a block has the same number
 * of bytes at both. Buffers and arrays belong to catena as in coll.h; types and
 * operations may be freed as soon as the function returns. Blocks of
 * CATENA_PROC_NULL are neither read nor written.
 *
 * If the ends of an edge do not agree on a length, the receiver fails with
 * ERR_ARG after the operation, and logs the sender and both lengths. With
 * CATENA_CHECK=on every mismatch is found. Without it, blocks that share a
 * message are checked together, and ranks may deadlock if one end has no data
 * and the other expects some, or if different lengths lead to different
 * algorithms.
 *
 * If a rank has no memory for its part, all ranks return ERR_ENDED from then
 * on; where failures are returned (CATENA_FAILURES) only calls of this
 * neighborhood fail from then on, with CATENA_ERR_REVOKED. If the arguments of
 * a rank are invalid, nothing is started: only that rank gets the error, and
 * its neighbors wait until it calls again.
 *
 * @return CATENA_OK, ERR_ARG (NULL, overflow, an operation for which the
 *         neighborhood is not created; logged), ERR_NO_MEMORY, ERR_ENDED,
 *         ERR_PEER
 * @see docs/algorithms.md NBR-1 to NBR-4 and NBR-8
 * @{ */

/** Send the same block to all targets (MPI_Neighbor_allgather). All blocks of
 * ranks that edges connect have the same length.
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
 * @param[in] recv_displacements [s] of a block from recv, in extents of
 *                               recv_type */
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

/** Send a separate block to each target (MPI_Neighbor_alltoall). All blocks of
 * ranks that edges connect have the same length.
 * @param[in]  send [t][send_count] elements, in the order of the targets; or
 *                  CATENA_IN_PLACE if s is t: block i of recv goes to target i,
 *                  and the block from source i replaces it; send_count and
 *                  send_type are not significant then
 * @param[out] recv [s][recv_count] elements, in the order of the sources */
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

/** As catena_neighbor_alltoall, with blocks of different lengths. With
 * CATENA_IN_PLACE the blocks from source i and to target i have the same
 * length.
 * @param[in] send_counts        [t] elements of each block
 * @param[in] send_displacements [t] of a block from send, in extents of
 *                               send_type
 * @param[in] recv_counts        [s] elements
 * @param[in] recv_displacements [s] of a block from recv, in extents of
 *                               recv_type */
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
 * in bytes. With subarray types a program can send the borders of an array, and
 * receive into its halo, without copying them.
 * @param[in] send_types [t] type of each block's elements
 * @param[in] recv_types [s] type of each block's elements */
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
 * the order of the sources ([Hoefler]; not in MPI). All blocks of ranks that
 * edges connect have the same length.
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
 * in the order of the sources ([Hoefler]; not in MPI). The length may differ
 * between ranks: all blocks sent to a rank have the length that it receives.
 * @param[in]  send               not overlapping recv
 * @param[in]  send_counts        [t] elements
 * @param[in]  send_displacements [t] of a block from send, in extents of type
 * @param[out] recv               [recv_count] elements; unchanged at a rank
 *                                without sources
 * @param[in]  type, op           the same on all ranks */
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
/** @} */

/** @name Exchange with unknown sources
 * @{ */

/** What a rank has received in a catena_sparse_exchange: `count` blocks, sorted
 * by source; blocks of one source in the order of its list. Its blocks follow
 * each other without gaps, so blocks of one element type are an array. */
typedef struct catena_received {
    int count;          /**< blocks received */
    int *sources;       /**< [count] ranks of the group that sent them */
    size_t *bytes;      /**< [count] length of each block */
    size_t *offsets;    /**< [count] where each block begins in `data` */
    void *data;         /**< all blocks, aligned to 64 bytes */
    size_t total_bytes; /**< of all blocks */
} catena_received_t;

/** Send a block to each target, and receive the blocks of all ranks that have
 * this rank among their targets ([NBX]; not in MPI). The sources, and how many
 * bytes they send, need not be known. Collective; blocks. Takes ceil(log2 p)
 * rounds, twice as many if any block is longer than 4 KiB; no memory grows with
 * p. Blocks of more than 4 KiB that are not in the heap (catena_malloc) are
 * copied there, once for targets that follow each other in the list and get the
 * same block: so the heap needs room for them. There is no nonblocking form.
 *
 * For repeated exchanges with the same ranks, create a neighborhood from the
 * lists: catena_neighborhood_create(group, received->count, received->sources,
 * CATENA_UNWEIGHTED, target_count, targets, CATENA_UNWEIGHTED, NULL, &out).
 *
 * [NBX]: T. Hoefler, C. Siebert, A. Lumsdaine, Scalable Communication Protocols
 * for Dynamic Sparse Data Exchange, PPoPP 2010.
 * @param[in]  group        p ranks; all call, same order
 * @param[in]  target_count length of the lists; 0: this rank sends nothing
 * @param[in]  targets      [target_count] ranks of the group, in any order,
 *                          also repeated, this rank, or CATENA_PROC_NULL: the
 *                          block is not sent
 * @param[in]  send         blocks; may be NULL if all lengths are 0
 * @param[in]  bytes        [target_count] length of each block; 0 allowed: the
 *                          target receives an empty block
 * @param[in]  offsets      [target_count] where each block begins in `send`, in
 *                          bytes; blocks may overlap. NULL: the blocks follow
 *                          each other
 * @param[out] out          set only on CATENA_OK; free with
 *                          catena_received_free
 * @return CATENA_OK, ERR_ARG (on all ranks: NULL, negative count, rank outside
 *         the group on some rank, which logs it), ERR_NO_MEMORY, ERR_ENDED,
 *         ERR_PEER
 * @see docs/algorithms.md NBR-9 */
CATENA_API catena_status_t catena_sparse_exchange(
    catena_group_t *group, int target_count, const int targets[],
    const void *send, const size_t bytes[], const size_t offsets[],
    catena_received_t **out);

/** Free what a sparse exchange has received, with its arrays. Local.
 * @param[in,out] received NULL afterwards; a pointer to NULL has no effect
 * @return CATENA_OK, ERR_ARG (NULL) */
CATENA_API catena_status_t catena_received_free(catena_received_t **received);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
