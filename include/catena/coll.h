#ifndef CATENA_COLL_H
#define CATENA_COLL_H

#include <stddef.h>

#include <catena/datatype.h>
#include <catena/group.h>
#include <catena/request.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As send buffer: take the blocks from the receive buffer and replace them
 * by what is received. All ranks of the group must do the same. */
#define CATENA_IN_PLACE ((const void *)-1)

/** Return when all ranks of the group have called. */
CATENA_API catena_status_t catena_barrier(catena_group_t *group);
CATENA_API catena_status_t catena_ibarrier(catena_group_t *group,
                                           catena_request_t **request);
CATENA_API catena_status_t catena_barrier_init(catena_group_t *group,
                                               catena_request_t **request);

/** Send block d to rank d; receive block s from rank s (MPI_Alltoall with
 * one count).
 * @param[in]  send  [p][count] elements, or CATENA_IN_PLACE
 * @param[out] recv  [p][count] elements, not overlapping send
 * @param[in]  count elements per block; 0 is allowed
 * @param[in]  type  same size on all ranks
 * @param[in]  group p ranks; all call, in the same order
 * On the node, blocks over 512 B (1 KiB with more ranks than cores) reach a
 * receive buffer of the shared heap with a single copy. Any other buffers work
 * too, and ranks may mix.
 * @return CATENA_OK, ERR_ARG (NULL, overflow), ERR_NO_MEMORY, ERR_PEER
 * @see docs/algorithms.md A2A-1 to A2A-8; Peng, Liu, Xie, Algorithms 1 to 5 */
CATENA_API catena_status_t catena_alltoall(const void *send, void *recv,
                                           size_t count, catena_datatype_t type,
                                           catena_group_t *group);

/** As catena_alltoall, without blocking. Buffers belong to catena until the
 * request is complete.
 * @param[out] request set only on CATENA_OK */
CATENA_API catena_status_t catena_ialltoall(const void *send, void *recv,
                                            size_t count,
                                            catena_datatype_t type,
                                            catena_group_t *group,
                                            catena_request_t **request);

/** As catena_alltoall, prepared once and started with catena_start. */
CATENA_API catena_status_t catena_alltoall_init(const void *send, void *recv,
                                                size_t count,
                                                catena_datatype_t type,
                                                catena_group_t *group,
                                                catena_request_t **request);

/** As catena_alltoall, with counts of their own for every pair
 * (MPI_Alltoallv). What s sends to d must have as many bytes as what d receives
 * from s; zero counts cost nothing.
 * @param[in]  send   with a block for each rank, or CATENA_IN_PLACE: what is
 *                    received from a rank replaces what is sent to it, and
 *                    the send counts, displacements and type are not looked at
 * @param[in]  send_counts        [p] elements
 * @param[in]  send_displacements [p] of a block from send, in extents of
 *                                send_type
 * @param[out] recv   blocks likewise, not overlapping each other or send
 * The arrays belong to catena until the call, the request, or the persistent
 * request has ended; types may be freed at once.
 * @return CATENA_OK, ERR_ARG (NULL, overflow), ERR_NO_MEMORY, ERR_PEER
 * @see docs/algorithms.md A2A-1 to A2A-5 and A2A-7 */
CATENA_API catena_status_t catena_alltoallv(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_group_t *group);
CATENA_API catena_status_t catena_ialltoallv(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_group_t *group, catena_request_t **request);
CATENA_API catena_status_t catena_alltoallv_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], catena_datatype_t send_type,
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], catena_datatype_t recv_type,
    catena_group_t *group, catena_request_t **request);

/** As catena_alltoallv, with a type of its own for every block
 * (MPI_Alltoallw). Displacements are in bytes. */
CATENA_API catena_status_t catena_alltoallw(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_datatype_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_datatype_t recv_types[],
    catena_group_t *group);
CATENA_API catena_status_t catena_ialltoallw(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_datatype_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_datatype_t recv_types[],
    catena_group_t *group, catena_request_t **request);
CATENA_API catena_status_t catena_alltoallw_init(
    const void *send, const size_t send_counts[],
    const ptrdiff_t send_displacements[], const catena_datatype_t send_types[],
    void *recv, const size_t recv_counts[],
    const ptrdiff_t recv_displacements[], const catena_datatype_t recv_types[],
    catena_group_t *group, catena_request_t **request);

#ifdef __cplusplus
}
#endif
#endif
