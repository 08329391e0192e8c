#ifndef CATENA_NEIGHBOR_H
#define CATENA_NEIGHBOR_H

#include <stddef.h>
#include <stdint.h>

#include <catena/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sparse collectives ([Hoefler]): each rank of a neighborhood sends to its
 * targets and receives from its sources, and to and from nobody else. Making
 * one is collective over the group; operations involve neighbors only: ranks
 * that no path of edges joins never wait for each other, and a rank without
 * neighbors returns at once.
 * [Hoefler]: T. Hoefler, J. L. Traeff, Sparse Collective Operations for MPI,
 * HIPS 2009, and slides for the MPI Forum, June 2009.
 * @see docs/algorithms.md NBR-1 to NBR-8, ORD-1 to ORD-4 */

/** A graph on a group: lists of sources and of targets at every rank. */
typedef struct catena_neighborhood catena_neighborhood_t;

/** In the place of a neighbor: nobody. Nothing is sent to it or received from
 * it, and its block is not looked at. */
#define CATENA_PROC_NULL (-2)

/** As weights: all edges weigh the same, at all ranks. */
#define CATENA_UNWEIGHTED ((const int *)0)

/** Operations, as a mask: what a neighborhood is made for. */
enum {
    CATENA_NEIGHBOR_GATHER = 1u << 0,   /**< gather, gatherv */
    CATENA_NEIGHBOR_ALLTOALL = 1u << 1, /**< alltoall, alltoallv, alltoallw */
    CATENA_NEIGHBOR_REDUCE = 1u << 2,   /**< reduce, reducev */
    CATENA_NEIGHBOR_ALL = 7u
};

/** What a creation may be told besides the graph; the same on all ranks. NULL
 * or zeroed: nothing. */
typedef struct catena_neighborhood_info {
    /** "direct", "colored", "combining", "aggregated"; "auto", or one that is
     * not possible for the graph: chosen from the graph, the machine and the
     * lengths of blocks. NULL: as CATENA_NEIGHBOR_ALGORITHM says. */
    const char *algorithm;
    /** Ranks may be numbered anew, so that heavy neighbors share a node: see
     * catena_neighborhood_group. */
    int reorder;
    /** Usual bytes along an edge of weight 1, for choosing where an operation
     * does not say how many all edges carry; 0: not known. */
    size_t bytes;
} catena_neighborhood_info_t;

/** Make a neighborhood from both lists of every rank (as
 * MPI_Dist_graph_create_adjacent). Collective; blocks. Two deliveries of edges,
 * of ceil(log2 p) rounds each, and some scans; O(degree) memory and what is
 * passed on, at rank 0 O(edges) to reorder, or if not all ranks are connected.
 *
 * If i names j as target, j must name i as source, as often as i names it: the
 * k-th edge from i to j in the list of i is the k-th in the list of j. Else the
 * creation fails on all ranks with ERR_ARG, and what both said is logged on the
 * ranks concerned (of each the first few). Edges to oneself, several edges
 * between two ranks, CATENA_PROC_NULL and empty lists are allowed.
 *
 * @param[in]  group          p ranks; may be freed afterwards
 * @param[in]  sources        [source_count] ranks of the group
 * @param[in]  source_weights [source_count] 0 or more, or CATENA_UNWEIGHTED:
 *                            how much an edge usually carries. Where both ends
 *                            differ the larger counts. All ranks with edges
 *                            give weights, or none does
 * @param[in]  targets        [target_count]
 * @param[in]  target_weights [target_count]
 * @param[in]  info           or NULL
 * @param[out] out            set only on CATENA_OK; free with
 *                            catena_neighborhood_free
 * @return CATENA_OK, ERR_ARG (NULL, rank outside the group, negative weight,
 *         weights on some ranks only, lists that do not match, info or
 *         CATENA_CHECK that differs; logged), ERR_NO_MEMORY, ERR_PEER */
CATENA_API catena_status_t catena_neighborhood_create(
    catena_group_t *group, int source_count, const int sources[],
    const int source_weights[], int target_count, const int targets[],
    const int target_weights[], const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/** The same for some operations only: no schedules are made for others, which
 * are refused with ERR_ARG.
 * @param[in] operations CATENA_NEIGHBOR_..., one or more; the same on all */
CATENA_API catena_status_t catena_neighborhood_create_for(
    unsigned operations, catena_group_t *group, int source_count,
    const int sources[], const int source_weights[], int target_count,
    const int targets[], const int target_weights[],
    const catena_neighborhood_info_t *info, catena_neighborhood_t **out);

/** Make a neighborhood from edges that any rank may contribute (as
 * MPI_Dist_graph_create). Sources and targets of a rank are ordered by the rank
 * that contributed the edge, then as that one listed them.
 * @param[in] count   of the nodes this rank contributes edges of
 * @param[in] nodes   [count] ranks: where edges begin
 * @param[in] degrees [count] edges of each
 * @param[in] targets [sum of degrees] where they end; no CATENA_PROC_NULL
 * @param[in] weights [sum of degrees] or CATENA_UNWEIGHTED
 * @return as catena_neighborhood_create */
CATENA_API catena_status_t catena_dist_graph_create(
    catena_group_t *group, int count, const int nodes[], const int degrees[],
    const int targets[], const int weights[],
    const catena_neighborhood_info_t *info, catena_neighborhood_t **out);

/** Free it and its group, as catena_group_free; persistent requests stay.
 * @return CATENA_OK, ERR_ARG, ERR_STATE (this rank has operations of the
 *         neighborhood or of its group under way, which it logs; nothing was
 *         freed here, and both can still be used), ERR_NO_MEMORY, ERR_PEER */
CATENA_API catena_status_t
catena_neighborhood_free(catena_neighborhood_t *neighborhood);

/** The group whose ranks a neighborhood's lists name: a group of its own of all
 * its ranks, in a new order if it was made with reorder. It belongs to the
 * neighborhood; any collective may be called on it. NULL for NULL. */
CATENA_API catena_group_t *
catena_neighborhood_group(const catena_neighborhood_t *neighborhood);

/** How many neighbors this rank has, CATENA_PROC_NULL included. */
CATENA_API catena_status_t
catena_neighborhood_counts(const catena_neighborhood_t *neighborhood,
                           int *source_count, int *target_count);

/** The lists of this rank, in the order in which operations count blocks.
 * @param[in]  most_sources room in sources and source_weights
 * @param[out] source_weights, target_weights may be NULL; all 1 if unweighted
 */
CATENA_API catena_status_t catena_neighborhood_neighbors(
    const catena_neighborhood_t *neighborhood, int most_sources, int sources[],
    int source_weights[], int most_targets, int targets[],
    int target_weights[]);

/** Change a setting. Collective: all ranks make the same calls at the same
 * place among the neighborhood's operations, none of which may be under way.
 * Persistent requests stay as they were made.
 * "algorithm": as in catena_neighborhood_info_t.
 * @return CATENA_OK, ERR_ARG (unknown, not the same on all ranks, or not
 *         possible for this graph; logged with what there is), ERR_STATE (on
 *         all ranks: one has operations under way), ERR_NO_MEMORY, ERR_PEER */
CATENA_API catena_status_t catena_neighborhood_set(
    catena_neighborhood_t *neighborhood, const char *name, const char *value);

/** What an operation on blocks of `bytes` does, and why: the algorithm, how the
 * others were estimated, rounds. Always terminated, cut if need be.
 * @param[in] operation one CATENA_NEIGHBOR_..., which it is made for
 * @param[in] bytes     0: of the usual length, as for blocks that differ */
CATENA_API catena_status_t catena_neighborhood_explain(
    const catena_neighborhood_t *neighborhood, unsigned operation, size_t bytes,
    char *text, size_t text_bytes);

/** One exchange in numbers: an alltoall, or a gather where that is all it is
 * made for; by the algorithm that ran last, else by that for usual blocks. */
typedef struct catena_neighborhood_stats {
    const char *algorithm;   /**< of the last operation; NULL: none yet */
    uint32_t messages;       /**< that this rank sends in it; one that ranks of
                                  a node put together counts at one of them */
    uint32_t rounds;         /**< one after the other; the same on all ranks */
    uint32_t heavy_rounds;   /**< that carry an edge of the greatest weight;
                                  the same on all ranks */
    uint64_t weight_between; /**< of all edges between nodes, all ranks */
    uint64_t weight_before;  /**< the same in the order of the parent group */
    uint64_t weight_all;     /**< of all edges */
} catena_neighborhood_stats_t;

CATENA_API catena_status_t
catena_neighborhood_get_stats(const catena_neighborhood_t *neighborhood,
                              catena_neighborhood_stats_t *stats);

/* ---- Cartesian grids ---- */

/** Sizes of a grid of `ranks` that do not increase, with the smallest
 * difference between the largest and the smallest of those that are set (as
 * MPI_Dims_create).
 * @param[in,out] dims [ndims] > 0: kept; 0: set
 * @return CATENA_OK, ERR_ARG (the product cannot be `ranks`) */
CATENA_API catena_status_t catena_dims_create(int ranks, int ndims, int dims[]);

/** A neighborhood that is a grid (as MPI_Cart_create): row-major, the last
 * dimension varies fastest. Neighbors come in pairs per dimension, the one at
 * the lower coordinate first; CATENA_PROC_NULL beyond open borders. What is
 * sent towards higher coordinates is received from lower ones, also where both
 * are the same rank (periodic dimensions of 1 and 2). Collective; blocks.
 * @param[in]  dims    [ndims] product at most p; ndims 0: a grid of one rank
 * @param[in]  periods [ndims] whether a dimension is a ring
 * @param[in]  reorder whether ranks may be numbered anew: blocks of the grid to
 *                     each node
 * @param[in]  info    or NULL; its reorder is not looked at
 * @param[out] out     NULL at ranks beyond the grid
 * @return as catena_neighborhood_create */
CATENA_API catena_status_t catena_cart_create(
    catena_group_t *group, int ndims, const int dims[], const int periods[],
    int reorder, const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/** Dimensions of a grid. ERR_ARG: it is none, here and below. */
CATENA_API catena_status_t catena_cart_ndims(const catena_neighborhood_t *cart,
                                             int *ndims);
/** @param[in] most room in the arrays; fewer are filled in for less */
CATENA_API catena_status_t catena_cart_get(const catena_neighborhood_t *cart,
                                           int most, int dims[], int periods[],
                                           int coords[]);
CATENA_API catena_status_t catena_cart_coords(const catena_neighborhood_t *cart,
                                              int rank, int most, int coords[]);
/** Coordinates outside are taken round in periodic dimensions, else ERR_ARG. */
CATENA_API catena_status_t catena_cart_rank(const catena_neighborhood_t *cart,
                                            const int coords[], int *rank);
/** Who is `displacement` away along a dimension, or CATENA_PROC_NULL. */
CATENA_API catena_status_t catena_cart_shift(const catena_neighborhood_t *cart,
                                             int dimension, int displacement,
                                             int *source, int *target);
/** Grids of the dimensions that remain, one for each place in the others.
 * Collective. */
CATENA_API catena_status_t catena_cart_sub(catena_neighborhood_t *cart,
                                           const int remain[],
                                           catena_neighborhood_t **out);

/** A graph from a grid ([Hoefler], MPI_CART_DERIVE_GRAPH): this rank's targets
 * are those at its coordinates plus each of the vectors, its sources those at
 * its coordinates minus each, in this order; CATENA_PROC_NULL where there is
 * none. Vectors may have any length, be zero, and occur several times.
 * Collective; blocks. The result knows its grid: catena_cart_... work.
 * @param[in] displacements [ndirs][dimensions of the grid]; the same on all
 * @param[in] weights       [ndirs] or CATENA_UNWEIGHTED; the same on all
 * @param[in] reorder       number the grid anew by these edges */
CATENA_API catena_status_t catena_cart_derive_graph(
    catena_neighborhood_t *cart, int ndirs, const int displacements[],
    const int weights[], int reorder, const catena_neighborhood_info_t *info,
    catena_neighborhood_t **out);

/* ---- operations ----
 *
 * Each is started by all neighbors in the same order. All share:
 * @param[in] neighborhood s sources and t targets at this rank
 * Types may differ between sender and receiver if the data are as many bytes.
 * Buffers and arrays belong to catena until the call, the request, or the
 * persistent request has ended; types and operations may be freed at once.
 * Blocks of CATENA_PROC_NULL are neither read nor written.
 * Where the ends of an edge do not agree on a length, the receiver fails with
 * ERR_ARG and says which rank sent what, when the operation is over. With
 * CATENA_CHECK=on all such lengths are found. Without it blocks that share a
 * message are measured together, and ranks may wait forever if one end has no
 * data and the other expects some, or if lengths make them choose different
 * algorithms.
 * A rank without memory for what its neighbors count on ends with ERR_NO_MEMORY
 * for good, and so do all that wait for it (catena/coll.h). Without memory for
 * a request nothing is started: that rank alone is told so, and may call again.
 * So is one whose arguments are wrong: its neighbors wait until it calls again.
 * @return CATENA_OK, ERR_ARG (NULL, overflow, made for other operations;
 *         logged), ERR_NO_MEMORY, ERR_PEER
 * @see docs/algorithms.md NBR-1 to NBR-4 and NBR-8 */

/** The same block to all targets (MPI_Neighbor_allgather). One length for all
 * ranks that edges join.
 * @param[in]  send [send_count] elements
 * @param[out] recv [s][recv_count] elements, in the order of the sources */
CATENA_API catena_status_t catena_neighbor_gather(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, size_t recv_count, catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_gather(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, size_t recv_count, catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_gather_init(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, size_t recv_count, catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);

/** As catena_neighbor_gather, with blocks of different lengths.
 * @param[in] recv_counts        [s] elements
 * @param[in] recv_displacements [s] in extents of recv_type */
CATENA_API catena_status_t catena_neighbor_gatherv(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_gatherv(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_gatherv_init(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);

/** A block of its own to each target (MPI_Neighbor_alltoall). One length for
 * all ranks that edges join.
 * @param[in]  send [t][send_count] elements, or CATENA_IN_PLACE where s is t:
 *                  what is received from source i replaces what was sent to
 *                  target i; send_count and send_type are not looked at then
 * @param[out] recv [s][recv_count] elements */
CATENA_API catena_status_t catena_neighbor_alltoall(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, size_t recv_count, catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_alltoall(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, size_t recv_count, catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_alltoall_init(
    const void *send, size_t send_count, catena_datatype_t send_type,
    void *recv, size_t recv_count, catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);

/** As catena_neighbor_alltoall, with blocks of different lengths. In place the
 * lengths of block i as source and as target are the same.
 * @param[in] send_counts        [t] elements
 * @param[in] send_displacements [t] in extents of send_type
 * @param[in] recv_counts, recv_displacements [s] likewise */
CATENA_API catena_status_t catena_neighbor_alltoallv(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_alltoallv(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_alltoallv_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_neighborhood_t *neighborhood, catena_request_t **request);

/** As catena_neighbor_alltoallv, with a type for each block; displacements are
 * in bytes. The borders of a field can be sent and received where they are. */
CATENA_API catena_status_t catena_neighbor_alltoallw(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_datatype_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_datatype_t recv_types[],
    catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_alltoallw(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_datatype_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_datatype_t recv_types[],
    catena_neighborhood_t *neighborhood, catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_alltoallw_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_datatype_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_datatype_t recv_types[],
    catena_neighborhood_t *neighborhood, catena_request_t **request);

/** The same block to all targets, and what all sources sent combined, in the
 * order of the sources ([Hoefler]; MPI has none). One length for all ranks that
 * edges join.
 * @param[in]  send [count] elements, or CATENA_IN_PLACE: they are in recv
 * @param[out] recv [count] elements; as it was at a rank without sources
 * @param[in]  type dense; the same on all ranks
 * @param[in]  op   the same on all ranks */
CATENA_API catena_status_t catena_neighbor_reduce(
    const void *send, void *recv, size_t count, catena_datatype_t type,
    catena_op_t op, catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_reduce(
    const void *send, void *recv, size_t count, catena_datatype_t type,
    catena_op_t op, catena_neighborhood_t *neighborhood,
    catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_reduce_init(
    const void *send, void *recv, size_t count, catena_datatype_t type,
    catena_op_t op, catena_neighborhood_t *neighborhood,
    catena_request_t **request);

/** A block of its own to each target, and what all sources sent combined, in
 * the order of the sources ([Hoefler]). The length may differ between ranks:
 * what is sent to a rank has the length that it receives.
 * @param[in]  send               not overlapping recv
 * @param[in]  send_counts        [t] elements
 * @param[in]  send_displacements [t] in extents of type
 * @param[out] recv               [recv_count] elements */
CATENA_API catena_status_t
catena_neighbor_reducev(const void *send, const size_t send_counts[],
                        const ptrdiff_t send_displacements[], void *recv,
                        size_t recv_count, catena_datatype_t type,
                        catena_op_t op, catena_neighborhood_t *neighborhood);
CATENA_API catena_status_t catena_ineighbor_reducev(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], void *recv, size_t recv_count,
    catena_datatype_t type, catena_op_t op, catena_neighborhood_t *neighborhood,
    catena_request_t **request);
CATENA_API catena_status_t catena_neighbor_reducev_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], void *recv, size_t recv_count,
    catena_datatype_t type, catena_op_t op, catena_neighborhood_t *neighborhood,
    catena_request_t **request);

#ifdef __cplusplus
}
#endif
#endif
