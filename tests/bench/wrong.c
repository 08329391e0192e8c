/* Preloaded library: on one rank, results have a wrong byte at their end, and
 * splits ignore the keys. The test checks that catena-bench -c finds both. */

#include <dlfcn.h>

#include <catena/catena.h>
#include <catena/neighbor.h>

/* The library's function of that name. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static catena_status_t spoil(catena_status_t status, void *result, size_t bytes,
                             catena_group_t *group)
{
    if (catena_group_rank(group) == 1 && bytes > 0)
        ((unsigned char *)result)[bytes - 1] ^= 1;
    return status;
}

catena_status_t catena_bcast(void *buffer, size_t count, catena_type_t type,
                             int root, catena_group_t *group)
{
    return spoil(REAL(catena_bcast)(buffer, count, type, root, group), buffer,
                 count, group);
}

/* For floats, the default of catena-bench. */
catena_status_t catena_allreduce(const void *send, void *recv, size_t count,
                                 catena_type_t type, catena_op_t op,
                                 catena_group_t *group)
{
    return spoil(REAL(catena_allreduce)(send, recv, count, type, op, group),
                 recv, count * sizeof(float), group);
}

/* Writes one byte too much. */
catena_status_t catena_scatter(const void *send, size_t send_count,
                               catena_type_t send_type, void *recv,
                               size_t recv_count, catena_type_t recv_type,
                               int root, catena_group_t *group)
{
    return spoil(REAL(catena_scatter)(send, send_count, send_type, recv,
                                      recv_count, recv_type, root, group),
                 recv, recv_count + 1, group);
}

/* A scan: a rank's own vector counts, and rank 0 has a result. */
catena_status_t catena_exscan(const void *send, void *recv, size_t count,
                              catena_type_t type, catena_op_t op,
                              catena_group_t *group)
{
    return REAL(catena_scan)(send, recv, count, type, op, group);
}

/* Corrupts the block of the last source. */
catena_status_t catena_neighbor_alltoall(const void *send, size_t send_count,
                                         catena_type_t send_type, void *recv,
                                         size_t recv_count,
                                         catena_type_t recv_type,
                                         catena_neighborhood_t *neighborhood)
{
    int sources = 0, targets = 0;

    catena_neighborhood_counts(neighborhood, &sources, &targets);
    return spoil(REAL(catena_neighbor_alltoall)(send, send_count, send_type,
                                                recv, recv_count, recv_type,
                                                neighborhood),
                 recv, (size_t)sources * recv_count,
                 catena_neighborhood_group(neighborhood));
}

catena_status_t catena_neighbor_reduce(const void *send, void *recv,
                                       size_t count, catena_type_t type,
                                       catena_op_t op,
                                       catena_neighborhood_t *neighborhood)
{
    return spoil(
        REAL(catena_neighbor_reduce)(send, recv, count, type, op, neighborhood),
        recv, count * sizeof(float), catena_neighborhood_group(neighborhood));
}

catena_status_t catena_group_split_by(catena_group_t *group,
                                      const catena_split_t *split,
                                      catena_group_t **out)
{
    catena_split_t unordered = *split;

    unordered.flags |= CATENA_SPLIT_NO_REORDER;
    return REAL(catena_group_split_by)(group, &unordered, out);
}
