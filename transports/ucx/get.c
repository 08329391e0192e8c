#include <stdlib.h>

#include "transports/ucx/ucx.h"

/* Get. With RDMA it is one of UCX. Otherwise messages of catena's own: GET asks
 * for a part of the peer's arena, and GOTs bring it. UCX emulates a get in the
 * same way, but UCX 1.13 ends a process that answers a peer which has just died
 * (ucp_request.inl: "Fatal: unexpected error: Endpoint timeout"), and its
 * request carries no secret. */

/** A get whose data have not all come. */
struct ctn_ucx_fetch {
    struct ctn_ucx_fetch *next;
    uint64_t cookie; /* its number */
    uint64_t process;
    unsigned char *target; /* of the next data */
    size_t left;
    uint64_t *pending; /* decremented when all have come; or NULL */
};

/** What a GET asks for, its data. */
typedef struct wanted {
    uint64_t offset; /* in the arena */
    uint64_t bytes;
} wanted_t;

/** End a get: its data are there, or will never be. */
static void complete(ctn_ucx_t *transport, ctn_ucx_fetch_t **link)
{
    ctn_ucx_fetch_t *fetch = *link;
    uint64_t *pending = fetch->pending;
    *link = fetch->next;
    free(fetch);
    if (pending != NULL && !transport->abandoned) {
        (*pending)--;
        if (transport->base.freed != NULL)
            transport->base.freed(&transport->base, pending);
    }
}

static catena_status_t get_rma(ctn_ucx_endpoint_t *endpoint, void *target,
                               size_t bytes, uint64_t offset, uint64_t *pending)
{
    ctn_ucx_op_t *op =
        ctn_ucx_op_get((ctn_ucx_t *)endpoint->base.transport, endpoint);
    if (op == NULL)
        return CATENA_ERR_NO_MEMORY;
    op->fetches = true;
    ucp_request_param_t param = ctn_ucx_op_param(op);
    ucs_status_ptr_t request =
        ucp_get_nbx(endpoint->ep, target, bytes, endpoint->remote_base + offset,
                    endpoint->rkey, &param);
    return ctn_ucx_op_started(op, request, pending);
}

catena_status_t ctn_ucx_get(ctn_endpoint_t *base, void *target, size_t bytes,
                            uint64_t offset, uint64_t *pending)
{
    ctn_ucx_endpoint_t *endpoint = (ctn_ucx_endpoint_t *)base;
    ctn_ucx_t *transport = (ctn_ucx_t *)endpoint->base.transport;
    if (endpoint->failed)
        return CATENA_ERR_PEER;
    if (bytes == 0)
        return CATENA_OK;
    if (transport->rma)
        return get_rma(endpoint, target, bytes, offset, pending);
    ctn_ucx_fetch_t *fetch = malloc(sizeof(*fetch));
    if (fetch == NULL) {
        ctn_error(transport->params.log,
                  "no memory to get data from a process; free memory, or raise "
                  "the limit of the process");
        return CATENA_ERR_NO_MEMORY;
    }
    const ctn_ucx_control_header_t header = {
        transport->params.process, ++transport->last_cookie, endpoint->secret};
    const wanted_t wanted = {offset, bytes};
    catena_status_t status =
        ctn_ucx_send(endpoint, CTN_UCX_AM_GET, &header, sizeof(header), &wanted,
                     sizeof(wanted), NULL);
    if (status != CATENA_OK) {
        free(fetch);
        return status;
    }
    *fetch = (ctn_ucx_fetch_t){transport->fetches,
                               header.cookie,
                               endpoint->base.process,
                               target,
                               bytes,
                               pending};
    transport->fetches = fetch;
    if (pending != NULL)
        (*pending)++;
    return CATENA_OK;
}

void ctn_ucx_answer_get(ctn_ucx_t *transport, const ctn_ucx_deferred_t *asked)
{
    ctn_ucx_endpoint_t *endpoint =
        ctn_ucx_find(transport, asked->header.process);
    wanted_t wanted;
    if (endpoint == NULL || endpoint->failed || endpoint->disconnected)
        return;
    memcpy(&wanted, asked->data, sizeof(wanted));
    const unsigned char *from =
        (unsigned char *)transport->params.arena + wanted.offset;
    const ctn_ucx_control_header_t header = {
        transport->params.process, asked->header.cookie, endpoint->secret};
    catena_status_t status = CATENA_OK;
    while (wanted.bytes > 0 && status == CATENA_OK) {
        size_t bytes = wanted.bytes < CTN_UCX_MESSAGE_BYTES
                           ? wanted.bytes
                           : CTN_UCX_MESSAGE_BYTES;
        /* The arena outlives the message. */
        status = ctn_ucx_send(endpoint, CTN_UCX_AM_GOT, &header, sizeof(header),
                              from, bytes, &transport->answers);
        from += bytes;
        wanted.bytes -= bytes;
    }
    if (status != CATENA_OK)
        ctn_ucx_fail_unless_died(transport, status);
}

bool ctn_ucx_asks_for_arena(const ctn_ucx_t *transport, const void *data,
                            size_t bytes)
{
    wanted_t wanted;
    if (bytes != sizeof(wanted))
        return false;
    memcpy(&wanted, data, sizeof(wanted));
    return wanted.bytes <= transport->params.arena_bytes &&
           wanted.offset <= transport->params.arena_bytes - wanted.bytes;
}

bool ctn_ucx_got(ctn_ucx_t *transport, const ctn_ucx_control_header_t *header,
                 const void *data, size_t bytes)
{
    ctn_ucx_fetch_t **link = &transport->fetches;
    while (*link != NULL && (*link)->cookie != header->cookie)
        link = &(*link)->next;
    ctn_ucx_fetch_t *fetch = *link;
    if (fetch == NULL) /* given up */
        return true;
    if (fetch->process != header->process || bytes > fetch->left)
        return false;
    memcpy(fetch->target, data, bytes);
    fetch->target += bytes;
    fetch->left -= bytes;
    if (fetch->left == 0)
        complete(transport, link);
    return true;
}

void ctn_ucx_fetches_failed(ctn_ucx_t *transport, uint64_t process)
{
    ctn_ucx_fetch_t **link = &transport->fetches;
    while (*link != NULL) {
        if ((*link)->process != process) {
            link = &(*link)->next;
            continue;
        }
        complete(transport, link);
        if (!transport->closing)
            ctn_ucx_fail_unless_died(transport, CATENA_ERR_PEER);
    }
}

void ctn_ucx_drop_fetches(ctn_ucx_t *transport)
{
    while (transport->fetches != NULL) {
        ctn_ucx_fetch_t *next = transport->fetches->next;
        free(transport->fetches);
        transport->fetches = next;
    }
}
