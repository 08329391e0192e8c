/* Endpoints by process (world rank): those on the node are registered at the
 * start, the others when they are first used. */

#include <stdlib.h>

#include "core/hash.h"
#include "exec/exec.h"

static size_t bucket_of(const ctn_exec_t *exec, uint64_t process)
{
    size_t mask = exec->endpoint_slots - 1;
    size_t bucket = (size_t)(ctn_hash_fibonacci(process) >> 32) & mask;
    while (exec->endpoints[bucket] != NULL &&
           exec->endpoints[bucket]->process != process) {
        bucket = (bucket + 1) & mask;
    }
    return bucket;
}

static catena_status_t grow_endpoints(ctn_exec_t *exec)
{
    size_t old_buckets = exec->endpoint_slots;
    ctn_endpoint_t **old = exec->endpoints;
    ctn_endpoint_t **grown = calloc(old_buckets * 2, sizeof(ctn_endpoint_t *));
    if (grown == NULL) {
        return CATENA_ERR_NO_MEMORY;
    }
    exec->endpoints = grown;
    exec->endpoint_slots = old_buckets * 2;
    for (size_t i = 0; i < old_buckets; i++) {
        if (old[i] != NULL) {
            grown[bucket_of(exec, old[i]->process)] = old[i];
        }
    }
    free(old);
    return CATENA_OK;
}

catena_status_t ctn_exec_add_endpoint(ctn_exec_t *exec,
                                      ctn_endpoint_t *endpoint)
{
    if (exec->endpoint_count * 2 >= exec->endpoint_slots) {
        catena_status_t status = grow_endpoints(exec);
        if (status != CATENA_OK) {
            return status;
        }
    }
    exec->endpoints[bucket_of(exec, endpoint->process)] = endpoint;
    exec->endpoint_count++;
    return CATENA_OK;
}

bool ctn_exec_is_local(const ctn_exec_t *exec, uint64_t process)
{
    const ctn_endpoint_t *known = exec->endpoints[bucket_of(exec, process)];
    return known != NULL && known->arena != NULL;
}

catena_status_t ctn_exec_connect(ctn_exec_t *exec, uint64_t process,
                                 ctn_endpoint_t **endpoint)
{
    if (exec->virtual_time) { /* the simulator finds endpoints by itself */
        return exec->local->ops->connect(exec->local, process, endpoint);
    }
    ctn_endpoint_t *known = exec->endpoints[bucket_of(exec, process)];
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
