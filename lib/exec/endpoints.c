/* The endpoints of this rank, by process (world rank). Those to processes of
 * the node are registered at the start, the others when they are first used. */

#include "exec/exec.h"

catena_status_t ctn_exec_add_endpoint(ctn_exec_t *exec,
                                      ctn_endpoint_t *endpoint)
{
    return ctn_hash_map_add(&exec->endpoints, endpoint->process, endpoint)
               ? CATENA_OK
               : CATENA_ERR_NO_MEMORY;
}

bool ctn_exec_is_local(const ctn_exec_t *exec, uint64_t process)
{
    const ctn_endpoint_t *known = ctn_hash_map_find(&exec->endpoints, process);
    return known != NULL && known->arena != NULL;
}

catena_status_t ctn_exec_connect(ctn_exec_t *exec, uint64_t process,
                                 ctn_endpoint_t **endpoint)
{
    if (exec->virtual_time && exec->deaths == NULL) {
        /* the simulator finds endpoints by itself */
        return exec->local->ops->connect(exec->local, process, endpoint);
    }
    ctn_endpoint_t *known = ctn_hash_map_find(&exec->endpoints, process);
    if (known != NULL) {
        *endpoint = known;
        return CATENA_OK;
    }
    if (exec->network == NULL) {
        ctn_error(exec->log,
                  "rank %llu is not on this node and there is no network",
                  (unsigned long long)process);
        return CATENA_ERR_TRANSPORT;
    }
    ctn_endpoint_t *made = NULL;
    catena_status_t status =
        exec->network->ops->connect(exec->network, process, &made);
    if (status != CATENA_OK) {
        return status;
    }
    status = ctn_exec_add_endpoint(exec, made);
    if (status == CATENA_OK) {
        *endpoint = made;
    }
    return status;
}
