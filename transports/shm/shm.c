#include "transports/shm/endpoints.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"

static catena_status_t shm_connect(ctn_transport_t *transport, uint64_t process,
                                   ctn_endpoint_t **endpoint)
{
    shm_transport_t *shm = (shm_transport_t *)transport;
    for (size_t i = 0; i < shm->count; i++) {
        if (shm->endpoint[i].process == process) {
            *endpoint = &shm->endpoint[i];
            return CATENA_OK;
        }
    }
    return CATENA_ERR_ARG;
}

/** Sleep. Only the descriptor wakes it, since flags on the node are stores. */
static bool shm_sleep(ctn_transport_t *transport, uint64_t timeout_ns, int fd)
{
    (void)transport;
    struct timespec timeout = ctn_clock_timespec(timeout_ns);
    struct pollfd event = {.fd = fd, .events = POLLIN};
    return ppoll(&event, 1, &timeout, NULL) > 0;
}

static void shm_destroy(ctn_transport_t *transport)
{
    shm_unwatch((shm_transport_t *)transport);
    free(transport);
}

static const char *shm_describe(ctn_transport_t *transport)
{
    (void)transport;
    return "shared heap";
}

const ctn_transport_ops_t ctn_shm_ops = {
    .destroy = shm_destroy,
    .connect = shm_connect,
    .write = shm_write,
    .read = shm_read,
    .may_access = shm_may_access,
    .sleep = shm_sleep,
    .watch = shm_watch,
    .check = shm_check,
    .describe = shm_describe,
};

ctn_transport_t *ctn_shm_create(size_t count, const uint32_t *processes,
                                unsigned char *const *arenas)
{
    shm_transport_t *shm =
        calloc(1, sizeof(*shm) + count * sizeof(shm->endpoint[0]));
    if (shm == NULL) {
        return NULL;
    }
    shm->base.ops = &ctn_shm_ops;
    shm->base.caps = CTN_CAP_RDMA;
    shm->count = count;
    for (size_t i = 0; i < count; i++) {
        shm->endpoint[i].transport = &shm->base;
        shm->endpoint[i].process = processes[i];
        shm->endpoint[i].arena = arenas[i];
    }
    return &shm->base;
}

ctn_endpoint_t *ctn_shm_endpoint(ctn_transport_t *transport, size_t i)
{
    return &((shm_transport_t *)transport)->endpoint[i];
}
