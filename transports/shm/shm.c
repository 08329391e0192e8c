#include "transports/shm/shm.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"

typedef struct shm_transport {
    ctn_transport_t base; /* first: this is a ctn_transport_t */
    size_t count;
    ctn_endpoint_t endpoint[]; /* [count], to the processes of the node */
} shm_transport_t;

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

static catena_status_t shm_put(ctn_endpoint_t *endpoint, const void *source,
                               size_t bytes, uint64_t offset, uint64_t *pending)
{
    (void)pending;
    memcpy(endpoint->arena + offset, source, bytes);
    return CATENA_OK;
}

static catena_status_t shm_get(ctn_endpoint_t *endpoint, void *target,
                               size_t bytes, uint64_t offset, uint64_t *pending)
{
    (void)pending;
    memcpy(target, endpoint->arena + offset, bytes);
    return CATENA_OK;
}

static catena_status_t shm_put_signal(ctn_endpoint_t *endpoint,
                                      const void *source, size_t bytes,
                                      uint64_t offset, uint64_t word_offset,
                                      uint64_t value, uint64_t *pending)
{
    return ctn_put_signal(endpoint, source, bytes, offset, word_offset, value,
                          pending);
}

static catena_status_t shm_signal(ctn_endpoint_t *endpoint,
                                  uint64_t word_offset, uint64_t value)
{
    return ctn_signal(endpoint, word_offset, value);
}

static catena_status_t shm_flush(ctn_transport_t *transport, uint64_t *pending)
{
    (void)transport, (void)pending; /* a store needs no completion */
    return CATENA_OK;
}

static int shm_progress(ctn_transport_t *transport)
{
    (void)transport;
    return 0;
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
    free(transport);
}

static const char *shm_describe(ctn_transport_t *transport)
{
    (void)transport;
    return "shared heap";
}

const ctn_transport_ops_t ctn_shm_ops = {
    .name = "shm",
    .destroy = shm_destroy,
    .connect = shm_connect,
    .put = shm_put,
    .get = shm_get,
    .put_signal = shm_put_signal,
    .signal = shm_signal,
    .flush = shm_flush,
    .progress = shm_progress,
    .sleep = shm_sleep,
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
    shm->base.caps = CTN_CAP_LOADSTORE | CTN_CAP_RDMA;
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
