/* Loaded before the library: results of the collectives of levels have a wrong
 * byte at their end, on one rank. So it is seen that catena-bench -c finds one.
 */

#include <dlfcn.h>

#include <catena/catena.h>
#include <catena/neighbor.h>

enum { WRONG_RANK = 1 };

static void spoil(void *result, size_t bytes, catena_group_t *group)
{
    if (catena_group_rank(group) == WRONG_RANK && bytes > 0)
        ((unsigned char *)result)[bytes - 1] ^= 1;
}

typedef catena_status_t (*bcast_t)(void *, size_t, catena_datatype_t, int,
                                   catena_group_t *);

catena_status_t catena_bcast(void *buffer, size_t count, catena_datatype_t type,
                             int root, catena_group_t *group)
{
    bcast_t real = (bcast_t)dlsym(RTLD_NEXT, "catena_bcast");
    catena_status_t status = real(buffer, count, type, root, group);

    spoil(buffer, count, group);
    return status;
}

typedef catena_status_t (*allreduce_t)(const void *, void *, size_t,
                                       catena_datatype_t, catena_op_t,
                                       catena_group_t *);

/* Of floats, as catena-bench has them by default. */
catena_status_t catena_allreduce(const void *send, void *recv, size_t count,
                                 catena_datatype_t type, catena_op_t op,
                                 catena_group_t *group)
{
    allreduce_t real = (allreduce_t)dlsym(RTLD_NEXT, "catena_allreduce");
    catena_status_t status = real(send, recv, count, type, op, group);

    spoil(recv, count * sizeof(float), group);
    return status;
}

typedef catena_status_t (*scatter_t)(const void *, size_t, catena_datatype_t,
                                     void *, size_t, catena_datatype_t, int,
                                     catena_group_t *);

/* It writes one byte too much. */
catena_status_t catena_scatter(const void *send, size_t send_count,
                               catena_datatype_t send_type, void *recv,
                               size_t recv_count, catena_datatype_t recv_type,
                               int root, catena_group_t *group)
{
    scatter_t real = (scatter_t)dlsym(RTLD_NEXT, "catena_scatter");
    catena_status_t status = real(send, send_count, send_type, recv, recv_count,
                                  recv_type, root, group);

    spoil(recv, recv_count + 1, group);
    return status;
}

typedef catena_status_t (*exscan_t)(const void *, void *, size_t,
                                    catena_datatype_t, catena_op_t,
                                    catena_group_t *);

/* It is a scan: ranks count themselves, and rank 0 has a result. */
catena_status_t catena_exscan(const void *send, void *recv, size_t count,
                              catena_datatype_t type, catena_op_t op,
                              catena_group_t *group)
{
    exscan_t real = (exscan_t)dlsym(RTLD_NEXT, "catena_scan");

    return real(send, recv, count, type, op, group);
}

typedef catena_status_t (*neighbor_alltoall_t)(const void *, size_t,
                                               catena_datatype_t, void *,
                                               size_t, catena_datatype_t,
                                               catena_neighborhood_t *);

/* The block of the last source. */
catena_status_t catena_neighbor_alltoall(const void *send, size_t send_count,
                                         catena_datatype_t send_type,
                                         void *recv, size_t recv_count,
                                         catena_datatype_t recv_type,
                                         catena_neighborhood_t *neighborhood)
{
    neighbor_alltoall_t real =
        (neighbor_alltoall_t)dlsym(RTLD_NEXT, "catena_neighbor_alltoall");
    catena_status_t status = real(send, send_count, send_type, recv, recv_count,
                                  recv_type, neighborhood);
    int sources = 0, targets = 0;

    catena_neighborhood_counts(neighborhood, &sources, &targets);
    spoil(recv, (size_t)sources * recv_count,
          catena_neighborhood_group(neighborhood));
    return status;
}

typedef catena_status_t (*neighbor_reduce_t)(const void *, void *, size_t,
                                             catena_datatype_t, catena_op_t,
                                             catena_neighborhood_t *);

catena_status_t catena_neighbor_reduce(const void *send, void *recv,
                                       size_t count, catena_datatype_t type,
                                       catena_op_t op,
                                       catena_neighborhood_t *neighborhood)
{
    neighbor_reduce_t real =
        (neighbor_reduce_t)dlsym(RTLD_NEXT, "catena_neighbor_reduce");
    catena_status_t status = real(send, recv, count, type, op, neighborhood);

    spoil(recv, count * sizeof(float), catena_neighborhood_group(neighborhood));
    return status;
}
